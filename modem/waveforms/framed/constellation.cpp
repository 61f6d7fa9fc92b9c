// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;

// [C Table C-II]
constexpr std::array<std::uint8_t, 4> kQuarterOfDibit = {0, 2, 6, 4};
// [C Table C-IV]
constexpr std::array<std::uint8_t, 8> kPhaseOfTribit = {1, 0, 2, 3, 6, 7, 5, 4};

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
void add_16(std::span<Complex> points) {
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
  for (unsigned i = 0; i < table.size(); ++i) points[i] = table[i];
}

// [C Table C-VI] Bits 3 and 4 mirror the first eight points.
void add_32(std::span<Complex> points) {
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
    points[i] = {i & 8 ? -z.real() : z.real(), i & 16 ? -z.imag() : z.imag()};
  }
}

// [C Table C-VII] Bits 2 and 5 mirror the points without them, except for those on the axes.
void add_64(std::span<Complex> points) {
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
    points[i] = {i & 32 ? -z.real() : z.real(), i & 4 ? -z.imag() : z.imag()};
  }
  points[4] = {0, -1};
  points[32] = {0, 1};
  points[36] = {-1, 0};
}

// [110D Appendix D] Bits 3 and 7 mirror the points without them.
void add_256(std::span<Complex> points) {
  const std::array<Complex, 64> table = {
      {{0.959366F, 0.056433F}, {0.959366F, 0.169300F}, {0.846499F, 0.507899F},
       {0.959366F, 0.282166F}, {0.846499F, 0.056433F}, {0.846499F, 0.169300F},
       {0.846499F, 0.395033F}, {0.846499F, 0.282166F}, {0.169300F, 0.959366F},
       {0.056433F, 0.998304F}, {0.733632F, 0.507899F}, {0.733632F, 0.620766F},
       {0.733632F, 0.056433F}, {0.733632F, 0.169300F}, {0.733632F, 0.395033F},
       {0.733632F, 0.282166F}, {0.507899F, 0.846499F}, {0.507899F, 0.733632F},
       {0.507899F, 0.507899F}, {0.507899F, 0.620766F}, {0.507899F, 0.056433F},
       {0.507899F, 0.169300F}, {0.507899F, 0.395033F}, {0.507899F, 0.282166F},
       {0.282166F, 0.959366F}, {0.620766F, 0.733632F}, {0.620766F, 0.507899F},
       {0.620766F, 0.620766F}, {0.620766F, 0.056433F}, {0.620766F, 0.169300F},
       {0.620766F, 0.395033F}, {0.620766F, 0.282166F}, {0.056433F, 0.846499F},
       {0.056433F, 0.733632F}, {0.056433F, 0.507899F}, {0.056433F, 0.620766F},
       {0.056433F, 0.056433F}, {0.056433F, 0.169300F}, {0.056433F, 0.395033F},
       {0.056433F, 0.282166F}, {0.169300F, 0.846499F}, {0.169300F, 0.733632F},
       {0.169300F, 0.507899F}, {0.169300F, 0.620766F}, {0.169300F, 0.056433F},
       {0.169300F, 0.169300F}, {0.169300F, 0.395033F}, {0.169300F, 0.282166F},
       {0.395033F, 0.846499F}, {0.395033F, 0.733632F}, {0.395033F, 0.507899F},
       {0.395033F, 0.620766F}, {0.395033F, 0.056433F}, {0.395033F, 0.169300F},
       {0.395033F, 0.395033F}, {0.395033F, 0.282166F}, {0.282166F, 0.846499F},
       {0.282166F, 0.733632F}, {0.282166F, 0.507899F}, {0.282166F, 0.620766F},
       {0.282166F, 0.056433F}, {0.282166F, 0.169300F}, {0.282166F, 0.395033F},
       {0.282166F, 0.282166F}}};
  for (unsigned i = 0; i < 256; ++i) {
    const Complex z = table[(i >> 4 & 7) * 8 + (i & 7)];
    points[i] = {i & 128 ? -z.real() : z.real(), i & 8 ? -z.imag() : z.imag()};
  }
}

constexpr std::array kBitsOfSymbols = {1U, 2U, 3U, 4U, 5U, 6U, 8U};
constexpr unsigned kBitsMax = kBitsOfSymbols.back();

// The constellation of a number of bits is stored behind those of fewer bits.
constexpr std::size_t place_of(unsigned bits_per_symbol) {
  return (std::size_t{1} << bits_per_symbol) - 2;
}
using Points = std::array<Complex, place_of(kBitsMax + 1)>;

void add(unsigned bits_per_symbol, Points& all) {
  const auto points =
      std::span(all).subspan(place_of(bits_per_symbol), std::size_t{1} << bits_per_symbol);
  switch (bits_per_symbol) {
    case 4:
      add_16(points);
      break;
    case 5:
      add_32(points);
      break;
    case 6:
      add_64(points);
      break;
    case 8:
      add_256(points);
      break;
    default:
      for (unsigned i = 0; i < points.size(); ++i) {
        points[i] = phase(phase_number(bits_per_symbol, i));
      }
  }
}

Points make_points() {
  Points all{};
  for (const unsigned bits : kBitsOfSymbols) add(bits, all);
  return all;
}

}  // namespace

Complex phase(unsigned number) {
  return kPhases[number & 7];
}

std::span<const Complex> constellation_of_phases() {
  return kPhases;
}

std::uint8_t phase_number(unsigned bits_per_symbol, unsigned bits) {
  if (bits_per_symbol == 1) return bits & 1 ? 4 : 0;
  return bits_per_symbol == 2 ? kQuarterOfDibit[bits & 3] : kPhaseOfTribit[bits & 7];
}

std::span<const Complex> constellation(unsigned bits_per_symbol) {
  static const Points all = make_points();
  S5066_ASSERT(std::find(kBitsOfSymbols.begin(), kBitsOfSymbols.end(), bits_per_symbol) !=
               kBitsOfSymbols.end());
  return std::span(all).subspan(place_of(bits_per_symbol), std::size_t{1} << bits_per_symbol);
}

void scrambler_values(unsigned seed, unsigned bits, std::span<std::uint8_t> values) {
  unsigned state = seed;
  for (auto& value : values) {
    value = static_cast<std::uint8_t>(state & ((1U << bits) - 1));
    for (unsigned i = 0; i < bits; ++i) state = state >> 1 | ((state ^ state >> 4) & 1) << 8;
  }
}

}  // namespace s5066::modem::framed
