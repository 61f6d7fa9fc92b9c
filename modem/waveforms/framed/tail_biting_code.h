// SPDX-License-Identifier: Apache-2.0
// The code over one interleaver block of STANAG 4539 and 110D. It is convolutional, tail-biting,
// repeated or punctured, and interleaved in steps. The encoder begins with the first bits in its
// memory and ends with them, so the first two coded bits are those of the bit behind them.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/dsp/interleaver.h"
#include "modem/dsp/siso.h"
#include "modem/dsp/viterbi.h"

namespace s5066::modem::framed {

struct TailBitingConfig {
  bool coded = true;  // otherwise bits are sent unchanged, in order
  std::size_t user_bits = 0;
  unsigned repetition = 1;  // each coded pair is sent so often
  /// The patterns state which of both bits of a pair are sent, pair by pair after repetition; '1'
  /// means sent. They repeat.
  std::string_view first = "1";
  std::string_view second = "1";
  dsp::CodeGenerators generators = dsp::kGenerators7;
  dsp::Interleaver::Steps interleaver;
};

/// Returns the coded bits of one block before interleaving.
std::vector<std::uint8_t> encode_block(const TailBitingConfig& config,
                                       std::span<const std::uint8_t> bits);

/// This is the interface of a code over blocks of soft bits for a receiver.
class BlockCode {
 public:
  virtual ~BlockCode() = default;
  /// Returns false if bits() are the received ones, which no code checks.
  virtual bool coded() const = 0;
  /// `llr` and `extrinsic` hold a value for each bit of the block in the order sent, positive for
  /// 0. `extrinsic` is the information of the other bits about a bit. Returns the number of wrong
  /// bits to be expected among bits(), if another pass could reduce it.
  virtual float decode(std::span<const float> llr, std::span<float> extrinsic) = 0;
  /// Returns the user's bits after the last decode().
  virtual std::span<const std::uint8_t> bits() const = 0;
  /// Returns the share of these bits that is probably wrong.
  virtual float error_share() const = 0;
  /// Returns the highest quality that these bits may have, by how well the soft bits support them.
  /// It is 1 if that is not measured.
  virtual float support() const = 0;
};

class TailBitingCode final : public BlockCode {
 public:
  TailBitingCode(const TailBitingConfig& config, std::pmr::memory_resource* memory);

  bool coded() const override { return config_.coded; }
  float decode(std::span<const float> llr, std::span<float> extrinsic) override;
  std::span<const std::uint8_t> bits() const override {
    return std::span(bits_).first(config_.user_bits);
  }
  float error_share() const override {
    return expected_errors_ / static_cast<float>(config_.user_bits);
  }
  float support() const override;
  /// Returns dsp::surplus(), or 1 without a code.
  float surplus() const;

 private:
  void decide(std::span<const float> information);
  std::size_t tail_bits() const { return config_.coded ? config_.generators.constraint - 1 : 0; }
  bool is_sent(std::size_t pair, unsigned output) const;

  TailBitingConfig config_;
  dsp::Interleaver interleaver_;
  std::variant<dsp::SisoDecoderOf<7>, dsp::SisoDecoderOf<9>> siso_;
  std::pmr::vector<float> loaded_;       // soft bits in the encoder's order
  std::pmr::vector<float> pairs_;        // unsent ones are 0; both ends are wrapped around
  std::pmr::vector<float> extrinsic_;    // extrinsic information for pairs_
  std::pmr::vector<float> information_;  // one value for each pair
  // The first bits are repeated at the end, as the encoder ends with them.
  std::pmr::vector<std::uint8_t> bits_;
  float expected_errors_ = 0;
};

}  // namespace s5066::modem::framed
