#include "modem/tools/examination.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::tools {
namespace {

/// A device that delivers nothing for so long is broken.
constexpr unsigned kTimeoutsMax = 30;
constexpr double kToneHz = 1500;
/// Behind a burst, for what is on its way.
constexpr double kLoopWaitSeconds = 3;

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
  for (unsigned silent = 0;; ++silent) {
    const auto got = device_->receive(received_);
    if (got) {
      lost_ += got->dropped + got->underrun;
      taken_ += got->dropped + received_.size();
      break;
    }
    if (got.error().code != ErrorCode::timed_out) return got.error();
    if (silent == kTimeoutsMax) return Error{ErrorCode::timed_out, "no samples come"};
  }
  meter_.process(received_);
  adapter_.to_device(made, to_send_);
  if (auto sent = device_->transmit(keyed_, to_send_); !sent) return sent.error();
  return adapter_.to_modem(received_);
}

Result<Examination::Sound> Examination::listen(double seconds,
                                               const std::function<void(std::span<float>)>& made) {
  std::vector<float> block(adapter_.modem_block());
  const auto rate = static_cast<double>(device_->info().rate_hz);
  static_cast<void>(meter_.take());
  lost_ = taken_ = 0;
  Duration began = monotonic_();
  Duration ended = began;
  for (double heard = 0; heard < seconds; heard += static_cast<double>(received_.size()) / rate) {
    std::fill(block.begin(), block.end(), 0.0F);
    if (made) made(block);
    if (const auto got = exchange(block); !got) return got.error();
    ended = monotonic_();
    if (heard > 0) continue;
    // The first block may have waited in a buffer, so the clock is compared from its end on.
    began = ended;
    taken_ = 0;
  }
  Sound sound{.level = meter_.take(), .lost = lost_};
  if (!device_->info().lockstep && ended > began) {
    sound.rate_hz = static_cast<double>(taken_) / to_seconds(ended - began);
    // The first and the last may each have been a block late.
    sound.rate_doubt_hz = 2.0 * static_cast<double>(received_.size()) / to_seconds(ended - began);
  }
  return sound;
}

Result<Examination::Sound> Examination::send_tone(double seconds) {
  const double step = 2 * std::numbers::pi * kToneHz / kSampleRate;
  double phase = 0;
  keyed_ = true;
  auto sound = listen(seconds, [&](std::span<float> block) {
    for (float& sample : block) {
      sample = static_cast<float>(std::sqrt(2.0 * kTransmitPower) * std::sin(phase));
      phase = std::fmod(phase + step, 2 * std::numbers::pi);
    }
  });
  keyed_ = false;
  return sound;
}

Result<Examination::Loop> Examination::send_around(const Mode& mode, std::size_t octets) {
  Rng rng(1);
  Bytes sent(octets);
  for (auto& octet : sent) octet = static_cast<std::uint8_t>(rng.below(256));
  BurstTransmitter transmitter(mode, sent);
  BurstReceiver receiver({.modes = {mode}});
  Loop loop{.octets = octets};
  Bytes heard;
  std::uint64_t position = 0;
  const std::uint64_t begins = adapter_.modem_block();  // handed over behind the first block
  const std::uint64_t ends = begins + transmitter.total_samples();
  const auto last = ends + static_cast<std::uint64_t>(kLoopWaitSeconds * kSampleRate);
  std::vector<float> block(adapter_.modem_block());
  for (bool over = false; !over && position < last;) {
    std::fill(block.begin(), block.end(), 0.0F);
    keyed_ = !transmitter.finished();
    if (keyed_) transmitter.read(block);
    const auto got = exchange(block);
    if (!got) return got.error();
    position += got->size();
    receiver.process(*got);
    while (const auto event = receiver.poll_event()) {
      if (const auto* bytes = std::get_if<BurstBytes>(&*event)) {
        append(heard, bytes->bytes);
        loop.snr_db = bytes->channel.snr_db;
        loop.offset_hz = bytes->channel.offset_hz;
      } else if (const auto* ended = std::get_if<BurstEnded>(&*event)) {
        over = loop.heard = ended->reason == CarrierDownReason::end_of_message;
        loop.round_trip_ms =
            1000 * (static_cast<double>(ended->ended_sample) - static_cast<double>(ends)) /
            kSampleRate;
      }
    }
  }
  keyed_ = false;
  const std::size_t common = std::min(sent.size(), heard.size());
  for (std::size_t i = 0; i < common; ++i) loop.octets_right += sent[i] == heard[i] ? 1 : 0;
  return loop;
}

}  // namespace s5066::modem::tools
