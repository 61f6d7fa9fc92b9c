// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/turns.h"

#include <tuple>

namespace s5066::p_mul {

std::uint64_t Turns::turn_of(const Target& target) const {
  const auto at = turns_.find(target);
  return at == turns_.end() ? 0 : at->second;
}

bool Turns::goes_before(const SentMessage& message, const SentMessage& other) const {
  const auto rank = [this](const SentMessage& m) {
    return std::tuple(m.submission.priority, turn_of(m.target), m.order);
  };
  return rank(message) < rank(other);
}

bool Turns::is_over(Instant now) const {
  return now >= began_ + config_.turn_max || octets_ >= config_.octets_max;
}

// A target gets the highest running number when its turn begins, so that it comes last when the
// next turn is chosen.
void Turns::note(Instant now, const SentMessage& message, std::size_t octets) {
  if (last_ != message.submission.key || is_over(now)) {
    began_ = now;
    octets_ = 0;
    if (turns_.size() >= config_.targets_max) turns_.clear();
    turns_[message.target] = ++last_turn_;
  }
  octets_ += octets;
  last_ = message.submission.key;
}

}  // namespace s5066::p_mul
