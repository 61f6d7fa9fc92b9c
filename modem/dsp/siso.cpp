#include "modem/dsp/siso.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

constexpr unsigned kHalf = kCodeStates / 2;
constexpr unsigned kPairs = 4;  // values that two coded bits can take: 00 01 10 11
/// Bits that are decoded together, and bits behind them from which the backward recursion comes.
constexpr std::size_t kWindow = 256;
constexpr std::size_t kLead = 96;
/// A soft value beyond this says nothing more; with it no product leaves the range of a float.
constexpr float kLlrMax = 14;
/// Every state keeps this probability, so that contradictory input cannot make all of them zero.
constexpr float kProbabilityMin = 1e-17F;

using States = SisoDecoder::States;
using Half = std::array<float, kHalf>;

// Of the four branches of a butterfly (states 2i and 2i + 1 to i and i + 32) two carry one pair of
// coded bits and two its inverse. Element [pair][i] is 1 for the pair of 2i to i, else 0.
struct Masks {
  std::array<Half, kPairs> pair{};
};

constexpr Masks make_masks() {
  Masks masks;
  for (unsigned i = 0; i < kHalf; ++i) {
    const auto first = static_cast<unsigned>(std::popcount(2 * i & kCodeGenerator1) & 1);
    const auto second = static_cast<unsigned>(std::popcount(2 * i & kCodeGenerator2) & 1);
    masks.pair[2 * first + second][i] = 1;
  }
  return masks;
}

constexpr Masks kMasks = make_masks();

/// Probabilities of the branches that carry a butterfly's pair and of those with its inverse.
struct Branches {
  alignas(32) Half same;
  alignas(32) Half inverse;
};

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

void branches_of(const Pair& p, Branches& out) {
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

void normalize(States& states) {
  float sum = 0;
  for (const float x : states) sum += x;
  const float scale = 1 / sum;
  for (float& x : states) x = x * scale + kProbabilityMin;
}

void step_forward(const States& from, const Branches& g, States& to) {
  for (unsigned i = 0; i < kHalf; ++i) {
    to[i] = from[2 * i] * g.same[i] + from[2 * i + 1] * g.inverse[i];
    to[i + kHalf] = from[2 * i] * g.inverse[i] + from[2 * i + 1] * g.same[i];
  }
  normalize(to);
}

void step_backward(const States& to, const Branches& g, States& from) {
  for (unsigned i = 0; i < kHalf; ++i) {
    from[2 * i] = to[i] * g.same[i] + to[i + kHalf] * g.inverse[i];
    from[2 * i + 1] = to[i] * g.inverse[i] + to[i + kHalf] * g.same[i];
  }
  normalize(from);
}

// How probable each pair of coded bits is by all branches that carry it, their own soft values left
// out.
std::array<float, kPairs> pair_sums(const States& from, const States& to) {
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

}  // namespace

SisoDecoder::States SisoDecoder::zero_state() {
  States states;
  states.fill(kProbabilityMin);
  states[0] = 1;
  return states;
}

SisoDecoder::States SisoDecoder::any_state() {
  States states;
  states.fill(1.0F / kCodeStates);
  return states;
}

SisoDecoder::SisoDecoder() : forward_(kWindow + 1) {}

SisoDecoder::States SisoDecoder::decode(const Block& block) {
  const std::size_t bits = block.llr.size() / 2;
  S5066_ASSERT(block.llr.size() == 2 * bits && block.extrinsic.size() == 2 * bits &&
               block.information.size() == bits);
  States start = block.start;
  Branches g;
  for (std::size_t from = 0; from < bits; from += kWindow) {
    const std::size_t to = std::min(bits, from + kWindow);
    forward_[0] = start;
    for (std::size_t n = from; n < to; ++n) {
      branches_of(pair_of(&block.llr[2 * n]), g);
      step_forward(forward_[n - from], g, forward_[n - from + 1]);
    }
    start = forward_[to - from];

    States behind = any_state();
    States before;
    for (std::size_t n = std::min(bits, to + kLead); n-- > to;) {
      branches_of(pair_of(&block.llr[2 * n]), g);
      step_backward(behind, g, before);
      behind = before;
    }
    for (std::size_t n = to; n-- > from;) {
      const Pair p = pair_of(&block.llr[2 * n]);
      const auto q = pair_sums(forward_[n - from], behind);
      block.extrinsic[2 * n] = std::log((q[0] * p.second[0] + q[1] * p.second[1]) /
                                        (q[2] * p.second[0] + q[3] * p.second[1]));
      block.extrinsic[2 * n + 1] = std::log((q[0] * p.first[0] + q[2] * p.first[1]) /
                                            (q[1] * p.first[0] + q[3] * p.first[1]));
      const States& after = forward_[n - from + 1];
      float zero = 0;
      float one = 0;
      for (unsigned i = 0; i < kHalf; ++i) {
        zero += after[i] * behind[i];
        one += after[i + kHalf] * behind[i + kHalf];
      }
      block.information[n] = std::log(zero / one);
      branches_of(p, g);
      step_backward(behind, g, before);
      behind = before;
    }
  }
  return start;
}

}  // namespace s5066::modem::dsp
