// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/parameters.h"

#include "modem/dsp/scrambler.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {

struct RateRow {
  std::uint32_t rate_bps;
  unsigned bits_per_symbol;
  unsigned data_symbols;
  unsigned probe_symbols;
  unsigned repetition;
  unsigned columns_short;
  std::uint8_t d1_short;
  std::uint8_t d1_long;
  std::uint8_t d2;
};

constexpr std::uint8_t kNone = 0xFF;
constexpr std::array kRates = {
    RateRow{4800, 3, 32, 16, 1, 0, 7, kNone, 6}, RateRow{2400, 3, 32, 16, 1, 72, 6, 4, 4},
    RateRow{1200, 2, 20, 20, 1, 36, 6, 4, 5},    RateRow{600, 1, 20, 20, 1, 18, 6, 4, 6},
    RateRow{300, 1, 20, 20, 2, 18, 6, 4, 7},     RateRow{150, 1, 20, 20, 4, 18, 7, 5, 4},
    RateRow{75, 2, 32, 0, 1, 0, 7, 5, 5},
};
constexpr std::uint32_t kUncodedRate = 4800;
constexpr std::uint32_t kWalshRate = 75;
constexpr unsigned kShortBlockSymbols = 1440;
constexpr unsigned kLongPerShort = 8;
constexpr unsigned kPatternSymbolsInProbe = 16;

const RateRow& row_of(const Mode& mode) {
  for (const RateRow& row : kRates) {
    if (row.rate_bps == mode.rate_bps) return row;
  }
  S5066_ASSERT(false && "a rate of this waveform");
  return kRates[0];
}

std::array<std::uint8_t, kDataScramblerPeriod> make_data_scrambler() {
  dsp::GaloisRegister shift_register({.bits = 12, .taps = 0x053, .seed = 0xBAD});
  std::array<std::uint8_t, kDataScramblerPeriod> values{};
  for (auto& value : values) {
    for (int i = 0; i < 8; ++i) shift_register.shift();
    value = shift_register.state() & 7;
  }
  return values;
}

}  // namespace

const std::array<std::uint8_t, kDataScramblerPeriod>& data_scrambler() {
  static const auto values = make_data_scrambler();
  return values;
}

Parameters parameters(const Mode& mode) {
  S5066_ASSERT(mode.waveform == Waveform::ms110a);
  const RateRow& row = row_of(mode);
  const bool is_long = mode.interleaver == Interleaver::long_;
  const unsigned scale = is_long ? kLongPerShort : 1;
  Parameters p;
  p.coded = mode.rate_bps != kUncodedRate;
  p.interleaved = mode.interleaver != Interleaver::zero;
  p.walsh = mode.rate_bps == kWalshRate;
  p.bits_per_symbol = row.bits_per_symbol;
  p.data_symbols = row.data_symbols;
  p.probe_symbols = row.probe_symbols;
  p.repetition = row.repetition;
  p.frames_per_cycle = scale * kShortBlockSymbols / (row.data_symbols + row.probe_symbols);
  p.frames_per_block = p.frames_per_cycle;
  if (!p.interleaved) {
    // A block has two frames if one frame would not end with a whole information bit.
    p.frames_per_block = p.coded && p.frame_bits() % (2 * p.repetition) != 0 ? 2 : 1;
  }
  p.segments = scale * 3;
  p.d1 = is_long ? row.d1_long : row.d1_short;
  p.d2 = row.d2;
  if (p.walsh) {
    p.interleaver = {.rows = is_long ? 20U : 10U,
                     .columns = is_long ? 36U : 9U,
                     .row_step = 7,
                     .column_step = 7};
  } else {
    p.interleaver = {.rows = 40, .columns = scale * row.columns_short};
  }
  return p;
}

std::optional<Mode> mode_announced(std::uint8_t d1, std::uint8_t d2) {
  std::optional<Mode> announced;
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::ms110a) continue;
    const Parameters p = parameters(mode);
    if (p.d1 != d1 || p.d2 != d2) continue;
    if (!announced || announced->interleaver == Interleaver::zero) announced = mode;
  }
  return announced;
}

// STANDARD: Table XII of a later edition prints two rows swapped; its example and other
// transmitters follow this rule: each symbol is 4 plus two bits of the count.
std::array<std::uint8_t, 3> count_symbols(unsigned count) {
  S5066_ASSERT(count < 64);
  return {static_cast<std::uint8_t>(4 + (count >> 4 & 3)),
          static_cast<std::uint8_t>(4 + (count >> 2 & 3)),
          static_cast<std::uint8_t>(4 + (count & 3))};
}

std::uint8_t tribit_of_bits(unsigned bits_per_symbol, unsigned bits) {
  constexpr std::array<std::uint8_t, 8> kThree = {0, 1, 3, 2, 7, 6, 4, 5};
  constexpr std::array<std::uint8_t, 4> kTwo = {0, 2, 6, 4};
  switch (bits_per_symbol) {
    case 3:
      return kThree[bits & 7];
    case 2:
      return kTwo[bits & 3];
    default:
      return bits & 1 ? 4 : 0;
  }
}

const std::array<std::uint8_t, 8>& walsh_pattern(const Parameters& p, unsigned frame,
                                                 unsigned bits) {
  constexpr std::array<std::uint8_t, 4> kModifiedGray = {0, 1, 3, 2};
  const unsigned exceptional = frame + 1 == p.frames_per_cycle ? 4 : 0;
  return kChannelSymbolPattern[exceptional + kModifiedGray[bits & 3]];
}

std::uint8_t probe_tribit(const Parameters& p, unsigned frame, unsigned index) {
  if (index >= kPatternSymbolsInProbe) return 0;
  if (frame + 2 == p.frames_per_cycle) return kChannelSymbolPattern[p.d1][index % 8];
  if (frame + 1 == p.frames_per_cycle) return kChannelSymbolPattern[p.d2][index % 8];
  return 0;
}

}  // namespace s5066::modem::ms110a
