// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/mode_offsets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

namespace s5066::dts {
namespace {

using modem::Mode;

/// Expected offset of any mode before an observation (dB).
constexpr double kOffsetDb = 1.5;
/// Variance of the offset from link to link (dB squared). It has a part common to all modes, a part
/// that is the more alike the closer the needed SNRs are (kNearDb), a part common to modes with the
/// same interleaver, and a part of each mode alone.
constexpr double kVarianceAll = 2.5 * 2.5;
constexpr double kVarianceNear = 1.5 * 1.5;
constexpr double kNearDb = 6;
constexpr double kVarianceKind = 1;
constexpr double kVarianceOwn = 0.5 * 0.5;
/// On a channel without fading a mode needs this much less (dB), and this share of the variance
/// remains.
constexpr double kSteadyDb = 2.2;
constexpr double kSteadyVariance = 0.05;
/// Largest deviation in standard deviations that a bound observation may have.
constexpr double kBoundMax = 4;

}  // namespace

double bell(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double normal(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

double snr_needed_db(const Mode& mode) {
  struct Need {
    std::uint32_t rate_bps;
    double snr_db;
  };
  static constexpr std::array kNeeds = {
      Need{75, -11},  Need{150, -7.4}, Need{300, -2.5},  Need{600, 0.5},  Need{1200, 3.5},
      Need{1600, 4},  Need{2400, 8},   Need{3200, 6},    Need{3600, 10},  Need{4800, 10},
      Need{6400, 13}, Need{8000, 16},  Need{9600, 18.5}, Need{12000, 24}, Need{12800, 27}};
  static constexpr std::array kNeeds110d = {
      Need{75, -9.5},  Need{150, -5.5},  Need{300, -4.3}, Need{600, -2.5}, Need{1200, 0.8},
      Need{1600, 2.5}, Need{2400, 3.5},  Need{3200, 7},   Need{4800, 11},  Need{6400, 13},
      Need{8000, 16},  Need{9600, 18.5}, Need{12000, 22}, Need{16000, 28}};
  const bool is_110d = mode.waveform == modem::Waveform::ms110d;
  const auto needs = is_110d ? std::span<const Need>(kNeeds110d) : std::span<const Need>(kNeeds);
  for (const Need& need : needs) {
    if (mode.rate_bps <= need.rate_bps) return need.snr_db;
  }
  return needs.back().snr_db;
}

ModeOffsets::ModeOffsets(const std::vector<Mode>& modes)
    : modes_(modes), expected_db_(modes.size(), kOffsetDb) {
  for (std::size_t a = 0; a < modes.size(); ++a) {
    for (std::size_t b = 0; b < modes.size(); ++b) prior_.push_back(prior(a, b));
  }
  covariance_ = prior_;
}

void ModeOffsets::expect(double offset_db) {
  std::fill(expected_db_.begin(), expected_db_.end(), offset_db);
}

// Given one receiver and one channel, the offset is much the same for all modes, and more so for
// modes with close SNR needs and for modes with the same interleaver.
double ModeOffsets::prior(std::size_t a, std::size_t b) const {
  const Mode& one = modes_[a];
  const Mode& other = modes_[b];
  const double apart = (snr_needed_db(one) - snr_needed_db(other)) / kNearDb;
  return kVarianceAll + kVarianceNear * std::exp(-apart * apart) +
         (kind(one) == kind(other) ? kVarianceKind : 0) + (a == b ? kVarianceOwn : 0);
}

// Moves the covariance back towards its value before any observation.
void ModeOffsets::forget(double share) {
  for (std::size_t i = 0; i < covariance_.size(); ++i) {
    covariance_[i] += share * (prior_[i] - covariance_[i]);
  }
}

// Moves only what is expected without observations, not what was learnt.
void ModeOffsets::set_steadiness(double steadiness) {
  const auto remains = [](double of) { return 1 - (1 - kSteadyVariance) * of; };
  const double less_db = kSteadyDb * (steadiness - steadiness_);
  const double factor = remains(steadiness) / remains(steadiness_);
  steadiness_ = steadiness;
  for (std::size_t i = 0; i < expected_db_.size(); ++i) {
    const double not_learnt = covariance(i, i) / prior_[i * modes_.size() + i];
    expected_db_[i] -= less_db * not_learnt;
  }
  for (double& variance : prior_) variance *= factor;
  for (double& variance : covariance_) variance *= factor;
}

void ModeOffsets::observe(std::size_t at, double offset_db, double variance) {
  const double whole = covariance(at, at) + variance;
  move(at, (offset_db - expected_db_[at]) / whole, 1 / whole);
}

// Uses the mean and the variance of the normal distribution truncated at the bound.
void ModeOffsets::observe_bound(std::size_t at, double bound_db, double variance, bool below) {
  const double whole = std::sqrt(covariance(at, at) + variance);
  const double sign = below ? 1 : -1;
  const double b = std::max(sign * (bound_db - expected_db_[at]) / whole, -kBoundMax);
  const double r = bell(b) / normal(b);
  move(at, -sign * r / whole, r * (r + b) / (whole * whole));
}

// An observation of one mode moves all modes that correlate with it.
void ModeOffsets::move(std::size_t at, double by, double shrink) {
  const std::size_t n = expected_db_.size();
  std::vector<double> with(n);
  for (std::size_t i = 0; i < n; ++i) with[i] = covariance(i, at);
  for (std::size_t i = 0; i < n; ++i) {
    expected_db_[i] += with[i] * by;
    for (std::size_t j = 0; j < n; ++j) covariance(i, j) -= with[i] * with[j] * shrink;
  }
}

std::size_t ModeOffsets::nearest(const Mode& mode) const {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    const Mode& other = modes_[i];
    const double apart = std::abs(snr_needed_db(other) - snr_needed_db(mode)) +
                         (kind(other) == kind(mode) ? 0 : 1) + (other == mode ? 0 : 0.1);
    if (apart < least) {
      least = apart;
      best = i;
    }
  }
  return best;
}

}  // namespace s5066::dts
