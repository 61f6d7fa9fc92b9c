// Chooses the mode in which a peer should transmit to us from what became of its transmissions
// (C.6.4.2 leaves that to the receiver); docs/RATE_CONTROL.md derives it. A modem has a table of
// what each mode needs; what this link needs beyond that, the *offset*, is learnt: a transmission
// received in part measures it, one received whole or not at all bounds it from one side. The mode
// is the one that brings most octets per second at the ratio measured last.
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

/// Which modes may be chosen.
struct RateLimits {
  std::uint32_t rate_min_bps = 75;
  std::uint32_t rate_max_bps = 9600;
};
/// What EOW type 1 can name within the limits and a receiver of `like` finds, with the short and
/// the long interleaver, slowest first. Never empty: `like` stands for it where there is nothing.
std::vector<modem::Mode> modes_to_choose_from(const modem::Mode& like, const RateLimits& limits);

/// What was measured of one transmission, or of a part of it that had its own ratio.
struct Reception {
  modem::Mode mode;
  std::size_t octets = 0;         // that it held, as far as is known
  std::size_t octets_intact = 0;  // of these, in D_PDUs without error
  unsigned blocks = 1;            // how much the share of the two says
  std::optional<double> snr_db;   // mean of the blocks; none: all is known by acknowledgements
  double spread_db = 0;           // standard deviation of the blocks
  bool managed = false;           // a type 6: says nothing of how much the peer has to send
  double correlation = 0;         // of each with the next
  bool more_follows = false;      // another part of the same transmission
};

class RateSelector {
 public:
  struct Config {
    std::vector<modem::Mode> modes;  // slowest first
    modem::Mode start;               // until something has been measured
    Duration transmission_max;       // of a peer that has much to send
    bool by_agreement = false;       // changes take messages
  };

  explicit RateSelector(const Config& config);

  const modem::Mode& mode() const { return mode_; }
  /// Of the last transmissions; none before the first.
  std::optional<double> snr_db() const { return snr_db_; }

  /// Whether changes take messages from now on.
  void set_by_agreement(bool by_agreement) { config_.by_agreement = by_agreement; }

  /// Nothing faster is chosen from now on.
  void set_rate_max(std::uint32_t rate_bps) { rate_max_bps_ = rate_bps; }

  void on_reception(Instant now, const Reception& reception);
  /// A transmission that was expected in this mode was not heard at all.
  void on_lost(const modem::Mode& mode);
  /// The same, where it is no news that the peer is slower.
  void on_missed(const modem::Mode& mode);
  /// Nothing ever came in this mode while the peer was to use it.
  void on_never_heard(const modem::Mode& mode);
  /// Nothing is heard of the peer, whoever of us is to blame.
  void on_silence();

 private:
  /// Of a mode in which nothing is heard, whatever the ratio promises.
  struct Failure {
    int waits = 0;       // receptions that it is not chosen for
    int next_waits = 0;  // when it fails again
    unsigned times = 0;  // transmissions in it since one was heard
    unsigned empty = 0;  // of which next to nothing came, in a row
    double at_db = 0;    // then
    bool heard = false;  // at any time
  };
  /// What a reception says of the offset of a mode.
  struct Seen {
    std::size_t at;  // which
    double offset_db;
    double variance;
    double lost;  // share of the octets
    bool bound;   // all or nothing came
  };
  double evened_out(const modem::Mode& mode) const;
  double width_db(const modem::Mode& mode) const;
  double needed_db(std::size_t at) const;
  double hoped_db(std::size_t at) const;
  double full_width_db(std::size_t at) const;
  double extra_db(const modem::Mode& mode) const;
  double arrives(std::size_t at) const;
  double arrives_at_best(std::size_t at) const;
  double yield(std::size_t at, double arrives) const;
  void measure_snr(Instant now, const Reception& reception);
  void assume_below(const modem::Mode& mode);
  Seen seen_in(const Reception& reception) const;
  bool is_unlikely(const Reception& reception) const;
  void learn(const Reception& reception);
  Failure* failure_of(const modem::Mode& mode);
  void note_outcome(Failure& mode, double lost, bool unlikely);
  void bar(Failure& mode, int waits);
  bool is_barred(std::size_t at) const;
  void choose();
  void try_short_interleaver();

  Config config_;
  modem::Mode mode_;
  std::optional<double> snr_db_;
  double snr_variance_ = 0;
  double measured_db_ = 0;                          // the same, but for what was only assumed
  bool blind_ = true;                               // no ratio is ever told: the offsets alone move
  bool snr_stale_ = false;                          // assumed, not measured
  std::optional<double> correlation_;               // of blocks with the short interleaver
  std::array<std::optional<double>, 2> spread_db_;  // measured, of each kind of interleaver
  ModeOffsets offsets_;
  std::vector<Failure> failures_;  // by mode
  std::uint32_t rate_max_bps_ = UINT32_MAX;
  Instant heard_at_{};
  std::array<std::size_t, 3> octets_{};  // of the last transmissions
  std::size_t receptions_ = 0;
  std::size_t octets_before_ = 0;  // in parts of the present one
  std::size_t octets_intact_before_ = 0;
  bool bulk_ = false;
  unsigned lost_in_row_ = 0;
};

}  // namespace s5066::dts
