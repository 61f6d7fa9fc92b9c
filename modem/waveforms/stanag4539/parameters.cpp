// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/parameters.h"

#include <algorithm>
#include <string_view>

#include "modem/waveforms/framed/constellation.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;

struct RateRow {
  std::uint32_t rate_bps;
  unsigned bits_per_symbol;
  std::uint8_t code;
  std::array<std::uint16_t, 6> increments;  // US VS S M L VL
};

// [C Tables C-VIII to C-X]
constexpr std::array kRates = {
    RateRow{3200, 2, 1, {97, 229, 805, 1393, 3281, 6985}},
    RateRow{4800, 3, 2, {145, 361, 1045, 2089, 5137, 10273}},
    RateRow{6400, 4, 3, {189, 481, 1393, 3281, 6985, 11141}},
    RateRow{8000, 5, 4, {201, 601, 1741, 3481, 8561, 14441}},
    RateRow{9600, 6, 5, {229, 805, 2089, 5137, 10273, 17329}},
    RateRow{12800, 6, 6, {}},
};
constexpr std::uint32_t kUncodedRate = 12800;

struct InterleaverRow {
  Interleaver interleaver;
  unsigned frames;
  std::uint8_t code;
};
constexpr std::array kInterleavers = {
    InterleaverRow{Interleaver::ultra_short, 1, 1}, InterleaverRow{Interleaver::very_short, 3, 2},
    InterleaverRow{Interleaver::short_, 9, 3},      InterleaverRow{Interleaver::medium, 18, 4},
    InterleaverRow{Interleaver::long_, 36, 5},      InterleaverRow{Interleaver::very_long, 72, 6},
};

// [C.5.2.1] The values are octal digits.
constexpr std::string_view kFixed =
    "15136131163773543664540222607574075716105226236005142223406274337202644176206236743613746572"
    "01114400577473541656646343071347014333511146106013141776300727202611127753360533107110304073";
static_assert(kFixed.size() == kFixedSymbols);
constexpr std::string_view kPlus = "0000024604040642000002460404064";
static_assert(kPlus.size() == kFrameProbe);
constexpr std::uint8_t kBeforeAnnouncement = 2;
constexpr std::uint8_t kBehindAnnouncement = 6;
constexpr std::uint8_t kOpposite = 4;

constexpr std::uint8_t digit(char c) {
  return static_cast<std::uint8_t>(c - '0');
}

constexpr std::array<std::uint8_t, kFrameProbe> make_probe() {
  std::array<std::uint8_t, kFrameProbe> out{};
  for (unsigned i = 0; i < kFrameProbe; ++i) out[i] = digit(kPlus[i]);
  return out;
}
constexpr auto kProbe = make_probe();

constexpr unsigned bit_of(unsigned code, unsigned index) {
  return code >> (2 - index) & 1;
}

using Points = std::array<Complex, kNumbersMax>;

// Returns the eight phases, followed by the points of the data if those are others.
Points make_points(unsigned bits_per_symbol) {
  Points points{};
  for (unsigned i = 0; i < kPhasePoints; ++i) points[i] = framed::phase(i);
  if (bits_per_symbol <= 3) return points;
  const auto data = framed::constellation(bits_per_symbol);
  std::copy(data.begin(), data.end(), points.begin() + kPhasePoints);
  return points;
}

}  // namespace

const std::array<std::uint8_t, kDigitSymbols> kDigitPattern = {0, 4, 0, 4, 0, 0, 4,
                                                               4, 0, 0, 0, 0, 0};

Parameters parameters(const Mode& mode) {
  S5066_ASSERT(mode.waveform == Waveform::stanag4539);
  for (const RateRow& rate : kRates) {
    if (rate.rate_bps != mode.rate_bps) continue;
    Parameters p;
    p.bits_per_symbol = rate.bits_per_symbol;
    p.coded = rate.rate_bps != kUncodedRate;
    p.phases_only = rate.bits_per_symbol <= 3;
    p.rate_code = rate.code;
    p.interleaver_code = kInterleavers[0].code;  // the mode without an interleaver uses it as well
    for (std::size_t i = 0; p.coded && i < kInterleavers.size(); ++i) {
      if (kInterleavers[i].interleaver != mode.interleaver) continue;
      p.frames_per_block = kInterleavers[i].frames;
      p.interleaver_code = kInterleavers[i].code;
      p.interleaver = {.size = p.block_coded_bits(), .increment = rate.increments[i]};
    }
    return p;
  }
  S5066_ASSERT(false && "a rate of this waveform");
  return {};
}

// The code is punctured to rate 3/4.
framed::TailBitingConfig code_of(const Parameters& p) {
  return {.coded = p.coded,
          .user_bits = p.block_user_bits(),
          .first = "110",
          .second = "101",
          .interleaver = p.interleaver};
}

std::optional<Mode> mode_announced(std::uint8_t rate_code, std::uint8_t interleaver_code) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::stanag4539) continue;
    const Parameters p = parameters(mode);
    if (p.rate_code == rate_code && p.interleaver_code == interleaver_code) return mode;
  }
  return std::nullopt;
}

std::array<std::uint8_t, kAnnouncementDigits> announcement(const Parameters& p) {
  std::array<std::uint8_t, kAnnouncementDigits> digits{};
  for (unsigned k = 0; k < kAnnouncementDigits; ++k) {
    digits[k] = framed::phase_number(2, 2 * bit_of(p.rate_code, k) + bit_of(p.interleaver_code, k));
  }
  return digits;
}

std::array<std::uint8_t, kPreambleSymbols> preamble(const Parameters& p) {
  std::array<std::uint8_t, kPreambleSymbols> out{};
  unsigned n = 0;
  for (const char c : kFixed) out[n++] = digit(c);
  for (const std::uint8_t number : kProbe) out[n++] = number;
  out[n++] = kBeforeAnnouncement;
  for (const std::uint8_t d : announcement(p)) {
    for (const std::uint8_t pattern : kDigitPattern) out[n++] = (d + pattern) & 7;
  }
  out[n++] = kBehindAnnouncement;
  for (const std::uint8_t number : kProbe) out[n++] = (number + kOpposite) & 7;
  return out;
}

const std::array<std::uint8_t, kFrameProbe>& probe() {
  return kProbe;
}

// Four sets of 18 signs: seven minus, plus, the two codes and the number of the set, plus.
bool probe_is_negative(const Parameters& p, unsigned frame) {
  const unsigned at = frame % 18;
  const unsigned set = frame / 18 + 1;
  if (at < 7) return true;
  if (at == 7 || at == 17) return false;
  if (at < 11) return bit_of(p.rate_code, at - 8) != 0;
  if (at < 14) return bit_of(p.interleaver_code, at - 11) != 0;
  return bit_of(set, at - 14) != 0;
}

std::span<const std::uint8_t> scrambler(const Parameters& p) {
  // Phases are turned by three bits, also those of two bits.
  static const std::array tables = {
      framed::scrambler_values<kFrameData>(1, 3), framed::scrambler_values<kFrameData>(1, 4),
      framed::scrambler_values<kFrameData>(1, 5), framed::scrambler_values<kFrameData>(1, 6)};
  return tables[p.phases_only ? 0 : p.bits_per_symbol - 3];
}

Complex phase(std::uint8_t number) {
  return framed::phase(number);
}

std::span<const Complex> points(const Parameters& p) {
  static const Points phases = make_points(3);
  static const Points points_16 = make_points(4);
  static const Points points_32 = make_points(5);
  static const Points points_64 = make_points(6);
  switch (p.bits_per_symbol) {
    case 4:
      return points_16;
    case 5:
      return points_32;
    case 6:
      return points_64;
    default:
      return phases;
  }
}

std::uint8_t data_number(const Parameters& p, unsigned bits, std::uint8_t scrambler_value) {
  if (p.phases_only) {
    return (framed::phase_number(p.bits_per_symbol, bits) + scrambler_value) & 7;
  }
  return static_cast<std::uint8_t>(kPhasePoints + (bits ^ scrambler_value));
}

}  // namespace s5066::modem::stanag4539
