// SPDX-License-Identifier: Apache-2.0
// StreamCode tells frames that are code words from other frames.
#include "modem/waveforms/stanag4285/stream_code.h"

#include <gtest/gtest.h>

#include <memory_resource>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::stanag4285 {
namespace {

class Frames {
 public:
  explicit Frames(const Mode& mode)
      : p_(parameters(mode)), code_(p_, std::pmr::get_default_resource()) {}

  /// Decodes the soft bits of a code word, or of random bits. Returns the share of the frame that
  /// the code bears out.
  float next(bool word) {
    std::vector<float> llr;
    while (llr.size() < p_.frame_bits()) {
      const auto pair = encoder_.encode(bit());
      llr.push_back(soft(word ? pair.first : bit()));
      llr.push_back(soft(word ? pair.second : bit()));
    }
    std::vector<float> extrinsic(llr.size());
    code_.decode(llr, extrinsic);
    return code_.support();
  }

 private:
  std::uint8_t bit() { return static_cast<std::uint8_t>(rng_.below(2)); }
  static float soft(std::uint8_t bit) { return bit != 0 ? -20 : 20; }

  Rng rng_{1};
  Parameters p_;
  StreamCode code_;
  dsp::ConvolutionalEncoder encoder_;
};

// The code must refuse such frames however sure the soft bits are. The octets of a frame come
// together with those of the next frame.
TEST(StreamCode, bears_out_no_frame_that_is_not_a_word_nor_the_next) {
  Frames frames(
      {.waveform = Waveform::stanag4285, .rate_bps = 1200, .interleaver = Interleaver::zero});
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(frames.next(true), 1) << i;
  frames.next(false);
  EXPECT_LT(frames.next(false), 0.5);
  EXPECT_LT(frames.next(true), 0.5);
  frames.next(true);
  EXPECT_EQ(frames.next(true), 1);
}

}  // namespace
}  // namespace s5066::modem::stanag4285
