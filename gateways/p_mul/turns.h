// SPDX-License-Identifier: Apache-2.0
// Shares the bearer among the targets of messages of one priority. A turn of a target ends after
// `Config::turn_max` or `Config::octets_max`. Then the target that has waited longest has its turn.
// Of several messages to one target the oldest goes first. Only a message of higher priority
// interrupts a turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "gateways/p_mul/sent_message.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

class Turns {
 public:
  struct Config {
    Duration turn_max{};
    std::size_t octets_max = 0;
    std::size_t targets_max = 0;  // number of targets that are remembered
  };

  explicit Turns(const Config& config) : config_(config) {}

  /// True if `message` goes before `other` when a new turn begins.
  bool goes_before(const SentMessage& message, const SentMessage& other) const;
  /// True if the turn under way has taken all of its time or octets.
  bool is_over(Instant now) const;
  /// Returns the message whose PDU was handed over last.
  const std::optional<MessageKey>& last() const { return last_; }
  /// Call when a PDU of the message is handed over.
  void note(Instant now, const SentMessage& message, std::size_t octets);

 private:
  std::uint64_t turn_of(const Target& target) const;

  Config config_;
  std::optional<MessageKey> last_;
  std::map<Target, std::uint64_t> turns_;  // running number of the last turn of each target
  std::uint64_t last_turn_ = 0;
  Instant began_{};
  std::size_t octets_ = 0;
};

}  // namespace s5066::p_mul
