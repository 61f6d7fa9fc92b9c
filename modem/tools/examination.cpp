// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/examination.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::tools {
namespace {

/// A device that delivers nothing for this time, or this number of timeouts, is faulty. PulseAudio
/// gives the first samples two seconds after its start. The timeouts of a busy machine take longer
/// than they should, and those of a test take no time.
constexpr Duration kSilenceMax = std::chrono::seconds(5);
constexpr unsigned kTimeoutsMax = 60;
constexpr double kToneHz = 1500;
/// This is the wait behind a burst for the samples in the device.
constexpr double kLoopWaitSeconds = 3;
/// Every step may take twice its own time and this much more.
constexpr double kOverdueSeconds = 5;

/// The tone has the power of bursts.
class Tone {
 public:
  void fill(std::span<float> block) {
    const double step = 2 * std::numbers::pi * kToneHz / kSampleRate;
    for (float& sample : block) {
      sample = static_cast<float>(std::sqrt(2.0 * kTransmitPower) * std::sin(phase_));
      phase_ = std::fmod(phase_ + step, 2 * std::numbers::pi);
    }
  }

 private:
  double phase_ = 0;
};

/// A line fitted through times and the samples that had arrived by then. A device delivers whole
/// blocks, each a little late, so two points would be less exact than all of them.
class ClockFit {
 public:
  void add(double seconds, double samples) {
    if (times_.empty()) begin_ = {seconds, samples};
    times_.push_back(seconds - begin_.first);
    samples_.push_back(samples - begin_.second);
  }
  /// Returns samples per second; 0 before there is a line.
  double rate() const { return spread() > 0 ? shared() / spread() : 0; }
  /// Returns three standard errors of the rate.
  double doubt() const {
    if (spread() <= 0) return 0;
    const double rest = product(samples_, samples_) - shared() * shared() / spread();
    return 3 * std::sqrt(std::max(rest, 0.0) / static_cast<double>(times_.size() - 2) / spread());
  }

 private:
  static double mean(const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
  double spread() const { return times_.size() > 2 ? product(times_, times_) : 0; }
  double shared() const { return product(times_, samples_); }
  static double product(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) -
           mean(a) * mean(b) * static_cast<double>(a.size());
  }

  std::pair<double, double> begin_;
  std::vector<double> times_;
  std::vector<double> samples_;
};

}  // namespace

Result<Examination> Examination::begin(Device& device, std::function<Duration()> monotonic) {
  if (auto opened = device.open(); !opened) return opened.error();
  auto adapter = RateAdapter::create(device.info().rate_hz, device.info().block_samples);
  if (!adapter) return adapter.error();
  return Examination(device, std::move(monotonic), std::move(*adapter));
}

Examination::Examination(Device& device, std::function<Duration()> monotonic, RateAdapter adapter)
    : device_(&device), monotonic_(std::move(monotonic)), adapter_(std::move(adapter)) {
  received_.resize(device.info().block_samples);
  to_send_.resize(device.info().block_samples);
}

Result<std::span<const float>> Examination::exchange(std::span<const float> made) {
  const Duration began = monotonic_();
  for (unsigned silent = 0;; ++silent) {
    if (overdue_at_ && monotonic_() > *overdue_at_) {
      return Error{ErrorCode::timed_out, "the sound card gives samples far too slowly"};
    }
    const auto got = device_->receive(received_);
    if (got) {
      lost_ += got->dropped + got->underrun;
      taken_ += got->dropped + received_.size();
      break;
    }
    if (got.error().code != ErrorCode::timed_out) return got.error();
    if (silent == kTimeoutsMax || monotonic_() - began >= kSilenceMax)
      return Error{ErrorCode::timed_out, "the sound card gives no samples"};
  }
  meter_.process(received_);
  adapter_.to_device(made, to_send_);
  if (auto sent = device_->transmit(keyed_, to_send_); !sent) return sent.error();
  return adapter_.to_modem(received_);
}

/// Starts the counts again.
void Examination::begin_exchanges(double seconds) {
  lost_ = taken_ = 0;
  if (device_->info().lockstep) return;
  overdue_at_ = monotonic_() + from_seconds(2 * seconds + kOverdueSeconds);
}

Result<void> Examination::settle(double seconds) {
  if (device_->info().lockstep) return {};
  auto passed = listen(seconds);
  return passed ? Result<void>{} : passed.error();
}

Result<Examination::Sound> Examination::listen(double seconds,
                                               const std::function<bool(std::span<float>)>& made) {
  std::vector<float> block(adapter_.modem_block());
  const auto rate = static_cast<double>(device_->info().rate_hz);
  static_cast<void>(meter_.take());
  begin_exchanges(seconds);
  ClockFit clock;
  for (double heard = 0; heard < seconds; heard += static_cast<double>(received_.size()) / rate) {
    std::fill(block.begin(), block.end(), 0.0F);
    if (made && !made(block)) break;
    if (const auto got = exchange(block); !got) return got.error();
    clock.add(to_seconds(monotonic_()), static_cast<double>(taken_));
  }
  overdue_at_.reset();
  Sound sound{.level = meter_.take(), .lost = lost_};
  if (!device_->info().lockstep) {
    sound.rate_hz = clock.rate();
    sound.rate_doubt_hz = clock.doubt();
  }
  return sound;
}

Result<Examination::Sound> Examination::send_tone(
    double seconds, const std::function<std::optional<double>()>& level_db) {
  Tone tone;
  keyed_ = true;
  auto sound = listen(seconds, [&](std::span<float> block) {
    tone.fill(block);
    const auto level = level_db ? level_db() : 0.0;
    if (!level) return false;
    const auto gain = static_cast<float>(std::pow(10.0, *level / 20));
    for (float& sample : block) sample *= gain;
    return true;
  });
  keyed_ = false;
  return sound;
}

Result<Examination::Loop> Examination::send_around(const Mode& mode, std::size_t octets,
                                                   Duration lead) {
  Rng rng(1);
  Bytes sent(octets);
  for (auto& octet : sent) octet = static_cast<std::uint8_t>(rng.below(256));
  BurstTransmitter transmitter(mode, sent);
  BurstReceiver receiver({.modes = {mode}});
  Loop loop{.octets = octets};
  Bytes heard;
  std::uint64_t position = 0;
  const auto lead_blocks = static_cast<std::uint64_t>(
      std::ceil(to_seconds(lead) * kSampleRate / static_cast<double>(adapter_.modem_block())));
  // The first block made is handed over after the first one received.
  const std::uint64_t begins = (1 + lead_blocks) * adapter_.modem_block();
  const std::uint64_t ends = begins + transmitter.total_samples();
  const auto last = ends + static_cast<std::uint64_t>(kLoopWaitSeconds * kSampleRate);
  begin_exchanges(static_cast<double>(last) / kSampleRate);
  Tone tone;
  std::uint64_t blocks = 0;
  std::vector<float> block(adapter_.modem_block());
  for (bool over = false; !over && position < last;) {
    std::fill(block.begin(), block.end(), 0.0F);
    keyed_ = !transmitter.finished();
    if (blocks++ < lead_blocks) {
      tone.fill(block);
    } else if (keyed_) {
      transmitter.read(block);
    }
    const auto got = exchange(block);
    if (!got) {
      keyed_ = false;
      return got.error();
    }
    position += got->size();
    receiver.process(*got);
    while (const auto event = receiver.poll_event()) {
      if (const auto* bytes = std::get_if<BurstBytes>(&*event)) {
        append(heard, bytes->bytes);
        loop.snr_db = bytes->channel.snr_db;
        loop.offset_hz = bytes->channel.offset_hz;
      } else if (const auto* ended = std::get_if<BurstEnded>(&*event)) {
        over = loop.heard = ended->reason == CarrierDownReason::end_of_message;
        loop.round_trip_ms = 1000 *
                             (static_cast<double>(ended->ended_sample) - static_cast<double>(ends) -
                              static_cast<double>(adapter_.delay())) /
                             kSampleRate;
      }
    }
  }
  keyed_ = false;
  overdue_at_.reset();
  loop.lost = lost_;
  const std::size_t common = std::min(sent.size(), heard.size());
  for (std::size_t i = 0; i < common; ++i) loop.octets_right += sent[i] == heard[i] ? 1 : 0;
  return loop;
}

}  // namespace s5066::modem::tools
