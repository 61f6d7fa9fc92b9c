// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "s5066d/base/assert.h"
#include "s5066d/base/log.h"

namespace s5066::chat {
namespace {

/// Spellings of U+00A0 to U+00FF; an empty one means that there is none.
constexpr std::array<std::string_view, 96> kLatin = {
    " ",   "!",   "",    "GBP", "",   "",  "",   "",   "",   "",   "",   "\"", "",   "",
    "",    "",    "deg", "+/-", "",   "",  "'",  "u",  "",   ".",  "",   "",   "",   "\"",
    "1/4", "1/2", "3/4", "?",   "A",  "A", "A",  "A",  "Ae", "Aa", "Ae", "C",  "E",  "E",
    "E",   "E",   "I",   "I",   "I",  "I", "D",  "N",  "O",  "O",  "O",  "O",  "Oe", "x",
    "Oe",  "U",   "U",   "U",   "Ue", "Y", "Th", "ss", "a",  "a",  "a",  "a",  "ae", "aa",
    "ae",  "c",   "e",   "e",   "e",  "e", "i",  "i",  "i",  "i",  "d",  "n",  "o",  "o",
    "o",   "o",   "oe",  "/",   "oe", "u", "u",  "u",  "ue", "y",  "th", "y"};

struct Spelling {
  char32_t from;
  char32_t to;  // last one
  std::string_view text;
};
constexpr Spelling kSigns[] = {
    {0x2010, 0x2015, "-"},   {0x2018, 0x201B, "'"}, {0x201C, 0x201F, "\""},  {0x2022, 0x2022, "*"},
    {0x2026, 0x2026, "..."}, {0x202F, 0x202F, " "}, {0x20AC, 0x20AC, "EUR"}, {0x2032, 0x2032, "'"},
    {0x2033, 0x2033, "\""},  {0x2212, 0x2212, "-"}};

std::optional<std::string_view> spelling_of(char32_t character) {
  if (character >= 0xA0 && character <= 0xFF) {
    const std::string_view text = kLatin[character - 0xA0];
    if (!text.empty()) return text;
  }
  for (const Spelling& sign : kSigns) {
    if (character >= sign.from && character <= sign.to) return sign.text;
  }
  return std::nullopt;
}

/// Takes one character from the front of a text that is UTF-8 as a whole.
char32_t take_character(std::string_view& text) {
  const auto first = static_cast<std::uint8_t>(text.front());
  const std::size_t octets = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = octets == 1 ? first : first & (0x7Fu >> octets);
  for (std::size_t i = 1; i < octets; ++i) {
    character = character << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3Fu);
  }
  text.remove_prefix(octets);
  return character;
}

std::string hex(std::uint32_t value, std::size_t digits_min) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (; value != 0 || text.size() < digits_min; value >>= 4) text.push_back(kDigits[value & 0xF]);
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

Result<std::string> to_ita5(std::string_view utf8) {
  if (!is_utf8(utf8)) return Error{ErrorCode::bad_field, "the text is not UTF-8"};
  std::string ita5;
  for (std::size_t number = 1; !utf8.empty(); ++number) {
    const char32_t character = take_character(utf8);
    const auto spelling = spelling_of(character);
    if (character >= ' ' && character <= '~') {
      ita5.push_back(static_cast<char>(character));
    } else if (character == '\t') {
      ita5.push_back(' ');
    } else if (spelling) {
      ita5.append(*spelling);
    } else {
      return Error{ErrorCode::bad_field, "character " + std::to_string(number) + " is U+" +
                                             hex(character, 4) +
                                             ", which the alphabet of HFCHAT (ASCII) lacks"};
    }
  }
  return ita5;
}

std::vector<Bytes> messages_of(std::string_view ita5, std::size_t mtu) {
  S5066_ASSERT(mtu > kEndOctets);
  const std::size_t room = mtu - kEndOctets;
  std::vector<Bytes> messages;
  while (!ita5.empty()) {
    std::size_t taken = std::min(room, ita5.size());
    std::size_t skipped = 0;  // the blank at which the text is cut
    if (taken < ita5.size()) {
      const std::size_t blank = ita5.rfind(' ', taken);
      if (blank != std::string_view::npos && blank > room / 2) {
        taken = blank;
        skipped = 1;
      }
    }
    Bytes& message = messages.emplace_back(ita5.begin(), ita5.begin() + taken);
    message.insert(message.end(), {'\r', '\n'});
    ita5.remove_prefix(taken + skipped);
  }
  return messages;
}

std::size_t messages_max(std::size_t octets, std::size_t mtu) {
  S5066_ASSERT(mtu > kEndOctets);
  return octets / ((mtu - kEndOctets) / 2 + 1) + 1;
}

std::string shown(ByteSpan updu) {
  std::string text;
  const std::size_t octets = std::min(updu.size(), kShownOctetsMax);
  for (std::size_t i = 0; i < octets; ++i) {
    const std::uint8_t octet = updu[i];
    if (octet == '\r' || octet == '\n') {
      if (octet == '\r' && i + 1 < octets && updu[i + 1] == '\n') ++i;
      text.push_back('\n');
    } else if (octet == '\t') {
      text.push_back(' ');
    } else if (octet >= ' ' && octet <= '~') {
      text.push_back(static_cast<char>(octet));
    } else {
      text += "\\x" + hex(octet, 2);
    }
  }
  if (updu.size() > octets) {
    return text + "... (" + std::to_string(updu.size() - octets) + " more octets)";
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string text_of(const Bytes& message) {
  S5066_ASSERT(message.size() >= kEndOctets);
  return {message.begin(), message.end() - kEndOctets};
}

}  // namespace s5066::chat
