// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/demapper.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "modem/waveforms/framed/constellation.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;
using dsp::mul;
using dsp::mul_conj;

constexpr float kExponentMin = -80;
constexpr float kSumMin = 1e-30F;

// Returns e^x for kExponentMin <= x <= 0, with an error below 3e-6. It is 2 to the whole part times
// a polynomial of the rest, so that a compiler can vectorise it.
inline float exponential(float x) {
  const float t = std::max(x, kExponentMin) * 1.44269504F;
  const auto whole = static_cast<std::int32_t>(t - 1);  // rounded towards zero, and so below t
  const float f = t - static_cast<float>(whole);        // 0 to 1
  const float p =
      1 + f * (0.69314718F +
               f * (0.24022651F + f * (0.05550411F + f * (0.00961813F + f * 0.00133336F))));
  return p * std::bit_cast<float>((whole + 127) << 23);
}

}  // namespace

Demapper::Demapper(unsigned bits_per_symbol)
    : bits_per_symbol_(bits_per_symbol),
      phases_only_(bits_per_symbol <= 3),
      count_(std::size_t{1} << bits_per_symbol) {
  const auto table = constellation(bits_per_symbol);
  for (std::size_t i = 0; i < count_; ++i) {
    const Complex z = table[i];
    re_[i] = z.real();
    im_[i] = z.imag();
    norm_[i] = std::norm(z);
    power_ += norm_[i] / static_cast<float>(count_);
  }
}

// Adds the logarithm of each point's probability. A bit that the scrambler flips counts with the
// opposite sign.
void Demapper::add_priors(std::span<const float> bits, unsigned flips, Weights& weights) const {
  Weights prior;
  prior[0] = 0;
  std::size_t made = 1;
  for (unsigned b = 0; b < bits_per_symbol_; ++b) {
    const bool flipped = flips >> (bits_per_symbol_ - 1 - b) & 1;
    const float half = flipped ? -0.5F * bits[b] : 0.5F * bits[b];
    for (std::size_t i = made; i-- > 0;) {
      prior[2 * i + 1] = prior[i] - half;
      prior[2 * i] = prior[i] + half;
    }
    made *= 2;
  }
  for (std::size_t i = 0; i < count_; ++i) weights[i] += prior[i];
}

// Converts logarithms to probabilities and returns their mean.
SoftSymbol Demapper::average(Weights& weights) const {
  float top = weights[0];
  for (std::size_t i = 1; i < count_; ++i) top = std::max(top, weights[i]);
  for (std::size_t i = 0; i < count_; ++i) weights[i] = exponential(weights[i] - top);
  float total = 0;
  float re = 0;
  float im = 0;
  float square = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    total += weights[i];
    re += weights[i] * re_[i];
    im += weights[i] * im_[i];
    square += weights[i] * norm_[i];
  }
  const float scale = 1 / total;
  SoftSymbol soft{{re * scale, im * scale}, 0};
  soft.variance = std::max(0.0F, square * scale - std::norm(soft.mean));
  return soft;
}

SoftSymbol Demapper::symbol_of(std::span<const float> bits, std::uint8_t scrambler_value) const {
  Weights weights;
  std::fill_n(weights.begin(), count_, 0.0F);
  add_priors(bits, phases_only_ ? 0 : scrambler_value, weights);
  SoftSymbol soft = average(weights);
  if (phases_only_) soft.mean = mul(soft.mean, phase(scrambler_value));
  return soft;
}

SoftSymbol Demapper::demap(Complex estimate, float variance, std::span<const float> prior,
                           std::uint8_t scrambler_value, std::span<float> llr) const {
  const unsigned flips = phases_only_ ? 0 : scrambler_value;
  const Complex z = phases_only_ ? mul_conj(phase(scrambler_value), estimate) : estimate;
  const float scale = 1 / variance;
  Weights weights;
  for (std::size_t i = 0; i < count_; ++i) {
    weights[i] = scale * (2 * (z.real() * re_[i] + z.imag() * im_[i]) - norm_[i]);
  }
  if (!prior.empty()) add_priors(prior, flips, weights);
  SoftSymbol soft = average(weights);
  for (unsigned b = 0; b < bits_per_symbol_; ++b) {
    const unsigned shift = bits_per_symbol_ - 1 - b;
    float zero = kSumMin;
    float one = kSumMin;
    for (std::size_t i = 0; i < count_; ++i) (i >> shift & 1 ? one : zero) += weights[i];
    const float both = std::log(zero / one);
    llr[b] = (flips >> shift & 1 ? -both : both) - (prior.empty() ? 0.0F : prior[b]);
  }
  if (phases_only_) soft.mean = mul(soft.mean, phase(scrambler_value));
  return soft;
}

}  // namespace s5066::modem::framed
