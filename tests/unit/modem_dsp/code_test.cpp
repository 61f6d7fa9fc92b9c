// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "modem/dsp/interleaver.h"
#include "modem/dsp/viterbi.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

std::vector<std::uint8_t> random_bits(Rng& rng, std::size_t count) {
  std::vector<std::uint8_t> bits(count);
  for (auto& bit : bits) bit = static_cast<std::uint8_t>(rng.below(2));
  return bits;
}

std::vector<float> coded_llr(const std::vector<std::uint8_t>& bits) {
  ConvolutionalEncoder encoder;
  std::vector<float> llr;
  for (const std::uint8_t bit : bits) {
    const auto pair = encoder.encode(bit);
    llr.push_back(pair.first ? -1.0F : 1.0F);
    llr.push_back(pair.second ? -1.0F : 1.0F);
  }
  return llr;
}

TEST(Interleaver, fetches_in_the_order_of_the_reference) {
  const Interleaver short_2400({.rows = 40, .columns = 72});
  const std::vector<std::size_t> expected = {0, 2209, 1538, 867, 196, 2365, 1694, 1023};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(short_2400.load_index(i), expected[i]);
  }
  const Interleaver short_75({.rows = 10, .columns = 9, .row_step = 7, .column_step = 7});
  const std::vector<std::size_t> expected_75 = {0, 23, 46, 69, 82, 15, 38, 51, 74, 7, 10, 33};
  for (std::size_t i = 0; i < expected_75.size(); ++i) {
    EXPECT_EQ(short_75.load_index(i), expected_75[i]);
  }
  const Interleaver long_2400({.rows = 40, .columns = 576});
  EXPECT_EQ(long_2400.load_index(1) / 40, 559u);
  EXPECT_EQ(long_2400.load_index(2) / 40, 542u);
}

TEST(Interleaver, undoes_itself) {
  const Interleaver interleaver({.rows = 40, .columns = 18});
  std::vector<float> in(interleaver.size());
  std::iota(in.begin(), in.end(), 0.0F);
  std::vector<float> fetched(in.size());
  std::vector<float> back(in.size());
  interleaver.interleave<float>(in, fetched);
  interleaver.deinterleave<float>(fetched, back);
  EXPECT_NE(in, fetched);
  EXPECT_EQ(in, back);
}

TEST(ConvolutionalEncoder, answers_a_single_one_with_its_generators) {
  ConvolutionalEncoder encoder;
  std::vector<int> first;
  std::vector<int> second;
  for (int i = 0; i < 7; ++i) {
    const auto pair = encoder.encode(i == 0);
    first.push_back(pair.first);
    second.push_back(pair.second);
  }
  EXPECT_EQ(first, (std::vector<int>{1, 0, 1, 1, 0, 1, 1}));   // generator 133 octal
  EXPECT_EQ(second, (std::vector<int>{1, 1, 1, 1, 0, 0, 1}));  // generator 171 octal
}

TEST(Viterbi, gives_every_bit_back_in_portions_of_any_size) {
  Rng rng(1);
  const auto bits = random_bits(rng, 5000);
  const auto llr = coded_llr(bits);
  ViterbiDecoder decoder;
  std::pmr::vector<std::uint8_t> decoded;
  for (std::size_t at = 0; at < llr.size();) {
    const std::size_t count = std::min<std::size_t>(2 * (1 + rng.below(300)), llr.size() - at);
    decoder.decode(std::span(llr).subspan(at, count), decoded);
    at += count;
    EXPECT_EQ(decoded.size(), std::max(at / 2, ViterbiDecoder::kDepth) - ViterbiDecoder::kDepth);
  }
  decoder.finish(decoded);
  EXPECT_TRUE(std::ranges::equal(decoded, bits));
}

// The free distance of the code is 10, so four wrong hard decisions never matter and five can.
TEST(Viterbi, corrects_any_four_errors_that_stand_close) {
  Rng rng(2);
  for (int trial = 0; trial < 300; ++trial) {
    const auto bits = random_bits(rng, 200);
    auto llr = coded_llr(bits);
    const std::size_t start = rng.below(static_cast<std::uint32_t>(llr.size() - 200));
    std::vector<std::size_t> places(20);
    std::iota(places.begin(), places.end(), start);
    std::shuffle(places.begin(), places.end(), rng);
    for (int e = 0; e < 4; ++e) llr[places[e]] = -llr[places[e]];
    ViterbiDecoder decoder;
    std::pmr::vector<std::uint8_t> decoded;
    decoder.decode(llr, decoded);
    decoder.finish(decoded);
    EXPECT_TRUE(std::ranges::equal(decoded, bits));
  }
}

TEST(Viterbi, soft_erasures_cost_nothing_where_the_code_bridges_them) {
  Rng rng(3);
  const auto bits = random_bits(rng, 1000);
  auto llr = coded_llr(bits);
  for (std::size_t i = 0; i < llr.size(); i += 4) llr[i] = 0;  // puncturing to rate 2/3
  ViterbiDecoder decoder;
  std::pmr::vector<std::uint8_t> decoded;
  decoder.decode(llr, decoded);
  decoder.finish(decoded);
  EXPECT_TRUE(std::ranges::equal(decoded, bits));
}

TEST(Viterbi, survives_absurd_confidence) {
  Rng rng(4);
  const auto bits = random_bits(rng, 20000);
  auto llr = coded_llr(bits);
  for (float& value : llr) value *= 1e30F;
  ViterbiDecoder decoder;
  std::pmr::vector<std::uint8_t> decoded;
  decoder.decode(llr, decoded);
  decoder.finish(decoded);
  EXPECT_TRUE(std::ranges::equal(decoded, bits));
}

}  // namespace
}  // namespace s5066::modem::dsp
