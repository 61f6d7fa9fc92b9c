// SPDX-License-Identifier: Apache-2.0
// Tests the primitives and messages of the chat with tshark.
#include <gtest/gtest.h>

#include "gateways/chat/chat_core.h"
#include "sis/codec.h"
#include "tests/support/sis_capture.h"
#include "tests/support/sis_dissection.h"
#include "tests/support/tshark.h"

namespace s5066::chat {
namespace {

constexpr Instant kNow{std::chrono::seconds(1)};

/// Returns the requests for a line to this destination.
std::vector<sis::Primitive> requests(Address to, std::string_view line) {
  ChatCore core({.to = to, .priority = 6, .repeats = 2});
  core.on_bound(kNow, 100);
  core.on_line(kNow, line);
  std::vector<sis::Primitive> primitives;
  while (auto action = core.poll_action()) {
    if (auto* submit = std::get_if<ChatCore::Submit>(&*action)) {
      primitives.emplace_back(std::move(submit->request));
    }
  }
  return primitives;
}

// F.7.2(2)
TEST(ChatDissection, tshark_reads_our_messages) {
  std::vector<sis::Primitive> meant = requests({0x01020305}, "QSL?");
  for (auto& primitive : requests(Address::all_stations(), std::string(150, 'x'))) {
    meant.push_back(std::move(primitive));
  }
  ASSERT_EQ(meant.size(), 3u);
  test::SisCapture capture;
  for (const sis::Primitive& primitive : meant) {
    Bytes frame;
    encode(primitive, frame);
    capture.add(/*to_server=*/true, frame, std::chrono::seconds(1'800'000'000));
  }
  const auto packets = test::dissect(capture.file());
  ASSERT_TRUE(packets) << to_string(packets.error());
  ASSERT_EQ(packets->size(), meant.size());
  for (std::size_t i = 0; i < meant.size(); ++i) {
    EXPECT_FALSE((*packets)[i].malformed);
    EXPECT_EQ(test::differences((*packets)[i], meant[i]), std::vector<std::string>{});
    const auto text = from_hex((*packets)[i].hex("data.data"));
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, std::get<sis::UnidataRequest>(meant[i]).updu);
  }
}

}  // namespace
}  // namespace s5066::chat
