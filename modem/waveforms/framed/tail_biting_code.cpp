// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/tail_biting_code.h"

#include <algorithm>

#include "modem/dsp/surplus.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::framed {
namespace {
/// After this many bits the decoder's result does not depend on its start.
constexpr std::size_t kWrap = 144;
/// A word that is only the nearest one reaches kSurplusOfChance after all passes. Each surplus
/// beyond that adds kQualityOfSurplus times as much quality. Of blocks through two paths that fade
/// at 1 Hz, one of three is wrong at a surplus of 0.35, and one of a hundred at 0.55.
constexpr float kSurplusOfChance = 0.1F;
constexpr float kQualityOfSurplus = 2;
constexpr dsp::Interleaver::Steps kNone{.size = 1, .increment = 1};
}  // namespace

std::vector<std::uint8_t> encode_block(const TailBitingConfig& config,
                                       std::span<const std::uint8_t> bits) {
  const std::size_t tail = config.generators.constraint - 1;
  S5066_ASSERT(bits.size() > tail);
  dsp::ConvolutionalEncoder encoder(config.generators);
  for (std::size_t i = 0; i < tail; ++i) encoder.encode(bits[i]);
  std::vector<std::uint8_t> coded;
  coded.reserve(2 * config.repetition * bits.size());
  std::size_t sent = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const auto pair = encoder.encode(bits[(i + tail) % bits.size()]);
    for (unsigned copy = 0; copy < config.repetition; ++copy, ++sent) {
      if (config.first[sent % config.first.size()] == '1') coded.push_back(pair.first);
      if (config.second[sent % config.second.size()] == '1') coded.push_back(pair.second);
    }
  }
  return coded;
}

TailBitingCode::TailBitingCode(const TailBitingConfig& config, std::pmr::memory_resource* memory)
    : config_(config),
      interleaver_(config.coded ? config.interleaver : kNone, memory),
      siso_(std::in_place_type<dsp::SisoDecoderOf<7>>, memory),
      loaded_(memory),
      pairs_(memory),
      extrinsic_(memory),
      information_(memory),
      bits_(memory) {
  bits_.resize(config.user_bits + tail_bits());
  if (!config.coded) return;
  if (config.generators.constraint == 9) siso_.emplace<dsp::SisoDecoderOf<9>>(memory);
  loaded_.resize(interleaver_.size());
  information_.resize(config.user_bits + 2 * kWrap);
  pairs_.resize(2 * information_.size());
  extrinsic_.resize(pairs_.size());
}

bool TailBitingCode::is_sent(std::size_t pair, unsigned output) const {
  const std::string_view pattern = output == 0 ? config_.first : config_.second;
  return pattern[pair % pattern.size()] == '1';
}

float TailBitingCode::decode(std::span<const float> llr, std::span<float> extrinsic) {
  S5066_ASSERT(extrinsic.size() == llr.size());
  expected_errors_ = 0;
  if (!config_.coded) {
    std::fill(extrinsic.begin(), extrinsic.end(), 0.0F);
    decide(llr.first(config_.user_bits));
    return 0;
  }
  S5066_ASSERT(llr.size() == interleaver_.size());
  interleaver_.deinterleave<float>(llr, loaded_);
  const std::size_t count = config_.user_bits;
  float* const own = pairs_.data() + 2 * kWrap;
  std::fill_n(own, 2 * count, 0.0F);
  std::size_t from = 0;
  const auto for_each_sent = [&](const auto& visit) {
    for (std::size_t pair = 0; pair < count * config_.repetition; ++pair) {
      for (unsigned output = 0; output < 2; ++output) {
        if (is_sent(pair, output)) visit(2 * (pair / config_.repetition) + output);
      }
    }
  };
  for_each_sent([&](std::size_t at) { own[at] += loaded_[from++]; });
  // A short block is wrapped around more than once.
  for (std::size_t i = 0; i < 2 * kWrap; ++i) {
    pairs_[2 * kWrap - 1 - i] = own[2 * count - 1 - i % (2 * count)];
    own[2 * count + i] = own[i % (2 * count)];
  }
  std::visit(
      [&](auto& siso) {
        siso.decode({.llr = pairs_,
                     .start = siso.any_state(),
                     .extrinsic = extrinsic_,
                     .information = information_});
      },
      siso_);
  // A repeated bit gets information from its other copies as well.
  std::size_t to = 0;
  for_each_sent([&](std::size_t at) {
    loaded_[to] = extrinsic_[2 * kWrap + at] + own[at] - loaded_[to];
    ++to;
  });
  interleaver_.interleave<float>(loaded_, extrinsic);
  decide(std::span<const float>(information_).subspan(kWrap, count));
  return expected_errors_;
}

float TailBitingCode::support() const {
  return std::clamp(kQualityOfSurplus * (surplus() - kSurplusOfChance), 0.0F, 1.0F);
}

// Copies of a bit count as one, as they do for the decoder.
float TailBitingCode::surplus() const {
  if (!config_.coded) return 1;
  const auto own = std::span<const float>(pairs_).subspan(2 * kWrap, 2 * config_.user_bits);
  return dsp::surplus(config_.generators, own, bits_);
}

// The first pair belongs to the bit behind those with which the encoder began.
void TailBitingCode::decide(std::span<const float> information) {
  const std::size_t tail = tail_bits();
  for (std::size_t i = 0; i < information.size(); ++i) bits_[i + tail] = information[i] < 0 ? 1 : 0;
  std::copy_n(bits_.end() - static_cast<std::ptrdiff_t>(tail), tail, bits_.begin());
  expected_errors_ = dsp::expected_errors(information);
}

}  // namespace s5066::modem::framed
