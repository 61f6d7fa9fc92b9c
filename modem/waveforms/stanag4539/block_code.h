// The code over one interleaver block of STANAG 4539, softly: undoes interleaving, puncturing and
// the tail-biting convolutional code, and says what the code knows about every bit that was sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "modem/dsp/interleaver.h"
#include "modem/dsp/siso.h"
#include "modem/waveforms/stanag4539/parameters.h"

namespace s5066::modem::stanag4539 {

class BlockCode {
 public:
  explicit BlockCode(const Parameters& p);

  /// `llr` and `extrinsic` hold a value for each bit of the block in the order sent, positive for
  /// 0; `extrinsic` is what the other bits say about a bit. Returns how many wrong bits are to be
  /// expected among bits().
  float decode(std::span<const float> llr, std::span<float> extrinsic);
  /// The user's bits as they look after the last decode().
  std::span<const std::uint8_t> bits() const { return bits_; }

 private:
  void decide(std::span<const float> information);

  Parameters p_;
  dsp::Interleaver interleaver_;
  dsp::SisoDecoder siso_;
  std::vector<float> loaded_;       // punctured bits in the encoder's order
  std::vector<float> pairs_;        // with those not sent as 0, and the ends wrapped around
  std::vector<float> extrinsic_;    // of pairs_
  std::vector<float> information_;  // of each pair
  std::vector<std::uint8_t> bits_;
  float expected_errors_ = 0;
};

}  // namespace s5066::modem::stanag4539
