// SPDX-License-Identifier: Apache-2.0
// The buffer between the callback of a sound card and the worker's thread. It has a lock-free ring
// of samples for each direction and a record of what was lost, and where. Counts are in samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "modem/audio/device.h"
#include "s5066d/base/spsc_ring.h"

namespace s5066::modem {

class CardRings {
 public:
  /// Each ring holds at least `capacity` samples. `ahead` samples are ready for the card, and stay
  /// so as long as no thread is late.
  CardRings(std::size_t capacity, std::size_t ahead);

  // --- The callbacks ---
  // A card has one callback for both directions or one for each. These functions use no allocation,
  // lock, system call or log. `card_loss` means that the card lost samples of the direction without
  // reporting how many.

  /// Keeps samples for the worker. `input` is null when the card has none for that time.
  void keep(const float* input, std::size_t frames, bool card_loss);
  /// Fills `output` with what the worker sent, and with zeros in place of late samples.
  void fill(float* output, std::size_t frames, bool card_loss);

  // --- The worker's thread ---

  /// Returns the number of samples that can be received.
  std::size_t received() const { return received_.size(); }
  /// Fills `samples`; at least as many must be available.
  Device::Received receive(std::span<float> samples);
  /// Sends the samples as Device states it. Those whose time is over are left out, so that the rest
  /// is in time. Input and output may have clocks of their own: when `keyed` is false, a block is
  /// left out or sent twice if the samples that are ready have become too many or too few.
  void transmit(bool keyed, std::span<const float> samples);
  /// Returns the number of samples that the card has asked for.
  std::uint64_t asked_for() const { return asked_for_.load(std::memory_order_relaxed); }

 private:
  /// These samples found the ring full, behind `behind` samples that did not.
  struct Gap {
    std::uint64_t behind = 0;
    std::uint64_t samples = 0;
  };
  static constexpr std::size_t kGapsMax = 64;

  std::uint64_t take_gaps();
  bool write(std::span<const float> samples);

  std::size_t ahead_;
  SpscRing<float> received_;
  SpscRing<float> to_send_;
  SpscRing<Gap> gaps_;
  std::atomic<std::uint64_t> late_{0};  // zeros sent in place of late samples
  std::atomic<std::uint64_t> card_losses_{0};
  std::atomic<std::uint64_t> asked_for_{0};
  std::atomic<std::uint64_t> lost_{0};  // received samples that found no room

  // These members belong to the callback of the input.
  std::uint64_t kept_ = 0;
  std::uint64_t losing_ = 0;  // samples lost in the present gap

  // These members belong to the worker.
  std::uint64_t taken_ = 0;
  std::optional<Gap> next_gap_;
  std::uint64_t lost_told_ = 0;
  std::uint64_t late_told_ = 0;
  std::uint64_t card_losses_told_ = 0;
  std::int64_t to_skip_ = 0;  // samples whose time is over; below 0 they are too early
  double excess_ = 0;         // smoothed; samples that are ready beyond `ahead`
};

}  // namespace s5066::modem
