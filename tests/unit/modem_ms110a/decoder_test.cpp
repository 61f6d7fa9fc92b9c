// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/demapper.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::ms110a {
namespace {

Bytes random_octets(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  Bytes bytes(count);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

// Returns the soft bits of the blocks of a transmission, made directly from its symbols.
std::vector<std::vector<float>> blocks_of(const Mode& mode, const Bytes& octets) {
  const Parameters p = parameters(mode);
  const auto tribits = symbols(parameters(mode), octets);
  const std::size_t first = p.segments * kSegmentSymbols;
  std::vector<std::vector<float>> blocks;
  for (std::size_t at = first; at < tribits.size(); at += p.frame_symbols()) {
    const std::size_t frame = (at - first) / p.frame_symbols();
    if (frame % p.frames_per_block == 0) blocks.emplace_back();
    std::vector<float> llr(p.frame_bits());
    const auto scrambler = [&](unsigned n) {
      return data_scrambler()[(at - first + n) % kDataScramblerPeriod];
    };
    if (p.walsh) {
      for (unsigned bits = 0; bits < 4; ++bits) {
        const auto& pattern =
            walsh_pattern(p, static_cast<unsigned>(frame % p.frames_per_cycle), bits);
        bool same = true;
        for (unsigned n = 0; n < p.data_symbols; ++n) {
          same = same && ((pattern[n % 8] + scrambler(n)) & 7) == tribits[at + n];
        }
        if (same) llr = {bits & 2 ? -9.0F : 9.0F, bits & 1 ? -9.0F : 9.0F};
      }
    } else {
      for (unsigned n = 0; n < p.data_symbols; ++n) {
        demap(p.bits_per_symbol, framed::phase(tribits[at + n]), 0.1F, scrambler(n),
              std::span(llr).subspan(std::size_t{n} * p.bits_per_symbol, p.bits_per_symbol));
      }
    }
    blocks.back().insert(blocks.back().end(), llr.begin(), llr.end());
  }
  return blocks;
}

TEST(Demapper, undoes_the_mapping_and_the_scrambler) {
  for (unsigned bits_per_symbol = 1; bits_per_symbol <= 3; ++bits_per_symbol) {
    for (std::uint8_t scrambler = 0; scrambler < 8; ++scrambler) {
      for (unsigned bits = 0; bits < 1U << bits_per_symbol; ++bits) {
        const auto tribit =
            static_cast<std::uint8_t>(tribit_of_bits(bits_per_symbol, bits) + scrambler);
        std::array<float, 3> llr{};
        const auto soft = demap(bits_per_symbol, framed::phase(tribit), 0.05F, scrambler, llr);
        for (unsigned b = 0; b < bits_per_symbol; ++b) {
          const bool one = bits >> (bits_per_symbol - 1 - b) & 1;
          EXPECT_EQ(llr[b] < 0, one);
        }
        EXPECT_LT(std::abs(soft.mean - framed::phase(tribit)), 0.05F);
        EXPECT_LT(soft.variance, 0.1F);
      }
    }
  }
}

TEST(Demapper, knows_nothing_when_nothing_is_said) {
  for (unsigned bits_per_symbol = 1; bits_per_symbol <= 3; ++bits_per_symbol) {
    std::array<float, 3> llr{};
    const auto soft = demap(bits_per_symbol, {0.3F, 0.1F}, 1e5F, 3, llr);
    for (const float value : llr) EXPECT_NEAR(value, 0, 1e-4F);
    EXPECT_NEAR(std::abs(soft.mean), 0, 1e-4F);
    EXPECT_NEAR(soft.variance, 1, 1e-4F);
  }
}

// Log-likelihood ratios are calibrated if a share 1 / (1 + exp |L|) of the bits with ratio L is
// wrong.
TEST(Demapper, log_likelihood_ratios_are_calibrated) {
  Rng rng(1);
  for (unsigned bits_per_symbol = 1; bits_per_symbol <= 3; ++bits_per_symbol) {
    double expected_wrong = 0;
    double wrong = 0;
    for (int trial = 0; trial < 60000; ++trial) {
      const unsigned bits = rng.below(1U << bits_per_symbol);
      const double deviation = std::sqrt(0.5 / 2);
      const auto re = static_cast<float>(deviation * rng.gaussian());
      const auto im = static_cast<float>(deviation * rng.gaussian());
      std::array<float, 3> llr{};
      demap(bits_per_symbol,
            framed::phase(tribit_of_bits(bits_per_symbol, bits)) + std::complex<float>(re, im),
            0.5F, 0, llr);
      for (unsigned b = 0; b < bits_per_symbol; ++b) {
        const bool one = bits >> (bits_per_symbol - 1 - b) & 1;
        wrong += (llr[b] < 0) != one;
        expected_wrong += 1 / (1 + std::exp(std::abs(llr[b])));
      }
    }
    EXPECT_NEAR(wrong / expected_wrong, 1, 0.05) << bits_per_symbol;
  }
}

TEST(BlockDecoder, gives_every_octet_once_and_stops_at_the_mark) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::ms110a) continue;
    for (std::size_t count = 0; count < 60; count += 7) {
      const Bytes octets = random_octets(count, count);
      BlockDecoder decoder(parameters(mode));
      Bytes got;
      for (const auto& llr : blocks_of(mode, octets)) {
        decoder.take(llr);
        const auto portion = decoder.message().take();
        EXPECT_EQ(portion.first_bit, 8 * got.size());
        append(got, portion.bytes);
      }
      EXPECT_EQ(got, octets) << to_string(mode);
      const auto& mark = decoder.message().mark();
      ASSERT_TRUE(mark);
      EXPECT_TRUE(mark->filled);
      EXPECT_EQ(mark->end, 8 * count + 32);
      const std::uint64_t block = parameters(mode).block_user_bits();
      EXPECT_EQ(mark->transmission, (8 * count + 176 + block - 1) / block * block);
    }
  }
}

// The mark can be anywhere if a sender joins late or counts in bits. Here the decoder starts one
// block late, with a wrong state and shifted octets.
TEST(BlockDecoder, finds_the_mark_although_it_missed_the_first_block) {
  const Mode mode{Waveform::ms110a, 300, Interleaver::short_};  // 180 bits are no whole octets
  const auto sent = blocks_of(mode, random_octets(70, 1));
  BlockDecoder decoder(parameters(mode));
  for (std::size_t i = 1; i < sent.size(); ++i) decoder.take(sent[i]);
  const auto& mark = decoder.message().mark();
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->filled);
  EXPECT_EQ(mark->transmission, (sent.size() - 1) * 180);
}

// The equaliser gets back nothing that it said itself.
TEST(BlockDecoder, feeds_back_what_other_bits_say_about_a_bit) {
  for (const char* text : {"110a-150-short", "110a-1200-long", "110a-2400-short"}) {
    const Mode mode = *parse_mode(text);
    const auto sent = blocks_of(mode, random_octets(10, 1));
    std::vector<float> llr = sent.front();
    Rng rng(2);
    for (float& value : llr) value = rng.chance(0.2) ? 0 : value;
    BlockDecoder decoder(parameters(mode));
    std::vector<float> extrinsic(llr.size());
    EXPECT_GT(decoder.feed_back(llr, extrinsic), 5) << text;
    unsigned wrong = 0;
    for (std::size_t i = 0; i < llr.size(); ++i) {
      wrong += (extrinsic[i] < 0) != (sent.front()[i] < 0);
    }
    // The errors are at the end of the block.
    EXPECT_LE(wrong, 2 * parameters(mode).repetition * 8) << text;
  }
}

}  // namespace
}  // namespace s5066::modem::ms110a
