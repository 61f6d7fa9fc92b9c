// Between the callback of a sound card and the worker's thread: a lock-free ring of samples each
// way, and an account of what was lost, and where. Counts in samples.
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
  /// At least `capacity` in each; `ahead` lie ready for the card, and always would if nobody were
  /// ever late.
  CardRings(std::size_t capacity, std::size_t ahead);

  /// The callback. No allocation, lock, system call or log; `input` is null where there is none.
  /// `card_loss`: the card lost some, of either, and does not say how many.
  void exchange(const float* input, float* output, std::size_t frames, bool card_loss);

  // --- The worker's thread ---

  /// How many there are to be received.
  std::size_t received() const { return received_.size(); }
  /// Fills `samples`, of which there must be as many.
  Device::Received receive(std::span<float> samples);
  /// As Device has it: leaves out those whose time is over, so that the rest is in time.
  void transmit(std::span<const float> samples);

 private:
  /// Samples that found the ring full, behind so many that did not.
  struct Gap {
    std::uint64_t behind = 0;
    std::uint64_t samples = 0;
  };
  static constexpr std::size_t kGapsMax = 64;

  std::uint64_t take_gaps();

  SpscRing<float> received_;
  SpscRing<float> to_send_;
  SpscRing<Gap> gaps_;
  std::atomic<std::uint64_t> late_{0};  // zeros sent where a sample should have been ready
  std::atomic<std::uint64_t> card_losses_{0};

  // The callback's.
  std::uint64_t kept_ = 0;
  std::uint64_t losing_ = 0;  // of the gap that goes on

  // The worker's.
  std::uint64_t taken_ = 0;
  std::optional<Gap> next_gap_;
  std::uint64_t late_told_ = 0;
  std::uint64_t card_losses_told_ = 0;
  std::int64_t to_skip_ = 0;  // samples whose time is over; below 0: so many too early
};

}  // namespace s5066::modem
