// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/least_squares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

using Wide = std::complex<double>;
using Matrix = FixedVector<Wide, kWideTapsMax * kWideTapsMax>;
using Column = FixedVector<Wide, kWideTapsMax>;

/// The unit is one symbol's energy. It keeps the system regular at no measurable cost.
constexpr double kRegularization = 0.01;
constexpr float kPathShare = 0.1F;
constexpr float kFirstPathShare = 0.25F;
/// Places far enough from the ends of a window for a whole pulse get this much more weight.
constexpr float kWholePulses = 0.1F;
constexpr std::size_t kParts = 4;  // parts of the stretch; their phases give the carrier's offset

Wide product(Wide a, Wide b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Wide product_conj(Wide a, Wide b) {
  return product(std::conj(a), b);
}

// Returns the correlation matrix of the symbols, computed from its first column by moving the
// stretch on.
Matrix correlation_matrix(std::span<const Complex> s, std::size_t taps) {
  const std::size_t rows = s.size() - taps + 1;  // row r meets symbols r .. r + taps - 1
  Matrix a(taps * taps);
  const auto symbol = [&](std::size_t row, std::size_t tap) -> Wide {
    return s[row + taps - 1 - tap];
  };
  for (std::size_t i = 0; i < taps; ++i) {
    Wide sum;
    for (std::size_t r = 0; r < rows; ++r) sum += product_conj(symbol(r, i), symbol(r, 0));
    a[i * taps] = sum;
  }
  for (std::size_t i = 1; i < taps; ++i) {
    for (std::size_t j = 1; j <= i; ++j) {
      // Rows of (i, j) are those of (i - 1, j - 1), one earlier.
      a[i * taps + j] = a[(i - 1) * taps + j - 1] -
                        product_conj(symbol(rows - 1, i - 1), symbol(rows - 1, j - 1)) +
                        product_conj(symbol(0, i), symbol(0, j));
    }
  }
  for (std::size_t i = 0; i < taps; ++i) a[i * taps + i] += kRegularization;
  return a;
}

// Returns the turns in one sample, from the phases between fit and samples in four parts of the
// stretch.
float offset_turn(const std::array<Wide, kParts>& parts, double samples_per_part) {
  Wide sum;
  for (std::size_t i = 1; i < kParts; ++i) sum += product_conj(parts[i - 1], parts[i]);
  // The whole length gives the precision once the short steps have resolved the number of turns.
  const double coarse = std::arg(sum);
  const Wide ends = product_conj(parts[0] + product(parts[1], std::polar(1.0, -coarse)),
                                 parts[2] + product(parts[3], std::polar(1.0, -coarse)));
  const double fine = std::arg(product(ends, std::polar(1.0, -2 * coarse)));
  return static_cast<float>((coarse + fine / 2) / (2 * std::numbers::pi * samples_per_part));
}

}  // namespace

WideResponse estimate_response(std::span<const Complex> symbols, std::span<const Complex> samples,
                               std::size_t taps) {
  S5066_ASSERT(symbols.size() > 2 * taps);
  S5066_ASSERT(samples.size() >= kPhases * symbols.size());
  const std::size_t rows = symbols.size() - taps + 1;
  const auto first_sample = kPhases * (taps - 1);

  WideResponse response;
  response.taps.resize(kPhases * taps);
  const Matrix matrix = correlation_matrix(symbols, taps);
  double explained = 0;
  double total = 0;
  std::array<Wide, kParts> parts{};
  for (std::size_t p = 0; p < kPhases; ++p) {
    const auto received = [&](std::size_t r) { return samples[first_sample + kPhases * r + p]; };
    Column right(taps);
    for (std::size_t i = 0; i < taps; ++i) {
      float re = 0;
      float im = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        const Complex term = mul_conj(symbols[r + taps - 1 - i], received(r));
        re += term.real();
        im += term.imag();
      }
      right[i] = {re, im};
    }
    Column solution = right;
    Matrix factor = matrix;
    solve_hermitian(factor, solution, taps);
    for (std::size_t i = 0; i < taps; ++i) {
      response.taps[kPhases * i + p] = Complex(solution[i]);
      explained += product_conj(right[i], solution[i]).real();
    }
    for (std::size_t r = 0; r < rows; ++r) {
      Complex fit;
      for (std::size_t i = 0; i < taps; ++i) {
        fit += mul(response.taps[kPhases * i + p], symbols[r + taps - 1 - i]);
      }
      parts[r * kParts / rows] += Wide(mul_conj(fit, received(r)));
      total += std::norm(received(r));
    }
  }
  const auto count = static_cast<double>(kPhases * rows);
  const auto unknown = static_cast<double>(kPhases * taps);
  const double noise = std::max(total - explained, 0.0) / (count - unknown);
  response.noise_power = static_cast<float>(noise);
  response.signal_power =
      static_cast<float>(std::max(explained / count - noise * unknown / count, 0.0));
  response.offset_turn = offset_turn(parts, static_cast<double>(kPhases * rows) / kParts);
  return response;
}

std::size_t profile_spread(std::span<const float> profile) {
  if (profile.empty()) return 0;
  const float least = kPathShare * *std::max_element(profile.begin(), profile.end());
  std::size_t first = profile.size();
  std::size_t last = 0;
  for (std::size_t k = 0; k < profile.size(); ++k) {
    const bool rises = k == 0 || profile[k] > profile[k - 1];
    const bool falls = k + 1 == profile.size() || profile[k] >= profile[k + 1];
    if (!rises || !falls || profile[k] < least) continue;
    first = std::min(first, k);
    last = k;
  }
  return last > first ? last - first : 0;
}

std::size_t first_path(std::span<const float> profile) {
  const float least = kFirstPathShare * *std::max_element(profile.begin(), profile.end());
  std::size_t k = 0;
  while (k + 1 < profile.size() && (profile[k] < least || profile[k] < profile[k + 1])) ++k;
  return k;
}

double peak_place(std::span<const float> profile, std::size_t k) {
  const auto place = static_cast<double>(k);
  if (k == 0 || k + 1 == profile.size()) return place;
  const double a = std::sqrt(profile[k - 1]);
  const double b = std::sqrt(profile[k]);
  const double c = std::sqrt(profile[k + 1]);
  const double bend = a - 2 * b + c;
  return bend < 0 ? place + std::clamp(0.5 * (a - c) / bend, -0.5, 0.5) : place;
}

int fullest_window(std::span<const float> profile, const WindowSought& sought) {
  const auto power = [&](int begin, int symbols) {
    const int size = static_cast<int>(profile.size());
    const int steps = static_cast<int>(kPhases);
    const auto from = profile.begin() + std::clamp(steps * begin, 0, size);
    const auto to = profile.begin() + std::clamp(steps * (begin + symbols), 0, size);
    return std::accumulate(from, to, 0.0F);
  };
  const auto worth = [&](int begin) {
    return power(begin, sought.taps) +
           kWholePulses * power(begin + sought.margin, sought.taps - 2 * sought.margin);
  };
  const int spare = sought.taps - sought.span;
  if (spare >= 0) return sought.earliest - spare / 2;
  int best = sought.earliest;
  for (int begin = best + 1; begin <= sought.earliest - spare; ++begin) {
    if (worth(begin) > worth(best)) best = begin;
  }
  return best;
}

void factor_hermitian(std::span<Wide> a, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      Wide sum = a[i * size + j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= product(a[i * size + k], std::conj(a[j * size + k]));
      }
      a[i * size + j] =
          i == j ? Wide(std::sqrt(std::max(sum.real(), 1e-30))) : sum / a[j * size + j].real();
    }
  }
}

void solve_factored(std::span<const Wide> a, std::span<Wide> b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= product(a[i * size + k], b[k]);
    b[i] /= a[i * size + i].real();
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) b[i] -= product_conj(a[k * size + i], b[k]);
    b[i] /= a[i * size + i].real();
  }
}

void solve_hermitian(std::span<Wide> a, std::span<Wide> b, std::size_t size) {
  factor_hermitian(a, size);
  solve_factored(a, b, size);
}

}  // namespace s5066::modem::dsp
