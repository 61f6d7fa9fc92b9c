// SPDX-License-Identifier: Apache-2.0
// Chooses the mode in which a peer should transmit to us from the quality of its transmissions
// (C.6.4.2 leaves the method to the receiver); docs/decisions/0019 derives it. A table gives the
// SNR that each mode needs. The additional SNR that this link needs, the *offset*, is learnt: a
// transmission received in part measures it, and one received completely or not at all bounds it
// from one side. The chosen mode brings the most octets per second at the SNR measured last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/mode_offsets.h"

namespace s5066::dts {

/// Limits of the modes that may be chosen.
struct RateLimits {
  std::uint32_t rate_min_bps = 75;
  std::uint32_t rate_max_bps = 9600;
  /// 110A, STANAG 4539 and 110D are one choice with peers that offer it, too.
  bool one_choice = true;
};
/// Returns the modes within the limits that EOW type 1 can name and a receiver of `like` detects,
/// with the short and the long interleaver, slowest first. If there is none, returns `like`.
std::vector<modem::Mode> modes_to_choose_from(const modem::Mode& like, const RateLimits& limits);
/// Returns the same modes, and those that a receiver of `like` does not detect but which are worth
/// choosing beside them.
std::vector<modem::Mode> modes_of_one_choice(const modem::Mode& like, const RateLimits& limits);

/// Measurement of one transmission, or of a part of it that had its own SNR.
struct Reception {
  modem::Mode mode;
  std::size_t octets = 0;         // octets that it held, as far as is known
  std::size_t octets_intact = 0;  // octets in D_PDUs without error
  unsigned blocks = 1;            // weight of the share of intact octets
  std::optional<double> snr_db;   // mean of the blocks; empty: known only by acknowledgements
  double spread_db = 0;           // standard deviation of the blocks
  // It carried type 6, so its length does not tell how much the peer has to send.
  bool managed = false;
  double correlation = 0;     // correlation of each block with the next
  bool more_follows = false;  // another part of the same transmission follows
};

class RateSelector {
 public:
  struct Config {
    std::vector<modem::Mode> modes;  // slowest first
    modem::Mode start;               // mode until a transmission has been measured
    Duration transmission_max;       // limit for a peer that has much to send
    bool by_agreement = false;       // changes need messages
  };

  explicit RateSelector(const Config& config);

  const modem::Mode& mode() const { return mode_; }
  /// Returns the SNR of the last transmissions; empty before the first.
  std::optional<double> snr_db() const { return snr_db_; }

  /// Sets whether changes need messages from now on.
  void set_by_agreement(bool by_agreement) { config_.by_agreement = by_agreement; }

  /// Sets whether modes may be chosen that a receiver of the first mode does not detect. At first
  /// they may not.
  void set_one_choice(bool one_choice);

  /// Chooses nothing faster from now on.
  void set_rate_max(std::uint32_t rate_bps) { rate_max_bps_ = rate_bps; }

  void on_reception(Instant now, const Reception& measured);
  /// Call when a transmission that was expected in this mode was not heard at all.
  void on_lost(const modem::Mode& mode);
  /// Call for the same if it was already known that the peer sends slower.
  void on_missed(const modem::Mode& mode);
  /// Call when nothing was ever received in this mode while the peer was to use it.
  void on_never_heard(const modem::Mode& mode);
  /// Call when the peer is silent and either direction may be the cause.
  void on_silence();

 private:
  /// Failures of a mode that is not received, although the SNR should suffice.
  struct Failure {
    int waits = 0;       // receptions during which it is not chosen
    int next_waits = 0;  // value of `waits` after the next failure
    unsigned times = 0;  // transmissions in it since one was heard
    unsigned empty = 0;  // transmissions in a row that were lost almost completely
    double at_db = 0;    // SNR at the last failure
    bool heard = false;  // a transmission in it was heard at some time
  };
  /// Observation of the offset of a mode by one reception.
  struct Seen {
    std::size_t at;  // index of the mode
    double offset_db;
    double variance;
    double lost;  // lost share of the octets
    bool bound;   // all or nothing was received
  };
  double evened_out(const modem::Mode& mode) const;
  double width_db(const modem::Mode& mode) const;
  double missed(const modem::Mode& mode) const;
  double spread_of(const modem::Mode& mode) const;
  void note_steadiness(const modem::Mode& mode);
  double needed_db(std::size_t at) const;
  double hoped_db(std::size_t at) const;
  double full_width_db(std::size_t at) const;
  double extra_db(const modem::Mode& mode) const;
  double arrives(std::size_t at) const;
  double arrives_at_best(std::size_t at) const;
  double yield(std::size_t at, double arrives) const;
  double share(const modem::Mode& mode, double arrives) const;
  void measure_snr(Instant now, const Reception& reception);
  void assume_below(const modem::Mode& mode);
  Seen seen_in(const Reception& reception) const;
  bool is_unlikely(const Reception& reception) const;
  void learn(const Reception& reception);
  Failure* failure_of(const modem::Mode& mode);
  void note_outcome(Failure& mode, double lost, bool unlikely);
  void bar(Failure& mode, int waits);
  bool is_allowed(const modem::Mode& mode) const;
  bool is_barred(std::size_t at) const;
  void choose();
  void try_short_interleaver();

  Config config_;
  modem::Mode mode_;
  bool one_choice_ = false;
  std::optional<double> snr_db_;
  double snr_variance_ = 0;
  double measured_db_ = 0;             // SNR that was measured last, without assumptions
  bool blind_ = true;                  // no SNR is ever reported: only the offsets change
  bool snr_stale_ = false;             // the SNR is assumed, not measured
  double steadiness_ = 0;              // 0 if the channel fades, 1 if all blocks have one SNR
  std::optional<double> correlation_;  // correlation of blocks with the short interleaver
  std::array<std::optional<double>, 2> spread_db_;  // measured, for each kind of interleaver
  ModeOffsets offsets_;
  std::vector<Failure> failures_;  // one entry for each mode
  std::uint32_t rate_max_bps_ = UINT32_MAX;
  Instant heard_at_{};
  std::array<std::size_t, 3> octets_{};  // sizes of the last transmissions
  std::size_t receptions_ = 0;
  bool data_heard_ = false;        // more than type 6 and link control
  std::size_t octets_before_ = 0;  // octets in earlier parts of the present transmission
  std::size_t octets_intact_before_ = 0;
  bool bulk_ = false;
  unsigned lost_in_row_ = 0;
};

}  // namespace s5066::dts
