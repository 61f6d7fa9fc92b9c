// SPDX-License-Identifier: Apache-2.0
#include "modem/api/morse.h"

#include <algorithm>
#include <array>
#include <string>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

constexpr std::array<std::string_view, 26> kLetters = {
    ".-",   "-...", "-.-.", "-..",  ".",   "..-.", "--.",  "....", "..",
    ".---", "-.-",  ".-..", "--",   "-.",  "---",  ".--.", "--.-", ".-.",
    "...",  "-",    "..-",  "...-", ".--", "-..-", "-.--", "--.."};
constexpr std::array<std::string_view, 10> kDigits = {"-----", ".----", "..---", "...--", "....-",
                                                      ".....", "-....", "--...", "---..", "----."};
constexpr std::string_view kSlash = "-..-.";

/// Returns the elements of a sign; empty for a space and for what has no sign.
std::string_view elements_of(char c) {
  if (c >= 'a' && c <= 'z') return kLetters[static_cast<std::size_t>(c - 'a')];
  if (c >= 'A' && c <= 'Z') return kLetters[static_cast<std::size_t>(c - 'A')];
  if (c >= '0' && c <= '9') return kDigits[static_cast<std::size_t>(c - '0')];
  return c == '/' ? kSlash : std::string_view();
}

}  // namespace

bool is_morse_text(std::string_view text) {
  if (text.empty() || text.size() > kMorseOctetsMax) return false;
  if (text.front() == ' ' || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == ' ' || !elements_of(c).empty(); });
}

std::vector<bool> morse_units(std::string_view text) {
  S5066_ASSERT(is_morse_text(text));
  std::vector<bool> units;
  for (const char c : text) {
    if (c == ' ') {
      units.insert(units.end(), 4, false);  // seven units with the gap of the sign before
      continue;
    }
    for (const char element : elements_of(c)) {
      units.insert(units.end(), element == '-' ? 3 : 1, true);
      units.push_back(false);
    }
    units.insert(units.end(), 2, false);
  }
  while (!units.back()) units.pop_back();
  return units;
}

Duration morse_airtime(std::string_view text) {
  return static_cast<Duration::rep>(morse_units(text).size()) * kMorseUnit;
}

}  // namespace s5066::modem
