// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/card_rings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

/// The excess is smoothed over about this many blocks, because sound servers move samples in
/// portions that are larger than a block.
constexpr double kExcessBlocks = 64;

}  // namespace

CardRings::CardRings(std::size_t capacity, std::size_t ahead)
    : ahead_(ahead), received_(capacity), to_send_(capacity), gaps_(kGapsMax) {
  S5066_ASSERT(ahead <= capacity);
  to_send_.write(std::vector<float>(ahead));
}

// A gap is recorded before the samples behind it. When it cannot be recorded, it goes on.
void CardRings::keep(const float* input, std::size_t frames, bool card_loss) {
  bool can_keep = input != nullptr && received_.size() < received_.capacity();
  if (can_keep && losing_ > 0) {
    can_keep = gaps_.push({.behind = kept_, .samples = losing_});
    if (can_keep) losing_ = 0;
  }
  const std::size_t kept = can_keep ? received_.write({input, frames}) : 0;
  kept_ += kept;
  losing_ += frames - kept;
  if (kept < frames) lost_.fetch_add(frames - kept, std::memory_order_relaxed);
  if (card_loss) card_losses_.fetch_add(1, std::memory_order_relaxed);
}

void CardRings::fill(float* output, std::size_t frames, bool card_loss) {
  const std::size_t had = to_send_.read({output, frames});
  std::fill(output + had, output + frames, 0.0F);
  if (had < frames) late_.fetch_add(frames - had, std::memory_order_relaxed);
  asked_for_.fetch_add(frames, std::memory_order_relaxed);
  if (card_loss) card_losses_.fetch_add(1, std::memory_order_relaxed);
}

Device::Received CardRings::receive(std::span<float> samples) {
  Device::Received losses;
  losses.dropped = take_gaps();
  lost_told_ += losses.dropped;
  const std::size_t read = received_.read(samples);
  S5066_ASSERT(read == samples.size());
  taken_ += read;
  const std::uint64_t late = late_.load(std::memory_order_relaxed);
  const std::uint64_t newly_late = late - std::exchange(late_told_, late);
  // The card does not report how much it lost, so one sample stands for each loss.
  const std::uint64_t card = card_losses_.load(std::memory_order_relaxed);
  losses.underrun = newly_late + (card - std::exchange(card_losses_told_, card));
  // When received samples were dropped, the worker's time line jumps, and the samples that it makes
  // jump as well.
  to_skip_ += static_cast<std::int64_t>(newly_late) - static_cast<std::int64_t>(losses.dropped);
  losses.unplayable = static_cast<std::uint64_t>(std::max<std::int64_t>(to_skip_, 0));
  return losses;
}

/// Returns the gaps that lie before the next sample.
std::uint64_t CardRings::take_gaps() {
  std::uint64_t lost = 0;
  for (;;) {
    Gap gap;
    if (!next_gap_ && gaps_.read({&gap, 1}) == 1) next_gap_ = gap;
    if (!next_gap_ || next_gap_->behind > taken_) return lost;
    lost += next_gap_->samples;
    next_gap_.reset();
  }
}

// Every sample that was received or lost, and is not answered yet, will become one to send.
void CardRings::transmit(bool keyed, std::span<const float> samples) {
  const auto block = static_cast<double>(samples.size());
  const std::uint64_t lost = lost_.load(std::memory_order_relaxed) - lost_told_;
  const double ready = static_cast<double>(to_send_.size() + received_.size() + lost) + block -
                       static_cast<double>(to_skip_);
  excess_ += (ready - static_cast<double>(ahead_) - excess_) / kExcessBlocks;
  if (keyed || std::abs(excess_) < block) {
    static_cast<void>(write(samples));
  } else if (excess_ > 0) {
    excess_ -= block;
  } else if (write(samples) && write(samples)) {
    excess_ += block;
  }
}

// A full ring means that the card takes no samples; the device looks at asked_for() for that.
bool CardRings::write(std::span<const float> samples) {
  constexpr std::array<float, 256> kSilence{};
  while (to_skip_ < 0) {
    const auto count = std::min(static_cast<std::size_t>(-to_skip_), kSilence.size());
    const std::size_t written = to_send_.write(std::span(kSilence).first(count));
    to_skip_ += static_cast<std::int64_t>(written);
    if (written < count) return false;
  }
  // Zeros were sent in the place of these samples, so their time is over.
  const auto skipped = std::min(static_cast<std::size_t>(to_skip_), samples.size());
  to_skip_ -= static_cast<std::int64_t>(skipped);
  const auto rest = samples.subspan(skipped);
  return to_send_.write(rest) == rest.size();
}

}  // namespace s5066::modem
