// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/run_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "s5066d/base/assert.h"

namespace s5066::traffic {
namespace {

using std::chrono::microseconds;

double bits_per_s(std::uint64_t octets, Duration in) {
  return in > Duration::zero() ? 8 * static_cast<double>(octets) / to_seconds(in) : 0;
}

std::uint64_t octets_of(const std::vector<Interval>& intervals, std::size_t from, std::size_t to) {
  std::uint64_t octets = 0;
  for (std::size_t i = from; i < to; ++i) octets += intervals[i].octets;
  return octets;
}

void halve(std::vector<Interval>& intervals) {
  std::vector<Interval> merged((intervals.size() + 1) / 2);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    Interval& to = merged[i / 2];
    to.octets += intervals[i].octets;
    to.probes += intervals[i].probes;
    if (intervals[i].delays == 0) continue;
    const double max_s = intervals[i].delay_max_s;
    to.delay_max_s = to.delays > 0 ? std::max(to.delay_max_s, max_s) : max_s;
    to.delay_sum_s += intervals[i].delay_sum_s;
    to.delays += intervals[i].delays;
  }
  intervals = std::move(merged);
}

}  // namespace

RunStatistics::RunStatistics(const Config& config) : config_(config), interval_(config.interval) {
  S5066_ASSERT(config.interval > Duration::zero() && config.intervals_max >= 2);
}

/// Returns the delay by the clocks of both ends, or nothing and counts it if it cannot be right.
std::optional<Duration> RunStatistics::delay_of(const Arrival& arrival, const Probe& probe) {
  constexpr std::int64_t kMaxUs = std::chrono::duration_cast<microseconds>(kDelayMax).count();
  const auto stamp_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2);
  if (probe.sent_us <= stamp_max) {
    const std::int64_t us = arrival.utc_us - static_cast<std::int64_t>(probe.sent_us);
    if (us >= -kMaxUs && us <= kMaxUs) return microseconds(us);
  }
  ++delays_refused_;
  return std::nullopt;
}

void RunStatistics::on_probe(const Arrival& arrival, const Probe& probe) {
  S5066_ASSERT(probe.number < kProbesMax);
  if (!arrival.intact) {
    ++altered_;
    return;
  }
  if (probe.number < seen_.size() && seen_[probe.number]) {
    ++doubles_;
    return;
  }
  if (probe.number < seen_.size()) {
    ++reordered_;
  } else {
    seen_.resize(probe.number + 1);
  }
  seen_[probe.number] = true;
  ++received_;
  planned_ = probe.last ? probe.number + 1 : std::max(planned_, probe.planned);
  line_rate_bps_ = probe.line_rate_bps;
  octets_ += arrival.octets;
  const auto delay = delay_of(arrival, probe);
  if (!start_) {
    start_ = arrival.at;
    if (delay && !config_.relative_delay) *start_ -= std::max(Duration::zero(), *delay);
  }
  last_at_ = arrival.at;
  Interval& interval = interval_at(arrival.at);
  interval.octets += arrival.octets;
  ++interval.probes;
  if (!delay) return;
  delays_.push_back(*delay);
  const double delay_s = to_seconds(*delay);
  interval.delay_max_s = interval.delays > 0 ? std::max(interval.delay_max_s, delay_s) : delay_s;
  interval.delay_sum_s += delay_s;
  ++interval.delays;
}

Interval& RunStatistics::interval_at(Instant at) {
  auto index = static_cast<std::size_t>((at - *start_) / interval_);
  while (index >= config_.intervals_max) {
    halve(intervals_);
    interval_ *= 2;
    index = static_cast<std::size_t>((at - *start_) / interval_);
  }
  if (index >= intervals_.size()) intervals_.resize(index + 1);
  return intervals_[index];
}

RunFigures RunStatistics::figures() const {
  RunFigures figures;
  figures.planned = planned_;
  figures.line_rate_bps = line_rate_bps_;
  figures.received = received_;
  const auto expected = std::max(planned_, static_cast<std::uint32_t>(seen_.size()));
  figures.lost = expected - received_;
  figures.doubles = doubles_;
  figures.reordered = reordered_;
  figures.altered = altered_;
  figures.octets = octets_;
  figures.delays_refused = delays_refused_;
  figures.delay = delay_figures();
  figures.interval = interval_;
  figures.intervals = intervals_;
  if (config_.relative_delay) {
    // The smallest delay has become 0, here as in the figures.
    const auto smallest = std::min_element(delays_.begin(), delays_.end());
    for (Interval& interval : figures.intervals) {
      if (interval.delays == 0) continue;
      interval.delay_sum_s -= to_seconds(*smallest) * interval.delays;
      interval.delay_max_s -= to_seconds(*smallest);
    }
  }
  if (!start_) return figures;
  figures.length = last_at_ - *start_;
  figures.throughput_bps = bits_per_s(octets_, figures.length);
  // The last interval is not over, so it counts only if there is no other.
  const std::size_t whole = intervals_.size() - 1;
  if (whole < 2) return figures;
  figures.plateau_bps = bits_per_s(octets_of(intervals_, whole / 2, whole),
                                   interval_ * static_cast<std::int64_t>(whole - whole / 2));
  figures.to_half = time_to(0.5, figures);
  figures.to_four_fifths = time_to(0.8, figures);
  return figures;
}

std::optional<Duration> RunStatistics::time_to(double share, const RunFigures& figures) const {
  if (figures.plateau_bps <= 0) return std::nullopt;
  const std::size_t whole = intervals_.size() - 1;
  for (std::size_t end = kWindow; end <= whole; ++end) {
    const auto octets = octets_of(intervals_, end - kWindow, end);
    if (bits_per_s(octets, interval_ * kWindow) < share * figures.plateau_bps) continue;
    return interval_ * static_cast<std::int64_t>(end);
  }
  return std::nullopt;
}

DelayFigures RunStatistics::delay_figures() const {
  if (delays_.empty()) return {};
  std::vector<Duration> sorted = delays_;
  std::sort(sorted.begin(), sorted.end());
  const Duration zero = config_.relative_delay ? sorted.front() : Duration::zero();
  const auto rank = [&](double share) {
    const double place = std::ceil(share * static_cast<double>(sorted.size()));
    return to_seconds(sorted[static_cast<std::size_t>(std::max(place, 1.0)) - 1] - zero);
  };
  double sum_s = 0;
  for (const Duration delay : sorted) sum_s += to_seconds(delay - zero);
  return {.samples = sorted.size(),
          .min_s = to_seconds(sorted.front() - zero),
          .mean_s = sum_s / static_cast<double>(sorted.size()),
          .median_s = rank(0.5),
          .p90_s = rank(0.9),
          .p95_s = rank(0.95),
          .p99_s = rank(0.99),
          .max_s = to_seconds(sorted.back() - zero)};
}

}  // namespace s5066::traffic
