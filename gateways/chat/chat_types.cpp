// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_types.h"

#include "s5066d/base/assert.h"

namespace s5066::chat {
namespace {

constexpr CounterTable<ChatCounter> kTable({
    {ChatCounter::messages_sent, "chat_messages_sent", "messages", "messages handed to the node"},
    {ChatCounter::messages_delivered, "chat_messages_delivered", "messages",
     "messages that the other node has confirmed"},
    {ChatCounter::messages_unconfirmed, "chat_messages_unconfirmed", "messages",
     "messages without ARQ, which nobody confirms"},
    {ChatCounter::messages_failed, "chat_messages_failed", "messages",
     "messages that the node or the other node has rejected"},
    {ChatCounter::messages_unknown, "chat_messages_unknown", "messages",
     "messages whose fate will never be known"},
    {ChatCounter::lines_refused, "chat_lines_refused", "lines", "lines of the user not sent"},
    {ChatCounter::messages_received, "chat_messages_received", "messages",
     "messages of other stations"},
});

}  // namespace

const CounterTable<ChatCounter>& counter_table(ChatCounter) {
  return kTable;
}

std::string_view to_string(LineKind kind) {
  switch (kind) {
    case LineKind::received:
      return "received";
    case LineKind::sent:
      return "sent";
    case LineKind::delivered:
      return "delivered";
    case LineKind::on_air:
      return "unconfirmed";
    case LineKind::failed:
      return "failed";
    case LineKind::unknown:
      return "unknown";
    case LineKind::refused:
      return "refused";
    case LineKind::notice:
      return "notice";
  }
  S5066_ASSERT(false);
  return {};
}

}  // namespace s5066::chat
