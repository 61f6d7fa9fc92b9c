// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/viterbi.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/framed/tail_biting_code.h"
#include "modem/waveforms/message/message_bits.h"
#include "modem/waveforms/ms110d/code.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110d {
namespace {

using dsp::Complex;
using Bits = std::vector<std::uint8_t>;

void append_preamble(const Parameters& p, unsigned super_frames, std::vector<Complex>& out) {
  for (unsigned remaining = super_frames; remaining-- > 0;) {
    const auto dibits = super_frame(p, remaining);
    for (unsigned place = 0; place < kSuperFrameDibits; ++place) {
      for (const std::uint8_t number : channel_symbol(place, dibits[place])) {
        out.push_back(framed::phase(number));
      }
    }
  }
  const auto known = probe(p, false);
  out.insert(out.end(), known.begin(), known.end());
}

void append_walsh_block(const Bits& fetched, std::vector<Complex>& out) {
  const auto scrambling = walsh_scrambler();
  std::size_t sent = 0;
  for (std::size_t at = 0; at < fetched.size(); at += 2) {
    const auto& pattern =
        walsh_pattern(at + 2 == fetched.size(), 2U * fetched[at] + fetched[at + 1]);
    for (unsigned i = 0; i < kChannelSymbol; ++i) {
      out.push_back(framed::phase(pattern[i % 8] + scrambling[sent++ % scrambling.size()]));
    }
  }
}

}  // namespace

std::vector<Complex> symbols(const Parameters& p, std::span<const std::uint8_t> bytes,
                             unsigned super_frames) {
  S5066_ASSERT(super_frames > 0 && super_frames <= kSuperFramesMax);
  std::vector<Complex> out;
  append_preamble(p, super_frames, out);
  const Bits bits = message_bits(bytes, {.block_bits = p.block_user_bits});
  const framed::TailBitingConfig code = code_of(p);
  const dsp::Interleaver interleaver(p.interleaver);
  const auto points = framed::constellation(p.walsh ? 1 : p.bits_per_symbol);
  const auto scrambling = scrambler(p);
  Bits fetched(interleaver.size());
  std::uint64_t frame = 0;
  for (std::size_t at = 0; at < bits.size(); at += p.block_user_bits) {
    const Bits coded = framed::encode_block(code, std::span(bits).subspan(at, p.block_user_bits));
    interleaver.interleave<std::uint8_t>(coded, fetched);
    if (p.walsh) {
      append_walsh_block(fetched, out);
      continue;
    }
    std::size_t bit = 0;
    for (unsigned f = 0; f < p.frames_per_block; ++f, ++frame) {
      for (unsigned i = 0; i < p.data_symbols; ++i) {
        unsigned group = 0;
        for (unsigned b = 0; b < p.bits_per_symbol; ++b) group = group << 1 | fetched[bit++];
        if (p.phases_only()) {
          out.push_back(
              framed::phase(static_cast<unsigned>(framed::phase_number(p.bits_per_symbol, group)) +
                            scrambling[i]));
        } else {
          out.push_back(points[group ^ scrambling[i]]);
        }
      }
      const auto known = probe(p, is_marker(p, frame));
      out.insert(out.end(), known.begin(), known.end());
    }
  }
  return out;
}

}  // namespace s5066::modem::ms110d
