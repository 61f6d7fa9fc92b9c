#include "modem/waveforms/ms110a/demapper.h"

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

SoftSymbol demap_binary(Complex z, float variance, std::span<float> llr) {
  llr[0] = 4 * z.real() / variance;
  const float mean = std::tanh(2 * z.real() / variance);
  return {{mean, 0}, 1 - mean * mean};
}

}  // namespace

SoftSymbol demap(unsigned bits_per_symbol, Complex estimate, float variance, std::uint8_t scrambler,
                 std::span<float> llr) {
  const Complex turn = point(scrambler);
  const Complex z = mul_conj(turn, estimate);
  SoftSymbol soft;
  if (bits_per_symbol == 1) {
    soft = demap_binary(z, variance, llr);
  } else {
    const unsigned count = 1U << bits_per_symbol;
    std::array<float, 8> weight{};
    float top = -1e30F;
    for (unsigned bits = 0; bits < count; ++bits) {
      const Complex s = point(tribit_of_bits(bits_per_symbol, bits));
      weight[bits] = 2 * (s.real() * z.real() + s.imag() * z.imag()) / variance;
      top = std::max(top, weight[bits]);
    }
    float total = 0;
    for (unsigned bits = 0; bits < count; ++bits) {
      weight[bits] = std::exp(weight[bits] - top);
      total += weight[bits];
      soft.mean += weight[bits] * point(tribit_of_bits(bits_per_symbol, bits));
    }
    for (unsigned b = 0; b < bits_per_symbol; ++b) {
      const unsigned mask = 1U << (bits_per_symbol - 1 - b);
      float zero = kProbabilityMin;
      float one = kProbabilityMin;
      for (unsigned bits = 0; bits < count; ++bits) (bits & mask ? one : zero) += weight[bits];
      llr[b] = std::log(zero / one);
    }
    soft.mean /= total;
    soft.variance = std::max(0.0F, 1 - std::norm(soft.mean));
  }
  soft.mean = mul(turn, soft.mean);
  return soft;
}

}  // namespace s5066::modem::ms110a
