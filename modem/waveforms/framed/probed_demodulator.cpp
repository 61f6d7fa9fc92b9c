#include "modem/waveforms/framed/probed_demodulator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace s5066::modem::framed {
namespace {

/// Preambles whose data begin this close together, in half-symbol samples, are of one burst.
constexpr std::int64_t kSameBurst = 64;

constexpr double kHeardNowSeconds = 0.1;
constexpr float kHealthyAbove = 0.3F;

// A gain for an average over so many seconds, taken once in a frame.
float gain_for(double seconds, double frame_seconds) {
  return static_cast<float>(1 - std::exp(-frame_seconds / seconds));
}

}  // namespace

ProbedDemodulator::ProbedDemodulator(const PreambleReading& reading, std::int64_t repeat,
                                     const Patience& patience)
    : reading_(reading),
      offset_hz_(reading.offset_hz),
      first_path_start_(static_cast<double>(reading.data_start)),
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
  // Clocks that differ have moved the frames since the beginning.
  const std::int64_t since = std::abs(reading.data_start - origin_) % repeat_;
  return std::min(since, repeat_ - since) < kSameBurst;
}

std::optional<Demodulator::Output> ProbedDemodulator::advance(const SampleHistory& history) {
  if (!learned_) {
    const auto window = static_cast<std::int64_t>(2 * kWindowTaps);
    if (history.end() < reading_.data_start - reading_.lead + window) return std::nullopt;
    learn_channel(history);
    learned_ = true;
  }
  return receive(history);
}

void ProbedDemodulator::judge(float fit, double frame_seconds, std::int64_t end) {
  heard_ += gain_for(patience_.seconds, frame_seconds) * (fit - heard_);
  heard_ = std::min(heard_, patience_.heard_max);
  heard_now_ += gain_for(kHeardNowSeconds, frame_seconds) * (fit - heard_now_);
  if (healthy()) last_heard_ = end;
}

}  // namespace s5066::modem::framed
