// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/modem_soak/station.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/worker/sample_time.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/overloaded.h"

namespace s5066::modem {
namespace {

constexpr Duration kLead = std::chrono::milliseconds(100);
constexpr Duration kTail = std::chrono::milliseconds(40);
/// Limit behind the last sample on the air: two blocks of the longest interleaver.
constexpr double kBusyMaxS = 20;
/// Allowance beyond a burst's airtime, because the key changes only at the bounds of blocks.
constexpr double kKeyedSlackS = 0.1;
/// A block with a soft quality below this does not count as right (modem/api/port.h).
constexpr float kDoubtful = 0.25F;

constexpr double kBurstMeanS = 4;
constexpr double kBurstMaxS = 60;
constexpr double kXrunsPerSecond = 1.0 / 40;
constexpr double kXrunMaxS = 1.5;
constexpr double kDeviceLossesPerSecond = 1.0 / 1800;
constexpr double kKeyFailuresPerBurst = 0.01;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr double kBlockS = static_cast<double>(kBlockSamples) / kSampleRate;

/// True if the preamble announces this mode.
bool tells_itself(const Mode& mode) {
  const bool zero_110a = mode.waveform == Waveform::ms110a &&
                         mode.interleaver == Interleaver::zero && mode.rate_bps != 4800;
  return mode.waveform != Waveform::stanag4285 && !zero_110a;
}

Mode draw_mode(Rng& rng) {
  std::vector<Mode> modes;
  for (const Mode& mode : all_modes()) {
    if (tells_itself(mode)) modes.push_back(mode);
  }
  return modes.at(rng.below(static_cast<std::uint32_t>(modes.size())));
}

bool within(const Bytes& part, const Bytes& whole) {
  return std::search(whole.begin(), whole.end(), part.begin(), part.end()) != whole.end();
}

}  // namespace

Station::Station(std::string name, const Rng& rng, Counts& counts)
    : name_(std::move(name)), rng_(rng), counts_(counts), block_(kBlockSamples) {
  const Worker::Config config{.ptt_lead = kLead, .ptt_tail = kTail, .reopen_delay = Duration{}};
  worker_ = std::make_unique<Worker>(config, std::make_unique<GateDevice>(gate_),
                                     std::make_unique<KeyPtt>(key_), [this] { gate_.on_notify(); });
  const auto started = worker_->start();
  S5066_ASSERT(started);
}

Station::~Station() {
  worker_->stop();
}

void Station::set_scene(const Scene& scene) {
  if (scene_.only || scene.only) modes_to_set_ = true;
  scene_ = scene;
  disturb_arrivals();
}

void Station::disturb_arrivals() {
  for (OnAir& burst : arriving_) {
    if (!burst.to || *burst.to + seconds(0.5) >= clock_) burst.disturbed = true;
  }
}

void Station::step(Line& in, Line& out, Station& other) {
  if (stall_ > 0) return stall(in, out, other);
  gate_.wait_until_asked();
  const double xruns_per_second = (on_air_ ? 4 : 1) * kXrunsPerSecond;
  const bool xrun = rng_.chance(xruns_per_second * kBlockS);
  bool again = false;
  bool glitch = false;
  if (xrun) {
    ++counts_.xruns;
    if (on_air_) ++counts_.xruns_keyed;
    disturb(other);
    const double kind = rng_.uniform();
    again = kind < 0.2;
    glitch = !again && kind < 0.3;
    if (!again && !glitch) {
      stall_ = 1 + seconds(kXrunMaxS * std::pow(rng_.uniform(), 3));
      stall_told_ = kind < 0.7;
      return;
    }
  } else if (rng_.chance(kDeviceLossesPerSecond * kBlockS)) {
    ++counts_.device_losses;
    disturb(other);
    gate_.lose_device();
    take_events();
    stall_ = 1 + seconds(rng_.uniform());
    stall_told_ = false;
    return;
  }
  if (!again) in.take(block_);
  Device::Received losses;
  if (stall_told_) losses.dropped = std::exchange(stalled_, 0);
  if (losses.dropped > 0 && on_air_) losses.underrun = losses.dropped;
  stalled_ = 0;
  gate_.give(block_, losses);
  const std::uint64_t expected = clock_ + losses.dropped + block_.size();
  clock_ = instant_to_sample(worker_->now());
  if (clock_ != expected) {
    ++counts_.clock_errors;
    complain("clock", std::to_string(clock_) + " and not " + std::to_string(expected));
  }
  if (pending_) pending_->late += losses.dropped;
  key_late_ += losses.dropped;
  take_events();
  act();
  worker_->release(worker_->now());
  gate_.wait_for_answer();
  watch_key();
  watch_burst();
  watch_carrier();
  judge_arrivals();
  if (gate_.keyed()) disturb_arrivals();  // a keyed station does not receive
  follow_air(out, other);
  // A block that was received twice replaces one block of what we send.
  if (!again) out.send(glitch ? std::span<const float>(block_) : gate_.answer());
  if (out.out()) other.disturb_arrivals();
}

/// Lets the sound card run on without us: received samples are lost, and silence is sent.
void Station::stall(Line& in, Line& out, Station& other) {
  disturb(other);
  in.take(block_);
  out.send(std::vector<float>(block_.size()));
  stalled_ += block_.size();
  stall_ -= std::min<std::uint64_t>(stall_, block_.size());
}

void Station::disturb(Station& other) {
  disturb_arrivals();
  other.disturb_arrivals();
}

// --- The node's part ----------------------------------------------------------------------------

void Station::take_events() {
  while (auto event = worker_->poll_event()) {
    if (at(*event) < newest_event_ || at(*event) > worker_->now()) {
      ++counts_.events_out_of_order;
      complain("order", "an event at " + std::to_string(to_seconds(at(*event).time_since_epoch())));
    }
    newest_event_ = std::max(newest_event_, at(*event));
    on_event(*event);
  }
}

void Station::on_event(const Event& event) {
  std::visit(Overloaded{
                 [&](const TransmitStarted&) {
                   if (rng_.chance(kKeyFailuresPerBurst)) key_.failures = 1 + rng_.below(8);
                 },
                 [&](const TransmitFinished& e) {
                   if (!pending_ || pending_->burst.id != e.id) {
                     ++counts_.bursts_without_end;
                     return complain("burst", "the end of one that was not asked for");
                   }
                   if (e.outcome != TransmitOutcome::sent) ++counts_.cut;
                   finish();
                 },
                 [&](const CarrierUp&) {
                   carrier_since_ = clock_;
                   hang_told_ = false;
                   octets_.clear();
                 },
                 [&](const ReceivedBytes& e) { on_octets(e); },
                 [&](const CarrierDown& e) { on_carrier_down(e); },
                 [](const ChannelOccupancy&) {},
                 [&](const Fault& e) {
                   if (e.kind == FaultKind::ptt_failed) ++counts_.key_failures;
                   if (e.kind != FaultKind::command_refused) return;
                   ++counts_.refused;
                   finish();
                 },
             },
             event);
}

void Station::finish() {
  pending_.reset();
  // One burst in ten follows at once; one in 33 follows after a twenty times longer gap.
  const double gap = rng_.chance(0.1) ? 0 : -1.5 * std::log(1 - rng_.uniform());
  next_at_ = clock_ + seconds(rng_.chance(0.03) ? 20 * gap : gap);
}

void Station::act() {
  if (modes_to_set_) {
    const bool taken = static_cast<bool>(worker_->request(
        SetReceiveModes{scene_.only ? std::vector<Mode>{*scene_.only} : std::vector<Mode>{}}));
    S5066_ASSERT(taken);
    modes_to_set_ = false;
  }
  if (pending_ && clock_ >= pending_->abort_at) {
    pending_->abort_at = kNever;
    pending_->aborted = true;
    const bool taken = static_cast<bool>(worker_->request(AbortTransmit{pending_->burst.id}));
    S5066_ASSERT(taken);
  }
  if (pending_ || clock_ < next_at_) return;
  if (carrier_since_ && !rng_.chance(0.02)) {
    next_at_ = clock_ + seconds(0.1 + rng_.uniform());
    return;
  }
  if (carrier_since_) ++counts_.talked_over;
  ask_for_burst();
}

void Station::ask_for_burst() {
  const Mode mode = scene_.only ? *scene_.only : draw_mode(rng_);
  const double length_s = std::min(-kBurstMeanS * std::log(1 - rng_.uniform()), kBurstMaxS);
  Bytes bytes(std::max<std::size_t>(1, capacity(mode, from_seconds(length_s))));
  if (rng_.chance(0.3)) bytes.resize(1 + rng_.below(static_cast<std::uint32_t>(bytes.size())));
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng_.below(256));
  const std::uint64_t ahead = rng_.chance(0.3) ? seconds(rng_.uniform()) : 0;
  const Duration keyed = kLead + airtime(mode, bytes.size()) + kTail;
  Pending pending;
  pending.burst = {.id = {++bursts_},
                   .mode = mode,
                   .bytes = std::move(bytes),
                   .not_before = sample_to_instant(clock_ + ahead)};
  pending.asked_at = clock_;
  pending.keyed = duration_to_samples(keyed);
  pending.ahead = ahead;
  if (rng_.chance(0.03)) {
    pending.abort_at = clock_ + seconds(rng_.uniform() * to_seconds(keyed));
  }
  if (rng_.chance(kKeyFailuresPerBurst)) key_.failures = 1 + rng_.below(3);
  const bool taken = static_cast<bool>(worker_->request(pending.burst));
  S5066_ASSERT(taken);
  ++counts_.bursts;
  pending_ = std::move(pending);
}

// --- The air ------------------------------------------------------------------------------------

void Station::follow_air(const Line& out, Station& other) {
  const std::uint64_t heard_at = other.clock_ + out.waiting();
  const bool keyed = gate_.keyed();
  const bool another = keyed && pending_ && pending_->burst.id.value != on_air_number_;
  if (on_air_ && (!keyed || another) && !other.arriving_.empty()) {
    OnAir& burst = other.arriving_.back();
    burst.to = heard_at;
    other.quiet_since_ = heard_at;
  }
  if (another || (keyed && !on_air_)) {
    const Mode mode = pending_ ? pending_->burst.mode : Mode{};
    const bool listened_for = scene_.only ? mode == *scene_.only : tells_itself(mode);
    other.arriving_.push_back({.mode = mode,
                               .bytes = pending_ ? pending_->burst.bytes : Bytes{},
                               .from = heard_at,
                               .to = {},
                               .disturbed = !scene_.kind || !listened_for || !pending_});
    on_air_number_ = pending_ ? pending_->burst.id.value : 0;
  }
  const bool aborted = pending_ && pending_->aborted;
  const bool cut = (keyed && (key_.failures > 0 || !pending_)) || (on_air_ && aborted);
  if (cut && !other.arriving_.empty()) other.arriving_.back().disturbed = true;
  on_air_ = keyed;
}

void Station::on_octets(const ReceivedBytes& received) {
  ++counts_.blocks;
  octets_.insert(octets_.end(), received.bytes.begin(), received.bytes.end());
  bool any = false;
  bool disturbed = false;
  for (const OnAir& burst : arriving_) {
    if (within(received.bytes, burst.bytes)) return;
    if (burst.from > clock_) continue;
    any = true;
    disturbed = disturbed || burst.disturbed;
  }
  if (received.soft_quality < kDoubtful) {
    ++counts_.blocks_wrong_and_marked;
  } else if (!any) {
    ++counts_.blocks_of_nothing;
  } else if (disturbed) {
    ++counts_.blocks_wrong_disturbed;
  } else {
    ++counts_.blocks_wrong_undisturbed;
    complain("block", to_string(received.mode) + ", " + std::to_string(received.bytes.size()) +
                          " octets, quality " + std::to_string(received.soft_quality));
  }
}

void Station::on_carrier_down(const CarrierDown& down) {
  carrier_since_.reset();
  for (OnAir& burst : arriving_) {
    if (!octets_.empty() && burst.bytes == octets_) burst.whole = true;
    if (burst.from > clock_) continue;
    burst.received += " " + std::to_string(octets_.size()) + " until " +
                      std::to_string(to_seconds(down.at.time_since_epoch())) + " (" +
                      std::to_string(static_cast<int>(down.reason)) + ")";
  }
  octets_.clear();
}

void Station::judge_arrivals() {
  while (!arriving_.empty()) {
    const OnAir& burst = arriving_.front();
    if (!burst.to || clock_ < *burst.to + seconds(kBusyMaxS)) return;
    if (burst.whole) {
      ++counts_.whole;
    } else if (burst.disturbed) {
      ++counts_.lost_disturbed;
    } else {
      ++counts_.lost_undisturbed;
      complain("lost", to_string(burst.mode) + ", " + std::to_string(burst.bytes.size()) +
                           " octets, on the air at " +
                           std::to_string(to_seconds(samples_to_duration(burst.from))) +
                           "; carriers:" + burst.received);
    }
    arriving_.pop_front();
  }
}

// --- Limits that must hold -----------------------------------------------------------------------

void Station::watch_key() {
  const unsigned failed = key_.failed.exchange(0);
  key_allowed_ += failed * kBlockSamples;
  if (!key_.down) {
    key_down_since_.reset();
    return;
  }
  const std::uint64_t number = pending_ ? pending_->burst.id.value : 0;
  if (!key_down_since_ || (number != 0 && number != key_number_)) {
    key_down_since_ = clock_;
    key_number_ = number;
    key_allowed_ = pending_ ? pending_->keyed : 0;
    key_late_ = pending_ ? pending_->late : 0;
    key_told_ = false;
  }
  const std::uint64_t down = clock_ - *key_down_since_;
  if (down <= key_allowed_ + key_late_) return;
  const double beyond = static_cast<double>(down - key_allowed_ - key_late_) / kSampleRate;
  counts_.keyed_beyond_most_s = std::max(counts_.keyed_beyond_most_s, beyond);
  if (beyond <= kKeyedSlackS || std::exchange(key_told_, true)) return;
  ++counts_.keys_stuck;
  complain("key", "down beyond burst " + std::to_string(key_number_));
}

void Station::watch_burst() {
  if (!pending_ || pending_->told) return;
  const std::uint64_t due = pending_->asked_at + pending_->ahead + pending_->keyed +
                            pending_->late + seconds(kKeyedSlackS + to_seconds(kLead));
  if (clock_ <= due) return;
  pending_->told = true;
  ++counts_.bursts_without_end;
  complain("burst", "no end of " + std::to_string(pending_->burst.id.value));
}

void Station::watch_carrier() {
  if (!carrier_since_) return;
  if (!arriving_.empty() && !arriving_.back().to) return;
  const std::uint64_t since = std::max(*carrier_since_, quiet_since_);
  if (clock_ <= since) return;
  const double busy = static_cast<double>(clock_ - since) / kSampleRate;
  counts_.busy_longest_s = std::max(counts_.busy_longest_s, busy);
  if (busy <= kBusyMaxS || std::exchange(hang_told_, true)) return;
  ++counts_.hangs;
  complain("hang", "carrier up with nothing on the air");
}

void Station::count_lost_events() {
  counts_.events_lost += worker_->state().counters[ModemCounter::events_lost];
}

void Station::complain(const char* what, const std::string& detail) const {
  std::fprintf(stderr, "%.3f s %s %s: %s\n", to_seconds(samples_to_duration(clock_)), name_.c_str(),
               what, detail.c_str());
}

}  // namespace s5066::modem
