// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/radio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/api/morse.h"
#include "modem/waveforms/morse_modulator.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/overloaded.h"

namespace s5066::modem {
namespace {

/// The tone has the power of the burst and lies in the middle of the channel. Sixteen samples are
/// three of its cycles.
float lead_tone(std::uint64_t position) {
  const double cycles = 3.0 / 16.0 * static_cast<double>(position % 16);
  return static_cast<float>(std::sqrt(2.0 * kTransmitPower) *
                            std::sin(2.0 * std::numbers::pi * cycles));
}

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

// --- Commands
// -------------------------------------------------------------------------------------

void Radio::on_command(Command command, Instant requested_at) {
  std::visit(Overloaded{
                 [&](const TransmitBurst& burst) { transmit(burst, requested_at); },
                 [&](const AbortTransmit& abort) {
                   if (burst_ && burst_->id == abort.id) cut_burst();
                 },
                 [&](SetReceiveModes& set) {
                   config_.receive_modes = std::move(set.modes);
                   receiver_.set_modes(config_.receive_modes);
                 },
                 [&](const SetTransmitLevel& set) { gain_ = gain_of(set.level_db); },
             },
             command);
}

float Radio::gain_of(double level_db) {
  S5066_ASSERT(level_db >= kTransmitLevelMinDb && level_db <= 0);
  return static_cast<float>(std::pow(10.0, level_db / 20));
}

void Radio::transmit(const TransmitBurst& command, Instant requested_at) {
  const std::string name = "burst " + std::to_string(command.id.value);
  if (device_lost_) return fault(FaultKind::command_refused, name + ": the device is lost");
  if (key_failed_) {
    return fault(FaultKind::command_refused,
                 name + ": the transmitter is not confirmed unkeyed yet");
  }
  if (burst_) return fault(FaultKind::command_refused, name + ": another burst is pending");
  if (!is_supported(command.mode)) {
    return fault(FaultKind::command_refused, name + ": its mode is not supported");
  }
  const bool is_morse = !command.morse.empty();
  if (is_morse && !is_morse_text(command.morse)) {
    return fault(FaultKind::command_refused, name + ": its text has no Morse code");
  }
  const bool has_time = command.not_before != Instant{};
  if (has_time && requested_at - command.not_before > config_.late_max) {
    return fault(FaultKind::command_refused, name + ": it is too late to send it");
  }
  const Duration sound =
      is_morse ? morse_airtime(command.morse) : airtime(command.mode, command.bytes.size());
  const Duration keyed = config_.ptt_lead + sound + config_.ptt_tail;
  if (keyed + config_.keyed_margin > config_.keyed_max) {
    return fault(FaultKind::command_refused, name + ": longer than a transmitter may be keyed");
  }
  const std::uint64_t lead = duration_to_samples(config_.ptt_lead);
  const std::uint64_t earliest = std::max(next_to_make(), unplayable_until_) + lead;
  BurstTransmitter transmitter =
      is_morse ? BurstTransmitter(std::make_unique<MorseModulator>(command.morse))
               : BurstTransmitter(command.mode, command.bytes, config_.ms110d);
  const std::uint64_t first = std::max(earliest, instant_to_sample(command.not_before));
  const std::uint64_t end = first + transmitter.total_samples();
  ++bursts_;
  burst_ = Burst{.id = command.id,
                 .transmitter = std::move(transmitter),
                 .key_at = first - lead,
                 .first_at = first,
                 .end_at = end,
                 .unkey_at = end + duration_to_samples(config_.ptt_tail)};
}

/// The samples that have left for the device still go on the air, unless the key takes effect at
/// once. The radio does not receive until then.
void Radio::cut_burst() {
  if (burst_->key_at >= next_to_make()) {
    events_.emplace_back(
        TransmitFinished{.at = now(), .id = burst_->id, .outcome = TransmitOutcome::aborted});
    burst_.reset();
    return;
  }
  burst_->outcome = TransmitOutcome::aborted;
  burst_->end_at = std::min(burst_->end_at, next_to_make());
  burst_->unkey_at = std::min(burst_->unkey_at, next_to_make());
  pass_edges();
}

/// The samples that are made or received until `end` are lost. A receiver would not find a burst
/// without its beginning, and the key would be down too short before it.
void Radio::cut_what_begins_before(std::uint64_t end) {
  const std::uint64_t next = next_to_make();
  if (!burst_ || burst_->first_at < next) return;  // the burst has begun
  const std::uint64_t begins = burst_->key_at < next ? burst_->first_at : burst_->key_at;
  if (begins >= end) return;
  fault(FaultKind::samples_dropped,
        "burst " + std::to_string(burst_->id.value) + " aborted: its beginning would be missing");
  cut_burst();
}

void Radio::on_key_failed(const std::string& why) {
  key_failed_ = true;
  fault(FaultKind::ptt_failed, why);
  if (burst_) cut_burst();
}

void Radio::on_unkeyed() {
  if (std::exchange(key_failed_, false)) fault(FaultKind::ptt_back, "the key works again");
}

void Radio::fault(FaultKind kind, std::string detail) {
  events_.emplace_back(Fault{.at = now(), .kind = kind, .detail = std::move(detail)});
}

// --- The device
// -----------------------------------------------------------------------------------

void Radio::on_received(std::span<const float> block) {
  answered_ = false;
  advance(block);
}

void Radio::on_dropped(std::uint64_t samples) {
  cut_what_begins_before(next_to_make() + samples);
  if (samples <= config_.gap_samples_max) {
    constexpr std::array<float, 256> kSilence{};
    in_gap_ = true;
    for (std::uint64_t left = samples; left > 0;) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kSilence.size()));
      advance(std::span(kSilence).first(count));
      left -= count;
    }
    in_gap_ = false;
  } else {
    if (!deaf()) stop_listening();
    clock_ += samples;
    pass_edges();
  }
  fault(FaultKind::samples_dropped, std::to_string(samples) + " received samples lost");
}

void Radio::on_clock_behind(std::uint64_t samples) {
  cut_what_begins_before(next_to_make() + samples);
  clock_ += samples;
  receiver_base_ += samples;
  pass_edges();
}

void Radio::on_pause(std::uint64_t samples) {
  if (burst_ && burst_->key_at < next_to_make()) {
    burst_->key_at += samples;
    burst_->first_at += samples;
    burst_->end_at += samples;
    burst_->unkey_at += samples;
  } else {
    cut_what_begins_before(next_to_make() + samples);
  }
  clock_ += samples;
  receiver_base_ += samples;
  unplayable_until_ += samples;
}

void Radio::on_underrun(std::uint64_t samples) {
  // Before its first sample only silence was late, which has no effect.
  if (!burst_ || sound_begins() >= next_to_make()) return;
  if (burst_->outcome == TransmitOutcome::sent) {
    burst_->outcome = TransmitOutcome::underrun;
    fault(FaultKind::samples_dropped, std::to_string(samples) + " samples not sent in time");
  }
}

void Radio::on_unplayable(std::uint64_t samples) {
  if (samples == 0) return;
  unplayable_until_ = next_to_make() + samples;
  cut_what_begins_before(unplayable_until_);
}

void Radio::on_device_back() {
  device_lost_ = false;
  fault(FaultKind::device_back, "the device is back");
}

void Radio::on_device_lost(const std::string& why) {
  device_lost_ = true;
  stop_listening();
  occupancy_.restart();  // the device may come back with another level
  if (burst_) {
    events_.emplace_back(
        TransmitFinished{.at = now(), .id = burst_->id, .outcome = TransmitOutcome::aborted});
    burst_.reset();
  }
  fault(FaultKind::device_lost, why);
}

// --- The time line
// --------------------------------------------------------------------------------

void Radio::advance(std::span<const float> samples) {
  while (!samples.empty()) {
    pass_edges();
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(samples.size(), next_edge() - clock_));
    if (!deaf()) listen(samples.first(count));
    clock_ += count;
    samples = samples.subspan(count);
  }
  pass_edges();
}

/// Handles key-down, the first sample and key-up, in this order, up to the present clock.
void Radio::pass_edges() {
  if (!keyed()) return;
  if (deaf()) stop_listening();
  if (!burst_->announced && clock_ >= burst_->first_at && burst_->first_at < burst_->end_at) {
    burst_->announced = true;
    events_.emplace_back(
        TransmitStarted{.at = sample_to_instant(burst_->first_at), .id = burst_->id});
  }
  if (clock_ < burst_->unkey_at) return;
  const bool whole = burst_->made == burst_->transmitter.total_samples();
  if (!whole && burst_->outcome == TransmitOutcome::sent) {
    burst_->outcome = TransmitOutcome::underrun;
  }
  events_.emplace_back(TransmitFinished{
      .at = sample_to_instant(burst_->unkey_at), .id = burst_->id, .outcome = burst_->outcome});
  burst_.reset();
}

std::uint64_t Radio::next_edge() const {
  if (!burst_) return kNever;
  for (const std::uint64_t edge : {burst_->key_at, burst_->first_at, burst_->unkey_at}) {
    if (edge > clock_) return edge;
  }
  return kNever;
}

void Radio::listen(std::span<const float> samples) {
  if (!std::exchange(listening_, true)) {
    receiver_.restart();
    receiver_base_ = clock_;
  }
  receiver_.process(samples);
  while (const auto event = receiver_.poll_event()) collect(*event);
  if (in_gap_) return;
  occupancy_.process(samples);
  tell_occupancy(sample_to_instant(clock_ + samples.size()));
}

void Radio::tell_occupancy(Instant at) {
  if (occupied_ == occupancy_.occupied()) return;
  occupied_ = occupancy_.occupied();
  events_.emplace_back(ChannelOccupancy{.at = at, .occupied = occupied_});
}

void Radio::stop_listening() {
  listening_ = false;
  occupancy_.pause();
  tell_occupancy(now());
  if (!carrier_) return;
  carrier_ = false;
  events_.emplace_back(
      CarrierDown{.at = now(), .ended_at = now(), .reason = CarrierDownReason::lost});
}

void Radio::collect(const BurstEvent& event) {
  const auto when = [this](std::uint64_t sample) {
    return sample_to_instant(receiver_base_ + sample);
  };
  std::visit(
      Overloaded{
          [&](const BurstAcquired& e) {
            carrier_ = true;
            events_.emplace_back(CarrierUp{.at = when(e.at_sample),
                                           .mode = e.mode,
                                           .snr_db = e.snr_db,
                                           .offset_hz = e.offset_hz});
          },
          [&](const BurstBytes& e) {
            events_.emplace_back(ReceivedBytes{.at = when(e.at_sample),
                                               .first_bit_at = when(e.first_bit_sample),
                                               .mode = e.mode,
                                               .bytes = Bytes(e.bytes.begin(), e.bytes.end()),
                                               .soft_quality = e.soft_quality,
                                               .channel = e.channel});
          },
          [&](const BurstEnded& e) {
            carrier_ = false;
            events_.emplace_back(CarrierDown{
                .at = when(e.at_sample), .ended_at = when(e.ended_sample), .reason = e.reason});
          },
      },
      event);
}

std::optional<Event> Radio::poll_event() {
  if (polled_ == events_.size()) {
    events_.clear();  // the vector keeps its memory
    polled_ = 0;
    return std::nullopt;
  }
  return std::move(events_[polled_++]);
}

// --- Transmitting
// ---------------------------------------------------------------------------------

/// Returns the position of the first sound: that of the burst, or of the tone before it.
std::uint64_t Radio::sound_begins() const {
  return config_.lead_tone ? burst_->key_at : burst_->first_at;
}

std::uint64_t Radio::next_to_make() const {
  return clock_ + config_.transmit_delay + (answered_ ? config_.block_samples : 0);
}

bool Radio::fill(std::span<float> block) {
  S5066_ASSERT(block.size() == config_.block_samples);
  S5066_ASSERT(!answered_);
  std::fill(block.begin(), block.end(), 0.0F);
  const std::uint64_t begin = next_to_make();
  answered_ = true;
  if (!burst_) return false;
  const std::uint64_t end = begin + block.size();
  if (config_.lead_tone) {
    const std::uint64_t tone_end = std::min({burst_->first_at, burst_->end_at, end});
    for (std::uint64_t at = std::max(burst_->key_at, begin); at < tone_end; ++at) {
      block[static_cast<std::size_t>(at - begin)] = lead_tone(at);
    }
  }
  const std::uint64_t from = std::clamp(burst_->first_at, begin, end);
  const std::uint64_t to = std::clamp(burst_->end_at, from, end);
  if (from < to) {
    // Samples whose time passed while the device was away are not sent late. The rest keeps its
    // place, so that a receiver sees a fade and not a slip.
    const std::uint64_t missed = from - burst_->first_at - burst_->made;
    if (missed > 0) burst_->outcome = TransmitOutcome::underrun;
    scratch_.resize(static_cast<std::size_t>(missed));
    burst_->transmitter.read(scratch_);
    burst_->transmitter.read(
        block.subspan(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from)));
    burst_->made = to - burst_->first_at;
  }
  for (float& sample : block) sample *= gain_;
  return burst_->key_at < end && begin < burst_->unkey_at;
}

bool Radio::key_wanted() const {
  if (!burst_ || burst_->outcome == TransmitOutcome::aborted) return false;
  return burst_->key_at < clock_ + config_.block_samples && clock_ < burst_->unkey_at;
}

Duration Radio::keyed_limit() const {
  if (!burst_) return config_.keyed_max;
  return samples_to_duration(burst_->unkey_at - burst_->key_at) + config_.keyed_margin;
}

}  // namespace s5066::modem
