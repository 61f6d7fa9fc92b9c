// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/block_refiner.h"
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>
#include <cmath>

#include "modem/dsp/course.h"
#include "modem/dsp/tap_memory.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

/// The channel is estimated twice in each frame.
constexpr std::size_t kStepsPerFrame = 2;
/// A block is done when its least certain bit has this log-likelihood ratio.
constexpr float kSure = 6;
constexpr unsigned kPassesWithoutCode = 3;
/// If there is no code, the equaliser repeats its pass this many times, with the possible points.
constexpr unsigned kPassesOfOwn = 2;
constexpr float kPriorVarianceMin = 2e-3F;
/// Lower limit of the expected Doppler spread; with less, the filter could not track a change of
/// the channel.
constexpr double kDopplerMinHz = 0.3;

}  // namespace

BlockRefiner::BlockRefiner(const Parameters& p, const Config& config,
                           std::pmr::memory_resource* memory)
    : p_(p),
      config_(config),
      block_symbols_(std::size_t{config.frames} * p.frame_symbols()),
      step_symbols_(p.frame_symbols() / kStepsPerFrame),
      received_(kPhases * block_symbols_, memory),
      symbols_(memory),
      variances_(memory),
      quality_(config.frames, memory),
      llr_(std::size_t{config.frames} * p.frame_bits(), memory),
      extrinsic_(llr_.size(), memory),
      tracked_(memory),
      responses_(memory),
      raw_(memory),
      equalizer_({.symbols_max = p.data_symbols, .taps_max = dsp::ChannelTracker::kTapsMax},
                 memory),
      response_(memory),
      remainder_(kPhases * p.frame_symbols(), memory),
      prior_mean_(p.data_symbols, memory),
      prior_variance_(p.data_symbols, 1.0F, memory) {
  symbols_.reserve(block_symbols_ + dsp::ChannelTracker::kTapsMax);
  variances_.reserve(symbols_.capacity());
  tracked_.reserve(steps());
  responses_.reserve(steps() * kStepsMax);
  raw_.reserve(steps() * kStepsMax);
  response_.reserve(kStepsMax);
}

void BlockRefiner::begin(const Start& start) {
  const std::size_t before = start.tracker.taps() - 1;
  S5066_ASSERT(start.symbols.size() >= before && start.variances.size() >= before);
  frames_ = 0;
  first_symbol_ = std::size_t{start.frame} * p_.frame_symbols();
  symbols_.resize(block_symbols_ + before);
  variances_.resize(symbols_.size());
  std::copy_n(start.symbols.begin(), before,
              symbols_.begin() + static_cast<std::ptrdiff_t>(block_symbols_));
  std::copy_n(start.variances.begin(), before,
              variances_.begin() + static_cast<std::ptrdiff_t>(block_symbols_));
  at_start_ = start.tracker;
  response_.resize(kPhases * start.tracker.taps());
  for (unsigned frame = 0; frame < config_.frames; ++frame) {
    const unsigned in_cycle = (start.frame + frame) % p_.frames_per_cycle;
    for (unsigned i = 0; i < p_.probe_symbols; ++i) {
      const std::size_t n = std::size_t{frame} * p_.frame_symbols() + p_.data_symbols + i;
      symbols_[slot(n)] =
          framed::phase(static_cast<std::uint8_t>(probe_tribit(p_, in_cycle, i) + scrambler(n)));
      variances_[slot(n)] = 0;
    }
  }
}

void BlockRefiner::add_frame(std::span<const Complex> received, std::span<const float> llr) {
  S5066_ASSERT(frames_ < config_.frames && received.size() == kPhases * p_.frame_symbols());
  std::copy(received.begin(), received.end(),
            received_.begin() + static_cast<std::ptrdiff_t>(received.size() * frames_));
  std::copy(llr.begin(), llr.end(),
            llr_.begin() + static_cast<std::ptrdiff_t>(llr.size() * frames_));
  ++frames_;
}

void BlockRefiner::refine(const BlockDecoder& decoder, Estimates& estimates) {
  S5066_ASSERT(whole());
  passes_ = 0;
  if (!p_.interleaved) {
    forget_data();
    for (unsigned i = 0; i < kPassesWithoutCode; ++i) {
      track(estimates);
      equalize(estimates.noise, false);
    }
    learn_doppler(estimates);
    return;
  }
  float sure = decoder.feed_back(llr_, extrinsic_);
  if (sure < kSure) {
    // The first pass uses the probes alone, the second the first decisions, the later ones the
    // decoder's.
    forget_data();
    track(estimates);
    equalize(estimates.noise, false);
    track(estimates);
    equalize(estimates.noise, false);
    sure = decoder.feed_back(llr_, extrinsic_);
  } else {
    take_decisions();
    track(estimates);
    learn_doppler(estimates);
    equalize(estimates.noise, true);
    return;
  }
  while (passes_ < config_.passes_max) {
    ++passes_;
    take_decisions();
    if (passes_ == 2) learn_doppler(estimates);
    track(estimates);
    equalize(estimates.noise, true);
    if (sure >= kSure) break;
    sure = decoder.feed_back(llr_, extrinsic_);
  }
}

void BlockRefiner::forget_data() {
  for (unsigned frame = 0; frame < config_.frames; ++frame) {
    for (unsigned i = 0; i < p_.data_symbols; ++i) {
      const std::size_t at = slot(std::size_t{frame} * p_.frame_symbols() + i);
      symbols_[at] = 0;
      variances_[at] = 1;
    }
  }
}

// Makes the symbols from all information: the soft bits of the last pass and the code's extrinsic
// information.
void BlockRefiner::take_decisions() {
  std::size_t bit = 0;
  std::array<float, 3> both{};
  for (unsigned frame = 0; frame < config_.frames; ++frame) {
    for (unsigned i = 0; i < p_.data_symbols; ++i) {
      const std::size_t n = std::size_t{frame} * p_.frame_symbols() + i;
      for (unsigned b = 0; b < p_.bits_per_symbol; ++b)
        both[b] = llr_[bit + b] + extrinsic_[bit + b];
      bit += p_.bits_per_symbol;
      const auto soft = symbol_of(std::span(both).first(p_.bits_per_symbol), scrambler(n));
      symbols_[slot(n)] = soft.mean;
      variances_[slot(n)] = soft.variance;
    }
  }
}

// Runs a Kalman filter forward and its smoother backward.
void BlockRefiner::track(Estimates& estimates) {
  const std::size_t steps = this->steps();
  const std::size_t taps = at_start_->taps();
  const float memory =
      dsp::tap_memory(static_cast<double>(step_symbols_) / kSymbolRate, estimates.doppler_hz);
  dsp::ChannelTracker tracker = *at_start_;
  if (tracked_.size() != steps) tracked_.assign(steps, tracker);
  responses_.resize(steps * kPhases * taps);
  double surprise = 0;
  double uncertainty = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    tracker.predict(memory);
    for (std::size_t n = step * step_symbols_; n < (step + 1) * step_symbols_; ++n) {
      surprise +=
          tracker.update(std::span<const Complex>(symbols_).subspan(slot(n), taps),
                         std::span<const float>(variances_).subspan(slot(n), taps), estimates.noise,
                         std::span<const Complex, kPhases>(&received_[kPhases * n], kPhases));
    }
    uncertainty += tracker.uncertainty();
    tracked_[step] = tracker;
  }
  at_end_ = tracker;
  for (std::size_t step = steps; step-- > 0;) {
    if (step + 1 < steps) tracked_[step].smooth(response_of(step + 1), memory);
    tracked_[step].response(response_of(step));
  }
  even_out(estimates.doppler_hz);
  surprise /= static_cast<double>(block_symbols_);
  estimates.noise *= static_cast<float>(std::clamp(surprise, 0.5, 2.0));
  estimates.noise = std::max(estimates.noise, estimates.noise_min);
  // Smoothing approximately halves the error variance.
  error_ = static_cast<float>(0.5 * uncertainty / static_cast<double>(steps));
}

void BlockRefiner::even_out(double doppler_hz) {
  const std::size_t half =
      dsp::even_steps(doppler_hz, static_cast<double>(step_symbols_) / kSymbolRate);
  if (half == 0) return;
  raw_.assign(responses_.begin(), responses_.end());
  dsp::even_out(raw_, response_.size(), half, responses_);
}

void BlockRefiner::respond_at(double row) {
  const double step = row / static_cast<double>(step_symbols_) - 0.5;
  const double last = static_cast<double>(steps() - 1);
  const double at = std::clamp(step, 0.0, last);
  const auto left = static_cast<std::size_t>(std::min(at, last - 1));
  const auto weight = static_cast<float>(at - static_cast<double>(left));
  const Complex* const a = response_of(left).data();
  const Complex* const b = response_of(left + 1).data();
  for (std::size_t k = 0; k < response_.size(); ++k) response_[k] = a[k] + weight * (b[k] - a[k]);
}

void BlockRefiner::equalize(float noise, bool with_priors) {
  for (unsigned frame = 0; frame < config_.frames; ++frame) {
    equalize_frame(frame, noise, with_priors);
  }
}

void BlockRefiner::equalize_frame(unsigned frame, float noise, bool with_priors) {
  const std::size_t first = std::size_t{frame} * p_.frame_symbols();
  const std::size_t taps = at_start_->taps();
  const std::size_t first_bit = std::size_t{frame} * p_.data_symbols * p_.bits_per_symbol;
  respond_at(static_cast<double>(first) + 0.5 * static_cast<double>(p_.data_symbols + taps));

  const auto bits_of = [&](std::pmr::vector<float>& all, unsigned i) {
    return std::span(all).subspan(first_bit + std::size_t{i} * p_.bits_per_symbol,
                                  p_.bits_per_symbol);
  };
  for (unsigned i = 0; i < p_.data_symbols; ++i) {
    prior_mean_[i] = 0;
    prior_variance_[i] = 1;
    if (with_priors) {
      const auto soft = symbol_of(bits_of(extrinsic_, i), scrambler(first + i));
      prior_mean_[i] = soft.mean;
      prior_variance_[i] = std::max(soft.variance, kPriorVarianceMin);
    }
  }
  auto estimates = solve(frame, noise);
  for (unsigned pass = 0; !p_.coded && pass < kPassesOfOwn; ++pass) {
    for (unsigned i = 0; i < p_.data_symbols; ++i) {
      const auto soft = demap(p_.bits_per_symbol, estimates[i].mean, estimates[i].variance,
                              scrambler(first + i), bits_of(llr_, i));
      const auto prior = dsp::moment_matched({prior_mean_[i], prior_variance_[i]}, estimates[i],
                                             {soft.mean, soft.variance});
      prior_mean_[i] = prior.mean;
      prior_variance_[i] = prior.variance;
    }
    estimates = solve(frame, noise);
  }
  std::array<float, 3> nothing{};
  float quality = 0;
  for (unsigned i = 0; i < p_.data_symbols; ++i) {
    const auto prior =
        with_priors ? bits_of(extrinsic_, i) : std::span(nothing).first(p_.bits_per_symbol);
    const auto soft = demap_again(prior, estimates[i].mean, estimates[i].variance,
                                  scrambler(first + i), bits_of(llr_, i));
    symbols_[slot(first + i)] = soft.mean;
    variances_[slot(first + i)] = soft.variance;
    quality += 1 / (1 + estimates[i].variance);
  }
  quality_[frame] = quality / static_cast<float>(p_.data_symbols);
}

// Equalises a frame with the current priors.
std::span<const dsp::BlockEqualizer::Estimate> BlockRefiner::solve(unsigned frame, float noise) {
  const std::size_t first = std::size_t{frame} * p_.frame_symbols();
  const std::size_t taps = at_start_->taps();
  for (unsigned i = 0; i < p_.data_symbols; ++i) symbols_[slot(first + i)] = prior_mean_[i];
  for (std::size_t row = 0; row < p_.frame_symbols(); ++row) {
    const Complex* const s = &symbols_[slot(first + row)];
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex sum;
      for (std::size_t l = 0; l < taps; ++l) sum += mul(response_[kPhases * l + p], s[l]);
      remainder_[kPhases * row + p] = received_[kPhases * (first + row) + p] - sum;
    }
  }
  return equalizer_.solve({.response = response_,
                           .remainder = remainder_,
                           .prior_mean = prior_mean_,
                           .prior_variance = prior_variance_,
                           .noise = (noise + error_) / config_.noise_share});
}

float BlockRefiner::quality(std::size_t frames) const {
  frames = std::min(frames, quality_.size());
  float sum = 0;
  for (std::size_t i = 0; i < frames; ++i) sum += quality_[i];
  return frames > 0 ? sum / static_cast<float>(frames) : 0;
}

BlockRefiner::Profile BlockRefiner::profile() const {
  Profile power(kPhases * at_start_->taps());
  for (std::size_t step = 0; step < steps(); ++step) {
    const Complex* const response = &responses_[step * power.size()];
    for (std::size_t k = 0; k < power.size(); ++k) power[k] += std::norm(response[k]);
  }
  for (float& value : power) value /= static_cast<float>(steps());
  return power;
}

// Measures the Doppler spread from the response of each step by itself, taken with the current
// symbols.
void BlockRefiner::learn_doppler(Estimates& estimates) {
  const std::size_t taps = at_start_->taps();
  const std::size_t steps = this->steps();
  const auto power = profile();
  raw_.assign(steps * power.size(), Complex());
  for (std::size_t step = 0; step < steps; ++step) {
    Complex* const out = &raw_[step * power.size()];
    for (std::size_t n = step * step_symbols_; n < (step + 1) * step_symbols_; ++n) {
      const Complex* const s = &symbols_[slot(n)];
      for (std::size_t l = 0; l < taps; ++l) {
        for (std::size_t p = 0; p < kPhases; ++p) {
          out[kPhases * l + p] += mul_conj(s[l], received_[kPhases * n + p]);
        }
      }
    }
  }
  doppler_.add(raw_, power, static_cast<double>(step_symbols_) / kSymbolRate);
  estimates.doppler_hz = static_cast<float>(std::max(doppler_.doppler_hz(), kDopplerMinHz));
}

}  // namespace s5066::modem::ms110a
