#include "modem/waveforms/stanag4539/parameters.h"

#include <cmath>
#include <string_view>

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

// [C.5.2.1] as octal digits.
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

// [C Table C-II]
constexpr std::array<std::uint8_t, 4> kQuarterOfDibit = {0, 2, 6, 4};
// [C Table C-IV]
constexpr std::array<std::uint8_t, 8> kPhaseOfTribit = {1, 0, 2, 3, 6, 7, 5, 4};

using Points = std::array<Complex, kNumbersMax>;

constexpr float kDiagonal = 0.707107F;
constexpr std::array<Complex, kPhasePoints> kPhases = {{{1, 0},
                                                        {kDiagonal, kDiagonal},
                                                        {0, 1},
                                                        {-kDiagonal, kDiagonal},
                                                        {-1, 0},
                                                        {-kDiagonal, -kDiagonal},
                                                        {0, -1},
                                                        {kDiagonal, -kDiagonal}}};

// [C Table C-V]
void add_16(Points& points) {
  constexpr float a = 0.866025F;
  constexpr float b = 0.258819F;
  const std::array<Complex, 16> table = {{{a, 0.5F},
                                          {0.5F, a},
                                          {1, 0},
                                          {b, b},
                                          {-0.5F, a},
                                          {0, 1},
                                          {-a, 0.5F},
                                          {-b, b},
                                          {0.5F, -a},
                                          {0, -1},
                                          {a, -0.5F},
                                          {b, -b},
                                          {-a, -0.5F},
                                          {-0.5F, -a},
                                          {-1, 0},
                                          {-b, -b}}};
  for (unsigned i = 0; i < table.size(); ++i) points[kPhasePoints + i] = table[i];
}

// [C Table C-VI] Bits 3 and 4 mirror the first eight.
void add_32(Points& points) {
  const std::array<Complex, 8> table = {{{0.866380F, 0.499386F},
                                         {0.984849F, 0.173415F},
                                         {0.499386F, 0.866380F},
                                         {0.173415F, 0.984849F},
                                         {0.520246F, 0.520246F},
                                         {0.520246F, 0.173415F},
                                         {0.173415F, 0.520246F},
                                         {0.173415F, 0.173415F}}};
  for (unsigned i = 0; i < 32; ++i) {
    const Complex z = table[i & 7];
    points[kPhasePoints + i] = {i & 8 ? -z.real() : z.real(), i & 16 ? -z.imag() : z.imag()};
  }
}

// [C Table C-VII] Bits 2 and 5 mirror those without them, but for the points on the axes.
void add_64(Points& points) {
  const std::array<Complex, 16> table = {{{1, 0},
                                          {0.822878F, 0.568218F},
                                          {0.821137F, 0.152996F},
                                          {0.932897F, 0.360142F},
                                          {0.568218F, 0.822878F},
                                          {0.588429F, 0.588429F},
                                          {0.588429F, 0.117686F},
                                          {0.588429F, 0.353057F},
                                          {0.152996F, 0.821137F},
                                          {0.117686F, 0.588429F},
                                          {0.117686F, 0.117686F},
                                          {0.117686F, 0.353057F},
                                          {0.360142F, 0.932897F},
                                          {0.353057F, 0.588429F},
                                          {0.353057F, 0.117686F},
                                          {0.353057F, 0.353057F}}};
  for (unsigned i = 0; i < 64; ++i) {
    const Complex z = table[(i & 24) / 2 + (i & 3)];
    points[kPhasePoints + i] = {i & 32 ? -z.real() : z.real(), i & 4 ? -z.imag() : z.imag()};
  }
  points[kPhasePoints + 4] = {0, -1};
  points[kPhasePoints + 32] = {0, 1};
  points[kPhasePoints + 36] = {-1, 0};
}

Points make_points(void (*add_data)(Points&)) {
  Points points{};
  for (unsigned i = 0; i < kPhasePoints; ++i) points[i] = kPhases[i];
  if (add_data != nullptr) add_data(points);
  return points;
}

// A 9-bit register of x^9 + x^4 + 1, loaded with 1 at the beginning of every frame.
std::array<std::uint8_t, kFrameData> make_scrambler(unsigned bits) {
  std::array<std::uint8_t, kFrameData> values{};
  unsigned state = 1;
  for (auto& value : values) {
    value = static_cast<std::uint8_t>(state & ((1U << bits) - 1));
    for (unsigned i = 0; i < bits; ++i) {
      state = state >> 1 | ((state ^ state >> 4) & 1) << 8;
    }
  }
  return values;
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
    p.interleaver_code = kInterleavers[0].code;  // also of the mode that has none
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
    digits[k] = kQuarterOfDibit[2 * bit_of(p.rate_code, k) + bit_of(p.interleaver_code, k)];
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

// Four sets of 18: seven minus, plus, the two codes and the number of the set, plus.
bool probe_is_negative(const Parameters& p, unsigned frame) {
  const unsigned at = frame % 18;
  const unsigned set = frame / 18 + 1;
  if (at < 7) return true;
  if (at == 7 || at == 17) return false;
  if (at < 11) return bit_of(p.rate_code, at - 8) != 0;
  if (at < 14) return bit_of(p.interleaver_code, at - 11) != 0;
  return bit_of(set, at - 14) != 0;
}

const std::array<std::uint8_t, kFrameData>& scrambler(const Parameters& p) {
  // Phases are turned by three bits, those of two bits too.
  static const std::array<std::array<std::uint8_t, kFrameData>, 4> tables = {
      make_scrambler(3), make_scrambler(4), make_scrambler(5), make_scrambler(6)};
  return tables[p.phases_only ? 0 : p.bits_per_symbol - 3];
}

Complex phase(std::uint8_t number) {
  return kPhases[number & 7];
}

std::span<const Complex> points(const Parameters& p) {
  static const Points phases = make_points(nullptr);
  static const Points points_16 = make_points(add_16);
  static const Points points_32 = make_points(add_32);
  static const Points points_64 = make_points(add_64);
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
  if (p.bits_per_symbol == 2) return (kQuarterOfDibit[bits & 3] + scrambler_value) & 7;
  if (p.bits_per_symbol == 3) return (kPhaseOfTribit[bits & 7] + scrambler_value) & 7;
  return static_cast<std::uint8_t>(kPhasePoints + (bits ^ scrambler_value));
}

}  // namespace s5066::modem::stanag4539
