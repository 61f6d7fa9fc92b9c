// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/burst_choice.h"

#include <algorithm>
#include <utility>

namespace s5066::modem::tools {

BurstChoice::BurstChoice(std::size_t receivers, BurstListing& listing,
                         std::chrono::seconds open_max)
    : listing_(listing),
      open_max_samples_(receivers > 1 ? static_cast<std::uint64_t>(open_max.count()) * kSampleRate
                                      : 0),
      receivers_(receivers),
      chosen_until_(receivers) {}

Result<void> BurstChoice::take(std::size_t receiver, const BurstEvent& event) {
  Receiver& from = receivers_[receiver];
  if (std::holds_alternative<BurstAcquired>(event)) from.state = State::undecided;
  const auto* received = std::get_if<BurstBytes>(&event);
  if (received != nullptr && from.state == State::chosen) {
    if (auto written = listing_.write(received->bytes); !written) return written;
  }
  auto over = from.collector.take(event);
  if (!over || from.state == State::dropped) return {};
  if (from.state == State::chosen) {
    chosen_until_[receiver] = over->record.ended()->ended_sample;
    return listing_.print(*over, input_ended_);
  }
  if (!over->record.is_next()) ended_.push_back({.receiver = receiver, .burst = std::move(*over)});
  return {};
}

Result<void> BurstChoice::advance(std::uint64_t now) {
  const std::vector<Candidate> all = candidates(now);
  if (all.empty() || must_wait(all, now)) return {};
  return choose(now);
}

Result<void> BurstChoice::close() {
  const std::uint64_t end = input_ended_.value_or(0);
  if (auto chosen = choose(end); !chosen) return chosen;
  for (Receiver& receiver : receivers_) {
    const auto burst = receiver.collector.close();
    if (!burst || receiver.state != State::chosen) continue;
    if (auto printed = listing_.print(*burst, input_ended_); !printed) return printed;
  }
  return {};
}

std::vector<BurstChoice::Candidate> BurstChoice::candidates(std::uint64_t now) const {
  std::vector<Candidate> all;
  for (const Ended& one : ended_) {
    const BurstRecord& record = one.burst.record;
    all.push_back({.receiver = one.receiver,
                   .burst = &one.burst,
                   .began = record.acquired().at_sample,
                   .ended = record.ended()->ended_sample});
  }
  for (std::size_t i = 0; i < receivers_.size(); ++i) {
    const ListedBurst* const open = receivers_[i].collector.open();
    if (open == nullptr || receivers_[i].state != State::undecided) continue;
    all.push_back({.receiver = i,
                   .burst = open,
                   .began = open->record.acquired().at_sample,
                   .ended = std::max(now, open->record.acquired().at_sample)});
  }
  return all;
}

bool BurstChoice::must_wait(const std::vector<Candidate>& all, std::uint64_t now) const {
  const bool open = std::any_of(all.begin(), all.end(), [](const Candidate& candidate) {
    return !candidate.burst->record.ended();
  });
  return open && std::none_of(all.begin(), all.end(), [&](const Candidate& candidate) {
           return candidate.began + open_max_samples_ <= now;
         });
}

/// Two bursts of the same receiver never overlap, even where one goes over into the next.
bool BurstChoice::overlaps_chosen(const Candidate& candidate) const {
  for (std::size_t i = 0; i < receivers_.size(); ++i) {
    if (i == candidate.receiver) continue;
    const bool chosen = receivers_[i].state == State::chosen && receivers_[i].collector.open();
    if (chosen || (chosen_until_[i] && candidate.began <= *chosen_until_[i])) return true;
  }
  return false;
}

std::vector<BurstChoice::Candidate> BurstChoice::best_of(std::vector<Candidate> all) const {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.burst->record.quality() > b.burst->record.quality();
  });
  std::vector<Candidate> best;
  for (const Candidate& candidate : all) {
    const bool overlaps = std::any_of(best.begin(), best.end(), [&](const Candidate& other) {
      return candidate.receiver != other.receiver && candidate.began <= other.ended &&
             other.began <= candidate.ended;
    });
    if (!overlaps && !overlaps_chosen(candidate)) best.push_back(candidate);
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Candidate& a, const Candidate& b) { return a.began < b.began; });
  return best;
}

Result<void> BurstChoice::choose(std::uint64_t now) {
  const std::vector<Candidate> best = best_of(candidates(now));
  for (Receiver& receiver : receivers_) {
    if (receiver.state == State::undecided && receiver.collector.open()) {
      receiver.state = State::dropped;
    }
  }
  for (const Candidate& chosen : best) {
    const ListedBurst& burst = *chosen.burst;
    if (auto written = listing_.write(burst.octets); !written) return written;
    if (!burst.record.ended()) {
      receivers_[chosen.receiver].state = State::chosen;
      continue;
    }
    chosen_until_[chosen.receiver] = chosen.ended;
    if (auto printed = listing_.print(burst, input_ended_); !printed) return printed;
  }
  ended_.clear();
  return {};
}

}  // namespace s5066::modem::tools
