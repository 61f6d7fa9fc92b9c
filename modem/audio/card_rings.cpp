// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/card_rings.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066::modem {

CardRings::CardRings(std::size_t capacity, std::size_t ahead)
    : received_(capacity), to_send_(capacity), gaps_(kGapsMax) {
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
  if (card_loss) card_losses_.fetch_add(1, std::memory_order_relaxed);
}

void CardRings::fill(float* output, std::size_t frames, bool card_loss) {
  const std::size_t had = to_send_.read({output, frames});
  std::fill(output + had, output + frames, 0.0F);
  if (had < frames) late_.fetch_add(frames - had, std::memory_order_relaxed);
  if (card_loss) card_losses_.fetch_add(1, std::memory_order_relaxed);
}

Device::Received CardRings::receive(std::span<float> samples) {
  Device::Received losses;
  losses.dropped = take_gaps();
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

// A full ring means that the card takes no samples; receive() finds the cause.
void CardRings::transmit(std::span<const float> samples) {
  constexpr std::array<float, 256> kSilence{};
  while (to_skip_ < 0) {
    const auto count = std::min(static_cast<std::size_t>(-to_skip_), kSilence.size());
    const std::size_t written = to_send_.write(std::span(kSilence).first(count));
    to_skip_ += static_cast<std::int64_t>(written);
    if (written < count) return;
  }
  // Zeros were sent in the place of these samples, so their time is over.
  const auto skipped = std::min(static_cast<std::size_t>(to_skip_), samples.size());
  to_skip_ -= static_cast<std::int64_t>(skipped);
  static_cast<void>(to_send_.write(samples.subspan(skipped)));
}

}  // namespace s5066::modem
