// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/segment_size.h"

#include <algorithm>
#include <cmath>

#include "s5066d/base/assert.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {
namespace {
/// Weight of a transmission after each one that follows it.
constexpr double kForget = 0.7;
/// Largest loss that counts; a transmission that is lost almost completely tells no more about
/// single bits.
constexpr double kLossMax = 0.95;
}  // namespace

// Returns the maximum of n / (n + header) * (1 - b)^(8 (n + header)) over n.
std::size_t best_segment_octets(double errors_per_bit, std::size_t header) {
  if (errors_per_bit <= 0) return pdu::kSegmentOctetsMax;
  const auto h = static_cast<double>(header);
  const double n = (std::sqrt(h * h + 4 * h / (8 * errors_per_bit)) - h) / 2;
  return static_cast<std::size_t>(std::clamp(n, 1.0, double{pdu::kSegmentOctetsMax}));
}

SegmentSize::SegmentSize(const Config& config) : config_(config), octets_(config.start) {
  S5066_ASSERT(1 <= config.min && config.min <= config.start && config.start <= config.max);
  S5066_ASSERT(config.max <= pdu::kSegmentOctetsMax);
}

// A frame lost right after another lost one may have been hit by the same error burst, whose length
// does not depend on the frames. So only frames after a received one are counted.
void SegmentSize::on_answer(const std::vector<bool>& lost, std::size_t octets) {
  if (lost.empty()) return;
  double looks = 0;
  double hits = 0;
  bool lost_before = false;
  for (const bool one : lost) {
    looks += lost_before ? 0 : 1;
    hits += one && !lost_before ? 1 : 0;
    lost_before = one;
  }
  const double loss = std::min(hits / looks, kLossMax);
  const double octets_each = static_cast<double>(octets) / static_cast<double>(lost.size());
  errors_ = kForget * errors_ - std::log1p(-loss) * looks;
  bits_ = kForget * bits_ + 8 * octets_each * looks;
  const std::size_t best = best_segment_octets(errors_ / bits_, pdu::data_octets(0));
  // Changes by a factor of 2 at most, because one transmission is a small sample.
  octets_ =
      std::clamp(best, std::max(config_.min, octets_ / 2), std::min(config_.max, 2 * octets_));
}

void SegmentSize::begin_with(std::size_t octets) {
  octets_ = std::clamp(octets, config_.min, config_.max);
  errors_ = bits_ = 0;
}

}  // namespace s5066::dts
