// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/symbols.h"

#include "modem/api/airtime.h"
#include "modem/waveforms/message/message_bits.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4539 {
namespace {

using Bits = std::vector<std::uint8_t>;

/// Appends frames, and a preamble between cycles.
class Composer {
 public:
  Composer(const Parameters& p, std::vector<std::uint8_t>& out)
      : p_(p), preamble_(preamble(p)), out_(out) {
    out_.insert(out_.end(), preamble_.begin(), preamble_.end());
  }

  void add_frame(std::span<const std::uint8_t> bits) {
    if (frame_ == kFramesInCycle) {
      out_.insert(out_.end(), preamble_.end() - kInsertedSymbols, preamble_.end());
      frame_ = 0;
    }
    const auto scrambling = scrambler(p_);
    for (unsigned n = 0; n < kFrameData; ++n) {
      unsigned group = 0;
      for (unsigned b = 0; b < p_.bits_per_symbol; ++b) {
        group = group << 1 | bits[n * p_.bits_per_symbol + b];
      }
      out_.push_back(data_number(p_, group, scrambling[n]));
    }
    const unsigned turned = probe_is_negative(p_, frame_) ? 4 : 0;
    for (const std::uint8_t number : probe()) out_.push_back((number + turned) & 7);
    ++frame_;
  }

 private:
  const Parameters& p_;
  std::array<std::uint8_t, kPreambleSymbols> preamble_;
  std::vector<std::uint8_t>& out_;
  unsigned frame_ = 0;  // number of the frame in the cycle
};

}  // namespace

std::vector<std::uint8_t> symbols(const Mode& mode, ByteSpan bytes) {
  const Parameters p = parameters(mode);
  const unsigned block_bits = p.block_user_bits();
  const Bits bits = message_bits(bytes, {.block_bits = block_bits});
  std::vector<std::uint8_t> out;
  out.reserve(burst_symbols(mode, bytes.size()));
  Composer composer(p, out);
  const std::size_t frame_bits = std::size_t{kFrameData} * p.bits_per_symbol;
  if (!p.coded) {
    for (std::size_t at = 0; at < bits.size(); at += frame_bits) {
      composer.add_frame(std::span(bits).subspan(at, frame_bits));
    }
    return out;
  }
  const dsp::Interleaver interleaver(p.interleaver);
  const framed::TailBitingConfig code = code_of(p);
  Bits fetched(interleaver.size());
  for (std::size_t at = 0; at < bits.size(); at += block_bits) {
    const Bits coded = framed::encode_block(code, std::span(bits).subspan(at, block_bits));
    interleaver.interleave<std::uint8_t>(coded, fetched);
    for (std::size_t frame = 0; frame < fetched.size(); frame += frame_bits) {
      composer.add_frame(std::span(fetched).subspan(frame, frame_bits));
    }
  }
  return out;
}

}  // namespace s5066::modem::stanag4539
