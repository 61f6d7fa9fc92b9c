#include "modem/waveforms/ms110a/symbols.h"

#include "modem/dsp/viterbi.h"
#include "modem/waveforms/ms110a/parameters.h"

namespace s5066::modem::ms110a {
namespace {

using Bits = std::vector<std::uint8_t>;

// User bits, end-of-message mark, flush, and zeros to the end of the last block.
Bits transmitted_bits(ByteSpan bytes, unsigned block_bits) {
  Bits bits;
  bits.reserve(8 * bytes.size() + kEndOfMessageBits + kFlushBits + block_bits);
  for (const std::uint8_t octet : bytes) {
    for (unsigned i = 0; i < 8; ++i) bits.push_back(octet >> i & 1);
  }
  for (unsigned i = kEndOfMessageBits; i-- > 0;) bits.push_back(kEndOfMessage >> i & 1);
  const std::size_t least = bits.size() + kFlushBits;
  bits.resize((least + block_bits - 1) / block_bits * block_bits, 0);
  return bits;
}

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

// One block of interleaved bits, cut into frames with a probe behind each.
void append_block(const Parameters& p, std::span<const std::uint8_t> fetched,
                  std::vector<std::uint8_t>& out) {
  const auto& scrambler = data_scrambler();
  unsigned in_block = 0;  // a block is a whole number of scrambler periods
  const auto put = [&](unsigned tribit) {
    out.push_back((tribit + scrambler[in_block++ % kDataScramblerPeriod]) & 7);
  };
  std::size_t next_bit = 0;
  for (unsigned frame = 0; frame < p.frames_per_block; ++frame) {
    for (unsigned i = 0; i < p.data_symbols; ++i) {
      unsigned bits = 0;
      for (unsigned b = 0; b < p.bits_per_symbol; ++b) bits = bits << 1 | fetched[next_bit++];
      put(tribit_of_bits(p.bits_per_symbol, bits));
    }
    for (unsigned i = 0; i < p.probe_symbols; ++i) put(probe_tribit(p, frame, i));
  }
}

}  // namespace

std::vector<std::uint8_t> preamble_segment(std::uint8_t d1, std::uint8_t d2, unsigned count) {
  std::vector<std::uint8_t> channel_symbols(kSegmentOpening.begin(), kSegmentOpening.end());
  const auto c = count_symbols(count);
  channel_symbols.insert(channel_symbols.end(), {d1, d2, c[0], c[1], c[2], 0});

  std::vector<std::uint8_t> tribits;
  tribits.reserve(kSegmentSymbols);
  for (const std::uint8_t symbol : channel_symbols) {
    for (unsigned i = 0; i < kTribitsPerChannelSymbol; ++i) {
      tribits.push_back((kChannelSymbolPattern[symbol][i % 8] + kSyncScrambler[i]) & 7);
    }
  }
  return tribits;
}

std::vector<std::uint8_t> symbols(const Mode& mode, ByteSpan bytes) {
  const Parameters p = parameters(mode);
  const Bits coded = encode(transmitted_bits(bytes, p.block_user_bits()), p.repetition);
  const dsp::Interleaver interleaver(p.interleaver);
  Bits fetched(interleaver.size());

  std::vector<std::uint8_t> out;
  out.reserve(p.segments * kSegmentSymbols +
              coded.size() / p.block_coded_bits() * p.block_symbols());
  append_preamble(p, out);
  for (std::size_t at = 0; at < coded.size(); at += interleaver.size()) {
    interleaver.interleave<std::uint8_t>(std::span(coded).subspan(at, interleaver.size()), fetched);
    append_block(p, fetched, out);
  }
  return out;
}

}  // namespace s5066::modem::ms110a
