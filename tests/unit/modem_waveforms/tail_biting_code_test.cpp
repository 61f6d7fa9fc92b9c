// SPDX-License-Identifier: Apache-2.0
// The surplus is the information in the soft bits beyond what is needed to choose the decoded word.
#include "modem/waveforms/framed/tail_biting_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "s5066d/base/rng.h"

namespace s5066::modem::framed {
namespace {

constexpr std::size_t kUserBits = 12000;

struct Kind {
  const char* name;
  TailBitingConfig config;
};

// Each step of the interleaver is coprime to its size.
std::vector<Kind> kinds() {
  return {{"3/4",
           {.user_bits = kUserBits,
            .first = "110",
            .second = "101",
            .interleaver = {.size = 16000, .increment = 333}}},
          {"1/2",
           {.user_bits = kUserBits,
            .generators = dsp::kGenerators9,
            .interleaver = {.size = 24000, .increment = 511}}},
          {"1/8",
           {.user_bits = kUserBits,
            .repetition = 4,
            .interleaver = {.size = 96000, .increment = 2003}}}};
}

/// Returns the soft bits of a word that was sent as signs through white noise. They are `sureness`
/// times as large as they should be.
std::vector<float> soft_bits(const TailBitingConfig& config, double snr_db, double sureness,
                             std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint8_t> bits(config.user_bits);
  for (auto& bit : bits) bit = static_cast<std::uint8_t>(rng.below(2));
  const auto coded = encode_block(config, bits);
  std::vector<float> in_order;
  const double ratio = std::pow(10, snr_db / 10);  // of a coded bit to the noise in one dimension
  for (const std::uint8_t bit : coded) {
    const double heard = (bit == 0 ? 1 : -1) + rng.gaussian() / std::sqrt(ratio);
    in_order.push_back(static_cast<float>(sureness * 2 * ratio * heard));
  }
  std::vector<float> sent(in_order.size());
  dsp::Interleaver(config.interleaver).interleave<float>(in_order, sent);
  return sent;
}

float surplus_of(const TailBitingConfig& config, std::span<const float> llr) {
  TailBitingCode code(config, std::pmr::get_default_resource());
  std::vector<float> extrinsic(llr.size());
  code.decode(llr, extrinsic);
  return code.surplus();
}

TEST(TailBitingCode, soft_bits_without_noise_tell_everything) {
  for (const Kind& kind : kinds()) {
    EXPECT_GT(surplus_of(kind.config, soft_bits(kind.config, 20, 1, 3)), 0.99F) << kind.name;
  }
}

TEST(TailBitingCode, noise_tells_no_more_than_it_takes_to_choose_a_word) {
  Rng rng(7);
  for (const Kind& kind : kinds()) {
    for (const float loud : {0.1F, 1.0F, 10.0F}) {
      std::vector<float> llr(kind.config.interleaver.size);
      for (float& value : llr) value = loud * static_cast<float>(rng.gaussian());
      EXPECT_LT(surplus_of(kind.config, llr), 0.1F) << kind.name << ' ' << loud;
    }
  }
}

// Numerical integration gives the information that white noise leaves to a bit: 0.721 at 3 dB,
// 0.859 at 5, 0.912 at 6, 0.976 at 8. Four copies of a bit gain 6 dB.
TEST(TailBitingCode, the_surplus_is_what_noise_leaves_beyond_the_rate_however_sure_the_bits_are) {
  struct Row {
    std::size_t kind;
    double snr_db;
    double told;
    double rate;
  };
  for (const Row& row : {Row{0, 6, 0.912, 0.75}, Row{0, 8, 0.976, 0.75}, Row{1, 3, 0.721, 0.5},
                         Row{1, 5, 0.859, 0.5}, Row{2, -3.02, 0.721, 0.5}}) {
    const Kind kind = kinds()[row.kind];
    for (const double sureness : {0.5, 1.0, 3.0}) {
      const auto llr = soft_bits(kind.config, row.snr_db, sureness, 5);
      EXPECT_NEAR(surplus_of(kind.config, llr), (row.told - row.rate) / (1 - row.rate), 0.05)
          << kind.name << ' ' << row.snr_db << ' ' << sureness;
    }
  }
}

// Without a code there is no word to choose.
TEST(TailBitingCode, without_a_code_there_is_nothing_to_tell_against) {
  Rng rng(2);
  std::vector<float> llr(64);
  for (float& value : llr) value = static_cast<float>(rng.gaussian());
  EXPECT_EQ(surplus_of({.coded = false, .user_bits = 64}, llr), 1);
}

}  // namespace
}  // namespace s5066::modem::framed
