// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/surplus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

/// Soft bits are multiplied by these factors to find how much information they give.
constexpr std::array kSurenesses = {2.0F, 1.0F, 0.5F, 0.25F, 0.125F, 0.0625F};

// Returns the bits of information about the word that the soft bits, multiplied by `sureness`, do
// not give.
double left_open(const CodeGenerators& generators, std::span<const float> llr,
                 std::span<const std::uint8_t> bits, float sureness) {
  ConvolutionalEncoder encoder(generators);
  for (const std::uint8_t bit : bits.first(generators.constraint - 1)) encoder.encode(bit);
  double sum = 0;
  const auto add = [&](float value, std::uint8_t bit) {
    if (value == 0) return;  // the bit was not sent
    const float against = bit != 0 ? sureness * value : -sureness * value;
    sum += std::max(against, 0.0F) + std::log1p(std::exp(-std::abs(against)));
  };
  std::size_t at = 0;
  for (const std::uint8_t bit : bits.subspan(generators.constraint - 1)) {
    const auto pair = encoder.encode(bit);
    add(llr[at++], pair.first);
    add(llr[at++], pair.second);
  }
  return sum / std::numbers::ln2;
}

}  // namespace

// A bit with log-likelihood ratio L and the word's value c, 1 or -1, gives 1 - log2(1 + exp(-a c
// L)). The factor a is the one with the largest sum, because soft bits may claim too much or too
// little. There is exactly one such a.
float surplus(const CodeGenerators& generators, std::span<const float> llr,
              std::span<const std::uint8_t> bits) {
  const std::size_t tail = generators.constraint - 1;
  S5066_ASSERT(bits.size() >= tail && llr.size() == 2 * (bits.size() - tail));
  const auto needed = static_cast<double>(bits.size() - tail);
  const double sent = 2 * needed - static_cast<double>(std::count(llr.begin(), llr.end(), 0.0F));
  if (sent <= needed) return 0;
  double told = -std::numeric_limits<double>::infinity();
  for (const float sureness : kSurenesses) {
    const double now = sent - left_open(generators, llr, bits, sureness);
    if (now < told) break;
    told = now;
  }
  return static_cast<float>((told - needed) / (sent - needed));
}

}  // namespace s5066::modem::dsp
