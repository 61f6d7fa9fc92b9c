// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_text.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::chat {
namespace {

std::string joined(const std::vector<Bytes>& messages) {
  std::string text;
  for (const Bytes& message : messages) text += (text.empty() ? "" : "|") + text_of(message);
  return text;
}

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

// F.7.2(1), F.7.2(2)
TEST(ChatText, a_message_is_the_text_with_cr_and_lf_behind_it) {
  EXPECT_EQ(messages_of("QSL?", 2048), (std::vector<Bytes>{octets("QSL?\r\n")}));
  EXPECT_TRUE(messages_of("", 2048).empty());
}

// F.7.2(3)
TEST(ChatText, a_message_fills_the_mtu_and_never_exceeds_it) {
  EXPECT_EQ(messages_of(std::string(98, 'x'), 100).size(), 1u);
  const auto two = messages_of(std::string(99, 'x'), 100);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].size(), 100u);
  EXPECT_EQ(two[1], octets("x\r\n"));
  EXPECT_EQ(messages_of("ab", 3).size(), 2u);
}

TEST(ChatText, a_long_text_is_cut_at_blanks_and_loses_none_of_its_words) {
  EXPECT_EQ(joined(messages_of("one two three four", 12)), "one two|three four");
  EXPECT_EQ(joined(messages_of("one incomprehensibility", 12)), "one incomp|rehensibil|ity");
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (auto n = rng.below(300); n > 0; --n) text.push_back(rng.chance(0.2) ? ' ' : 'x');
    const std::size_t mtu = 3 + rng.below(60);
    const auto messages = messages_of(text, mtu);
    EXPECT_LE(messages.size(), messages_max(text.size(), mtu));
    std::string arrived;
    for (const Bytes& message : messages) {
      EXPECT_LE(message.size(), mtu);
      arrived += text_of(message);
    }
    std::erase(arrived, ' ');
    std::erase(text, ' ');
    EXPECT_EQ(arrived, text);
  }
}

// F.7.2(1)
TEST(ChatText, letters_and_signs_outside_ascii_get_their_usual_spelling) {
  EXPECT_EQ(*to_ita5("Grüße aus Ålesund\t59°N"), "Gruesse aus Aalesund 59degN");
  EXPECT_EQ(*to_ita5("„so“ – ‚was‘…"), "\"so\" - 'was'...");
  EXPECT_EQ(*to_ita5(" !~"), " !~");
}

// F.7.2(1)
TEST(ChatText, a_character_without_a_spelling_is_named_and_nothing_is_sent) {
  EXPECT_EQ(to_ita5("ok 你好").error().detail,
            "character 4 is U+4F60, which the alphabet of HFCHAT (ASCII) lacks");
  EXPECT_EQ(to_ita5("\x07").error().code, ErrorCode::bad_field);
  EXPECT_EQ(to_ita5("a\nb").error().code, ErrorCode::bad_field);
  EXPECT_EQ(to_ita5("\x7F").error().code, ErrorCode::bad_field);
  EXPECT_EQ(to_ita5("\xC3").error().detail, "the text is not UTF-8");
}

// F.7.2(1): bit 7 is 0 in all that is sent.
TEST(ChatText, every_character_is_refused_or_becomes_printable_ascii) {
  for (char32_t c = 0; c < 0x3000; ++c) {
    std::string utf8;
    if (c < 0x80) {
      utf8 = {static_cast<char>(c)};
    } else if (c < 0x800) {
      utf8 = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      utf8 = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    }
    const auto text = to_ita5(utf8);
    if (!text) continue;
    EXPECT_FALSE(text->empty());
    for (const char letter : *text)
      EXPECT_TRUE(letter >= ' ' && letter <= '~') << to_ita5(utf8).value();
  }
}

TEST(ChatText, what_others_send_is_shown_whatever_it_is) {
  EXPECT_EQ(shown(octets("hello\r\n")), "hello");
  EXPECT_EQ(shown(octets("hello")), "hello");
  EXPECT_EQ(shown(octets("hello\n")), "hello");
  EXPECT_EQ(shown(octets("one\r\ntwo\rthree\n\r\n")), "one\ntwo\nthree\n");
  EXPECT_EQ(shown(octets("a\x1B[2J\x80\tb\r\n")), "a\\x1B[2J\\x80 b");
  EXPECT_EQ(shown({}), "");
}

TEST(ChatText, a_message_beyond_the_limit_is_shown_in_part) {
  EXPECT_EQ(shown(Bytes(kShownOctetsMax, 'x')).size(), kShownOctetsMax);
  const std::string cut = shown(Bytes(kShownOctetsMax + 1, 'x'));
  EXPECT_TRUE(cut.ends_with("x... (1 more octets)")) << cut.substr(kShownOctetsMax - 10);
}

}  // namespace
}  // namespace s5066::chat
