// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110d/parameters.h"

#include <bitset>
#include <cmath>
#include <numbers>

#include "modem/waveforms/framed/constellation.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110d {
namespace {

using dsp::Complex;

struct Block {
  unsigned frames;
  unsigned increment;
};

struct Row {
  std::uint32_t rate_bps;
  unsigned bits_per_symbol;
  unsigned data;
  unsigned probe;
  unsigned numerator;  // numerator of the code's rate
  unsigned denominator;
  unsigned repetition;
  Puncturing seven;
  Puncturing nine;
  std::array<Block, 4> blocks;  // blocks of the ultra short, short, medium and long interleaver
};

constexpr Puncturing kAll{};
constexpr Puncturing kTwoThirds{"11", "10"};
constexpr Puncturing kNineSixteenths{"111101111", "111111011"};
constexpr Puncturing kThreeQuarters7{"110", "101"};
constexpr Puncturing kThreeQuarters9{"111", "100"};
constexpr Puncturing kEightNinths7{"11110100", "10001011"};
constexpr Puncturing kEightNinths9{"11100000", "10011111"};

// The rows are sorted by waveform number. Bits per symbol of number 0 are those of a set.
constexpr std::array<Row, 14> kRows = {{
    {75, 2, 32, 0, 1, 2, 1, kAll, kAll, {{{0, 0}, {40, 11}, {144, 37}, {576, 145}}}},
    {150, 1, 48, 48, 1, 8, 4, kAll, kAll, {{{4, 25}, {16, 97}, {64, 385}, {256, 1543}}}},
    {300, 1, 48, 48, 1, 4, 2, kAll, kAll, {{{4, 25}, {16, 97}, {64, 385}, {256, 1543}}}},
    {600, 1, 96, 32, 1, 3, 2, kTwoThirds, kTwoThirds, {{{2, 25}, {8, 97}, {32, 385}, {128, 1549}}}},
    {1200,
     1,
     96,
     32,
     2,
     3,
     1,
     kTwoThirds,
     kTwoThirds,
     {{{2, 25}, {8, 97}, {32, 385}, {128, 1549}}}},
    {1600,
     1,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 33}, {4, 129}, {16, 513}, {64, 2081}}}},
    {3200,
     2,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 65}, {4, 257}, {16, 1025}, {64, 4161}}}},
    {4800,
     3,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 97}, {4, 385}, {16, 1537}, {64, 6241}}}},
    {6400,
     4,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 129}, {4, 513}, {16, 2049}, {64, 8321}}}},
    {8000,
     5,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 161}, {4, 641}, {16, 2561}, {64, 10403}}}},
    {9600,
     6,
     256,
     32,
     3,
     4,
     1,
     kThreeQuarters7,
     kThreeQuarters9,
     {{{1, 193}, {4, 769}, {16, 3073}, {64, 12481}}}},
    {12000,
     6,
     360,
     24,
     8,
     9,
     1,
     kEightNinths7,
     kEightNinths9,
     {{{1, 271}, {4, 1081}, {16, 4321}, {64, 17551}}}},
    {16000,
     8,
     360,
     24,
     8,
     9,
     1,
     kEightNinths7,
     kEightNinths9,
     {{{1, 361}, {4, 1441}, {16, 5761}, {64, 23401}}}},
    {2400,
     2,
     256,
     32,
     9,
     16,
     1,
     kNineSixteenths,
     kNineSixteenths,
     {{{1, 65}, {4, 257}, {16, 1025}, {64, 4161}}}},
}};

constexpr std::array kInterleavers = {Interleaver::ultra_short, Interleaver::short_,
                                      Interleaver::medium, Interleaver::long_};

constexpr std::array<std::uint8_t, kFixedDibits> kFixed = {0, 0, 2, 1, 2, 1, 0, 2, 3};
// STANDARD: at 3 kHz the text does not state whether these start again with each channel symbol or
// run on; they start again here.
constexpr std::string_view kFixedNoise = "24006214610573412617073222324636";
constexpr std::string_view kCountNoise = "55220256713515653704033213031626";
constexpr std::string_view kNumberNoise = "23037330144655456205665355221236";

constexpr std::array<std::array<std::uint8_t, 4>, 4> kDibitPattern = {
    {{0, 0, 0, 0}, {0, 4, 0, 4}, {0, 0, 4, 4}, {0, 4, 4, 0}}};

// The register has 159 bits; the first one is bit 0.
constexpr std::string_view kWalshRegister =
    "0001001101100101111101001000000010110011001011101110001100010000"
    "1000001000001101011110101000111111001101011111011110001100011010"
    "1110011100011000100100011010011";
constexpr unsigned kWalshPeriod = 2048;
constexpr unsigned kWalshShifts = 16;

constexpr std::array<std::array<std::array<std::uint8_t, 8>, 4>, 2> kWalshPatterns = {{
    {{{0, 0, 0, 0, 0, 0, 0, 0},
      {0, 4, 0, 4, 0, 4, 0, 4},
      {0, 0, 4, 4, 0, 0, 4, 4},
      {0, 4, 4, 0, 0, 4, 4, 0}}},
    {{{0, 0, 0, 0, 4, 4, 4, 4},
      {0, 4, 0, 4, 4, 0, 4, 0},
      {0, 0, 4, 4, 4, 4, 0, 0},
      {0, 4, 4, 0, 4, 0, 0, 4}}},
}};

std::array<std::uint8_t, kCountDibits> count_dibits(unsigned count) {
  const auto b = [&](unsigned i) { return count >> i & 1; };
  const unsigned bits = (b(1) ^ b(2) ^ b(3)) << 7 | (b(2) ^ b(3) ^ b(4)) << 6 |
                        (b(0) ^ b(1) ^ b(2)) << 5 | (count & 31);
  std::array<std::uint8_t, kCountDibits> out{};
  for (unsigned i = 0; i < kCountDibits; ++i) {
    out[i] = static_cast<std::uint8_t>(bits >> 2 * (kCountDibits - 1 - i) & 3);
  }
  return out;
}

std::array<std::uint8_t, kNumberDibits> number_dibits(unsigned number, unsigned interleaver,
                                                      unsigned constraint) {
  unsigned d = number << 6 | interleaver << 4 | (constraint == 9 ? 8U : 0U);
  const auto b = [&](unsigned i) { return d >> i & 1; };
  d |= (b(9) ^ b(8) ^ b(7)) << 2 | (b(7) ^ b(6) ^ b(5)) << 1 | (b(5) ^ b(4) ^ b(3));
  std::array<std::uint8_t, kNumberDibits> out{};
  for (unsigned i = 0; i < kNumberDibits; ++i) {
    out[i] = static_cast<std::uint8_t>(d >> 2 * (kNumberDibits - 1 - i) & 3);
  }
  return out;
}

// This is the sequence that a probe repeats.
constexpr std::size_t kBaseMax = 25;
FixedVector<Complex, kBaseMax> base_sequence(unsigned length) {
  constexpr std::string_view kThirteen = "+++++--++-+-+";
  FixedVector<Complex, kBaseMax> base(length);
  if (length == kThirteen.size()) {
    for (unsigned i = 0; i < length; ++i) base[i] = kThirteen[i] == '+' ? 1 : -1;
    return base;
  }
  const auto m = static_cast<unsigned>(std::lround(std::sqrt(length)));
  for (unsigned k = 0; k < length; ++k) {
    const double angle = -2 * std::numbers::pi * ((k / m) * (k % m) % m) / m;
    base[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  return base;
}

}  // namespace

Parameters parameters(const Mode& mode, unsigned constraint) {
  S5066_ASSERT(mode.waveform == Waveform::ms110d && (constraint == 7 || constraint == 9));
  for (unsigned number = 0; number < kRows.size(); ++number) {
    const Row& row = kRows[number];
    if (row.rate_bps != mode.rate_bps) continue;
    Parameters p;
    p.number = number;
    p.constraint = constraint;
    p.walsh = number == 0;
    p.bits_per_symbol = row.bits_per_symbol;
    p.data_symbols = row.data;
    p.probe_symbols = row.probe;
    p.repetition = row.repetition;
    p.puncturing = constraint == 9 ? row.nine : row.seven;
    p.frames_per_cycle = row.blocks.back().frames;
    while (kInterleavers[p.interleaver_code] != mode.interleaver) ++p.interleaver_code;
    const Block& block = row.blocks[p.interleaver_code];
    S5066_ASSERT(block.frames > 0);
    p.frames_per_block = block.frames;
    p.interleaver = {.size = p.block_coded_bits(), .increment = block.increment};
    p.block_user_bits = p.block_coded_bits() * row.numerator / row.denominator;
    return p;
  }
  S5066_ASSERT(false && "a rate of this waveform");
  return {};
}

std::array<std::uint8_t, kSuperFrameDibits> super_frame(const Parameters& p, unsigned remaining) {
  std::array<std::uint8_t, kSuperFrameDibits> out{};
  std::size_t n = 0;
  for (const std::uint8_t dibit : kFixed) out[n++] = dibit;
  for (const std::uint8_t dibit : count_dibits(remaining)) out[n++] = dibit;
  for (const std::uint8_t dibit : number_dibits(p.number, p.interleaver_code, p.constraint)) {
    out[n++] = dibit;
  }
  return out;
}

const std::array<std::uint8_t, kFixedDibits>& fixed_dibits() {
  return kFixed;
}

std::array<std::uint8_t, kChannelSymbol> channel_symbol(unsigned place, unsigned dibit) {
  std::string_view noise = kNumberNoise;
  if (place < kFixedDibits + kCountDibits) noise = kCountNoise;
  if (place < kFixedDibits) noise = kFixedNoise;
  std::array<std::uint8_t, kChannelSymbol> out{};
  for (unsigned i = 0; i < kChannelSymbol; ++i) {
    out[i] = static_cast<std::uint8_t>(kDibitPattern[dibit & 3][i % 4] + (noise[i] - '0')) & 7;
  }
  return out;
}

std::optional<Announced> announced(std::span<const std::uint8_t> dibits) {
  S5066_ASSERT(dibits.size() == kNumberDibits);
  for (unsigned number = 0; number < kRows.size(); ++number) {
    for (unsigned code = 0; code < kInterleavers.size(); ++code) {
      if (kRows[number].blocks[code].frames == 0) continue;
      for (const unsigned constraint : {7U, 9U}) {
        const auto sent = number_dibits(number, code, constraint);
        if (!std::equal(sent.begin(), sent.end(), dibits.begin())) continue;
        return Announced{{Waveform::ms110d, kRows[number].rate_bps, kInterleavers[code]},
                         constraint};
      }
    }
  }
  return std::nullopt;
}

FixedVector<Complex, kProbeMax> probe(const Parameters& p, bool marker) {
  struct Length {
    unsigned probe, base, shift;
  };
  constexpr std::array<Length, 3> kLengths = {
      {{24, 13, 6}, {32, 16, 8}, {kProbeMax, kBaseMax, 12}}};
  for (const Length& length : kLengths) {
    if (length.probe != p.probe_symbols) continue;
    const auto base = base_sequence(length.base);
    FixedVector<Complex, kProbeMax> out(length.probe);
    for (unsigned i = 0; i < length.probe; ++i) {
      out[i] = base[(i + (marker ? length.shift : 0)) % length.base];
    }
    return out;
  }
  return {};
}

bool is_marker(const Parameters& p, std::uint64_t frame) {
  return frame % p.frames_per_cycle == p.frames_per_cycle - 2;
}

std::span<const std::uint8_t> scrambler(const Parameters& p) {
  constexpr std::size_t kLongest = 360;
  static const std::array tables = {
      framed::scrambler_values<kLongest>(1, 3), framed::scrambler_values<kLongest>(1, 4),
      framed::scrambler_values<kLongest>(1, 5), framed::scrambler_values<kLongest>(1, 6),
      framed::scrambler_values<kLongest>(1, 8)};
  const unsigned bits = p.bits_per_symbol;
  const std::size_t table = bits <= 3 ? 0 : bits == 8 ? 4 : bits - 3;
  return std::span(tables[table]).first(p.data_symbols);
}

std::span<const std::uint8_t> walsh_scrambler() {
  static const std::array<std::uint8_t, kWalshPeriod> values = [] {
    std::bitset<kWalshRegister.size()> bits;
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = kWalshRegister[i] == '1';
    std::array<std::uint8_t, kWalshPeriod> out{};
    for (auto& value : out) {
      for (unsigned i = 0; i < kWalshShifts; ++i) {
        const bool next = bits[158] != bits[31];
        bits <<= 1;
        bits[0] = next;
      }
      value = static_cast<std::uint8_t>(4 * bits[2] + 2 * bits[1] + bits[0]);
    }
    return out;
  }();
  return values;
}

const std::array<std::uint8_t, 8>& walsh_pattern(bool last, unsigned bits) {
  return kWalshPatterns[last ? 1 : 0][bits & 3];
}

}  // namespace s5066::modem::ms110d
