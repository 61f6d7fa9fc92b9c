// SPDX-License-Identifier: Apache-2.0
// Decodes the soft bits of an interleaver block to octets: it undoes interleaving, repetition and
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
  /// The constructor takes all memory for one block, or, without an interleaver, for this many soft
  /// bits.
  static constexpr std::size_t kLlrAtOnceMax = 1024;
  explicit BlockDecoder(const Parameters& p,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Decodes the soft bits of a whole block without taking it: writes the extrinsic information of
  /// the code for each of them. Returns the log-likelihood ratio of the least certain information
  /// bit, without the last ones, which need the next block.
  float feed_back(std::span<const float> llr, std::span<float> extrinsic) const;
  /// Decodes whole blocks for good: one with an interleaver, any number without. Puts their bits
  /// into the message and judges them.
  void take(std::span<const float> llr);
  MessageBits& message() { return message_; }
  /// Returns the expected share of wrong bits in the block taken last, among all bits up to the
  /// mark.
  float error_share() const { return error_share_; }
  /// At 75 bit/s: returns how well the soft bits agree with the last decisions. It covers the bits
  /// of the last take(), and earlier ones up to the minimum for a judgement. See dsp::surplus().
  float surplus() const { return surplus_; }

 private:
  float wrong_share(std::size_t unsure, std::uint64_t to_bit) const;
  void judge_word();
  void combine_repeated(std::span<const float> llr) const;

  Parameters p_;
  std::optional<dsp::Interleaver> interleaver_;
  dsp::ViterbiDecoder viterbi_;
  dsp::SisoDecoder::States start_ = dsp::SisoDecoder::zero_state();  // state before the next block
  std::uint64_t information_before_ = 0;                             // bits of earlier blocks
  float error_share_ = 0;
  float surplus_ = 0;
  MessageBits message_;
  // Scratch memory of a call.
  mutable dsp::SisoDecoder siso_;
  mutable std::pmr::vector<float> loaded_;
  mutable std::pmr::vector<float> pairs_;
  mutable std::pmr::vector<float> about_pairs_;
  mutable std::pmr::vector<float> information_;
  std::pmr::vector<std::uint8_t> bits_;  // bits that this call decoded
  /// At 75 bit/s: the last decided bits, behind the contents of the encoder's memory before them,
  /// and their soft bits.
  std::pmr::vector<std::uint8_t> word_;
  std::pmr::vector<float> pairs_of_word_;
};

}  // namespace s5066::modem::ms110a
