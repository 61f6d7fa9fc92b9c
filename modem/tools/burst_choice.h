// SPDX-License-Identifier: Apache-2.0
// Several receivers with different modes may read the same transmission. This class chooses the
// best of the readings that overlap, writes its octets and prints it.
//
// The readings are compared as soon as no receiver is in a burst. When a burst goes on for longer
// than `open_max`, they are compared then, and if the burst is chosen, its octets are written as
// they come. So octets are written in the order of time, and the memory has a limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/tools/burst_listing.h"
#include "modem/waveforms/burst_events.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

class BurstChoice {
 public:
  /// At the highest rate, 16,000 bit/s, a burst of this length has 600,000 octets, fewer than
  /// ListedBurst keeps. A wrong reading has shown its low quality by then.
  static constexpr std::chrono::seconds kOpenMax{300};

  /// A single receiver has nothing to compare with, so each burst is chosen at once.
  BurstChoice(std::size_t receivers, BurstListing& listing,
              std::chrono::seconds open_max = kOpenMax);

  Result<void> take(std::size_t receiver, const BurstEvent& event);
  /// Every receiver has processed the samples up to `now`.
  Result<void> advance(std::uint64_t now);
  /// The input has ended; the receivers may get silence behind it.
  void end_input(std::uint64_t at_sample) { input_ended_ = at_sample; }
  /// Chooses among all readings that are left, and prints those bursts that have not ended.
  Result<void> close();

 private:
  enum class State { undecided, chosen, dropped };
  struct Receiver {
    BurstCollector collector;
    State state = State::undecided;  // state of the burst that is going on
  };
  struct Ended {
    std::size_t receiver;
    ListedBurst burst;
  };
  struct Candidate {
    std::size_t receiver;
    const ListedBurst* burst;
    std::uint64_t began;
    std::uint64_t ended;
  };

  std::vector<Candidate> candidates(std::uint64_t now) const;
  std::vector<Candidate> best_of(std::vector<Candidate> all) const;
  bool overlaps_chosen(const Candidate& candidate) const;
  bool must_wait(const std::vector<Candidate>& all, std::uint64_t now) const;
  Result<void> choose(std::uint64_t now);

  BurstListing& listing_;
  std::uint64_t open_max_samples_;
  std::vector<Receiver> receivers_;
  std::vector<Ended> ended_;  // undecided
  /// Each receiver has the place at which its newest chosen burst ended.
  std::vector<std::optional<std::uint64_t>> chosen_until_;
  std::optional<std::uint64_t> input_ended_;
};

}  // namespace s5066::modem::tools
