// From the soft bits of an interleaver block to octets: undoes interleaving, repetition and
// convolutional code.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "modem/dsp/interleaver.h"
#include "modem/dsp/siso.h"
#include "modem/dsp/viterbi.h"
#include "modem/waveforms/message/message_bits.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem::ms110a {

class BlockDecoder {
 public:
  /// Takes all memory that it needs for a block, or without an interleaver for so many soft bits.
  static constexpr std::size_t kLlrAtOnceMax = 1024;
  explicit BlockDecoder(const Parameters& p,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Decodes the soft bits of a whole block without taking it: writes what the code says about each
  /// of them beyond itself, and returns how sure the least sure of its information bits is, the
  /// last ones apart, which need the next block. A log-likelihood ratio.
  float feed_back(std::span<const float> llr, std::span<float> extrinsic) const;
  /// Decodes whole blocks for good: one with an interleaver, any number without. Their bits are
  /// then in the message, and have been judged.
  void take(std::span<const float> llr);
  MessageBits& message() { return message_; }
  /// Bits that are probably wrong in the block taken last, as a share of all up to the mark.
  float error_share() const { return error_share_; }
  /// At 75 bit/s: how well the soft bits bear out what was decided last, the bits of the last
  /// take() and those before them up to a number that tells something. See dsp::surplus().
  float surplus() const { return surplus_; }

 private:
  float wrong_share(std::size_t unsure, std::uint64_t to_bit) const;
  void judge_word();
  void combine_repeated(std::span<const float> llr) const;

  Parameters p_;
  std::optional<dsp::Interleaver> interleaver_;
  dsp::ViterbiDecoder viterbi_;
  dsp::SisoDecoder::States start_ = dsp::SisoDecoder::zero_state();  // of the next block
  std::uint64_t information_before_ = 0;                             // bits of the blocks before
  float error_share_ = 0;
  float surplus_ = 0;
  MessageBits message_;
  // Scratch of a call.
  mutable dsp::SisoDecoder siso_;
  mutable std::pmr::vector<float> loaded_;
  mutable std::pmr::vector<float> pairs_;
  mutable std::pmr::vector<float> about_pairs_;
  mutable std::pmr::vector<float> information_;
  std::pmr::vector<std::uint8_t> bits_;  // decoded by this call
  /// At 75 bit/s: what was decided last, behind what was in the encoder's memory then, and the soft
  /// bits from there on.
  std::pmr::vector<std::uint8_t> word_;
  std::pmr::vector<float> pairs_of_word_;
};

}  // namespace s5066::modem::ms110a
