// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/viterbi.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/message/message_bits.h"
#include "modem/waveforms/stanag4285/parameters.h"

namespace s5066::modem::stanag4285 {
namespace {

using Bits = std::vector<std::uint8_t>;

Bits encode(const Parameters& p, const Bits& bits) {
  if (!p.coded) return bits;
  Bits coded;
  coded.reserve(2 * p.repetition * bits.size());
  dsp::ConvolutionalEncoder encoder;
  for (const std::uint8_t bit : bits) {
    const auto pair = encoder.encode(bit);
    for (unsigned i = 0; i < p.repetition; ++i) {
      coded.push_back(pair.first);
      coded.push_back(pair.second);
    }
  }
  return coded;
}

// Row r of a group comes from the group r x row_delay groups before. Before the first group there
// are zeros.
Bits interleave(const Parameters& p, const Bits& in) {
  Bits out(in.size());
  for (std::size_t at = 0; at < in.size(); ++at) {
    const auto row = static_cast<unsigned>(at % kRows);
    const std::size_t back = std::size_t{row} * p.row_delay * kRows;
    const std::size_t group = at - row;
    if (group >= back) out[at] = in[group - back + bit_of_row(row)];
  }
  return out;
}

}  // namespace

std::vector<std::uint8_t> symbols(const Parameters& p, std::span<const std::uint8_t> bytes) {
  const unsigned delay = p.delay_bits() / (2 * p.repetition);
  const Bits coded = encode(p, message_bits(bytes, {.flush_bits = kFlushBits + delay,
                                                    .block_bits = p.frame_user_bits()}));
  Bits sent = p.row_delay > 0 ? interleave(p, coded) : coded;
  if (p.punctured) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (i % 4 != 3) sent[kept++] = sent[i];
    }
    sent.resize(kept);
  }
  std::vector<std::uint8_t> out;
  out.reserve(sent.size() / p.frame_bits() * kFrameSymbols);
  const auto scrambling = scrambler();
  for (std::size_t at = 0; at < sent.size();) {
    out.insert(out.end(), sync().begin(), sync().end());
    for (unsigned i = 0; i < kScrambledSymbols; ++i) {
      unsigned number = 0;
      if (is_data(i)) {
        unsigned group = 0;
        for (unsigned b = 0; b < p.bits_per_symbol; ++b) group = group << 1 | sent[at++];
        number = framed::phase_number(p.bits_per_symbol, group);
      }
      out.push_back(static_cast<std::uint8_t>((number + scrambling[i]) & 7));
    }
  }
  return out;
}

}  // namespace s5066::modem::stanag4285
