// SPDX-License-Identifier: Apache-2.0
// The code of STANAG 4285 over a stream of frames. It inserts the unsent bits, reverses the
// convolutional interleaver and the repetition, and decodes. It has no result for a frame until the
// bits in the interleaver have come, and uses no second pass.
#pragma once

#include <memory_resource>
#include <vector>

#include "modem/dsp/siso.h"
#include "modem/dsp/viterbi.h"
#include "modem/waveforms/framed/tail_biting_code.h"
#include "modem/waveforms/stanag4285/parameters.h"

namespace s5066::modem::stanag4285 {

class StreamCode final : public framed::BlockCode {
 public:
  StreamCode(const Parameters& p, std::pmr::memory_resource* memory);

  bool coded() const override { return p_.coded; }
  /// Decodes the next frame. `extrinsic` stays 0, and the result is 0 because another pass would
  /// not correct errors.
  float decode(std::span<const float> llr, std::span<float> extrinsic) override;
  std::span<const std::uint8_t> bits() const override { return bits_; }
  /// Returns the share of these bits, or of the previous ones if that is larger.
  float error_share() const override { return error_share_; }
  float support() const override { return support_; }

 private:
  void judge(std::span<const float> pairs);
  void take_group(std::span<const float> group);

  Parameters p_;
  dsp::ViterbiDecoder viterbi_;
  // Groups with missing rows, in the encoder's order.
  std::pmr::vector<float> held_;
  std::size_t groups_ = 0;         // groups received so far
  std::pmr::vector<float> sent_;   // bits of a frame, with the unsent ones
  std::pmr::vector<float> pairs_;  // pairs that were settled in this frame
  unsigned copies_ = 0;            // copies of the last pair that were added so far
  std::pmr::vector<std::uint8_t> bits_;
  dsp::SisoDecoder siso_;
  std::pmr::vector<float> recent_;  // pairs, the last of which are not certain yet
  std::pmr::vector<float> about_pairs_;
  std::pmr::vector<float> information_;
  float last_share_ = 0;  // share of the bits of this frame
  float error_share_ = 0;
  std::pmr::vector<std::uint8_t> word_;  // the soft bits should support it
  float last_support_ = 1;               // support of this frame
  float support_ = 1;
};

}  // namespace s5066::modem::stanag4285
