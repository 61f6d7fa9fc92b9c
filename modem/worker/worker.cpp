// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "modem/worker/radio.h"
#include "modem/worker/rate_adapter.h"
#include "modem/worker/sample_time.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

/// This is the number of attempts to unkey at the stop. After them the process that guards a crash
/// unkeys.
constexpr unsigned kUnkeyAttempts = 5;

/// This is how long a command waits for its refusal while the device is away.
constexpr Duration kRecoveryStep = std::chrono::milliseconds(20);

Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

bool ends_something(const Event& event) {
  const auto* occupancy = std::get_if<ChannelOccupancy>(&event);
  return std::holds_alternative<TransmitFinished>(event) ||
         std::holds_alternative<CarrierDown>(event) || (occupancy && !occupancy->occupied);
}

bool belongs_to_carrier(const Event& event) {
  return std::holds_alternative<ReceivedBytes>(event) || std::holds_alternative<CarrierDown>(event);
}

SoundLevel sound_level_of(LevelMeter::Verdict verdict) {
  switch (verdict) {
    case LevelMeter::Verdict::good:
      return SoundLevel::good;
    case LevelMeter::Verdict::silent:
      return SoundLevel::silent;
    case LevelMeter::Verdict::too_low:
      return SoundLevel::too_low;
    case LevelMeter::Verdict::clipping:
      return SoundLevel::clipping;
  }
  return SoundLevel::unknown;
}

}  // namespace

Worker::Worker(const Config& config, std::unique_ptr<Device> device, std::unique_ptr<Ptt> ptt,
               std::function<void()> notify)
    : config_(config),
      device_(std::move(device)),
      notify_(std::move(notify)),
      sample_clock_(config.sample_clock),
      commands_(config.command_queue_max),
      events_(config.event_queue_max),
      key_(config.key_guard, std::move(ptt), config.monotonic ? config.monotonic : steady_now) {
  S5066_ASSERT(device_ && notify_);
  S5066_ASSERT(config_.event_queue_max > kEventsReserved);
  if (!config_.monotonic) config_.monotonic = steady_now;
}

Worker::~Worker() {
  stop();
}

Result<void> Worker::start() {
  S5066_ASSERT(!thread_.joinable());
  if (config_.on_hang) {
    hang_watch_ = std::make_unique<posix::HangWatch>(config_.hang_watch, config_.on_hang);
  }
  // Another process may have left the key down. This also finds a key that does not work before
  // there is traffic.
  const auto unkeyed = key_.unkey();
  const auto opened = open_device();
  // In lockstep the other end may take any time.
  if (!opened || info_.lockstep) hang_watch_.reset();
  if (!opened) return opened;
  radio_ = std::make_unique<Radio>(Radio::Config{.block_samples = adapter_->modem_block(),
                                                 .transmit_delay = transmit_delay(),
                                                 .ptt_lead = config_.ptt_lead,
                                                 .ptt_tail = config_.ptt_tail,
                                                 .receive_modes = config_.receive_modes,
                                                 .keyed_margin = config_.keyed_margin,
                                                 .keyed_max = config_.keyed_max,
                                                 .late_max = config_.late_max,
                                                 .full_duplex = config_.full_duplex,
                                                 .lead_tone = config_.lead_tone,
                                                 .ms110d = config_.ms110d,
                                                 .transmit_level_db = config_.transmit_level_db});
  lockstep_ = info_.lockstep;
  if (info_.has_level) level_watch_.emplace(LevelWatch::Config{.rate_hz = info_.rate_hz});
  const Duration began = config_.monotonic();
  lost_at_ = began + config_.first_silence_max;
  clock_offset_ = -began;
  set_utc();
  if (!unkeyed) {
    count(ModemCounter::ptt_failures);
    key_missing_since_ = config_.monotonic();
    radio_->on_key_failed("the key could not be reached: " + unkeyed.error().detail);
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<void> Worker::open_device() {
  const auto opened = device_->open();
  if (!opened && !device_->may_come_later()) return opened;
  if (!opened) missing_ = opened.error();
  auto adapter = RateAdapter::create(device_->info().rate_hz, device_->info().block_samples);
  if (!adapter) {
    device_->close();
    return adapter.error();
  }
  info_ = device_->info();
  adapter_ = std::make_unique<RateAdapter>(std::move(*adapter));
  return {};
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// --- The node's side
// ------------------------------------------------------------------------------

Result<void> Worker::request(Command command) {
  const std::lock_guard lock(mutex_);
  if (finished_) return Error{ErrorCode::link_down, "modem has stopped"};
  // A burst whose end could not be reported is not taken.
  const bool reportable = events_.capacity() - events_.size() > kEventsReserved;
  if (std::holds_alternative<TransmitBurst>(command) && !reportable) {
    state_.counters.add(ModemCounter::commands_refused);
    return Error{ErrorCode::queue_full, "modem events are not being read"};
  }
  if (commands_.push(std::move(command))) {
    wake_.notify_all();
    return {};
  }
  state_.counters.add(ModemCounter::commands_refused);
  return Error{ErrorCode::queue_full, "the modem has not taken the earlier commands yet"};
}

std::optional<Event> Worker::poll_event() {
  const std::lock_guard lock(mutex_);
  return events_.pop();
}

Instant Worker::now() const {
  const std::lock_guard lock(mutex_);
  if (lockstep_) return clock_;
  // A late block must not turn the clock back.
  const Instant reading{config_.monotonic() + clock_offset_};
  newest_reading_ = std::max({newest_reading_, clock_, reading});
  return newest_reading_;
}

Duration Worker::utc_began() const {
  const std::lock_guard lock(mutex_);
  return utc_began_;
}

void Worker::release(Instant until) {
  {
    const std::lock_guard lock(mutex_);
    released_until_ = std::max(released_until_, until);
  }
  wake_.notify_all();
}

ModemState Worker::state() const {
  const std::uint64_t unkeyings = key_.releases();
  const std::uint64_t failed = key_.release_failures();
  const std::lock_guard lock(mutex_);
  ModemState state = state_;
  state.counters.set(ModemCounter::watchdog_unkeyings, unkeyings);
  state.counters.set(ModemCounter::watchdog_unkeyings_failed, failed);
  return state;
}

// --- The worker's thread
// --------------------------------------------------------------------------

void Worker::run() {
  received_.resize(info_.block_samples);
  to_send_.resize(info_.block_samples);
  made_.resize(adapter_->modem_block());
  bool there = !missing_ || recover(*missing_);
  while (there && !stopping_) {
    const auto exchanged = exchange_block();
    there = exchanged || recover(exchanged.error());
  }
  unkey_at_the_end();
  device_->close();
  hang_watch_.reset();
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  notify_();
}

void Worker::alive() {
  if (hang_watch_) hang_watch_->alive();
}

Result<void> Worker::exchange_block() {
  alive();
  const auto got = device_->receive(received_);
  if (!got && got.error().code == ErrorCode::timed_out) return check_silence();
  if (!got) return got.error();
  lost_at_ = config_.monotonic() + config_.silence_max;
  key_.alive();
  take_losses(*got);
  const bool heard = radio_->hears();
  samples_heard_ += made_.size();
  radio_->on_received(adapter_->to_modem(received_));
  radio_->on_unplayable(to_modem_samples(got->unplayable));
  if (heard) watch_level();
  set_clock();
  publish();
  if (lockstep_ && !wait_for_release()) return {};
  take_commands();
  move_key();
  const bool keyed = radio_->fill(made_);
  adapter_->to_device(made_, to_send_);
  return device_->transmit(keyed, to_send_);
}

std::uint64_t Worker::to_modem_samples(std::uint64_t samples) const {
  return (samples * kSampleRate + info_.rate_hz - 1) / info_.rate_hz;
}

void Worker::take_losses(const Device::Received& received) {
  if (received.dropped == 0 && received.underrun == 0) return;
  clock_drift_.reset();  // lost samples are not always counted exactly
  if (received.dropped > 0) radio_->on_dropped(to_modem_samples(received.dropped));
  if (received.underrun > 0) radio_->on_underrun(to_modem_samples(received.underrun));
  const std::lock_guard lock(mutex_);
  state_.counters.add(ModemCounter::samples_dropped, received.dropped);
  state_.counters.add(ModemCounter::samples_underrun, received.underrun);
}

void Worker::watch_level() {
  if (!level_watch_ || !radio_->hears()) return;
  level_watch_->process(received_);
  const auto& reading = level_watch_->reading();
  if (!reading) return;
  if (const auto notice = level_watch_->take_notice()) {
    const bool good = notice->verdict == LevelMeter::Verdict::good;
    radio_->on_notice(good ? FaultKind::level_good : FaultKind::level_bad, notice->text);
  }
  const std::lock_guard lock(mutex_);
  state_.sound_level = sound_level_of(reading->verdict());
  state_.sound_level_db = power_db(reading->power);
  state_.counters.set(ModemCounter::samples_clipped, level_watch_->clipped());
}

/// No block has come for a while. In lockstep the other side may wait; otherwise the device hangs.
Result<void> Worker::check_silence() {
  if (lockstep_) return {};
  move_key();
  if (config_.monotonic() <= lost_at_) return {};
  return Error{ErrorCode::timed_out, "no samples from " + info_.name};
}

bool Worker::wait_for_release() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || released_until_ >= clock_; });
  return !stopping_;
}

void Worker::take_commands() {
  for (;;) {
    std::optional<Command> command;
    {
      const std::lock_guard lock(mutex_);
      command = commands_.pop();
    }
    if (!command) return;
    radio_->on_command(std::move(*command), now());
  }
}

void Worker::move_key() {
  if (key_missing_since_) return reach_key();
  if (!lockstep_) report_trip();
  const bool wanted = radio_->key_wanted();
  const bool same_burst = keyed_for_ == radio_->burst_number();
  keyed_for_ = radio_->burst_number();
  const Duration limit = std::min(radio_->keyed_limit(), config_.keyed_max);
  if (wanted && keyed_ && !same_burst && !lockstep_) key_.next_burst(limit);
  const bool keyed_for_sure = keyed_ && !unkeying_since_;
  if (wanted ? keyed_for_sure : !keyed_) return;
  if (!wanted && !lockstep_ && config_.monotonic() < unkey_again_at_) return;
  Result<void> moved;
  if (wanted) {
    keyed_ = true;
    unkey_again_at_ = {};
    if (unkeying_since_) unconfirmed_before_ += config_.monotonic() - *unkeying_since_;
    unkeying_since_.reset();
    moved = key_.key(lockstep_ ? std::nullopt : std::optional(limit));
  } else {
    moved = unkey();
  }
  if (moved || is_within_grace(moved.error())) return;
  count(ModemCounter::ptt_failures);
  // A transmitter that did not unkey is told again but reported once.
  if (!key_failing_) radio_->on_key_failed(moved.error().detail);
  key_failing_ = true;
}

/// Returns true while a transmitter that was told to unkey may still report key-down.
bool Worker::is_within_grace(const Error& error) const {
  if (!unkeying_since_ || error.code != ErrorCode::refused || lockstep_) return false;
  const Duration in_gap = config_.monotonic() - *unkeying_since_;
  return in_gap < config_.unkey_grace && unconfirmed_before_ + in_gap < config_.unkey_grace_of_gaps;
}

/// A failed unkeying is tried again at the next block. When the attempt took longer than a block,
/// the thread first receives for the same time. If the limit of the key is over, the watchdog
/// repeats the unkeying meanwhile.
Result<void> Worker::unkey() {
  const Duration began = config_.monotonic();
  auto unkeyed = key_.unkey();
  if (unkeyed) {
    keyed_ = key_failing_ = trip_reported_ = false;
    unkeying_since_.reset();
    unconfirmed_before_ = {};
    radio_->on_unkeyed();
    return unkeyed;
  }
  if (!unkeying_since_) unkeying_since_ = began;
  const Duration now = config_.monotonic();
  const bool slow = now - began > samples_to_duration(made_.size());
  unkey_again_at_ = slow ? now + std::min(now - began, config_.key_retry) : Duration{};
  return unkeyed;
}

/// The key is not tried at every block, because an attempt may take as long as a block and the
/// modem must receive.
void Worker::reach_key() {
  if (config_.monotonic() - *key_missing_since_ < config_.key_retry) return;
  key_missing_since_ = config_.monotonic();
  if (!key_.unkey()) return count(ModemCounter::ptt_failures);
  key_missing_since_.reset();
  radio_->on_unkeyed();
}

/// The watchdog has unkeyed by itself; this function reports it to the node. In lockstep the
/// watchdog is not active, because the only time is that of the samples.
void Worker::report_trip() {
  const auto tripped = key_.tripped();
  if (!tripped || trip_reported_) return;
  trip_reported_ = true;
  count(ModemCounter::watchdog_trips);
  radio_->on_key_failed(*tripped == KeyTrip::too_long
                            ? "watchdog: keyed for too long"
                            : "watchdog: keyed, but the device took no samples");
  publish();
}

/// The thread unkeys before it ends, in every case.
void Worker::unkey_at_the_end() {
  Duration delay = config_.reopen_delay;
  const unsigned attempts =
      key_missing_since_ ? 1 : kUnkeyAttempts;  // a key that was never reached was not keyed by us
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    if (key_.unkey()) return;
    count(ModemCounter::ptt_failures);
    std::this_thread::sleep_for(delay);
    delay *= 2;
  }
}

// --- Loss of the device
// ---------------------------------------------------------------------------

/// Returns false when the device did not come back, or when the worker is to stop.
bool Worker::recover(const Error& error) {
  count(ModemCounter::device_losses);
  set_down(true);
  // Closing a device that hangs may take for ever, so the worker first unkeys and reports to the
  // node.
  radio_->on_device_lost(to_string(error));
  unkey_again_at_ = {};
  move_key();
  publish();
  device_->close();
  Duration delay = config_.reopen_delay;
  Duration reported_at = config_.monotonic();
  Duration report_after = config_.lost_repeat;
  const auto attempts_max = config_.reopen_attempts_max;
  Error last = error;
  for (unsigned attempt = 0; !attempts_max || attempt < *attempts_max; ++attempt) {
    const Duration until = config_.monotonic() + delay;
    while (!stopping_ && config_.monotonic() < until) {
      alive();
      take_commands();  // bursts are refused meanwhile, but each gets an answer
      move_key();
      publish();
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kRecoveryStep, [this] { return stopping_ || !commands_.empty(); });
    }
    if (stopping_) return false;
    const auto opened = reopen();
    if (opened) return true;
    last = opened.error();
    if (last.code == ErrorCode::refused) break;
    if (config_.monotonic() - reported_at >= report_after) {
      radio_->on_notice(FaultKind::device_lost, "still lost: " + to_string(last));
      reported_at = config_.monotonic();
      report_after = std::min(2 * report_after, config_.lost_repeat_max);
    }
    delay = std::min(2 * delay, config_.reopen_delay_max);
  }
  radio_->on_device_lost("not opened again: " + info_.name + ": " + to_string(last));
  take_commands();
  publish();
  return false;
}

Result<void> Worker::reopen() {
  if (auto opened = device_->open(); !opened) return opened;
  const Device::Info& info = device_->info();
  const bool same = info.rate_hz == info_.rate_hz && info.block_samples == info_.block_samples &&
                    info.lockstep == info_.lockstep;
  if (!same) {
    device_->close();
    return Error{ErrorCode::refused, "the device came back with another sample rate or block size"};
  }
  info_ = info;  // a device that was plugged in elsewhere may have another name or delay
  radio_->set_transmit_delay(transmit_delay());
  catch_up();
  set_utc();
  set_down(false);
  radio_->on_device_back();
  return {};
}

void Worker::set_down(bool down) {
  const std::lock_guard lock(mutex_);
  state_.down = down;
}

/// Returns the delay of the device and of the conversion between its rate and ours.
std::uint64_t Worker::transmit_delay() const {
  return std::uint64_t{info_.transmit_delay} * kSampleRate / info_.rate_hz + adapter_->delay();
}

void Worker::set_utc() {
  const std::lock_guard lock(mutex_);
  utc_began_ = device_->info().utc - radio_->now().time_since_epoch();
}

/// Sets the clock forward, because real time went on without samples.
void Worker::catch_up() {
  lost_at_ = config_.monotonic() + config_.first_silence_max;
  if (lockstep_) return;
  const std::uint64_t present = instant_to_sample(now());
  if (present > radio_->clock()) radio_->on_dropped(present - radio_->clock());
  sample_clock_ = ClockFollower(config_.sample_clock);
  samples_heard_ = 0;
  clock_drift_.reset();
  publish();
}

// --- Towards the node
// -----------------------------------------------------------------------------

void Worker::set_clock() {
  const Duration now = config_.monotonic();
  if (!lockstep_) step_clock(now);
  const std::lock_guard lock(mutex_);
  state_.counters.add(ModemCounter::blocks);
  state_.receiver = radio_->receiver_counters();
  clock_ = radio_->now();
  if (lockstep_) return;
  clock_offset_ = sample_clock_.ahead();
  clock_drift_.on_block(now, clock_.time_since_epoch());
  state_.clock_ppm = clock_drift_.ppm();
}

/// Sets the clock over the time that passed without samples: until a newly opened device began for
/// good, or when the device or this thread stood still unnoticed.
void Worker::step_clock(Duration now) {
  if (!sample_clock_.known()) {
    const Duration behind = now + clock_offset_ - radio_->now().time_since_epoch();
    radio_->on_clock_behind(duration_to_samples(behind));
    sample_clock_.on_reading(now, radio_->now().time_since_epoch());
    return;
  }
  const bool beginning = samples_to_duration(samples_heard_) < config_.beginning;
  const Duration window = config_.sample_clock.loss_window;
  sample_clock_.set_loss_window(beginning ? std::min(window, config_.beginning_window) : window);
  const Duration lost = sample_clock_.on_reading(now, radio_->now().time_since_epoch());
  if (lost == Duration::zero()) return;
  clock_drift_.reset();
  const std::uint64_t samples = duration_to_samples(lost);
  if (beginning) return radio_->on_pause(samples);
  radio_->on_clock_behind(samples);
  radio_->on_notice(
      FaultKind::samples_dropped,
      std::to_string(samples) + " received samples lost without a report of the device");
  const std::lock_guard lock(mutex_);
  state_.counters.add(ModemCounter::samples_dropped, samples * info_.rate_hz / kSampleRate);
}

/// Hands the radio's events to the node and wakes it. In lockstep it does so also without events.
void Worker::publish() {
  bool queued = false;
  while (auto event = radio_->poll_event()) queued = queue_event(std::move(*event)) || queued;
  if (queued || lockstep_) notify_();
}

/// Room is kept for the ends of bursts. Once other events are refused, at most one of each kind can
/// be outstanding, because request() then takes no burst and no new carrier or occupancy is
/// reported.
bool Worker::queue_event(Event event) {
  const std::lock_guard lock(mutex_);
  const auto has_room = [this] { return events_.capacity() - events_.size() > kEventsReserved; };
  if (events_lost_unreported_ > 0 && has_room()) {
    const std::string detail = std::to_string(events_lost_unreported_) +
                               " modem events were lost, because they were not read";
    events_lost_unreported_ = 0;
    static_cast<void>(
        events_.push(Fault{.at = at(event), .kind = FaultKind::samples_dropped, .detail = detail}));
  }
  const bool fits = ends_something(event) || has_room();
  if (std::holds_alternative<CarrierUp>(event)) carrier_unreported_ = !fits;
  const auto* occupancy = std::get_if<ChannelOccupancy>(&event);
  const bool unreported = occupancy && !occupancy->occupied && occupancy_unreported_;
  if (occupancy) occupancy_unreported_ = !fits;
  const bool of_unreported = unreported || (carrier_unreported_ && belongs_to_carrier(event));
  if (fits && !of_unreported && events_.push(std::move(event))) return true;
  state_.counters.add(ModemCounter::events_lost);
  ++events_lost_unreported_;
  return false;
}

void Worker::count(ModemCounter counter) {
  const std::lock_guard lock(mutex_);
  state_.counters.add(counter);
}

}  // namespace s5066::modem
