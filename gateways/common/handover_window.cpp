// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/handover_window.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

/// Shorter times are those of a simulated or idle channel; they would make the rate infinite.
constexpr Duration kRoundMin = std::chrono::milliseconds(1);

/// The confirmations of one transmission come within this time.
constexpr Duration kTogether = std::chrono::milliseconds(250);
constexpr std::size_t kGrowth = 2;  // growth of the window from one round to the next

}  // namespace

void HandoverWindow::on_handed(Instant now, SisRequestId id, std::size_t octets,
                               std::uint8_t priority) {
  S5066_ASSERT(priority < octets_by_priority_.size());
  std::size_t lower = 0;
  for (std::size_t p = 0; p < priority; ++p) lower += count_by_priority_[p];
  requests_[id] = {now, octets, priority, confirmed_octets_, lower > 0};
  octets_by_priority_[priority] += octets;
  ++count_by_priority_[priority];
}

bool HandoverWindow::on_failed(SisRequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  octets_by_priority_[found->second.priority] -= found->second.octets;
  --count_by_priority_[found->second.priority];
  requests_.erase(found);
  return true;
}

bool HandoverWindow::on_confirmed(Instant now, SisRequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  confirmed_octets_ += found->second.octets;
  measure(now, found->second);
  on_failed(id);
  // A request that was handed over between these confirmations belongs to the next round.
  for (auto& [other, request] : requests_) {
    if (now - request.handed < kTogether) request.confirmed_before = confirmed_octets_;
  }
  return true;
}

void HandoverWindow::on_lost() {
  requests_.clear();
  octets_by_priority_ = {};
  count_by_priority_ = {};
}

void HandoverWindow::measure(Instant now, const Request& request) {
  const Duration took = std::max(kRoundMin, now - request.handed);
  mean_ = mean_ ? *mean_ + (took - *mean_) / 4 : took;
  // Octets that were on the air before this request would count as if they went during it.
  if (request.overtakes) return;
  turn_memory(now);
  const auto octets = static_cast<std::size_t>(confirmed_octets_ - request.confirmed_before);
  if (!round_ || now - round_at_ > kTogether) {
    if (round_) seen_.add(*round_);
    round_ = Round{};
    round_at_ = now;
  }
  if (octets > round_->octets) *round_ = {octets, took};
}

void HandoverWindow::Seen::add(const Round& round) {
  if (!quickest || round.took < quickest->took) quickest = round;
  if (!largest || round.octets > largest->octets) largest = round;
  rate_bps_max =
      std::max(rate_bps_max, 8 * static_cast<double>(round.octets) / to_seconds(round.took));
}

/// The memory ages only when a round is measured. While everything overtakes a request of low
/// priority, no round is measured, and a memory that aged by time would forget all but the last.
void HandoverWindow::turn_memory(Instant now) {
  if (now - turned_at_ < config_.memory / 2) return;
  turned_at_ = now;
  seen_before_ = seen_;
  seen_ = {};
}

/// The whole memory and the round whose confirmations are still coming.
HandoverWindow::Seen HandoverWindow::both() const {
  Seen seen = seen_;
  for (const auto& round : {seen_before_.quickest, seen_before_.largest, round_}) {
    if (round) seen.add(*round);
  }
  seen.rate_bps_max = std::max(seen.rate_bps_max, seen_before_.rate_bps_max);
  return seen;
}

double HandoverWindow::rate_bps() const {
  return both().rate_bps_max;
}

std::optional<HandoverWindow::Line> HandoverWindow::line_of(const Seen& seen) {
  if (!seen.quickest) return std::nullopt;
  const Round& quick = *seen.quickest;
  const Round& large = *seen.largest;
  if (large.octets <= quick.octets || large.took <= quick.took) return std::nullopt;
  const auto more = static_cast<double>(large.octets - quick.octets);
  const double octet_s = to_seconds(large.took - quick.took) / more;
  return Line{quick.took - from_seconds(octet_s * static_cast<double>(quick.octets)), 8 / octet_s};
}

std::size_t HandoverWindow::round_octets(Duration time) const {
  const Seen seen = both();
  const auto line = line_of(seen);
  double octets = seen.rate_bps_max / 8 * to_seconds(time);
  if (line) {
    const Duration turnaround = std::max(line->turnaround, Duration::zero());
    // A round is on the air for half of its time at least, so a line that seems to be more than
    // twice as fast as the best round comes from two rounds that are hardly comparable.
    const double rate_bps =
        std::clamp(line->rate_bps, seen.rate_bps_max, kGrowth * seen.rate_bps_max);
    octets = rate_bps / 8 * to_seconds(std::max<Duration>(time - turnaround, turnaround));
  }
  return static_cast<std::size_t>(octets);
}

Duration HandoverWindow::span(const Seen& seen) const {
  const auto line = line_of(seen);
  // Rounds of one size tell only the whole time.
  const Duration turnaround = line ? line->turnaround : seen.quickest->took;
  return std::clamp(turnaround * config_.turnarounds, config_.span_min, config_.span_max);
}

std::size_t HandoverWindow::window_octets() const {
  const Seen seen = both();
  if (!seen.quickest) return 0;
  const double octets = seen.rate_bps_max / 8 * to_seconds(span(seen));
  return std::min(static_cast<std::size_t>(octets), kGrowth * seen.largest->octets);
}

bool HandoverWindow::has_room(std::size_t octets, std::uint8_t priority,
                              std::size_t window_octets_min) const {
  std::size_t ahead = 0;
  std::size_t count = 0;
  for (std::size_t p = priority; p < octets_by_priority_.size(); ++p) {
    ahead += octets_by_priority_[p];
    count += count_by_priority_[p];
  }
  return count < config_.datagrams_min ||
         ahead + octets <= std::max(window_octets(), window_octets_min);
}

}  // namespace s5066::gateways
