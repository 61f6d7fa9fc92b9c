// SPDX-License-Identifier: Apache-2.0
// The fate of the probes of one run: loss, order, copies, delay, and throughput over time.
//
// The plateau is the mean throughput of the second half of the run. The time to a share of it is
// the end of the first kWindow intervals in a row whose mean throughput reaches that share. The run
// starts when the first probe that arrived was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gateways/traffic/probe.h"
#include "s5066d/base/time.h"

namespace s5066::traffic {

/// Percentiles are by nearest rank.
struct DelayFigures {
  std::size_t samples = 0;
  double min_s = 0;
  double mean_s = 0;
  double median_s = 0;
  double p90_s = 0;
  double p95_s = 0;
  double p99_s = 0;
  double max_s = 0;
};

/// One interval of the run.
struct Interval {
  std::uint64_t octets = 0;
  std::uint32_t probes = 0;
  std::uint32_t delays = 0;  // probes with a delay
  double delay_sum_s = 0;
  double delay_max_s = 0;
};

struct RunFigures {
  std::uint32_t planned = 0;  // 0: not known
  std::uint32_t line_rate_bps = 0;
  std::uint32_t received = 0;  // each number once
  std::uint32_t lost = 0;
  std::uint64_t doubles = 0;
  std::uint64_t reordered = 0;  // arrived after a later number
  std::uint64_t altered = 0;    // the content was another; counted nowhere else
  std::uint64_t octets = 0;
  Duration length{};  // from the start to the last arrival
  double throughput_bps = 0;
  double plateau_bps = 0;
  std::optional<Duration> to_half;         // until 50 % of the plateau
  std::optional<Duration> to_four_fifths;  // until 80 %
  DelayFigures delay;
  std::uint64_t delays_refused = 0;  // longer than kDelayMax, or negative by more
  Duration interval{};
  std::vector<Interval> intervals;
};

class RunStatistics {
 public:
  static constexpr std::size_t kWindow = 3;
  static constexpr Duration kDelayMax = std::chrono::hours(24);

  struct Config {
    Duration interval = std::chrono::seconds(10);
    std::size_t intervals_max = 4096;  // above, two become one
    /// The clocks of sender and receiver differ: delays are those above the smallest, and the run
    /// starts with its first arrival.
    bool relative_delay = false;
  };
  struct Arrival {
    Instant at{};
    std::int64_t utc_us = 0;  // the same time, to compare with the stamp
    std::size_t octets = 0;   // on the line
    bool intact = true;
  };

  explicit RunStatistics(const Config& config);

  void on_probe(const Arrival& arrival, const Probe& probe);
  /// True if all planned probes have arrived.
  bool is_complete() const { return planned_ > 0 && received_ == planned_; }
  RunFigures figures() const;

 private:
  std::optional<Duration> delay_of(const Arrival& arrival, const Probe& probe);
  Interval& interval_at(Instant at);
  std::optional<Duration> time_to(double share, const RunFigures& figures) const;
  DelayFigures delay_figures() const;

  Config config_;
  std::uint32_t planned_ = 0;
  std::uint32_t line_rate_bps_ = 0;
  std::vector<bool> seen_;  // by number, as far as one has arrived
  std::uint32_t received_ = 0;
  std::uint64_t doubles_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t altered_ = 0;
  std::uint64_t octets_ = 0;
  std::uint64_t delays_refused_ = 0;
  std::vector<Duration> delays_;
  std::optional<Instant> start_;
  Instant last_at_{};
  Duration interval_;
  std::vector<Interval> intervals_;
};

}  // namespace s5066::traffic
