// The code of STANAG 4285 over a stream of frames: puts back what was not sent, undoes the
// convolutional interleaver and the repetition, and decodes. It knows nothing about a frame until
// what the interleaver holds has come, and does not ask for another look.
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
  /// Of the next frame; `extrinsic` is left at 0, and no error is expected that would go away.
  float decode(std::span<const float> llr, std::span<float> extrinsic) override;
  std::span<const std::uint8_t> bits() const override { return bits_; }
  /// Of these, or of those before where more of them are.
  float error_share() const override { return error_share_; }
  float borne_out() const override { return borne_out_; }

 private:
  void judge(std::span<const float> pairs);
  void take_group(std::span<const float> group);

  Parameters p_;
  dsp::ViterbiDecoder viterbi_;
  std::pmr::vector<float> held_;   // groups that rows are still missing of, in the encoder's order
  std::size_t groups_ = 0;         // received so far
  std::pmr::vector<float> sent_;   // of a frame, with what was not sent
  std::pmr::vector<float> pairs_;  // settled in this frame
  unsigned copies_ = 0;            // of the last pair, added up so far
  std::pmr::vector<std::uint8_t> bits_;
  dsp::SisoDecoder siso_;
  std::pmr::vector<float> recent_;  // pairs, the last of which nobody is sure of yet
  std::pmr::vector<float> about_pairs_;
  std::pmr::vector<float> information_;
  float last_share_ = 0;  // of the bits of this frame
  float error_share_ = 0;
  std::pmr::vector<std::uint8_t> word_;  // that the soft bits should bear out
  float last_borne_out_ = 1;             // by this frame
  float borne_out_ = 1;
};

}  // namespace s5066::modem::stanag4285
