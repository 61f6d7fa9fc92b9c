// SPDX-License-Identifier: Apache-2.0
// Adapts the data rate with one peer, both ways (C.6.4.2; docs/protocol/rate_control.md). It
// measures the peer's transmissions and derives the advice that the peer is told. It follows the
// peer's advice for our transmissions, and judges them by acknowledgements and missing answers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "s5066d/dts/config.h"
#include "s5066d/dts/connection.h"
#include "s5066d/dts/heard_burst.h"
#include "s5066d/dts/peer_control.h"
#include "s5066d/dts/rate_selector.h"

namespace s5066::dts {

class PeerAdaptation {
 public:
  /// `modes`: those that adaptation may choose, slowest first; `one_choice`: the same with a peer
  /// that offers kOneChoice as we do. All outlive this.
  PeerAdaptation(const Config& config, const std::vector<modem::Mode>& modes,
                 const std::vector<modem::Mode>& one_choice)
      : config_(config), modes_(modes), one_choice_(one_choice) {}

  /// D_CONNECTION_MADE: what was learnt about this connection's modes begins anew.
  void on_connected();
  /// Call when the link has ended.
  void on_link_ended(const PeerControl& control);

  // --- The peer's transmissions ---
  /// True if the peer may send in this mode: it did last time, or was advised to.
  bool expects(const modem::Mode& mode) const {
    return mode == advised_mode_ || mode == received_mode_;
  }
  /// Learns from a transmission of the peer that has ended. `cut`: its end was not heard.
  /// `reply_time`: the time in which the peer can answer our advice. `extensions`: what both
  /// stations offer.
  void on_measured(Instant now, HeardBurst& burst, bool cut, Duration reply_time,
                   const PeerControl& control, std::uint8_t extensions);
  struct Advice {
    modem::Mode preferred;
    std::optional<modem::Mode> given;  // no mode is given if the peer would not react well
  };
  /// Returns the advice for the peer; empty until one of its transmissions was measured.
  std::optional<Advice> advice(const PeerControl& control, const Connection& connection);
  /// A header with this advice has left the antenna.
  void on_advice_sent(Instant now, const modem::Mode& mode);

  // --- Our transmissions ---
  // These change the mode in `control`, or ask the peer for a change there, and then return true.
  [[nodiscard]] bool follow_advice(Instant now, PeerControl& control, const Connection& connection);
  /// Follows advice although we do not adapt: without a message if receivers detect the mode by
  /// themselves, else by agreement (C.6.4.2).
  void follow(Instant now, PeerControl& control, const DataRateAdvised& advised);
  /// Learns from an acknowledgement that the peer formed at `formed_at`.
  [[nodiscard]] bool on_answer(Instant now, PeerControl& control, const Connection& connection,
                               const ArqSender::Answer& answer, std::optional<Instant> formed_at);
  /// The `missed`-th answer in a row is missing: goes slower, or back to a mode that was answered.
  [[nodiscard]] bool fall_back(Instant now, PeerControl& control, const Connection& connection,
                               unsigned missed);
  /// The link is lost because the peer does not answer.
  void on_lost(Instant now, const PeerControl& control, const Connection& connection);
  void on_mode_changed() { refusal_.reset(); }
  /// The peer has refused a change, or has not answered the request (`none`).
  void on_refused(pdu::DrcReason reason);
  /// Returns the reason for the last request that failed.
  const std::optional<pdu::DrcReason>& refusal() const { return refusal_; }

  /// Returns the mode for what waits, if much data would go in `mode`: for few octets the quickest
  /// one that needs no higher SNR.
  modem::Mode mode_for(const Connection& connection, const modem::Mode& mode) const;
  /// Returns the mode for the answer to a call that would go in `mode`: a quicker one if the call
  /// was received so well that the caller can be expected to receive that one.
  modem::Mode reply_mode(const modem::Mode& mode, std::uint8_t extensions) const;
  /// A transmission with data for the peer is over. `asks`: it asked for an answer.
  void on_transmitted(Instant now, const modem::Mode& mode, bool sent, bool asks);
  /// Returns the longest transmission to the peer: `otherwise`, or less while the mode is a trial.
  Duration transmission_max(const PeerControl& control, const Connection& connection,
                            const modem::Mode& mode, Duration otherwise) const;

 private:
  /// Advice to a peer whose reaction to advice is unknown; harmless if the peer just follows it.
  struct Probe {
    modem::Mode advised;
    modem::Mode before;
    bool followed = false;  // the peer changed its mode without having asked
  };
  /// A mode that the peer advised but in which it answered nothing.
  struct Unanswered {
    modem::Mode mode;
    unsigned times = 0;
    Instant until{};  // time until which neither this mode nor a less robust one is used
  };
  struct Sent {
    Instant until{};
    modem::Mode mode;
  };

  /// Returns the quickest mode for these octets that needs no higher SNR than `mode`.
  modem::Mode quickest(const modem::Mode& mode, std::size_t octets, std::uint8_t extensions) const;
  /// True if a peer that is advised `advised` may send few octets in `mode`.
  bool carries_few(const modem::Mode& mode, const modem::Mode& advised,
                   std::uint8_t extensions) const;
  const std::vector<modem::Mode>& modes_with(std::uint8_t extensions) const;
  std::optional<RateSelector> new_selector() const;
  std::optional<modem::Mode> advice_to(const PeerControl& control, const Connection& connection,
                                       const modem::Mode& preferred);
  bool go_to(Instant now, PeerControl& control, const Connection& connection,
             const modem::Mode& mode);
  bool fall_back_from_advice(Instant now, PeerControl& control, const Connection& connection,
                             unsigned missed);
  void note_answered_in(const std::optional<modem::Mode>& mode, bool most);
  bool was_answered(const modem::Mode& mode) const;
  void note_unanswered(Instant now, const PeerControl& control, const Connection& connection,
                       bool lost);
  bool is_unanswered(Instant now, const modem::Mode& mode) const;
  std::optional<modem::Mode> mode_answered(std::optional<Instant> formed_at);

  const Config& config_;
  const std::vector<modem::Mode>& modes_;
  const std::vector<modem::Mode>& one_choice_;

  // The peer's transmissions:
  std::optional<RateSelector> selector_;
  std::optional<modem::Mode> received_mode_;  // mode of the last one
  std::uint32_t received_max_bps_ = 0;        // fastest rate of which anything was received
  std::optional<modem::Mode> advised_mode_;   // advice sent since the last one
  Instant advised_at_{};                      // time at which that advice was sent
  std::optional<modem::Mode> agreed_mode_;    // mode of one received as agreed
  std::optional<Probe> probe_;                // tests whether the peer changes by the procedure

  // Our transmissions:
  std::optional<RateSelector> guess_;         // used while the peer advises nothing
  std::vector<Unanswered> unanswered_;        // modes that were not answered
  std::optional<modem::Mode> answered_mode_;  // mode of the last data that was answered
  std::vector<modem::Mode> answered_modes_;   // all modes in which data was sent on this connection
  std::optional<modem::Mode>
      requested_mode_;                       // mode that we asked the peer for by data rate change
  std::optional<modem::Mode> refused_mode_;  // mode that the peer refused
  std::optional<pdu::DrcReason> refusal_;
  std::optional<modem::Mode> followed_mode_;  // advice that we follow, if we do not adapt
  std::vector<modem::Mode> proven_modes_;     // modes of which more than half arrived last time
  std::optional<modem::Mode> sent_mode_;      // mode of the last data
  std::deque<Sent> sent_;                     // full duplex: transmissions that an answer may cover
  unsigned trials_ = 0;                       // transmissions on this connection
};

}  // namespace s5066::dts
