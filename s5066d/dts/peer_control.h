// SPDX-License-Identifier: Apache-2.0
// Exchange with one peer apart from data: engineering order wire messages (C.5), alone in the
// header of any D_PDU or acknowledged in type 6, and the change of data rate that they serve
// (C.6.4).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "s5066d/base/node_counters.h"
#include "s5066d/dts/message_exchange.h"
#include "s5066d/dts/rate_change.h"
#include "s5066d/dts/service.h"

namespace s5066::dts {

class PeerControl {
 public:
  struct Config {
    Address self;
    modem::Mode mode;             // mode of our transmissions, until another one is agreed on
    bool rate_change = true;      // data rate change is offered
    bool full_duplex = false;     // we receive while we send, on another frequency
    std::uint8_t extensions = 0;  // bits that we offer (EOW type 14)
    unsigned repeats_max = 3;     // repetitions of a type 6 without an answer (C.6.4.2(11))
    std::vector<modem::Mode> unusable = {};  // modes in which we cannot transmit
    std::vector<modem::Mode> listened = {};  // modes that our receiver decodes; see modem::is_heard
  };
  using Event = std::variant<DataRateAdvised, TransmitModeChanged, DataRateRefused>;
  enum class Missed : std::uint8_t { again, given_up, link_lost };

  PeerControl(Address peer, const Config& config, Counters& counters);

  Address peer() const { return peer_; }

  // --- Requests ---
  /// D_CONNECTION_MADE or the end of the connection: all state is reset (C.3.9(16)(17),
  /// C.6.4.1(1)).
  void on_connected(bool connected);
  bool connected() const { return connected_; }
  /// Call when the peer has made the connection again and has lost the state of the old one.
  void on_restarted();
  /// Begins a data rate change; ends with TransmitModeChanged or DataRateRefused. Fails with
  /// `link_down` without a connection; see RateChange::request.
  Result<void> request_mode(const modem::Mode& mode);
  /// Changes the mode at once, because the peer's receiver detects rate and interleaver by itself
  /// (C.6.4.2).
  void set_mode(const modem::Mode& mode);
  /// Sets the mode that we advise; every acknowledgement carries it until it changes. The advice is
  /// dropped silently if Table C-5 has no such rate or C-6 no such interleaver. We refuse a request
  /// of the peer for a less robust mode. `told`, the mode that the peer is told, may differ, or be
  /// empty.
  void advise(const std::optional<modem::Mode>& mode, const std::optional<modem::Mode>& told);

  /// Returns the mode that the peer is told.
  const std::optional<modem::Mode>& advice() const { return advice_; }
  /// Sets whether both stations have 110A, STANAG 4539 and 110D in one choice, so that advice may
  /// name any of them.
  void set_one_choice(bool one_choice) { one_choice_ = one_choice; }
  /// If `also` is set, data carries the advice as well, for peers that look for it there.
  void advise_with_data(bool also) { advise_with_data_ = also; }
  /// Returns what the peer advised last.
  std::optional<modem::Mode> advised() const;
  /// Makes the next advice count as news, even if it repeats the last one.
  void forget_advice() { advised_.reset(); }

  /// Call when a header that advised this mode has left the antenna.
  void on_advice_sent(const modem::Mode& mode);
  /// True if the peer asks by the procedure for the mode that we advise: it has done so, on this
  /// connection or before. A request for any other mode tells nothing about its reaction to advice.
  bool asks_for_changes() const { return asks_; }
  /// Returns the peer's transmit mode if it was agreed on at the peer's request.
  const std::optional<modem::Mode>& peer_mode() const { return rate_.peer_mode(); }

  /// Returns the mode of our transmissions to the peer.
  const modem::Mode& mode() const { return rate_.mode(); }
  /// Returns the mode of the next transmission with a type 6.
  const modem::Mode& next_mode() const { return rate_.next_mode(); }
  /// Returns the peer's capabilities (EOW type 4) if they have come.
  std::optional<std::uint8_t> capabilities() const { return capabilities_; }

  /// Sets whether we receive while we send; the peer is told of a change.
  void set_full_duplex(bool on);

  // --- What was heard of the peer ---
  /// Returns true if this is the D_PDU that we waited for.
  bool on_management(const pdu::Management& dpdu, std::optional<Instant> formed_at = std::nullopt);
  /// Handles the EOW in a D_PDU of another type.
  void on_eow(const pdu::Eow& eow);
  /// Call when the peer rejects type 6 (C.3.12): open procedures end.
  void on_warning();
  /// Call for a D_PDU of the connection: its sender has ended its data rate change.
  void on_data();

  /// True if a type 6 message of the peer has come since the connection was made.
  bool heard() const { return management_.heard(); }

  // --- Transmissions ---
  /// True if a procedure is open; no regular or expedited data may go to the peer meanwhile
  /// (C.6.1.2(1)).
  bool open() const;
  bool has_work() const { return management_.has_work(); }
  bool answer_owed() const { return management_.answer_owed(); }
  bool fill(IntervalBudget& budget, BurstBuilder& burst);
  /// See MessageExchange::on_keyed.
  void on_keyed(Instant answered_from) { management_.on_keyed(answered_from); }
  /// True if the last fill waits for an answer that has not come meanwhile.
  bool wants_reply() const { return wants_reply_; }
  /// True if the peer repeats itself first, so that the two stations do not repeat at the same
  /// time.
  bool waits_longer() const;
  void on_transmitted(bool sent);
  Missed on_reply_missing();
  /// Makes an open procedure due again, because it has nothing to wait for.
  void make_due();

  /// Returns the EOW for the header of a D_PDU of this type, which is not 6 (C.3.2.2).
  pdu::Eow eow_for(std::uint8_t dpdu_type) const;
  /// Returns the EOW for one of `copies` equal D_PDUs of type 8 that control a link. The copies
  /// tell different things. `offered`: the peer has offered to follow advice, as we do.
  pdu::Eow set_up_eow(std::size_t copy, std::size_t copies, bool offered) const;
  /// Call when a D_PDU with that EOW has left the antenna.
  void on_eow_sent() {
    owed_ = {};
    capability_due_ -= capability_due_ > 0 ? 1 : 0;
  }

  /// True if a transmission should show that the link is alive (C.6.4.2(34)).
  bool take_closing() { return rate_.take_closing(); }
  std::optional<Event> poll_event();

 private:
  std::uint8_t own_capabilities() const;
  void on_message(const MessageExchange::Message& message, bool acknowledged);
  std::optional<MessageExchange::Message> answer_to(const MessageExchange::Message& message);
  void say_what_waits();
  bool waits_for_nothing() const;
  void say(std::optional<MessageExchange::Message> message);
  void on_advisory(const pdu::DrcRequest& advice);
  void on_advised(const std::optional<modem::Mode>& mode, bool equal);
  pdu::Eow advice_eow() const;
  void on_unrecognised(std::uint8_t type);
  void collect();

  Address peer_;
  Config config_;
  Counters& counters_;
  bool connected_ = false;
  MessageExchange management_;
  RateChange rate_;
  modem::Mode told_mode_;  // mode of the last TransmitModeChanged
  std::optional<modem::Mode> advice_;
  bool advise_with_data_ = false;
  bool one_choice_ = false;
  std::vector<modem::Mode> advices_sent_;  // advices on this connection, each mode once
  bool asks_ = false;
  /// Last advice of the peer.
  struct Advised {
    modem::Mode mode;
    bool equal = false;
    friend bool operator==(const Advised&, const Advised&) = default;
  };
  std::optional<Advised> advised_;
  std::optional<std::uint8_t> capabilities_;
  // The peer has not said that it knows no such message:
  bool knows_capabilities_ = true;
  bool knows_extensions_ = true;
  unsigned capability_due_ = 0;  // transmissions that carry our capabilities before anything else
  pdu::Eow owed_;                // EOW for the next D_PDU
  bool frequency_refused_ = false;  // the refusal goes out when no change is under way
  bool wants_reply_ = false;
  unsigned misses_ = 0;  // missing replies in a row
  std::deque<Event> events_;
};

}  // namespace s5066::dts
