// SPDX-License-Identifier: Apache-2.0
#include "modem/api/airtime.h"

#include <algorithm>
#include <array>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kEomBits = 32;

Duration duration_of(const Mode& mode, std::uint64_t symbols) {
  const std::uint64_t rate = symbol_rate(mode);
  return Duration(static_cast<Duration::rep>((symbols * 1'000'000'000 + rate - 1) / rate));
}

// MIL-STD-188-110A: at every rate the preamble is as long as one block of the interleaver.
namespace ms110a {

constexpr std::size_t kFlushBits = 144;
constexpr std::uint64_t kShortSymbols = 1440;
constexpr std::uint64_t kLongSymbols = 11520;

struct Block {
  std::uint64_t symbols;
  std::size_t bits;
};

Block block(const Mode& mode) {
  if (mode.interleaver == Interleaver::long_) {
    return {kLongSymbols, mode.rate_bps * kLongSymbols / kSymbolRate};
  }
  if (mode.interleaver == Interleaver::short_) {
    return {kShortSymbols, mode.rate_bps * kShortSymbols / kSymbolRate};
  }
  // STANDARD: the fill behind the flush is left open; the last frames are completed with zeros.
  switch (mode.rate_bps) {
    case 75:
      return {32, 1};
    case 150:
      return {80, 5};  // two frames
    case 300:
    case 600:
    case 1200:
      return {40, mode.rate_bps / 60};
    default:
      return {48, mode.rate_bps / 50};
  }
}

}  // namespace ms110a

// STANAG 4539 sends frames of data and probe. A preamble is inserted after every 72 frames, unless
// the burst is over.
namespace stanag4539 {

constexpr std::uint64_t kPreambleSymbols = 287;
constexpr std::uint64_t kFrameSymbols = 256 + 31;
constexpr std::uint64_t kFramesBetweenPreambles = 72;
constexpr std::uint64_t kInsertedSymbols = 72;
constexpr std::uint64_t kCycleSymbols = kFramesBetweenPreambles * kFrameSymbols + kInsertedSymbols;

std::uint64_t frames_in_block(Interleaver interleaver) {
  switch (interleaver) {
    case Interleaver::very_short:
      return 3;
    case Interleaver::short_:
      return 9;
    case Interleaver::medium:
      return 18;
    case Interleaver::long_:
      return 36;
    case Interleaver::very_long:
      return 72;
    default:
      return 1;
  }
}

std::uint64_t symbols(std::uint64_t frames) {
  if (frames == 0) return 0;
  return frames * kFrameSymbols + (frames - 1) / kFramesBetweenPreambles * kInsertedSymbols;
}

std::uint64_t frames_within(std::uint64_t symbols) {
  const std::uint64_t cycles = (symbols + kInsertedSymbols) / kCycleSymbols;
  const std::uint64_t used = cycles * kCycleSymbols;
  return cycles * kFramesBetweenPreambles + (symbols - std::min(symbols, used)) / kFrameSymbols;
}

// The user rates include the time of the inserted preambles: 3200 bit/s are 384 bits in 0.12 s.
std::size_t bits_in_frame(std::uint32_t rate_bps) {
  return std::size_t{rate_bps} * kCycleSymbols / kFramesBetweenPreambles / kSymbolRate;
}

}  // namespace stanag4539

// STANAG 4285 sends a continuous row of frames. Each begins with 80 symbols of synchronisation.
namespace stanag4285 {

constexpr std::uint64_t kSyncSymbols = 80;
constexpr std::uint64_t kFrameSymbols = 256;
constexpr std::size_t kFlushBits = 144;
/// These are the frames that pass through the interleaver, in quarters.
constexpr std::size_t kShortQuarters = 31;
constexpr std::size_t kLongQuarters = 12 * kShortQuarters;

std::size_t frame_bits(const Mode& mode) {
  return mode.rate_bps * kFrameSymbols / kSymbolRate;
}

std::size_t trailer_bits(const Mode& mode) {
  std::size_t quarters = 0;
  if (mode.interleaver == Interleaver::short_) quarters = kShortQuarters;
  if (mode.interleaver == Interleaver::long_) quarters = kLongQuarters;
  return kEomBits + kFlushBits + quarters * frame_bits(mode) / 4;
}

}  // namespace stanag4285

// The preamble of 110D at 3 kHz has three super-frames of 18 channel symbols. A probe and the
// frames follow it.
namespace ms110d {

constexpr std::uint64_t kPreambleSymbols = 3 * 18 * 32;

struct Frame {
  unsigned data;
  unsigned probe;
  std::array<unsigned, 4> in_block;  // ultra short, short, medium, long
};

Frame frame(std::uint32_t rate_bps) {
  if (rate_bps == 75) return {32, 0, {0, 40, 144, 576}};
  if (rate_bps <= 300) return {48, 48, {4, 16, 64, 256}};
  if (rate_bps <= 1200) return {96, 32, {2, 8, 32, 128}};
  if (rate_bps <= 9600) return {256, 32, {1, 4, 16, 64}};
  return {360, 24, {1, 4, 16, 64}};
}

std::uint64_t block_symbols(const Mode& mode) {
  const Frame f = frame(mode.rate_bps);
  const auto in_block = [&] {
    switch (mode.interleaver) {
      case Interleaver::short_:
        return f.in_block[1];
      case Interleaver::medium:
        return f.in_block[2];
      case Interleaver::long_:
        return f.in_block[3];
      default:
        return f.in_block[0];
    }
  };
  return std::uint64_t{in_block()} * (f.data + f.probe);
}

}  // namespace ms110d

}  // namespace

std::uint64_t symbol_rate(const Mode& mode) {
  switch (mode.waveform) {
    case Waveform::ms110a:
    case Waveform::stanag4539:
    case Waveform::stanag4285:
    case Waveform::ms110d:
      break;
  }
  return kSymbolRate;
}

std::uint64_t preamble_symbols(const Mode& mode) {
  switch (mode.waveform) {
    case Waveform::stanag4539:
      return stanag4539::kPreambleSymbols;
    case Waveform::stanag4285:
      return stanag4285::kSyncSymbols;
    case Waveform::ms110d:
      return ms110d::kPreambleSymbols + ms110d::frame(mode.rate_bps).probe;
    case Waveform::ms110a:
      break;
  }
  return mode.interleaver == Interleaver::long_ ? ms110a::kLongSymbols : ms110a::kShortSymbols;
}

std::uint64_t data_symbols(const Mode& mode, std::uint64_t blocks) {
  switch (mode.waveform) {
    case Waveform::stanag4539:
      return stanag4539::symbols(blocks * stanag4539::frames_in_block(mode.interleaver));
    case Waveform::stanag4285:
      return blocks > 0 ? blocks * stanag4285::kFrameSymbols - stanag4285::kSyncSymbols : 0;
    case Waveform::ms110d:
      return blocks * ms110d::block_symbols(mode);
    case Waveform::ms110a:
      break;
  }
  return blocks * ms110a::block(mode).symbols;
}

std::uint64_t burst_symbols(const Mode& mode, std::size_t octets) {
  return preamble_symbols(mode) + data_symbols(mode, block_count(mode, octets));
}

std::size_t block_bits(const Mode& mode) {
  switch (mode.waveform) {
    case Waveform::stanag4539:
      return stanag4539::frames_in_block(mode.interleaver) *
             stanag4539::bits_in_frame(mode.rate_bps);
    case Waveform::stanag4285:
      return stanag4285::frame_bits(mode);
    case Waveform::ms110d:
      return mode.rate_bps * ms110d::block_symbols(mode) / kSymbolRate;
    case Waveform::ms110a:
      break;
  }
  return ms110a::block(mode).bits;
}

std::size_t trailer_bits(const Mode& mode) {
  if (mode.waveform == Waveform::stanag4285) return stanag4285::trailer_bits(mode);
  return mode.waveform == Waveform::ms110a ? kEomBits + ms110a::kFlushBits : kEomBits;
}

std::size_t block_count(const Mode& mode, std::size_t octets) {
  const std::size_t per_block = block_bits(mode);
  S5066_ASSERT(per_block > 0);
  return (8 * octets + trailer_bits(mode) + per_block - 1) / per_block;
}

std::size_t block_capacity(const Mode& mode, std::uint64_t blocks) {
  const std::size_t bits = static_cast<std::size_t>(blocks) * block_bits(mode);
  return bits <= trailer_bits(mode) ? 0 : (bits - trailer_bits(mode)) / 8;
}

Duration preamble_duration(const Mode& mode) {
  return duration_of(mode, preamble_symbols(mode));
}

Duration data_duration_of_blocks(const Mode& mode, std::uint64_t blocks) {
  return duration_of(mode, data_symbols(mode, blocks));
}

Duration data_duration(const Mode& mode, std::size_t octets) {
  return data_duration_of_blocks(mode, block_count(mode, octets));
}

// Each part is rounded by itself, because an announced end is counted from the first data bit and
// one nanosecond less would move it by half a second.
Duration airtime(const Mode& mode, std::size_t octets) {
  return preamble_duration(mode) + data_duration(mode, octets);
}

std::size_t capacity(const Mode& mode, Duration data_time_max) {
  if (data_time_max <= Duration::zero()) return 0;
  const auto nanoseconds = static_cast<std::uint64_t>(data_time_max.count());
  const std::uint64_t rate = symbol_rate(mode);
  const std::uint64_t symbols =
      nanoseconds / 1'000'000'000 * rate + nanoseconds % 1'000'000'000 * rate / 1'000'000'000;
  switch (mode.waveform) {
    case Waveform::stanag4539:
      return block_capacity(
          mode, stanag4539::frames_within(symbols) / stanag4539::frames_in_block(mode.interleaver));
    case Waveform::stanag4285:
      return block_capacity(mode, (symbols + stanag4285::kSyncSymbols) / stanag4285::kFrameSymbols);
    case Waveform::ms110d:
      return block_capacity(mode, symbols / ms110d::block_symbols(mode));
    case Waveform::ms110a:
      break;
  }
  return block_capacity(mode, symbols / ms110a::block(mode).symbols);
}

}  // namespace s5066::modem
