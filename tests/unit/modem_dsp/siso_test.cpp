// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/siso.h"

#include <gtest/gtest.h>

#include <cmath>

#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

std::vector<std::uint8_t> random_bits(Rng& rng, std::size_t count) {
  std::vector<std::uint8_t> bits(count);
  for (auto& bit : bits) bit = static_cast<std::uint8_t>(rng.below(2));
  return bits;
}

// Returns the coded bits as +1 and -1 with noise, as log-likelihood ratios.
std::vector<float> noisy_llr(const std::vector<std::uint8_t>& bits, double deviation, Rng& rng,
                             const CodeGenerators& generators = kGenerators7) {
  ConvolutionalEncoder encoder(generators);
  std::vector<float> llr;
  const auto push = [&](std::uint8_t coded) {
    const double value = (coded ? -1 : 1) + deviation * rng.gaussian();
    llr.push_back(static_cast<float>(2 * value / (deviation * deviation)));
  };
  for (const std::uint8_t bit : bits) {
    const auto pair = encoder.encode(bit);
    push(pair.first);
    push(pair.second);
  }
  return llr;
}

struct Decoded {
  std::vector<float> extrinsic;
  std::vector<float> information;
  SisoDecoder::States end;
};

Decoded decode(std::span<const float> llr, const SisoDecoder::States& start) {
  Decoded out{std::vector<float>(llr.size()), std::vector<float>(llr.size() / 2), {}};
  out.end = SisoDecoder().decode({llr, start, out.extrinsic, out.information});
  return out;
}

// The definition sums over every possible message, weighted with its probability.
template <unsigned kConstraint>
void expect_sums_over_all_messages(const CodeGenerators& generators) {
  using Decoder = SisoDecoderOf<kConstraint>;
  constexpr unsigned kBits = 11;
  Rng rng(1);
  for (int trial = 0; trial < 20; ++trial) {
    const auto llr = noisy_llr(random_bits(rng, kBits), 1.0, rng, generators);
    std::array<std::array<double, 2>, 2 * kBits> coded{};
    std::array<std::array<double, 2>, kBits> plain{};
    for (unsigned message = 0; message < 1U << kBits; ++message) {
      ConvolutionalEncoder encoder(generators);
      double weight = 0;
      std::array<unsigned, 2 * kBits> word{};
      for (unsigned n = 0; n < kBits; ++n) {
        const auto pair = encoder.encode(message >> n & 1);
        word[2 * n] = pair.first;
        word[2 * n + 1] = pair.second;
      }
      for (unsigned n = 0; n < 2 * kBits; ++n) {
        weight += word[n] ? -0.5 * static_cast<double>(llr[n]) : 0.5 * static_cast<double>(llr[n]);
      }
      for (unsigned n = 0; n < 2 * kBits; ++n) coded[n][word[n]] += std::exp(weight);
      for (unsigned n = 0; n < kBits; ++n) plain[n][message >> n & 1] += std::exp(weight);
    }
    Decoded out{std::vector<float>(llr.size()), std::vector<float>(llr.size() / 2), {}};
    Decoder().decode({llr, Decoder::zero_state(), out.extrinsic, out.information});
    for (unsigned n = 0; n < kBits; ++n) {
      EXPECT_NEAR(out.information[n], std::log(plain[n][0] / plain[n][1]), 1e-3);
    }
    for (unsigned n = 0; n < 2 * kBits; ++n) {
      if (coded[n][1] == 0) continue;  // the first bits can have one value only for some messages
      EXPECT_NEAR(out.extrinsic[n] + llr[n], std::log(coded[n][0] / coded[n][1]), 1e-3);
    }
  }
}

TEST(SisoDecoder, sums_over_all_messages) {
  expect_sums_over_all_messages<7>(kGenerators7);
  expect_sums_over_all_messages<9>(kGenerators9);
}

TEST(SisoDecoder, leaves_out_what_a_bit_says_about_itself) {
  Rng rng(2);
  auto llr = noisy_llr(random_bits(rng, 600), 0.8, rng);
  const auto before = decode(llr, SisoDecoder::zero_state());
  for (const std::size_t at : {0U, 1U, 500U, 511U, 512U, 513U, 1199U}) {
    const float kept = llr[at];
    llr[at] = -3;
    EXPECT_NEAR(decode(llr, SisoDecoder::zero_state()).extrinsic[at], before.extrinsic[at], 0.01);
    llr[at] = kept;
  }
}

TEST(SisoDecoder, goes_on_where_the_last_stretch_ended) {
  Rng rng(3);
  const auto llr = noisy_llr(random_bits(rng, 1500), 0.9, rng);
  const auto whole = decode(llr, SisoDecoder::zero_state());
  const auto first = decode(std::span(llr).first(2 * 700), SisoDecoder::zero_state());
  const auto rest = decode(std::span(llr).subspan(2 * 700), first.end);
  for (std::size_t n = 0; n < 800; ++n) {
    EXPECT_NEAR(rest.information[n], whole.information[700 + n], 0.05) << n;
  }
  for (std::size_t n = 0; n < 600; ++n) {
    EXPECT_NEAR(first.information[n], whole.information[n], 0.05) << n;
  }
}

TEST(SisoDecoder, knows_messages_that_hard_decisions_would_lose) {
  Rng rng(4);
  const auto bits = random_bits(rng, 20000);
  // About 5 % of the bits are wrong before decoding.
  const auto out = decode(noisy_llr(bits, 0.6, rng), SisoDecoder::zero_state());
  unsigned wrong = 0;
  for (std::size_t n = 0; n + 40 < bits.size(); ++n) wrong += (out.information[n] < 0) != bits[n];
  EXPECT_LE(wrong, 2u);
}

TEST(SisoDecoder, says_nothing_without_evidence) {
  const std::vector<float> llr(2000, 0.0F);
  const auto out = decode(llr, SisoDecoder::any_state());
  for (const float value : out.extrinsic) EXPECT_NEAR(value, 0, 1e-3);
  for (const float value : out.information) EXPECT_NEAR(value, 0, 1e-3);
}

TEST(ExpectedErrors, are_more_where_ratios_claim_too_much) {
  const std::vector<float> llr{std::log(9.0F), -std::log(99.0F)};
  EXPECT_NEAR(expected_errors(llr), 0.11, 1e-5);
  EXPECT_NEAR(expected_errors(llr, 2), 1 / (1 + 3.0) + 1 / (1 + std::sqrt(99.0)), 1e-5);
}

TEST(SisoDecoder, survives_absurd_and_contradictory_confidence) {
  Rng rng(5);
  std::vector<float> llr(8000);
  for (float& value : llr) value = rng.chance(0.5) ? 1e30F : -1e30F;
  const auto noise = decode(llr, SisoDecoder::zero_state());
  for (const float value : noise.extrinsic) ASSERT_TRUE(std::isfinite(value));
  for (const float value : noise.information) ASSERT_TRUE(std::isfinite(value));
  const auto bits = random_bits(rng, 4000);
  llr = noisy_llr(bits, 0.01, rng);
  const auto clean = decode(llr, SisoDecoder::zero_state());
  for (std::size_t n = 0; n < bits.size(); ++n) EXPECT_EQ(clean.information[n] < 0, bits[n]) << n;
}

}  // namespace
}  // namespace s5066::modem::dsp
