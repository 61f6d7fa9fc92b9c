// SPDX-License-Identifier: Apache-2.0
// The values of a chat: what is shown as one line, and the counters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "s5066d/base/counter_set.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::chat {

enum class ChatCounter : std::uint8_t {
  messages_sent,
  messages_delivered,
  messages_unconfirmed,
  messages_failed,
  messages_unknown,
  lines_refused,
  messages_received,
  count
};
const CounterTable<ChatCounter>& counter_table(ChatCounter);

enum class LineKind : std::uint8_t {
  received,   // a message from another station
  sent,       // a message of ours, handed to the node
  delivered,  // the other node has it
  on_air,     // the node has it; without ARQ no station confirms
  failed,     // not delivered, or not known to be: `reason`
  unknown,    // its fate will never be known: `reason`
  refused,    // a line of the user that is not sent: `reason`
  notice,     // about the connection, or an answer to a command
};
std::string_view to_string(LineKind kind);

/// One line of the window that shows what was said and what became of it.
struct Line {
  LineKind kind = LineKind::notice;
  Instant at{};
  std::uint64_t number = 0;  // of a message of ours; 0 for other lines
  Address from{};            // of a received message
  Address to{};              // as the sender addressed it
  std::string text;          // may have several lines
  std::string reason;
  friend bool operator==(const Line&, const Line&) = default;
};

}  // namespace s5066::chat
