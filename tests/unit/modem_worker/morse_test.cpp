// SPDX-License-Identifier: Apache-2.0
// The call sign in Morse code: its signs, its time on the air, and that a listener can read it.
#include "modem/api/morse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/burst_transmitter.h"
#include "modem/waveforms/morse_modulator.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kUnit = kSampleRate * 6 / 100;

std::string marks(std::string_view text) {
  std::string units;
  for (const bool on : morse_units(text)) units += on ? '=' : '.';
  return units;
}

/// Reads the samples as a person does who hears a tone or none in each unit.
std::string read(const std::vector<float>& samples) {
  // ITU-R M.1677-1, 1.1: some signs, written here once more.
  const std::map<std::string, char> signs = {
      {"-..", 'D'},  {".-..", 'L'},  {"-----", '0'}, {".-", 'A'},  {"-...", 'B'},
      {"-.-.", 'C'}, {"-..-.", '/'}, {"..---", '2'}, {"--", 'M'},  {".....", '5'},
      {"--.-", 'Q'}, {"...-", 'V'},  {"----.", '9'}, {"-..-", 'X'}};
  std::string text, sign;
  std::size_t on = 0;
  std::size_t off = 0;
  const auto end_sign = [&] {
    if (sign.empty()) return;
    const auto known = signs.find(sign);
    text += known == signs.end() ? '?' : known->second;
    sign.clear();
  };
  for (std::size_t at = 0; at + kUnit <= samples.size() + kUnit; at += kUnit) {
    double power = 0;
    for (std::size_t i = at; i < std::min(at + kUnit, samples.size()); ++i) {
      power += static_cast<double>(samples[i]) * samples[i];
    }
    if (power > 0.02 * static_cast<double>(kUnit)) {
      if (off >= 7) text += ' ';
      off = 0;
      ++on;
      continue;
    }
    if (on > 0) sign += on >= 3 ? '-' : '.';
    on = 0;
    if (++off == 3) end_sign();
  }
  end_sign();
  return text;
}

std::vector<float> sent(const std::string& text) {
  BurstTransmitter transmitter(std::make_unique<MorseModulator>(text));
  std::vector<float> samples(transmitter.total_samples());
  std::size_t done = 0;
  while (done < samples.size()) {  // in blocks, as a radio reads
    done += transmitter.read(
        std::span(samples).subspan(done, std::min<std::size_t>(192, samples.size() - done)));
  }
  return samples;
}

TEST(Morse, has_the_lengths_of_the_standard) {
  EXPECT_EQ(marks("E"), "=");
  EXPECT_EQ(marks("T"), "===");
  EXPECT_EQ(marks("AN"), "=.===...===.=");
  EXPECT_EQ(marks("E E"), "=.......=");
  // PARIS and the gap behind it have 50 units.
  EXPECT_EQ(morse_units("PARIS").size(), 43u);
  EXPECT_EQ(morse_airtime("PARIS"), 43 * kMorseUnit);
}

TEST(Morse, only_texts_with_signs_are_sent) {
  EXPECT_TRUE(is_morse_text("DL0ABC/P"));
  EXPECT_TRUE(is_morse_text(std::string(kMorseOctetsMax, 'E')));
  for (const std::string& bad :
       {std::string(), std::string(kMorseOctetsMax + 1, 'E'), std::string(" E"), std::string("E "),
        std::string("a-b"), std::string("\xC3\x84")}) {
    EXPECT_FALSE(is_morse_text(bad)) << bad;
  }
}

TEST(Morse, the_samples_decode_back_to_the_call_sign) {
  for (const std::string text : {"DL0ABC", "DL0ABC/M", "9A5X", "VQ2 DL0ABC"}) {
    const auto samples = sent(text);
    EXPECT_EQ(read(samples), text);
    EXPECT_EQ(samples.size(), morse_units(text).size() * kUnit);
    for (const float sample : samples) ASSERT_LE(std::abs(sample), 0.5001F);
  }
  EXPECT_EQ(read(sent("dl0abc")), "DL0ABC");
}

TEST(Morse, the_tone_rises_without_a_click) {
  const auto samples = sent("T");
  float largest_step = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    largest_step = std::max(largest_step, std::abs(samples[i] - samples[i - 1]));
  }
  // A tone of 1500 Hz and amplitude 0.5 moves by at most 0.5 * 2 sin(pi * 1500 / 9600).
  EXPECT_LE(largest_step, 0.475F);
  EXPECT_EQ(samples.front(), 0.0F);
  EXPECT_LT(std::abs(samples.back()), 0.01F);
}

}  // namespace
}  // namespace s5066::modem
