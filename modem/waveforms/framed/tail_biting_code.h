// The code over one interleaver block of STANAG 4539 and 110D: convolutional, biting its tail,
// repeated or punctured, interleaved in steps. The encoder begins with the first bits in its memory
// and ends with them, so the first two coded bits are those of the bit behind them.
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
  bool coded = true;  // else bits are sent as they are, in order
  std::size_t user_bits = 0;
  unsigned repetition = 1;  // how often each coded pair is sent
  /// Which of both bits of a pair are sent, pair by pair after repetition, over and over: '1' is.
  std::string_view first = "1";
  std::string_view second = "1";
  dsp::CodeGenerators generators = dsp::kGenerators7;
  dsp::Interleaver::Steps interleaver;
};

/// Coded bits of one block, not yet interleaved.
std::vector<std::uint8_t> encode_block(const TailBitingConfig& config,
                                       std::span<const std::uint8_t> bits);

/// What a code over blocks of soft bits offers to a receiver.
class BlockCode {
 public:
  virtual ~BlockCode() = default;
  /// Else bits() are those received, and nothing checks them.
  virtual bool coded() const = 0;
  /// `llr` and `extrinsic` hold a value for each bit of the block in the order sent, positive for
  /// 0; `extrinsic` is what the other bits say about a bit. Returns how many wrong bits are to be
  /// expected among bits(), if another look could make them fewer.
  virtual float decode(std::span<const float> llr, std::span<float> extrinsic) = 0;
  /// The user's bits as they look after the last decode().
  virtual std::span<const std::uint8_t> bits() const = 0;
  /// Of these, how many are probably wrong.
  virtual float error_share() const = 0;
  /// The most quality that these may have by how well the soft bits bear them out: 1 where that is
  /// not told.
  virtual float borne_out() const = 0;
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
  float borne_out() const override;
  /// See dsp::surplus(); 1 without a code.
  float surplus() const;

 private:
  void decide(std::span<const float> information);
  std::size_t tail_bits() const { return config_.coded ? config_.generators.constraint - 1 : 0; }
  bool is_sent(std::size_t pair, unsigned output) const;

  TailBitingConfig config_;
  dsp::Interleaver interleaver_;
  std::variant<dsp::SisoDecoderOf<7>, dsp::SisoDecoderOf<9>> siso_;
  std::pmr::vector<float> loaded_;       // in the encoder's order
  std::pmr::vector<float> pairs_;        // with those not sent as 0, and the ends wrapped around
  std::pmr::vector<float> extrinsic_;    // of pairs_
  std::pmr::vector<float> information_;  // of each pair
  std::pmr::vector<std::uint8_t> bits_;  // and the first ones again, as the encoder ends with them
  float expected_errors_ = 0;
};

}  // namespace s5066::modem::framed
