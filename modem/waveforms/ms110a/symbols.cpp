// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/symbols.h"

#include <algorithm>

#include "modem/dsp/viterbi.h"
#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem::ms110a {
namespace {

using Bits = std::vector<std::uint8_t>;

Bits encode(const Bits& bits, unsigned repetition) {
  Bits coded;
  coded.reserve(2 * repetition * bits.size());
  dsp::ConvolutionalEncoder encoder;
  for (const std::uint8_t bit : bits) {
    const auto pair = encoder.encode(bit);
    for (unsigned i = 0; i < repetition; ++i) {
      coded.push_back(pair.first);
      coded.push_back(pair.second);
    }
  }
  return coded;
}

void append_preamble(const Parameters& p, std::vector<std::uint8_t>& out) {
  for (unsigned count = p.segments; count-- > 0;) {
    const auto segment = preamble_segment(p.d1, p.d2, count);
    out.insert(out.end(), segment.begin(), segment.end());
  }
}

// Appends the interleaved bits as frames with a probe behind each.
void append_frames(const Parameters& p, std::span<const std::uint8_t> fetched,
                   std::vector<std::uint8_t>& out) {
  const auto& scrambler = data_scrambler();
  std::size_t sent = 0;
  const auto put = [&](unsigned tribit) {
    out.push_back((tribit + scrambler[sent++ % kDataScramblerPeriod]) & 7);
  };
  std::size_t next_bit = 0;
  const auto take = [&](unsigned count) {
    unsigned bits = 0;
    while (count-- > 0) bits = bits << 1 | fetched[next_bit++];
    return bits;
  };
  for (unsigned frame = 0; next_bit < fetched.size(); frame = (frame + 1) % p.frames_per_cycle) {
    if (p.walsh) {
      const auto& pattern = walsh_pattern(p, frame, take(2));
      for (unsigned i = 0; i < p.data_symbols; ++i) put(pattern[i % pattern.size()]);
      continue;
    }
    for (unsigned i = 0; i < p.data_symbols; ++i) {
      put(tribit_of_bits(p.bits_per_symbol, take(p.bits_per_symbol)));
    }
    for (unsigned i = 0; i < p.probe_symbols; ++i) put(probe_tribit(p, frame, i));
  }
}

}  // namespace

std::array<std::uint8_t, kSegmentSymbols> preamble_segment(std::uint8_t d1, std::uint8_t d2,
                                                           unsigned count) {
  const auto c = count_symbols(count);
  const std::array<std::uint8_t, 6> told = {d1, d2, c[0], c[1], c[2], 0};
  std::array<std::uint8_t, kSegmentSymbols> tribits{};
  for (std::size_t n = 0; n < tribits.size(); ++n) {
    const std::size_t at = n / kTribitsPerChannelSymbol;
    const std::size_t i = n % kTribitsPerChannelSymbol;
    const std::uint8_t symbol =
        at < kSegmentOpening.size() ? kSegmentOpening[at] : told[at - kSegmentOpening.size()];
    tribits[n] = (kChannelSymbolPattern[symbol][i % 8] + kSyncScrambler[i]) & 7;
  }
  return tribits;
}

std::vector<std::uint8_t> symbols(const Parameters& p, ByteSpan bytes) {
  Bits sent = message_bits(bytes, {.flush_bits = kFlushBits, .block_bits = p.block_user_bits()});
  if (p.coded) sent = encode(sent, p.repetition);
  if (p.interleaved) {
    const dsp::Interleaver interleaver(p.interleaver);
    Bits fetched(interleaver.size());
    for (std::size_t at = 0; at < sent.size(); at += interleaver.size()) {
      const auto block = std::span(sent).subspan(at, interleaver.size());
      interleaver.interleave<std::uint8_t>(block, fetched);
      std::copy(fetched.begin(), fetched.end(), block.begin());
    }
  }
  std::vector<std::uint8_t> out;
  out.reserve(p.segments * kSegmentSymbols + sent.size() / p.frame_bits() * p.frame_symbols());
  append_preamble(p, out);
  append_frames(p, sent, out);
  return out;
}

}  // namespace s5066::modem::ms110a
