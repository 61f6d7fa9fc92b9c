#include "modem/waveforms/stanag4539/block_receiver.h"

#include <algorithm>
#include <cmath>

#include "modem/api/airtime.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

constexpr std::size_t kStepSymbols = 41;
constexpr std::size_t kStepsInFrame = kFrameSymbols / kStepSymbols;
static_assert(kStepsInFrame * kStepSymbols == kFrameSymbols);
constexpr std::size_t kInsertedSteps = 2;
constexpr std::size_t kInsertedStepSymbols = kInsertedSymbols / kInsertedSteps;

/// A block with fewer wrong bits to be expected is done.
constexpr float kErrorsMax = 0.01F;
constexpr float kPriorVarianceMin = 2e-3F;
constexpr float kNoiseGain = 0.1F;
constexpr float kTiny = 1e-20F;
/// Of the signal: what the model of the channel leaves unexplained where there is no noise at all.
constexpr float kNoiseShareMin = 1e-4F;
/// Of the power that taps are expected to have: how much a frame counts, how much of its power a
/// tap lends its neighbours, and the part of the whole that is spread over all.
constexpr float kProfileGain = 0.04F;
constexpr float kNeighbour = 0.25F;
constexpr float kProfileFloor = 0.02F;
/// Smoothing leaves about this part of the filter's uncertainty.
constexpr float kSmoothedShare = 0.3F;

// Correlation of a tap over a time: first-order, set to the Gaussian spectrum's where that is 0.9.
float memory_over(std::size_t symbols, double doppler_hz) {
  const double seconds = static_cast<double>(symbols) / static_cast<double>(kSymbolRate);
  return static_cast<float>(std::pow(0.9, seconds * doppler_hz / 0.146));
}

}  // namespace

BlockReceiver::BlockReceiver(const Parameters& p, const Config& config)
    : p_(p),
      config_(config),
      demapper_(p),
      code_(code_of(p)),
      llr_(p.block_coded_bits()),
      extrinsic_(p.block_coded_bits()),
      equalizer_(kFrameData, dsp::ChannelTracker::kTapsMax),
      remainder_(kPhases * kFrameSymbols),
      prior_mean_(kFrameData),
      prior_variance_(kFrameData) {
  const std::size_t symbols = kInsertedSymbols + std::size_t{p.frames_per_block} * kFrameSymbols;
  received_.resize(kPhases * symbols);
  symbols_.resize(symbols + kFrameProbe);
  variances_.resize(symbols_.size());
  const std::size_t steps = kInsertedSteps + p.frames_per_block * kStepsInFrame;
  steps_.reserve(steps);
  responses_.resize(steps);
}

void BlockReceiver::set_channel(std::span<const float> profile, float noise) {
  const dsp::ChannelTracker tracker(profile);
  tracker_ = tracker;
  noise_ = noise;
  profile_.assign(profile.begin(), profile.end());
  tracked_.assign(responses_.size(), tracker);
  for (auto& response : responses_) response.resize(kPhases * tracker.taps());
  row_responses_.resize(kPhases * kFrameSymbols * tracker.taps());
}

void BlockReceiver::begin(unsigned first_frame, bool inserted) {
  S5066_ASSERT(tracker_.has_value());
  frames_ = 0;
  quality_sum_ = 0;
  first_frame_ = first_frame;
  inserted_ = inserted ? kInsertedSymbols : 0;
  symbols_in_block_ = inserted_ + std::size_t{p_.frames_per_block} * kFrameSymbols;
  at_start_ = tracker_;

  steps_.clear();
  for (std::size_t i = 0; inserted && i < kInsertedSteps; ++i) {
    steps_.push_back({i * kInsertedStepSymbols, kInsertedStepSymbols});
  }
  for (std::size_t i = 0; i < p_.frames_per_block * kStepsInFrame; ++i) {
    steps_.push_back({inserted_ + i * kStepSymbols, kStepSymbols});
  }

  // What stands before: the last probe, or the one that ends a preamble.
  const unsigned last = first_frame > 0 ? first_frame - 1 : kFramesInCycle - 1;
  const bool negative = first_frame == 0 && !inserted ? true : probe_is_negative(p_, last);
  const unsigned turned = negative ? 4 : 0;
  for (unsigned i = 0; i < kFrameProbe; ++i) {
    const std::size_t at = slot(static_cast<std::ptrdiff_t>(i) - kFrameProbe);
    symbols_[at] = phase(static_cast<std::uint8_t>(probe()[i] + turned));
    variances_[at] = 0;
  }
  if (inserted) {
    const auto whole = preamble(p_);
    set_known(0, std::span(whole).last(kInsertedSymbols), 0);
  }
  for (unsigned frame = 0; frame < p_.frames_per_block; ++frame) {
    set_known(first_symbol(frame) + kFrameData, probe(),
              probe_is_negative(p_, first_frame + frame) ? 4 : 0);
  }
}

void BlockReceiver::set_known(std::size_t first, std::span<const std::uint8_t> numbers,
                              unsigned turned) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = slot(static_cast<std::ptrdiff_t>(first + i));
    symbols_[at] = phase(static_cast<std::uint8_t>(numbers[i] + turned));
    variances_[at] = 0;
  }
}

std::size_t BlockReceiver::first_step(unsigned frame) const {
  return (inserted_ > 0 ? kInsertedSteps : 0) + frame * kStepsInFrame;
}

void BlockReceiver::add_inserted(std::span<const Complex> received) {
  S5066_ASSERT(inserted_ > 0 && received.size() == kPhases * kInsertedSymbols);
  std::copy(received.begin(), received.end(), received_.begin());
  tracker_ = follow(0, kInsertedSteps, *tracker_);
}

// Twice: with the channel by the probes around the data alone, then by the first decisions too.
BlockReceiver::Look BlockReceiver::add_frame(std::span<const Complex> received) {
  S5066_ASSERT(!complete() && received.size() == kPhases * kFrameSymbols);
  const unsigned frame = frames_++;
  std::copy(received.begin(), received.end(),
            received_.begin() + static_cast<std::ptrdiff_t>(kPhases * first_symbol(frame)));
  const std::size_t from = first_step(frame);
  const std::size_t to = from + kStepsInFrame;
  forget_data(frame);
  Look look;
  look.fit = probe_fit(frame);
  follow(from, to, *tracker_);
  equalize(frame, false);
  tracker_ = follow(from, to, *tracker_);
  look.quality = equalize(frame, false);
  quality_sum_ += look.quality;
  learn_profile(from, to);
  const auto& first = responses_[from];
  const auto& last = responses_[to - 1];
  for (std::size_t k = 0; k < first.size(); ++k) look.turn += mul_conj(first[k], last[k]);
  return look;
}

void BlockReceiver::forget_data(unsigned frame) {
  for (unsigned i = 0; i < kFrameData; ++i) {
    const std::size_t at = slot(static_cast<std::ptrdiff_t>(first_symbol(frame) + i));
    symbols_[at] = 0;
    variances_[at] = demapper_.power();
  }
}

// The response from before the frame must foretell the probe. Decisions of this frame must not
// help: they would fit any noise they were made from.
float BlockReceiver::probe_fit(unsigned frame) const {
  const std::size_t end = first_symbol(frame) + kFrameSymbols;
  Complex agreement;
  float foretold = kTiny;
  float heard = kTiny;
  for (std::size_t row = end - kFrameProbe + 3 * tracker_->taps() / 4; row < end; ++row) {
    const auto forecast = tracker_->predicted(symbols_of_row(row));
    for (std::size_t p = 0; p < kPhases; ++p) {
      const Complex y = received_[kPhases * row + p];
      agreement += mul_conj(forecast[p], y);
      foretold += std::norm(forecast[p]);
      heard += std::norm(y);
    }
  }
  return agreement.real() / std::sqrt(foretold * heard);
}

// --- The channel ---------------------------------------------------------------------------------

// Forwards with a filter, whose state at the end is given back, then backwards with the smoother
// that belongs to it.
dsp::ChannelTracker BlockReceiver::follow(std::size_t from_step, std::size_t to_step,
                                          dsp::ChannelTracker tracker) {
  const std::size_t taps = tracker.taps();
  double surprise = 0;
  double uncertainty = 0;
  std::size_t judged = 0;
  for (std::size_t s = from_step; s < to_step; ++s) {
    tracker.predict(memory_over(steps_[s].count, doppler_hz_));
    for (std::size_t row = steps_[s].first; row < steps_[s].first + steps_[s].count; ++row) {
      const std::size_t at = slot(static_cast<std::ptrdiff_t>(row));
      const auto symbols = std::span<const Complex>(symbols_).subspan(at, taps);
      const auto variances = std::span<const float>(variances_).subspan(at, taps);
      // Rows of which nothing is known say nothing.
      const auto known = [](const Complex& z) { return z != Complex(); };
      if (std::none_of(symbols.begin(), symbols.end(), known)) continue;
      const float power =
          tracker.update(symbols, variances, noise_,
                         std::span<const Complex, kPhases>(&received_[kPhases * row], kPhases));
      const bool certain =
          std::all_of(variances.begin(), variances.end(), [](float v) { return v == 0; });
      if (!certain) continue;
      surprise += power;
      ++judged;
    }
    uncertainty += tracker.uncertainty();
    tracked_[s] = tracker;
  }
  for (std::size_t s = to_step; s-- > from_step;) {
    if (s + 1 < to_step) {
      tracked_[s].smooth(responses_[s + 1], memory_over(steps_[s + 1].count, doppler_hz_));
    }
    tracked_[s].response(responses_[s]);
  }
  if (judged > 0) {
    const double mean = std::clamp(surprise / static_cast<double>(judged), 0.1, 10.0);
    const auto gain = static_cast<float>(
        std::min(0.5, static_cast<double>(kNoiseGain) * static_cast<double>(judged) / 20));
    noise_ *= 1 + gain * (static_cast<float>(mean) - 1);
  }
  noise_ = std::max(noise_, kNoiseShareMin * tracker.energy() / kPhases + kTiny);
  error_ = kSmoothedShare * static_cast<float>(uncertainty) /
           static_cast<float>(to_step - from_step) * demapper_.power();
  return tracker;
}

// An average over seconds, with a floor for a path that has been in a fade until now. Neighbours
// count, since the response moves as clocks drift.
void BlockReceiver::learn_profile(std::size_t from_step, std::size_t to_step) {
  const std::size_t taps = profile_.size();
  const float gain = kProfileGain / static_cast<float>(to_step - from_step);
  float total = 0;
  for (std::size_t l = 0; l < taps; ++l) {
    profile_[l] *= 1 - kProfileGain;
    for (std::size_t s = from_step; s < to_step; ++s) {
      for (std::size_t p = 0; p < kPhases; ++p) {
        profile_[l] += gain / kPhases * std::norm(responses_[s][kPhases * l + p]);
      }
    }
    total += profile_[l];
  }
  std::vector<float> prior(taps);
  for (std::size_t l = 0; l < taps; ++l) {
    const float left = l > 0 ? profile_[l - 1] : 0;
    const float right = l + 1 < taps ? profile_[l + 1] : 0;
    prior[l] = std::max({profile_[l], kNeighbour * left, kNeighbour * right,
                         kProfileFloor * total / static_cast<float>(taps)}) +
               kTiny;
  }
  tracker_->set_profile(prior);
  at_start_->set_profile(prior);
}

// The response for every row of a frame, between the middles of steps.
void BlockReceiver::respond(unsigned frame) {
  const std::size_t taps = tracker_->taps();
  const auto middle = [&](std::size_t s) {
    return static_cast<float>(steps_[s].first) + 0.5F * static_cast<float>(steps_[s].count - 1);
  };
  const std::size_t last = first_step(frame) + kStepsInFrame - 1;
  const bool more = last + 1 < steps_.size() && frame + 1 < frames_;
  const std::size_t last_right = more ? last + 1 : last;
  std::size_t right = first_step(frame);
  for (std::size_t i = 0; i < kFrameSymbols; ++i) {
    const auto row = static_cast<float>(first_symbol(frame) + i);
    while (right < last_right && middle(right) < row) ++right;
    const std::size_t left = right > 0 ? right - 1 : right;
    float weight = 1;
    if (left != right) {
      weight = (row - middle(left)) / (middle(right) - middle(left));
      weight = std::min(weight, 1.0F);
    }
    const Complex* const a = responses_[left].data();
    const Complex* const b = responses_[right].data();
    Complex* const out = &row_responses_[kPhases * taps * i];
    for (std::size_t k = 0; k < kPhases * taps; ++k) out[k] = a[k] + weight * (b[k] - a[k]);
  }
}

// --- The data ------------------------------------------------------------------------------------

float BlockReceiver::equalize(unsigned frame, bool with_priors) {
  respond(frame);
  const std::size_t taps = tracker_->taps();
  const std::size_t first = first_symbol(frame);
  const std::size_t first_bit = std::size_t{frame} * kFrameData * p_.bits_per_symbol;
  const auto scrambling = scrambler(p_);
  const auto bits_of = [&](std::vector<float>& all, unsigned i) {
    return std::span(all).subspan(first_bit + std::size_t{i} * p_.bits_per_symbol,
                                  p_.bits_per_symbol);
  };
  for (unsigned i = 0; i < kFrameData; ++i) {
    prior_mean_[i] = 0;
    prior_variance_[i] = demapper_.power();
    if (with_priors) {
      const SoftSymbol soft = demapper_.symbol_of(bits_of(extrinsic_, i), scrambling[i]);
      prior_mean_[i] = soft.mean;
      prior_variance_[i] = std::max(soft.variance, kPriorVarianceMin);
    }
    symbols_[slot(static_cast<std::ptrdiff_t>(first + i))] = prior_mean_[i];
  }
  for (std::size_t i = 0; i < kFrameSymbols; ++i) {
    const Complex* const s = &symbols_[slot(static_cast<std::ptrdiff_t>(first + i))];
    const Complex* const h = &row_responses_[kPhases * taps * i];
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex sum;
      for (std::size_t l = 0; l < taps; ++l) sum += mul(h[kPhases * l + p], s[l]);
      remainder_[kPhases * i + p] = received_[kPhases * (first + i) + p] - sum;
    }
  }
  const auto estimates = equalizer_.solve({.response = row_responses_,
                                           .taps = taps,
                                           .remainder = remainder_,
                                           .prior_mean = prior_mean_,
                                           .prior_variance = prior_variance_,
                                           .noise = (noise_ + error_) / config_.noise_share});
  float quality = 0;
  for (unsigned i = 0; i < kFrameData; ++i) {
    const auto prior =
        with_priors ? std::span<const float>(bits_of(extrinsic_, i)) : std::span<const float>();
    const SoftSymbol soft = demapper_.demap(estimates[i].mean, estimates[i].variance, prior,
                                            scrambling[i], bits_of(llr_, i));
    const std::size_t at = slot(static_cast<std::ptrdiff_t>(first + i));
    symbols_[at] = soft.mean;
    variances_[at] = soft.variance;
    quality += demapper_.power() / (demapper_.power() + estimates[i].variance);
  }
  return quality / kFrameData;
}

float BlockReceiver::finish() {
  S5066_ASSERT(complete());
  passes_ = 0;
  float errors = code_.decode(llr_, extrinsic_);
  while (errors > kErrorsMax && passes_ < config_.passes_max) {
    ++passes_;
    take_decisions();
    tracker_ = follow(0, steps_.size(), *at_start_);
    quality_sum_ = 0;
    for (unsigned frame = 0; frame < frames_; ++frame) quality_sum_ += equalize(frame, true);
    errors = code_.decode(llr_, extrinsic_);
  }
  return static_cast<float>(quality_sum_ / frames_);
}

// The symbols by all that is known: the last look and what the code added.
void BlockReceiver::take_decisions() {
  const auto scrambling = scrambler(p_);
  std::array<float, 6> both{};
  std::size_t bit = 0;
  for (unsigned frame = 0; frame < frames_; ++frame) {
    for (unsigned i = 0; i < kFrameData; ++i) {
      for (unsigned b = 0; b < p_.bits_per_symbol; ++b, ++bit)
        both[b] = llr_[bit] + extrinsic_[bit];
      const SoftSymbol soft = demapper_.symbol_of(
          std::span<const float>(both).first(p_.bits_per_symbol), scrambling[i]);
      const std::size_t at = slot(static_cast<std::ptrdiff_t>(first_symbol(frame) + i));
      symbols_[at] = soft.mean;
      variances_[at] = soft.variance;
    }
  }
}

}  // namespace s5066::modem::stanag4539
