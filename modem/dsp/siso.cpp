// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/siso.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

constexpr unsigned kPairs = 4;  // values that two coded bits can take: 00 01 10 11
/// These are the bits that are decoded together, and the bits behind them from which the backward
/// recursion starts.
constexpr std::size_t kWindow = 256;
constexpr std::size_t kLead = 144;
/// A larger soft value adds no information; with this limit no product leaves the range of a float.
constexpr float kLlrMax = 14;
/// Every state keeps at least this probability, so that contradictory input cannot make all of them
/// zero.
constexpr float kProbabilityMin = 1e-17F;

struct Pair {
  std::array<float, 2> first;  // probability of 0 and of 1, the larger being 1
  std::array<float, 2> second;
};

Pair pair_of(const float* llr) {
  const float a = std::exp(-std::min(std::abs(llr[0]), kLlrMax));
  const float b = std::exp(-std::min(std::abs(llr[1]), kLlrMax));
  Pair pair;
  pair.first = llr[0] >= 0 ? std::array{1.0F, a} : std::array{a, 1.0F};
  pair.second = llr[1] >= 0 ? std::array{1.0F, b} : std::array{b, 1.0F};
  return pair;
}

// The trellis has the decoder's inner steps. Of the four branches of a butterfly (states 2i and 2i
// + 1 to i and i + kHalf) two carry one pair of coded bits and two its inverse.
template <unsigned kConstraint>
struct Trellis {
  static_assert(kConstraint == 7 || kConstraint == 9);
  static constexpr CodeGenerators kCode = kConstraint == 7 ? kGenerators7 : kGenerators9;
  static constexpr unsigned kHalf = 1U << (kConstraint - 2);
  using States = typename SisoDecoderOf<kConstraint>::States;
  using Half = std::array<float, kHalf>;

  // Element [pair][i] is 1 for the pair of 2i to i, else 0.
  struct Masks {
    std::array<Half, kPairs> pair{};
  };

  static constexpr Masks make_masks() {
    Masks masks;
    for (unsigned i = 0; i < kHalf; ++i) {
      const auto first = static_cast<unsigned>(std::popcount(2 * i & kCode.first) & 1);
      const auto second = static_cast<unsigned>(std::popcount(2 * i & kCode.second) & 1);
      masks.pair[2 * first + second][i] = 1;
    }
    return masks;
  }

  static constexpr Masks kMasks = make_masks();

  /// These are the probabilities of the branches that carry a butterfly's pair, and of those with
  /// its inverse.
  struct Branches {
    alignas(32) Half same;
    alignas(32) Half inverse;
  };

  static void branches_of(const Pair& p, Branches& out) {
    const float g0 = p.first[0] * p.second[0];
    const float g1 = p.first[0] * p.second[1];
    const float g2 = p.first[1] * p.second[0];
    const float g3 = p.first[1] * p.second[1];
    const auto& m = kMasks.pair;
    for (unsigned i = 0; i < kHalf; ++i) {
      out.same[i] = m[0][i] * g0 + m[1][i] * g1 + m[2][i] * g2 + m[3][i] * g3;
      out.inverse[i] = m[3][i] * g0 + m[2][i] * g1 + m[1][i] * g2 + m[0][i] * g3;
    }
  }

  static void normalize(States& states) {
    float sum = 0;
    for (const float x : states) sum += x;
    const float scale = 1 / sum;
    for (float& x : states) x = x * scale + kProbabilityMin;
  }

  static void step_forward(const States& from, const Branches& g, States& to) {
    for (unsigned i = 0; i < kHalf; ++i) {
      to[i] = from[2 * i] * g.same[i] + from[2 * i + 1] * g.inverse[i];
      to[i + kHalf] = from[2 * i] * g.inverse[i] + from[2 * i + 1] * g.same[i];
    }
    normalize(to);
  }

  static void step_backward(const States& to, const Branches& g, States& from) {
    for (unsigned i = 0; i < kHalf; ++i) {
      from[2 * i] = to[i] * g.same[i] + to[i + kHalf] * g.inverse[i];
      from[2 * i + 1] = to[i] * g.inverse[i] + to[i + kHalf] * g.same[i];
    }
    normalize(from);
  }

  // Returns the probability of each pair of coded bits from all branches that carry it, without
  // their own soft values.
  static std::array<float, kPairs> pair_sums(const States& from, const States& to) {
    std::array<Half, kPairs> parts;
    const auto& m = kMasks.pair;
    for (unsigned i = 0; i < kHalf; ++i) {
      const float same = from[2 * i] * to[i] + from[2 * i + 1] * to[i + kHalf];
      const float inverse = from[2 * i + 1] * to[i] + from[2 * i] * to[i + kHalf];
      for (unsigned k = 0; k < kPairs; ++k) {
        parts[k][i] = m[k][i] * same + m[kPairs - 1 - k][i] * inverse;
      }
    }
    std::array<float, kPairs> sums{};
    for (unsigned k = 0; k < kPairs; ++k) {
      for (unsigned i = 0; i < kHalf; ++i) sums[k] += parts[k][i];
    }
    return sums;
  }
};

}  // namespace

template <unsigned kConstraint>
auto SisoDecoderOf<kConstraint>::zero_state() -> States {
  States states;
  states.fill(kProbabilityMin);
  states[0] = 1;
  return states;
}

template <unsigned kConstraint>
auto SisoDecoderOf<kConstraint>::any_state() -> States {
  States states;
  states.fill(1.0F / static_cast<float>(states.size()));
  return states;
}

template <unsigned kConstraint>
SisoDecoderOf<kConstraint>::SisoDecoderOf(std::pmr::memory_resource* memory)
    : forward_(kWindow + 1, memory) {}

template <unsigned kConstraint>
auto SisoDecoderOf<kConstraint>::decode(const Block& block) -> States {
  using Code = Trellis<kConstraint>;
  const std::size_t bits = block.llr.size() / 2;
  S5066_ASSERT(block.llr.size() == 2 * bits && block.extrinsic.size() == 2 * bits &&
               block.information.size() == bits);
  States start = block.start;
  typename Code::Branches g;
  for (std::size_t from = 0; from < bits; from += kWindow) {
    const std::size_t to = std::min(bits, from + kWindow);
    forward_[0] = start;
    for (std::size_t n = from; n < to; ++n) {
      Code::branches_of(pair_of(&block.llr[2 * n]), g);
      Code::step_forward(forward_[n - from], g, forward_[n - from + 1]);
    }
    start = forward_[to - from];

    States behind = any_state();
    States before;
    for (std::size_t n = std::min(bits, to + kLead); n-- > to;) {
      Code::branches_of(pair_of(&block.llr[2 * n]), g);
      Code::step_backward(behind, g, before);
      behind = before;
    }
    for (std::size_t n = to; n-- > from;) {
      const Pair p = pair_of(&block.llr[2 * n]);
      const auto q = Code::pair_sums(forward_[n - from], behind);
      block.extrinsic[2 * n] = std::log((q[0] * p.second[0] + q[1] * p.second[1]) /
                                        (q[2] * p.second[0] + q[3] * p.second[1]));
      block.extrinsic[2 * n + 1] = std::log((q[0] * p.first[0] + q[2] * p.first[1]) /
                                            (q[1] * p.first[0] + q[3] * p.first[1]));
      const States& after = forward_[n - from + 1];
      float zero = 0;
      float one = 0;
      for (unsigned i = 0; i < Code::kHalf; ++i) {
        zero += after[i] * behind[i];
        one += after[i + Code::kHalf] * behind[i + Code::kHalf];
      }
      block.information[n] = std::log(zero / one);
      Code::branches_of(p, g);
      Code::step_backward(behind, g, before);
      behind = before;
    }
  }
  return start;
}

float expected_errors(std::span<const float> llr, float overstated) {
  float wrong = 0;
  for (const float value : llr) wrong += 1 / (1 + std::exp(std::abs(value) / overstated));
  return wrong;
}

template class SisoDecoderOf<7>;
template class SisoDecoderOf<9>;

}  // namespace s5066::modem::dsp
