// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/demapper.h"
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "modem/waveforms/ms110a/parameters.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::mul;
using dsp::mul_conj;

constexpr float kProbabilityMin = 1e-30F;

constexpr unsigned kPointsMax = 8;
constexpr unsigned kBitsMax = 3;

SoftSymbol binary_symbol(float llr) {
  const float mean = std::tanh(0.5F * llr);
  return {{mean, 0}, 1 - mean * mean};
}

// Returns the logarithm of each point's probability by the priors of its bits, up to a constant.
std::array<float, kPointsMax> prior_weights(std::span<const float> prior) {
  const auto bits_per_symbol = static_cast<unsigned>(prior.size());
  std::array<float, kPointsMax> weight{};
  for (unsigned bits = 0; bits < 1U << bits_per_symbol; ++bits) {
    for (unsigned b = 0; b < bits_per_symbol; ++b) {
      const float half = 0.5F * prior[b];
      weight[bits] += bits >> (bits_per_symbol - 1 - b) & 1 ? -half : half;
    }
  }
  return weight;
}

// Converts the logarithms into weights, of which the largest is 1, and returns their mean symbol.
SoftSymbol mix(unsigned bits_per_symbol, std::array<float, kPointsMax>& weight) {
  const unsigned count = 1U << bits_per_symbol;
  const float top = *std::max_element(weight.begin(), weight.begin() + count);
  float total = 0;
  SoftSymbol soft;
  for (unsigned bits = 0; bits < count; ++bits) {
    weight[bits] = std::exp(weight[bits] - top);
    total += weight[bits];
    soft.mean += weight[bits] * framed::phase(tribit_of_bits(bits_per_symbol, bits));
  }
  soft.mean /= total;
  soft.variance = std::max(0.0F, 1 - std::norm(soft.mean));
  return soft;
}

}  // namespace

SoftSymbol demap(unsigned bits_per_symbol, Complex estimate, float variance, std::uint8_t scrambler,
                 std::span<float> llr) {
  constexpr std::array<float, kBitsMax> kNothing{};
  return demap_again(std::span(kNothing).first(bits_per_symbol), estimate, variance, scrambler,
                     llr);
}

SoftSymbol demap_again(std::span<const float> prior, Complex estimate, float variance,
                       std::uint8_t scrambler, std::span<float> llr) {
  const auto bits_per_symbol = static_cast<unsigned>(prior.size());
  const Complex turn = framed::phase(scrambler);
  const Complex z = mul_conj(turn, estimate);
  SoftSymbol soft;
  if (bits_per_symbol == 1) {
    llr[0] = 4 * z.real() / variance;
    soft = binary_symbol(llr[0] + prior[0]);
  } else {
    auto weight = prior_weights(prior);
    for (unsigned bits = 0; bits < 1U << bits_per_symbol; ++bits) {
      const Complex s = framed::phase(tribit_of_bits(bits_per_symbol, bits));
      weight[bits] += 2 * (s.real() * z.real() + s.imag() * z.imag()) / variance;
    }
    soft = mix(bits_per_symbol, weight);
    for (unsigned b = 0; b < bits_per_symbol; ++b) {
      const unsigned mask = 1U << (bits_per_symbol - 1 - b);
      float zero = kProbabilityMin;
      float one = kProbabilityMin;
      for (unsigned bits = 0; bits < 1U << bits_per_symbol; ++bits) {
        (bits & mask ? one : zero) += weight[bits];
      }
      llr[b] = std::log(zero / one) - prior[b];
    }
  }
  soft.mean = mul(turn, soft.mean);
  return soft;
}

SoftSymbol symbol_of(std::span<const float> llr, std::uint8_t scrambler) {
  SoftSymbol soft;
  if (llr.size() == 1) {
    soft = binary_symbol(llr[0]);
  } else {
    auto weight = prior_weights(llr);
    soft = mix(static_cast<unsigned>(llr.size()), weight);
  }
  soft.mean = mul(framed::phase(scrambler), soft.mean);
  return soft;
}

}  // namespace s5066::modem::ms110a
