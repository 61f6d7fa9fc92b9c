// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/block_receiver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/course.h"
#include "modem/dsp/tap_memory.h"
#include "modem/waveforms/reception.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

constexpr std::size_t kStepSymbols = 41;  // approximate symbols in a step
constexpr std::size_t kInsertedSteps = 2;

/// A block with a smaller expected share of wrong bits is finished.
constexpr float kErrorsMax = 0.01F;
/// Decisions are good enough from this pass on to measure how fast the channel changes.
constexpr unsigned kPassOfDoppler = 2;
/// The decoder's result depends in part on its own earlier results. With full weight, blocks that
/// are hard to decode converge to wrong bits.
constexpr float kTrust = 0.85F;
constexpr float kPriorVarianceMin = 2e-3F;
constexpr float kNoiseGain = 0.1F;
constexpr float kTiny = 1e-20F;
/// This share of the signal is what the model of the channel leaves unexplained without any noise.
constexpr float kNoiseShareMin = 1e-4F;
/// These set the expected power of taps: the weight of a frame, the share of its power that a tap
/// lends its neighbours, and the part of the whole that is spread over all taps.
constexpr float kProfileGain = 0.04F;
constexpr float kNeighbour = 0.25F;
constexpr float kProfileFloor = 0.02F;
/// Smoothing leaves about this part of the filter's uncertainty.
constexpr float kSmoothedShare = 0.3F;
/// A worse fit of the probes over a block means that they do not agree with the channel. Of blocks
/// of one frame that were received at 25 dB through two paths that fade at 1 Hz, 2 % have less.
constexpr double kFitMin = 0.5;

float tap_memory(std::size_t symbols, double doppler_hz) {
  return dsp::tap_memory(static_cast<double>(symbols) / kSymbolRate, doppler_hz);
}

std::size_t longest_run(const Layout& layout) {
  std::size_t longest = 0;
  for (const Layout::Run& run : layout.runs) longest = std::max<std::size_t>(longest, run.data);
  return longest;
}

}  // namespace

BlockReceiver::BlockReceiver(const Layout& layout, InMemory<BlockCode> code, const Config& config,
                             BurstMemory& memory)
    : layout_(layout),
      config_(config),
      demapper_(layout.bits_per_symbol),
      code_(std::move(code)),
      steps_in_frame_((layout.frame_symbols() + kStepSymbols / 2) / kStepSymbols),
      doppler_(layout.doppler_hz),
      steps_(&memory),
      tracked_(&memory),
      responses_(&memory),
      raw_(&memory),
      received_(&memory),
      symbols_(&memory),
      variances_(&memory),
      llr_(layout.block_bits(), &memory),
      extrinsic_(layout.block_bits(), &memory),
      equalizer_({.symbols_max = longest_run(layout),
                  .taps_max = dsp::ChannelTracker::kTapsMax,
                  .rows_max = layout.frame_symbols()},
                 &memory),
      row_responses_(&memory),
      remainder_(kPhases * layout.frame_symbols(), &memory),
      prior_mean_(longest_run(layout), &memory),
      prior_variance_(longest_run(layout), &memory) {
  const std::size_t symbols =
      layout.inserted.size() + layout.frames_per_block * layout.frame_symbols();
  received_.resize(kPhases * symbols);
  symbols_.resize(symbols + static_cast<std::size_t>(layout.taps_max));
  variances_.resize(symbols_.size());
  const std::size_t steps = kInsertedSteps + layout.frames_per_block * steps_in_frame_;
  steps_.reserve(steps);
  tracked_.reserve(steps);
  const std::size_t values = kPhases * static_cast<std::size_t>(layout.taps_max);
  responses_.reserve(steps * values);
  raw_.reserve(steps * values);
  row_responses_.reserve(layout.frame_symbols() * values);
}

void BlockReceiver::set_channel(std::span<const float> profile, float noise) {
  const dsp::ChannelTracker tracker(profile);
  tracker_ = tracker;
  noise_ = noise;
  profile_.resize(profile.size());
  std::copy(profile.begin(), profile.end(), profile_.begin());
  const std::size_t steps = kInsertedSteps + layout_.frames_per_block * steps_in_frame_;
  tracked_.assign(steps, tracker);
  responses_.resize(steps * kPhases * tracker.taps());
  row_responses_.resize(kPhases * layout_.frame_symbols() * tracker.taps());
}

void BlockReceiver::set_noise(float noise) {
  noise_ = std::max(noise, kNoiseShareMin * tracker_->energy() / kPhases + kTiny);
}

void BlockReceiver::begin(unsigned first_frame, bool inserted) {
  S5066_ASSERT(tracker_.has_value());
  frames_ = 0;
  quality_sum_ = 0;
  fit_sum_ = 0;
  wrong_bits_ = 0;
  first_frame_ = first_frame;
  inserted_ = inserted ? layout_.inserted.size() : 0;
  symbols_in_block_ = inserted_ + layout_.frames_per_block * layout_.frame_symbols();
  at_start_ = tracker_;

  steps_.clear();
  const auto add_steps = [&](std::size_t first, std::size_t symbols, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = i * symbols / count;
      steps_.push_back({first + from, (i + 1) * symbols / count - from});
    }
  };
  if (inserted) add_steps(0, inserted_, kInsertedSteps);
  for (unsigned frame = 0; frame < layout_.frames_per_block; ++frame) {
    add_steps(first_symbol(frame), layout_.frame_symbols(), steps_in_frame_);
  }

  // Symbols before the block are set as far back as a response extends.
  const std::size_t last = first_frame > 0 ? first_frame - 1 : layout_.frames_in_cycle() - 1;
  auto before = begun_ ? known_of(last) : std::span<const Complex>(layout_.preamble);
  begun_ = true;
  before = before.last(std::min(before.size(), static_cast<std::size_t>(layout_.taps_max)));
  const std::array<Complex, dsp::ChannelTracker::kTapsMax> nothing{};
  set_known(-layout_.taps_max,
            std::span(nothing).first(static_cast<std::size_t>(layout_.taps_max)));
  set_known(-static_cast<std::ptrdiff_t>(before.size()), before);
  if (inserted) set_known(0, layout_.inserted);
  for (unsigned frame = 0; frame < layout_.frames_per_block; ++frame) set_frame(frame);
}

std::span<const Complex> BlockReceiver::known_of(std::size_t frame_in_cycle) const {
  return layout_.known[layout_.variants[frame_in_cycle % layout_.frames_in_cycle()]];
}

void BlockReceiver::set_frame(unsigned frame) {
  const auto known = known_of(first_frame_ + frame);
  std::size_t at = first_symbol(frame);
  std::size_t from = 0;
  for (const Layout::Run& run : layout_.runs) {
    at += run.data;
    set_known(static_cast<std::ptrdiff_t>(at), known.subspan(from, run.known));
    at += run.known;
    from += run.known;
  }
}

void BlockReceiver::set_known(std::ptrdiff_t first, std::span<const Complex> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::size_t at = slot(first + static_cast<std::ptrdiff_t>(i));
    symbols_[at] = symbols[i];
    variances_[at] = 0;
  }
}

std::size_t BlockReceiver::first_step(unsigned frame) const {
  return (inserted_ > 0 ? kInsertedSteps : 0) + frame * steps_in_frame_;
}

void BlockReceiver::add_inserted(std::span<const Complex> received) {
  S5066_ASSERT(inserted_ > 0 && received.size() == kPhases * inserted_);
  std::copy(received.begin(), received.end(), received_.begin());
  tracker_ = follow(0, kInsertedSteps, *tracker_);
}

// The frame is equalised twice: first with the channel from the probes around the data alone, then
// with that from the first decisions as well.
BlockReceiver::Look BlockReceiver::add_frame(std::span<const Complex> received) {
  S5066_ASSERT(!complete() && received.size() == kPhases * layout_.frame_symbols());
  const unsigned frame = frames_++;
  std::copy(received.begin(), received.end(),
            received_.begin() + static_cast<std::ptrdiff_t>(kPhases * first_symbol(frame)));
  const std::size_t from = first_step(frame);
  const std::size_t to = from + steps_in_frame_;
  forget_data(frame);
  Look look;
  look.fit = probe_fit(frame, layout_.runs.size());
  fit_sum_ += layout_.runs.size() == 1 ? look.fit : probe_fit(frame, 1);
  follow(from, to, *tracker_);
  // The last known symbols in a frame of several runs may not have been sent.
  const double overstated = layout_.runs.size() == 1 ? std::max(surprise_, 1.0) : 1;
  equalize(frame, false);
  tracker_ = follow(from, to, *tracker_);
  look.quality = equalize(frame, false);
  wrong_bits_ += dsp::expected_errors(llr_of(frame), static_cast<float>(overstated));
  quality_sum_ += look.quality;
  learn_profile(from, to);
  const auto first = response_of(from);
  const auto last = response_of(to - 1);
  for (std::size_t k = 0; k < first.size(); ++k) look.turn += mul_conj(first[k], last[k]);
  return look;
}

void BlockReceiver::forget_data(unsigned frame) {
  std::size_t n = first_symbol(frame);
  for (const Layout::Run& run : layout_.runs) {
    for (unsigned i = 0; i < run.data; ++i) {
      const std::size_t at = slot(static_cast<std::ptrdiff_t>(n + i));
      symbols_[at] = 0;
      variances_[at] = demapper_.power();
    }
    n += run.data + run.known;
  }
}

// The response from before the frame must predict the probe behind `runs` runs of data. Decisions
// of this frame are not used, because they would fit any noise from which they were made.
float BlockReceiver::probe_fit(unsigned frame, std::size_t runs) const {
  std::size_t end = first_symbol(frame);
  for (std::size_t i = 0; i < runs; ++i) end += layout_.runs[i].data + layout_.runs[i].known;
  const std::size_t known = layout_.runs[runs - 1].known;
  const std::size_t clear = std::min(3 * tracker_->taps() / 4, known / 2);
  Complex agreement;
  float foretold = kTiny;
  float heard = kTiny;
  for (std::size_t row = end - known + clear; row < end; ++row) {
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

double BlockReceiver::turn_seconds() const {
  const double steps = static_cast<double>(steps_in_frame_);
  return static_cast<double>(layout_.frame_symbols()) * (steps - 1) / steps /
         static_cast<double>(kSymbolRate);
}

// --- The channel ---------------------------------------------------------------------------------

// The filter runs forwards, and its state at the end is returned. Then the smoother that belongs to
// it runs backwards.
dsp::ChannelTracker BlockReceiver::follow(std::size_t from_step, std::size_t to_step,
                                          dsp::ChannelTracker tracker) {
  const std::size_t taps = tracker.taps();
  double surprise = 0;
  double uncertainty = 0;
  std::size_t judged = 0;
  for (std::size_t s = from_step; s < to_step; ++s) {
    tracker.predict(tap_memory(steps_[s].count, doppler_.doppler_hz()));
    for (std::size_t row = steps_[s].first; row < steps_[s].first + steps_[s].count; ++row) {
      const std::size_t at = slot(static_cast<std::ptrdiff_t>(row));
      const auto symbols = std::span<const Complex>(symbols_).subspan(at, taps);
      const auto variances = std::span<const float>(variances_).subspan(at, taps);
      // Rows without known symbols are skipped.
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
      tracked_[s].smooth(response_of(s + 1),
                         tap_memory(steps_[s + 1].count, doppler_.doppler_hz()));
    }
    tracked_[s].response(response_of(s));
  }
  surprise_ = judged > 0 ? surprise / static_cast<double>(judged) : 1;
  if (judged > 0) {
    const double mean = std::clamp(surprise_, 0.1, 10.0);
    const auto gain = static_cast<float>(
        std::min(0.5, static_cast<double>(kNoiseGain) * static_cast<double>(judged) / 20));
    noise_ *= 1 + gain * (static_cast<float>(mean) - 1);
  }
  noise_ = std::max(noise_, kNoiseShareMin * tracker.energy() / kPhases + kTiny);
  error_ = kSmoothedShare * static_cast<float>(uncertainty) /
           static_cast<float>(to_step - from_step) * demapper_.power();
  return tracker;
}

// The profile is an average over seconds. Its floor is for a path that has been in a fade until
// now. Neighbours count because the response moves when clocks drift.
void BlockReceiver::learn_profile(std::size_t from_step, std::size_t to_step) {
  const std::size_t taps = profile_.size();
  const float gain = kProfileGain / static_cast<float>(to_step - from_step);
  float total = 0;
  for (std::size_t l = 0; l < taps; ++l) {
    profile_[l] *= 1 - kProfileGain;
    for (std::size_t s = from_step; s < to_step; ++s) {
      for (std::size_t p = 0; p < kPhases; ++p) {
        profile_[l] += gain / kPhases * std::norm(response_of(s)[kPhases * l + p]);
      }
    }
    total += profile_[l];
  }
  FixedVector<float, dsp::ChannelTracker::kTapsMax> prior(taps);
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

BlockReceiver::Steps BlockReceiver::block_profile() const {
  Steps sums(kPhases * profile_.size());
  const float share = 1 / static_cast<float>(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Complex* const response = &responses_[s * sums.size()];
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += share * std::norm(response[k]);
  }
  return sums;
}

void BlockReceiver::move_window(int symbols) {
  for (; symbols > 0; --symbols) {
    tracker_->shift_later();
    std::shift_left(profile_.begin(), profile_.end(), 1);
  }
  for (; symbols < 0; ++symbols) {
    tracker_->shift_earlier();
    std::shift_right(profile_.begin(), profile_.end(), 1);
  }
}

// The correlation is computed with the symbols after the second pass, or the last one.
void BlockReceiver::learn_doppler() {
  const std::size_t taps = profile_.size();
  FixedVector<float, kPhases * dsp::ChannelTracker::kTapsMax> weight(kPhases * taps);
  for (std::size_t k = 0; k < weight.size(); ++k) weight[k] = profile_[k / kPhases];
  const std::size_t first = first_step(0);
  raw_.assign((steps_.size() - first) * weight.size(), Complex());
  for (std::size_t s = first; s < steps_.size(); ++s) {
    Complex* const out = &raw_[(s - first) * weight.size()];
    float energy = kTiny;
    for (std::size_t row = steps_[s].first; row < steps_[s].first + steps_[s].count; ++row) {
      const auto symbols = symbols_of_row(row);
      energy += std::norm(symbols[0]);
      for (std::size_t k = 0; k < weight.size(); ++k) {
        out[k] += mul_conj(symbols[k / kPhases], received_[kPhases * row + k % kPhases]);
      }
    }
    for (std::size_t k = 0; k < weight.size(); ++k) out[k] *= 1 / energy;
  }
  const double seconds = static_cast<double>(layout_.frame_symbols()) /
                         static_cast<double>(steps_in_frame_ * kSymbolRate);
  doppler_.add(raw_, weight, seconds);
}

// Smooths the responses of the received frames; an inserted preamble has other steps.
void BlockReceiver::even_out() {
  const double seconds = static_cast<double>(layout_.frame_symbols()) /
                         static_cast<double>(steps_in_frame_ * kSymbolRate);
  const std::size_t half = dsp::even_steps(doppler_.doppler_hz(), seconds);
  if (half == 0) return;
  const std::size_t values = kPhases * profile_.size();
  raw_.assign(responses_.begin(), responses_.end());
  const std::size_t from = first_step(0) * values;
  dsp::even_out(std::span<const Complex>(raw_).subspan(from, steps_.size() * values - from), values,
                half, std::span(responses_).subspan(from, steps_.size() * values - from));
}

// Computes the response for every row of a frame, between the middles of steps.
void BlockReceiver::respond(unsigned frame) {
  const std::size_t taps = tracker_->taps();
  const auto middle = [&](std::size_t s) {
    return static_cast<float>(steps_[s].first) + 0.5F * static_cast<float>(steps_[s].count - 1);
  };
  const std::size_t last = first_step(frame) + steps_in_frame_ - 1;
  const bool more = last + 1 < steps_.size() && frame + 1 < frames_;
  const std::size_t last_right = more ? last + 1 : last;
  std::size_t right = first_step(frame);
  for (std::size_t i = 0; i < layout_.frame_symbols(); ++i) {
    const auto row = static_cast<float>(first_symbol(frame) + i);
    while (right < last_right && middle(right) < row) ++right;
    const std::size_t left = right > 0 ? right - 1 : right;
    float weight = 1;
    if (left != right) {
      weight = (row - middle(left)) / (middle(right) - middle(left));
      weight = std::min(weight, 1.0F);
    }
    const Complex* const a = response_of(left).data();
    const Complex* const b = response_of(right).data();
    Complex* const out = &row_responses_[kPhases * taps * i];
    for (std::size_t k = 0; k < kPhases * taps; ++k) out[k] = a[k] + weight * (b[k] - a[k]);
  }
}

// --- The data ------------------------------------------------------------------------------------

float BlockReceiver::equalize(unsigned frame, bool with_priors) {
  respond(frame);
  float quality = 0;
  std::size_t row = 0;
  std::size_t data = 0;
  for (const Layout::Run& run : layout_.runs) {
    const std::size_t bit = frame * layout_.frame_bits() + data * layout_.bits_per_symbol;
    quality += equalize_run(run, first_symbol(frame) + row, row, data, bit, with_priors);
    row += run.data + run.known;
    data += run.data;
  }
  return quality / static_cast<float>(data);
}

// The run's first symbol is `row` of the frame and `first` of the block. `data` is the number of
// data symbols before it in the frame, and `bit` is its first bit in the block.
float BlockReceiver::equalize_run(const Layout::Run& run, std::size_t first, std::size_t row,
                                  std::size_t data, std::size_t bit, bool with_priors) {
  const std::size_t taps = tracker_->taps();
  const std::size_t rows = run.data + run.known;
  const std::uint8_t* const scrambling = &layout_.scrambling[data];
  const auto bits_of = [&](std::pmr::vector<float>& all, unsigned i) {
    return std::span(all).subspan(bit + std::size_t{i} * layout_.bits_per_symbol,
                                  layout_.bits_per_symbol);
  };
  const auto prior_mean = std::span(prior_mean_).first(run.data);
  const auto prior_variance = std::span(prior_variance_).first(run.data);
  for (unsigned i = 0; i < run.data; ++i) {
    prior_mean[i] = 0;
    prior_variance[i] = demapper_.power();
    if (with_priors) {
      const SoftSymbol soft = demapper_.symbol_of(bits_of(extrinsic_, i), scrambling[i]);
      prior_mean[i] = soft.mean;
      prior_variance[i] = std::max(soft.variance, kPriorVarianceMin);
    }
    symbols_[slot(static_cast<std::ptrdiff_t>(first + i))] = prior_mean[i];
  }
  const auto responses =
      std::span(row_responses_).subspan(kPhases * taps * row, kPhases * taps * rows);
  const auto remainder = std::span(remainder_).first(kPhases * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const Complex* const s = &symbols_[slot(static_cast<std::ptrdiff_t>(first + i))];
    const Complex* const h = &responses[kPhases * taps * i];
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex sum;
      for (std::size_t l = 0; l < taps; ++l) sum += mul(h[kPhases * l + p], s[l]);
      remainder[kPhases * i + p] = received_[kPhases * (first + i) + p] - sum;
    }
  }
  const auto estimates = equalizer_.solve({.response = responses,
                                           .taps = taps,
                                           .remainder = remainder,
                                           .prior_mean = prior_mean,
                                           .prior_variance = prior_variance,
                                           .noise = (noise_ + error_) / config_.noise_share});
  float quality = 0;
  for (unsigned i = 0; i < run.data; ++i) {
    const auto prior =
        with_priors ? std::span<const float>(bits_of(extrinsic_, i)) : std::span<const float>();
    const SoftSymbol soft = demapper_.demap(estimates[i].mean, estimates[i].variance, prior,
                                            scrambling[i], bits_of(llr_, i));
    const std::size_t at = slot(static_cast<std::ptrdiff_t>(first + i));
    symbols_[at] = soft.mean;
    variances_[at] = soft.variance;
    quality += demapper_.power() / (demapper_.power() + estimates[i].variance);
  }
  return quality;
}

float BlockReceiver::finish() {
  S5066_ASSERT(complete());
  passes_ = 0;
  float errors = code_->decode(llr_, extrinsic_);
  while (errors > kErrorsMax && passes_ < config_.passes_max) {
    ++passes_;
    for (float& value : extrinsic_) value *= kTrust;
    take_decisions();
    if (passes_ == kPassOfDoppler) learn_doppler();
    tracker_ = follow(0, steps_.size(), *at_start_);
    even_out();
    quality_sum_ = 0;
    for (unsigned frame = 0; frame < frames_; ++frame) quality_sum_ += equalize(frame, true);
    errors = code_->decode(llr_, extrinsic_);
  }
  if (passes_ < kPassOfDoppler) {
    take_decisions();
    learn_doppler();
  }
  // The equaliser's own quality uses a channel that decisions help to estimate, and decisions fit
  // the noise from which they were made. So probes that do not agree with the channel limit the
  // quality. The first probe of each frame counts, because behind the last data of STANAG 4285 the
  // last one is not sent. A fit f between prediction and reception is a share f^2 of signal.
  const double fit = std::max(fit_sum_ / frames_, 0.0);
  const double support = fit < kFitMin ? fit * fit : 1;
  // Bits without a code are as certain as the noise is small. The noise that is assumed lags behind
  // when another station begins. Known symbols, predicted before this frame's decisions could fit
  // the channel to them, show by which factor it is larger.
  const float wrong = code_->coded() ? code_->error_share()
                                     : wrong_bits_ / static_cast<float>(layout_.block_bits());
  // Another station makes soft bits more certain than they should be. The passes then agree on a
  // word that neither station has sent: the decoder is sure of it, but it hardly fits better than
  // others would.
  const float signal = static_cast<float>(std::min(quality_sum_ / frames_, support));
  return soft_quality(std::min(signal, code_->support()), wrong);
}

// Decides the symbols by all information: the last equalisation and the result of the code.
void BlockReceiver::take_decisions() {
  std::array<float, 8> both{};
  std::size_t bit = 0;
  for (unsigned frame = 0; frame < frames_; ++frame) {
    std::size_t n = first_symbol(frame);
    std::size_t data = 0;
    for (const Layout::Run& run : layout_.runs) {
      for (unsigned i = 0; i < run.data; ++i, ++data) {
        for (unsigned b = 0; b < layout_.bits_per_symbol; ++b, ++bit) {
          both[b] = llr_[bit] + extrinsic_[bit];
        }
        const SoftSymbol soft = demapper_.symbol_of(
            std::span<const float>(both).first(layout_.bits_per_symbol), layout_.scrambling[data]);
        const std::size_t at = slot(static_cast<std::ptrdiff_t>(n + i));
        symbols_[at] = soft.mean;
        variances_[at] = soft.variance;
      }
      n += run.data + run.known;
    }
  }
}

}  // namespace s5066::modem::framed
