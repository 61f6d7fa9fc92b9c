// SPDX-License-Identifier: Apache-2.0
// Remembers messages that were committed here. When such a message comes again, it is acknowledged
// again, but not delivered again. When the memory is full, the message with the earliest `until` is
// forgotten.
//
// A message is unreleased as long as its transmitter may not know that it is committed.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/received_message.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

class KnownMessages {
 public:
  struct Known {
    Instant until{};
    Instant expires{};  // after this time another message may have its number
    OwedAck owing;
    /// True: the message was committed before our start, so it is unknown whether it was
    /// acknowledged.
    bool before_start = false;
  };

  explicit KnownMessages(std::size_t messages_max) : messages_max_(messages_max) {}

  std::size_t size() const { return known_.size(); }
  bool empty() const { return known_.empty(); }
  /// Returns null if the message is not known.
  Known* find(const MessageName& name);
  const Known* find(const MessageName& name) const;
  Known& remember(const MessageName& name, const Known& known);
  /// Remembers a known message at least until that time.
  void extend(const MessageName& name, Instant until);
  void forget(const MessageName& name);
  void forget_until(Instant now);

  void release(const MessageName& name) { unreleased_.erase(name); }
  void set_unreleased(const MessageName& name) { unreleased_.insert(name); }
  /// Call when our own EMCON ends. Messages from before the start that end after `ending_after` are
  /// then unreleased, so that they can be acknowledged again.
  void set_unreleased_before_start(Instant ending_after);
  const std::set<MessageName>& unreleased() const { return unreleased_; }
  bool is_unreleased(const MessageName& name) const { return unreleased_.contains(name); }

 private:
  std::size_t messages_max_;
  std::map<MessageName, Known> known_;
  std::set<std::pair<Instant, MessageName>> by_end_;
  std::set<MessageName> unreleased_;
};

}  // namespace s5066::p_mul
