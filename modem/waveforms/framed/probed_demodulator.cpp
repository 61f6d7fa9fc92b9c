// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/probed_demodulator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace s5066::modem::framed {
namespace {

/// Preambles whose data begin this close together, in half-symbol samples, belong to one burst.
constexpr std::int64_t kSameBurst = 64;
/// A transmission after a gap of this many repeats counts as the same burst only if it is this
/// close to the expected place, because other paths may have come out of a fade.
constexpr std::int64_t kGap = 2;
constexpr std::int64_t kSameBehindGap = 16;

constexpr double kHeardNowSeconds = 0.1;
constexpr float kHealthyAbove = 0.3F;

/// These evaluate the fit of a probe: its number of symbols that count, times two. The signal is
/// expected to fit as it did recently, and at least this well.
constexpr float kProbeWeight = 32;
constexpr float kFitExpectedMin = 0.15F;

// Returns the gain for an average over `seconds` that is updated once in a frame.
float gain_for(double seconds, double frame_seconds) {
  return static_cast<float>(1 - std::exp(-frame_seconds / seconds));
}

}  // namespace

ProbedDemodulator::ProbedDemodulator(const PreambleReading& reading, std::int64_t repeat,
                                     const Patience& patience, const EndWatch::Config& end)
    : reading_(reading),
      offset_hz_(reading.offset_hz),
      first_path_start_(static_cast<double>(reading.data_start)),
      end_(reading.mode, end),
      repeat_(repeat),
      patience_(patience),
      heard_(patience.heard_max),
      last_heard_(reading.data_start - reading.lead) {}

bool ProbedDemodulator::lost() const {
  return heard_ < patience_.lost_below;
}
bool ProbedDemodulator::healthy() const {
  return heard_now_ > kHealthyAbove;
}
bool ProbedDemodulator::covers(const PreambleReading& reading) const {
  if (reading.mode.waveform != reading_.mode.waveform) return false;
  if (repeat_ == 0) return std::abs(reading.data_start - reading_.data_start) < kSameBurst;
  // Different clocks have moved the frames since the beginning.
  const std::int64_t since = std::abs(reading.data_start + window_shift_ - origin_) % repeat_;
  const std::int64_t apart = std::min(since, repeat_ - since);
  const bool in_gap = reading.data_start > last_heard_ + kGap * repeat_;
  const bool at_its_end =
      gap_until_ && std::abs(reading.data_start - *gap_until_) <= kGap * repeat_;
  // A preamble with an unknown beginning gives no information.
  if (reading.begun_before || (!in_gap && !at_its_end)) return apart < kSameBurst;
  // Without an interleaver nothing is lost when it counts as another burst.
  return apart < kSameBehindGap && reading_.mode.interleaver != Interleaver::zero;
}

std::optional<Demodulator::Output> ProbedDemodulator::advance(const SampleHistory& history) {
  if (!learned_) {
    const auto window = static_cast<std::int64_t>(2 * kWindowTaps);
    if (history.end() < reading_.data_start - reading_.lead + window) return std::nullopt;
    learn_channel(history);
    window_shift_ = origin_ - reading_.data_start;
    learned_ = true;
  }
  return receive(history);
}

void ProbedDemodulator::judge(float fit, double frame_seconds, std::int64_t end) {
  const float expected = std::max(heard_, kFitExpectedMin);
  end_.note_frame(kProbeWeight * expected * (fit - expected / 2));
  heard_ += gain_for(patience_.seconds, frame_seconds) * (fit - heard_);
  heard_ = std::min(heard_, patience_.heard_max);
  heard_now_ += gain_for(kHeardNowSeconds, frame_seconds) * (fit - heard_now_);
  if (!healthy()) return;
  if (repeat_ > 0 && end > last_heard_ + kGap * repeat_) gap_until_ = end;
  last_heard_ = end;
}

}  // namespace s5066::modem::framed
