// SPDX-License-Identifier: Apache-2.0
// Input: a received message, and the same octets as the user's keys and line. What is shown is
// printable, what is sent is ASCII within the MTU, and no text is lost but blanks.
#include <algorithm>

#include "gateways/chat/chat_text.h"
#include "gateways/chat/line_input.h"
#include "s5066d/base/assert.h"

using namespace s5066;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  const std::string shown = chat::shown({data, size});
  S5066_ASSERT(
      std::all_of(shown.begin(), shown.end(), [&](char c) { return c == '\n' || printable(c); }));

  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto ita5 = chat::to_ita5(text)) {
    S5066_ASSERT(std::all_of(ita5->begin(), ita5->end(), printable));
    const std::size_t mtu = 3 + size % 61;
    const auto messages = chat::messages_of(*ita5, mtu);
    S5066_ASSERT(messages.size() <= chat::messages_max(ita5->size(), mtu));
    std::string again;
    for (const Bytes& message : messages) {
      S5066_ASSERT(message.size() <= mtu);
      again += chat::text_of(message);
    }
    std::erase(again, ' ');
    std::erase(*ita5, ' ');
    S5066_ASSERT(again == *ita5);
  }

  constexpr chat::LineInput::Config kLimits{.octets_max = 50, .recalled_max = 3};
  chat::LineInput keys(kLimits);
  keys.on_octets(text);
  while (const auto event = keys.poll_event()) {
    const auto* entered = std::get_if<chat::LineInput::Entered>(&*event);
    S5066_ASSERT(entered == nullptr || entered->line.size() <= kLimits.octets_max);
  }
  static_cast<void>(keys.drawn("> ", size % 20));
  return 0;
}
