// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4285/parameters.h"

#include "modem/waveforms/framed/constellation.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4285 {
namespace {

constexpr std::uint32_t kUncodedRate = 3600;
constexpr unsigned kShortDelay = 1;  // delay in groups at 600 bit/s and below
constexpr unsigned kLongDelay = 12;

// A register of five stages, x^5 + x^2 + 1, runs for two and a half periods.
constexpr std::array<std::uint8_t, kSyncSymbols> make_sync() {
  std::array<std::uint8_t, kSyncSymbols> out{};
  std::array<unsigned, 5> stage = {1, 1, 0, 1, 0};
  for (auto& symbol : out) {
    symbol = stage[4] ? 4 : 0;
    const unsigned next = stage[2] ^ stage[4];
    stage = {next, stage[0], stage[1], stage[2], stage[3]};
  }
  return out;
}

}  // namespace

Parameters parameters(const Mode& mode) {
  S5066_ASSERT(mode.waveform == Waveform::stanag4285);
  Parameters p;
  p.coded = mode.rate_bps != kUncodedRate;
  unsigned scale = 1;
  if (mode.rate_bps >= 2400) {
    p.bits_per_symbol = 3;
    p.punctured = p.coded;
    scale = 4;
  } else if (mode.rate_bps == 1200) {
    p.bits_per_symbol = 2;
    scale = 2;
  } else {
    p.repetition = 600 / mode.rate_bps;
  }
  if (mode.interleaver == Interleaver::short_) p.row_delay = kShortDelay * scale;
  if (mode.interleaver == Interleaver::long_) p.row_delay = kLongDelay * scale;
  return p;
}

const std::array<std::uint8_t, kSyncSymbols>& sync() {
  static constexpr auto symbols = make_sync();
  return symbols;
}

std::span<const std::uint8_t> scrambler() {
  static const auto values = framed::scrambler_values<kScrambledSymbols>(0x1FF, 3);
  return values;
}

}  // namespace s5066::modem::stanag4285
