// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/late_entry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/demapper.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

constexpr std::int64_t kFrame = kPhases * kFrameSymbols;
constexpr std::int64_t kInserted = kPhases * kInsertedSymbols;
constexpr std::int64_t kProbeAt = kPhases * kFrameData;
constexpr std::size_t kProbeSamples = kPhases * kFrameProbe;
constexpr std::size_t kTaps = LateEntry::kTaps;

// A probe is a period of 16 symbols and 15 of the next.
constexpr unsigned kPeriod = 16;
constexpr unsigned kPeriodAt = 7;
constexpr std::size_t kPeriodSamples = kPhases * kPeriod;
/// These samples of a probe are repeated one period later, with paths of 2 ms to either side.
constexpr std::size_t kAgainFrom = 10;
constexpr std::size_t kAgainTo = 20;
/// The carrier is found by the probes of this many frames.
constexpr std::size_t kFramesOfCarrier = 12;

/// Probes are present when the responses by consecutive probes agree this much on average over this
/// many steps in a row, about 1 s. Noise gives 0.05.
constexpr std::size_t kStepsJudged = 8;
constexpr float kLikenessMin = 0.15F;
/// All of a transmission must have been received this well from its entry on, and kFirstHeardMin
/// holds for the place in a single step.
constexpr float kHeardMin = 0.2F;
constexpr float kFirstHeardMin = 0.25F;

/// The change of a 1 Hz channel from probe to probe has about a tenth of its mean power. In a fade
/// the response may turn, however little noise there is.
constexpr float kChange = 0.1F;
constexpr float kEvidenceMax = 6;
/// The best reading of the signs must lead any other by kLeadMin in log-likelihood, six errors in a
/// million. kAgreementMin is the share of all evidence that must support it.
constexpr float kLeadMin = 12;
constexpr float kAgreementMin = 0.7F;

constexpr unsigned kCodes = 8;  // values of a code of three bits
/// The channel is followed through this many frames before a block in the middle of a cycle.
constexpr std::size_t kFramesBefore = 2;
/// This offset turns the carrier by half a turn from frame to frame.
constexpr double kHalfTurnHz = 0.5 * kHalfSymbolRate / kFrame;
/// Reception of a frame needs this many half-symbol samples before the previous probe.
constexpr std::int64_t kMarginSamples = 320;
constexpr float kTiny = 1e-20F;

using Taps = std::array<Complex, kTaps>;
using ProbeSamples = std::array<Complex, kProbeSamples>;

// Returns the samples of a probe without the carrier's offset.
ProbeSamples samples_of(const SampleHistory& history, std::int64_t at, double offset_hz) {
  ProbeSamples out;
  dsp::turn_back(history.window(at, kProbeSamples), at, offset_hz / kHalfSymbolRate, out);
  return out;
}

Taps response_by(const ProbeSamples& samples) {
  Taps taps{};
  for (std::size_t k = 0; k < kTaps; ++k) {
    for (unsigned i = 0; i < kPeriod; ++i) {
      taps[k] +=
          (1.0F / kPeriod) * mul_conj(phase(probe()[kPeriodAt + i]), samples[kPhases * i + k]);
    }
  }
  return taps;
}

float power_of(const Taps& taps) {
  float power = kTiny;
  for (const Complex& tap : taps) power += std::norm(tap);
  return power;
}

// The signs from frame to frame: 1 if a probe has the sign of the one before. The one before the
// first is the end of a preamble.
using SignSteps = std::array<std::array<float, kFramesInCycle>, kCodes * kCodes>;
SignSteps make_sign_steps() {
  SignSteps out{};
  for (unsigned codes = 0; codes < out.size(); ++codes) {
    Parameters p;
    p.rate_code = static_cast<std::uint8_t>(codes / kCodes);
    p.interleaver_code = static_cast<std::uint8_t>(codes % kCodes);
    bool last = true;
    for (unsigned frame = 0; frame < kFramesInCycle; ++frame) {
      const bool negative = probe_is_negative(p, frame);
      out[codes][frame] = negative == last ? 1.0F : -1.0F;
      last = negative;
    }
  }
  return out;
}
const SignSteps& sign_steps() {
  static const SignSteps steps = make_sign_steps();
  return steps;
}

// Returns the number in its cycle of the frame that lies `frame` before the newest one.
unsigned number_of(unsigned newest, std::size_t frame) {
  return (newest + 2 * kFramesInCycle - static_cast<unsigned>(frame)) % kFramesInCycle;
}

}  // namespace

LateEntry::LateEntry(float noise_share) : noise_share_(noise_share) {
  sign_steps();
}

void LateEntry::restart() {
  heard_from_ = 0;
  looked_at_ = 0;
}

std::int64_t LateEntry::probe_of(Side side, std::size_t frame) const {
  return newest_ - static_cast<std::int64_t>(frame) * kFrame - (side == before ? kInserted : 0) +
         kProbeAt;
}

std::optional<PreambleReading> LateEntry::enter(const SampleHistory& history,
                                                const Traffic& traffic) {
  const std::int64_t last = history.end() - kFrame;
  if (last < looked_at_) return std::nullopt;
  looked_at_ = history.end();
  newest_ = last - ((last - traffic.cycle_start) % kFrame + kFrame) % kFrame;
  oldest_ = std::max(history.begin(), heard_from_) + kMarginSamples;
  find_carrier(history, static_cast<double>(traffic.offset_hz));
  compare_probes(history);
  weigh();
  const auto signs = read();
  if (!signs) return std::nullopt;
  const auto mode = mode_announced(static_cast<std::uint8_t>(signs->codes / kCodes),
                                   static_cast<std::uint8_t>(signs->codes % kCodes));
  const std::size_t heard = frames_heard(*signs);
  if (!mode || heard == 0) return std::nullopt;
  const double turned_hz = -std::copysign(kHalfTurnHz, fine_hz_);
  offset_hz_ += fine_hz_ + (signs->turned ? turned_hz : 0);
  const Begin begin = choose_begin(*signs, parameters(*mode).frames_per_block, heard);
  const std::int64_t at = probe_of(side_of(*signs, begin.frame), begin.frame) - kProbeAt;
  const unsigned number = number_of(signs->newest, begin.frame);
  std::int64_t lead = kFrame * static_cast<std::int64_t>(begin.lead);
  if (number + begin.lead == kFramesInCycle) lead += kInserted;
  const float data = framed::Demapper(parameters(*mode).bits_per_symbol).power();
  const float power = (kFrameData * data + kFrameProbe) / kFrameSymbols;
  const float share = learn_channel(history, *signs, begin.frame + 1);
  const double noise_in_3_khz =
      static_cast<double>(channel_.noise / noise_share_) * 3000 / kHalfSymbolRate;
  const double ratio = static_cast<double>(share / (1 - share) * channel_.noise * power) /
                       std::max(noise_in_3_khz, 1e-30);
  return PreambleReading{.mode = *mode,
                         .data_start = at + lead,
                         .offset_hz = offset_hz_,
                         .snr_db = static_cast<float>(10 * std::log10(ratio + 1e-9)),
                         .strength = share,
                         .late = true,
                         .lead = lead,
                         .first_frame = number};
}

// Finds the carrier from the repetition within a probe, to about 1 Hz; a multiple of 150 Hz remains
// open.
void LateEntry::find_carrier(const SampleHistory& history, double about_hz) {
  constexpr double kOpenHz = kHalfSymbolRate / static_cast<double>(kPeriodSamples);
  Complex again;
  for (std::size_t frame = 0; frame < kFramesOfCarrier && probe_of(behind, frame) >= oldest_;
       ++frame) {
    const auto samples = history.window(probe_of(behind, frame), kProbeSamples);
    for (std::size_t n = kAgainFrom; n < kAgainTo; ++n) {
      again += mul_conj(samples[n], samples[n + kPeriodSamples]);
    }
  }
  const double found_hz = static_cast<double>(std::arg(again)) / (2 * std::numbers::pi) * kOpenHz;
  offset_hz_ = found_hz + kOpenHz * std::round((about_hz - found_hz) / kOpenHz);
}

void LateEntry::compare_probes(const SampleHistory& history) {
  for (const Side side : {behind, before}) {
    steps_[side].clear();
    Taps newer{};
    for (std::size_t frame = 0; frame <= kFramesMax && probe_of(side, frame) >= oldest_; ++frame) {
      const Taps taps = response_by(samples_of(history, probe_of(side, frame), offset_hz_));
      if (frame > 0) {
        Step step{.power = std::sqrt(power_of(taps) * power_of(newer))};
        for (std::size_t k = 0; k < kTaps; ++k) step.product += mul_conj(taps[k], newer[k]);
        steps_[side].push_back(step);
      }
      newer = taps;
    }
  }
}

// Weighs the evidence of the steps about signs. A step counts where the transmission is received,
// after the rest of the carrier's offset was removed; half a turn in a step remains open.
void LateEntry::weigh() {
  Complex squares;
  float power = kTiny;
  std::size_t heard = 0;
  for (auto& steps : steps_) {
    if (steps.size() < kStepsJudged) continue;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      constexpr std::size_t kHalf = kStepsJudged / 2;
      const std::size_t from = std::clamp(i, kHalf, steps.size() - kHalf) - kHalf;
      float alike = 0;
      for (std::size_t k = from; k < from + kStepsJudged; ++k) alike += steps[k].likeness();
      if (alike < kLikenessMin * kStepsJudged) continue;
      steps[i].evidence = 1;
      squares += 1 / steps[i].power * mul(steps[i].product, steps[i].product);
      power += steps[i].power;
      ++heard;
    }
  }
  const float turn = std::arg(squares) / 2;
  fine_hz_ = static_cast<double>(turn) / std::numbers::pi * kHalfTurnHz;
  const Complex back = std::polar(static_cast<float>(heard) / (kChange * power), -turn);
  for (auto& steps : steps_) {
    for (Step& step : steps) {
      step.evidence *= std::clamp(mul(step.product, back).real(), -kEvidenceMax, kEvidenceMax);
    }
  }
}

// Every code and place is tried. When a cycle has just ended, the frames are still expected at
// their old places, and the newest ones are none; then there is no result.
std::optional<LateEntry::Signs> LateEntry::read() const {
  const auto& after = steps_[behind];
  const auto& earlier = steps_[before];
  if (after.empty() || after[0].evidence == 0) return std::nullopt;
  Signs best;
  float most = 0;
  float next = 0;
  float all = 0;
  for (unsigned newest = 0; newest < kFramesInCycle + kStepsJudged; ++newest) {
    const std::size_t from = newest < kFramesInCycle ? 0 : newest - kFramesInCycle + 1;
    const std::size_t middle = std::min<std::size_t>(newest + 1, after.size());
    const std::size_t to = std::min<std::size_t>(newest + 1 + kFramesInCycle, earlier.size());
    for (unsigned codes = 0; codes < kCodes * kCodes; ++codes) {
      const auto& signs = sign_steps()[codes];
      float sum = 0;
      for (std::size_t i = from; i < middle; ++i) sum += after[i].evidence * signs[newest - i];
      for (std::size_t i = newest + 1; i < to; ++i) {
        sum += earlier[i].evidence * signs[newest + kFramesInCycle - i];
      }
      next = std::max(next, std::min(most, std::abs(sum)));
      if (std::abs(sum) <= most) continue;
      most = std::abs(sum);
      best = {.codes = codes, .newest = newest, .turned = sum < 0};
      all = 0;
      for (std::size_t i = from; i < middle; ++i) all += std::abs(after[i].evidence);
      for (std::size_t i = newest + 1; i < to; ++i) all += std::abs(earlier[i].evidence);
    }
  }
  if (most < next + kLeadMin || most < kAgreementMin * all) return std::nullopt;
  if (best.newest >= kFramesInCycle) return std::nullopt;
  return best;
}

float LateEntry::likeness(const Signs& signs, std::size_t frame) const {
  const Side side = side_of(signs, frame);
  return frame < steps_[side].size() ? steps_[side][frame].likeness() : 0;
}

// Returns the number of newest frames that were received without a break.
std::size_t LateEntry::frames_heard(const Signs& signs) const {
  float alike = 0;
  std::size_t frame = 0;
  for (; frame <= signs.newest + kFramesInCycle; ++frame) {
    if (frame >= steps_[side_of(signs, frame)].size()) break;
    alike += likeness(signs, frame);
    if (frame + 1 < kStepsJudged) continue;
    if (alike < kHeardMin * kStepsJudged) break;
    alike -= likeness(signs, frame + 1 - kStepsJudged);
  }
  return frame < kStepsJudged ? 0 : frame;
}

// Returns the first block that was received from its beginning.
LateEntry::Begin LateEntry::choose_begin(const Signs& signs, unsigned frames_per_block,
                                         std::size_t heard) const {
  for (std::size_t frame = heard; frame-- > 0;) {
    const unsigned number = number_of(signs.newest, frame);
    if (number % frames_per_block > 0) continue;
    const auto heard_by = [&](std::size_t step) { return likeness(signs, step) >= kFirstHeardMin; };
    if (number == 0) {
      // Only a preamble is before the first frame of a transmission, and it may not have been
      // received. Some frames of a long block may be missing.
      const bool is_long = frames_per_block >= kStepsJudged;
      if (!is_long && !heard_by(frame) && (frame == 0 || !heard_by(frame - 1))) continue;
      return {.frame = frame, .lead = 0};
    }
    if (!heard_by(frame) && !heard_by(frame + 1) && !heard_by(frame + 2)) continue;
    std::size_t lead = 0;
    while (lead < std::min<std::size_t>(kFramesBefore, number) && heard_by(frame + lead + 1)) {
      ++lead;
    }
    return {.frame = frame + lead, .lead = lead};
  }
  const std::size_t frame = std::min(kFramesBefore, heard) - 1;
  return {.frame = frame,
          .lead = frames_per_block - number_of(signs.newest, frame) % frames_per_block};
}

// Learns the channel from the newest `frames` frames. Returns the share of signal in a sample of a
// probe.
float LateEntry::learn_channel(const SampleHistory& history, const Signs& signs,
                               std::size_t frames) {
  channel_ = {};
  float power = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const ProbeSamples samples =
        samples_of(history, probe_of(side_of(signs, frame), frame), offset_hz_);
    const Taps taps = response_by(samples);
    for (std::size_t k = 0; k < kTaps; ++k) channel_.profile[k] += std::norm(taps[k]);
    for (std::size_t n = kAgainFrom; n < kAgainTo; ++n) {
      channel_.noise += 0.5F * std::norm(samples[n + kPeriodSamples] - samples[n]);
      power += 0.5F * (std::norm(samples[n + kPeriodSamples]) + std::norm(samples[n]));
    }
  }
  const auto count = static_cast<float>(frames);
  channel_.noise = channel_.noise / (count * (kAgainTo - kAgainFrom)) + kTiny;
  power = power / (count * (kAgainTo - kAgainFrom)) + kTiny;
  const float of_tap = channel_.noise / kPeriod;
  for (float& tap : channel_.profile) tap = std::max(0.0F, tap / count - of_tap);
  channel_.error = of_tap / std::sqrt(count);
  return std::clamp(1 - channel_.noise / power, 0.0F, 0.9999F);
}

}  // namespace s5066::modem::stanag4539
