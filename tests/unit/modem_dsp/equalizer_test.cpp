// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/equalizer.h"
#include "modem/dsp/least_squares.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

Complex gaussian(Rng& rng, double variance) {
  const double scale = std::sqrt(variance / 2);
  const double re = rng.gaussian();
  const double im = rng.gaussian();
  return {static_cast<float>(scale * re), static_cast<float>(scale * im)};
}

std::vector<Complex> random_symbols(Rng& rng, std::size_t count) {
  std::vector<Complex> symbols(count);
  for (auto& s : symbols) s = std::polar(1.0F, static_cast<float>(rng.below(8)) * 0.78539816F);
  return symbols;
}

// Returns two samples for each symbol. The response has two steps for each symbol.
std::vector<Complex> convolve(std::span<const Complex> symbols, std::span<const Complex> response) {
  std::vector<Complex> out(2 * symbols.size() + response.size());
  for (std::size_t n = 0; n < symbols.size(); ++n) {
    for (std::size_t k = 0; k < response.size(); ++k) out[2 * n + k] += symbols[n] * response[k];
  }
  return out;
}

// Computes the same estimate as a textbook does: solves the full system with the general solver.
std::vector<std::complex<double>> reference_estimate(const BlockEqualizer::Problem& problem) {
  const std::size_t size = problem.prior_variance.size();
  const std::size_t rows = problem.remainder.size();
  const auto h = [&](std::size_t row, std::size_t symbol) -> std::complex<double> {
    if (row < 2 * symbol || row - 2 * symbol >= problem.response.size()) return 0;
    return problem.response[row - 2 * symbol];
  };
  std::vector<std::complex<double>> a(size * size);
  std::vector<std::complex<double>> b(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t r = 0; r < rows; ++r) a[i * size + j] += std::conj(h(r, i)) * h(r, j);
      a[i * size + j] /= problem.noise;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      b[i] += std::conj(h(r, i)) * std::complex<double>(problem.remainder[r]);
    }
    b[i] /= problem.noise;
    a[i * size + i] += 1 / problem.prior_variance[i];
  }
  solve_hermitian(a, b, size);
  return b;
}

TEST(BlockEqualizer, agrees_with_the_textbook_even_where_the_samples_end_early) {
  Rng rng(1);
  for (const std::size_t rows : {std::size_t{30}, std::size_t{24}, std::size_t{20}}) {
    std::vector<Complex> response(2 * 9);
    for (auto& h : response) h = gaussian(rng, 0.2);
    std::vector<Complex> remainder(2 * rows);
    for (auto& y : remainder) y = gaussian(rng, 1);
    const std::vector<Complex> mean(20);
    std::vector<float> variance(20);
    for (auto& v : variance) v = static_cast<float>(0.1 + 0.9 * rng.uniform());
    const BlockEqualizer::Problem problem{.response = response,
                                          .remainder = remainder,
                                          .prior_mean = mean,
                                          .prior_variance = variance,
                                          .noise = 0.3F};
    BlockEqualizer equalizer({.symbols_max = 32, .taps_max = 16});
    const auto estimates = equalizer.solve(problem);
    const auto expected = reference_estimate(problem);
    ASSERT_EQ(estimates.size(), 20u);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      // The comparison needs the prior again: posterior mean = estimate x prior / (prior +
      // variance).
      const float share = variance[i] / (variance[i] + estimates[i].variance);
      EXPECT_NEAR(std::abs(std::complex<double>(estimates[i].mean * share) - expected[i]), 0, 2e-3);
    }
  }
}

TEST(BlockEqualizer, says_truly_how_unsure_it_is) {
  Rng rng(2);
  BlockEqualizer equalizer({.symbols_max = 32, .taps_max = 16});
  const std::vector<Complex> response = {0.3F, 0.8F, {0.4F, 0.2F}, 0.1F,
                                         0.0F, 0.0F, {0.0F, 0.7F}, 0.3F};
  const std::vector<Complex> mean(32);
  const std::vector<float> variance(32, 1.0F);
  double squared = 0;
  double claimed = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto symbols = random_symbols(rng, 32);
    auto samples = convolve(symbols, response);
    for (auto& y : samples) y += gaussian(rng, 0.1);
    const auto estimates = equalizer.solve({.response = response,
                                            .remainder = samples,
                                            .prior_mean = mean,
                                            .prior_variance = variance,
                                            .noise = 0.1F});
    for (std::size_t i = 0; i < 32; ++i) {
      squared += std::norm(estimates[i].mean - symbols[i]);
      claimed += estimates[i].variance;
    }
  }
  EXPECT_NEAR(squared / claimed, 1, 0.05);
}

/// Returns the mean and variance of the symbol if only the eight points are possible.
BlockEqualizer::Estimate soft_symbol(const BlockEqualizer::Estimate& estimate) {
  double total = 0;
  std::complex<double> mean;
  for (int k = 0; k < 8; ++k) {
    const auto point = std::polar(1.0, k * 0.78539816);
    const double weight =
        std::exp(-std::norm(point - std::complex<double>(estimate.mean)) / estimate.variance);
    total += weight;
    mean += weight * point;
  }
  mean /= total;
  return {Complex(mean), static_cast<float>(std::max(0.0, 1 - std::norm(mean)))};
}

TEST(MomentMatched, the_prior_and_the_estimate_make_the_symbol) {
  const BlockEqualizer::Estimate estimate{{0.9F, 0.4F}, 0.2F};
  const auto symbol = soft_symbol(estimate);
  ASSERT_LT(symbol.variance, estimate.variance);
  BlockEqualizer::Estimate prior{{}, 1};
  const float first = moment_matched(prior, estimate, symbol).variance;
  for (int i = 0; i < 40; ++i) prior = moment_matched(prior, estimate, symbol);
  EXPECT_GT(first, prior.variance);  // each step comes nearer to the solution
  EXPECT_NEAR(1 / prior.variance + 1 / estimate.variance, 1 / symbol.variance, 1e-3);
  const Complex both =
      symbol.variance * (prior.mean / prior.variance + estimate.mean / estimate.variance);
  EXPECT_NEAR(std::abs(both - symbol.mean), 0, 1e-4);
  // No prior can make the symbol less sure than the estimate alone, so the prior stays as it was.
  const auto same = moment_matched(prior, estimate, {{}, 0.3F});
  EXPECT_EQ(same.mean, prior.mean);
  EXPECT_EQ(same.variance, prior.variance);
}

TEST(MomentMatched, the_points_that_are_possible_mend_what_echoes_leave) {
  Rng rng(4);
  BlockEqualizer equalizer({.symbols_max = 32, .taps_max = 16});
  const std::vector<Complex> response = {0.8F, 0.3F, 0.0F, 0.0F, 0.0F, 0.0F, {0.0F, 0.7F}, 0.3F};
  constexpr float kNoise = 0.06F;
  const auto wrong_after = [&](int passes, std::span<const Complex> symbols,
                               std::span<const Complex> samples) {
    std::vector<Complex> mean(symbols.size());
    std::vector<float> variance(symbols.size(), 1.0F);
    for (int pass = 0;; ++pass) {
      const auto known = convolve(mean, response);
      std::vector<Complex> remainder(samples.begin(), samples.end());
      for (std::size_t i = 0; i < remainder.size(); ++i) remainder[i] -= known[i];
      const auto estimates = equalizer.solve({.response = response,
                                              .remainder = remainder,
                                              .prior_mean = mean,
                                              .prior_variance = variance,
                                              .noise = kNoise});
      int wrong = 0;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const Complex turned = estimates[i].mean * std::conj(symbols[i]);
        wrong += std::abs(std::arg(turned)) > 0.3927F;
        const auto prior =
            moment_matched({mean[i], variance[i]}, estimates[i], soft_symbol(estimates[i]));
        mean[i] = prior.mean;
        variance[i] = prior.variance;
      }
      if (pass == passes) return wrong;
    }
  };
  int linear = 0;
  int mended = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto symbols = random_symbols(rng, 32);
    auto samples = convolve(symbols, response);
    for (auto& y : samples) y += gaussian(rng, kNoise);
    linear += wrong_after(0, symbols, samples);
    mended += wrong_after(2, symbols, samples);
  }
  EXPECT_GT(linear, 100);
  EXPECT_LT(mended, linear * 2 / 3);
}

TEST(ChannelTracker, learns_a_channel_from_known_symbols_down_to_the_noise) {
  Rng rng(3);
  const std::vector<Complex> response = {0.1F, 0.8F, {0.4F, 0.2F}, -0.1F, 0.0F, {0.3F, 0.1F}};
  const auto symbols = random_symbols(rng, 400);
  auto samples = convolve(symbols, response);
  constexpr float kNoise = 0.05F;
  for (auto& y : samples) y += gaussian(rng, kNoise);

  const std::vector<float> profile(3, 0.5F);
  const std::vector<float> certain(3, 0.0F);
  ChannelTracker tracker(profile);
  double surprise = 0;
  for (std::size_t n = 2; n < symbols.size(); ++n) {
    const std::vector<Complex> newest_first = {symbols[n], symbols[n - 1], symbols[n - 2]};
    surprise += tracker.update(newest_first, certain, kNoise,
                               std::span<const Complex, 2>(&samples[2 * n], 2));
  }
  double error = 0;
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t p = 0; p < kPhases; ++p) {
      error += std::norm(tracker.tap(p, l) - response[2 * l + p]);
    }
  }
  EXPECT_LT(error, 4 * 6 * kNoise / 400);
  EXPECT_NEAR(surprise / 398, 1, 0.15);
}

TEST(ChannelTracker, moves_its_window_without_losing_the_response) {
  Rng rng(4);
  const std::vector<float> profile = {0.1F, 0.5F, 0.4F, 0.1F};
  const std::vector<float> certain(4, 0.0F);
  ChannelTracker tracker(profile);
  for (int i = 0; i < 50; ++i) {
    const auto symbols = random_symbols(rng, 4);
    const std::array<Complex, 2> received = {gaussian(rng, 1), gaussian(rng, 1)};
    tracker.update(symbols, certain, 0.1F, received);
  }
  ChannelTracker moved = tracker;
  moved.shift_later();
  for (std::size_t l = 0; l < 3; ++l) EXPECT_EQ(moved.tap(1, l), tracker.tap(1, l + 1));
  EXPECT_EQ(moved.tap(0, 3), Complex(0));
  moved.shift_earlier();
  EXPECT_EQ(moved.tap(0, 0), Complex(0));
  for (std::size_t l = 1; l < 4; ++l) EXPECT_EQ(moved.tap(0, l), tracker.tap(0, l));
}

TEST(LeastSquares, finds_response_levels_and_offset) {
  Rng rng(5);
  std::vector<Complex> response(2 * 20);
  response[10] = 0.6F;
  response[11] = {0.3F, 0.4F};
  response[25] = {0.0F, -0.5F};
  const auto symbols = random_symbols(rng, 480);
  auto samples = convolve(symbols, response);
  constexpr double kTurn = 1e-4;  // per sample: 0.5 Hz at 4800/s
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] *=
        std::polar(1.0F, static_cast<float>(2 * 3.14159265 * kTurn * static_cast<double>(i)));
    samples[i] += gaussian(rng, 0.02);
  }
  const auto rough = estimate_response(symbols, samples, 20);
  EXPECT_NEAR(rough.offset_turn, kTurn, 0.1 * kTurn);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double angle = -2 * 3.14159265 * rough.offset_turn * static_cast<double>(i);
    samples[i] *= std::polar(1.0F, static_cast<float>(angle));
  }
  const auto wide = estimate_response(symbols, samples, 20);
  ASSERT_EQ(wide.taps.size(), 40u);
  EXPECT_NEAR(rough.offset_turn + wide.offset_turn, kTurn, 2e-6);
  EXPECT_NEAR(wide.noise_power, 0.02, 0.002);
  double power = 0;
  for (const Complex h : response) power += std::norm(h) / 2;
  EXPECT_NEAR(wide.signal_power, power, 0.05 * power);
  EXPECT_NEAR(std::abs(wide.taps[10]), 0.6, 0.05);
  EXPECT_NEAR(std::abs(wide.taps[25]), 0.5, 0.05);
  EXPECT_NEAR(std::abs(wide.taps[3]), 0.0, 0.05);
}

}  // namespace
}  // namespace s5066::modem::dsp
