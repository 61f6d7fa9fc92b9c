// SPDX-License-Identifier: Apache-2.0
// A modem in a thread of its own, one for each radio. The thread owns the signal processing, the
// key and the sample clock. Commands and events of the modem port (modem/api/port.h) pass through
// two bounded queues.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "modem/api/modem.h"
#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "modem/audio/device.h"
#include "modem/audio/level_watch.h"
#include "modem/ptt/key_watchdog.h"
#include "modem/ptt/ptt.h"
#include "modem/waveforms/burst_symbols.h"
#include "modem/worker/clock_drift.h"
#include "s5066d/base/bounded_queue.h"
#include "s5066d/base/clock_follower.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/hang_watch.h"

namespace s5066::modem {

class Radio;
class RateAdapter;

/// This is the default lead of a radio that keys on sound.
inline constexpr Duration kVoxLead = std::chrono::milliseconds(300);

/// Instant{} is the moment at which the device started; every `at` is a count of samples from
/// there.
///
/// In lockstep a block is the unit of time. The worker takes a block, queues its events, calls
/// notify, and waits for release() before it makes the block that answers. A command given in that
/// window takes effect in that block, so that a run depends only on its inputs.
class Worker final : public Modem {
 public:
  struct Config {
    /// A key that was not present at the start is tried again at this interval.
    Duration key_retry = std::chrono::seconds(2);
    std::size_t command_queue_max = 16;
    std::size_t event_queue_max = 1024;  // kEventsReserved of them are only for ends of bursts
    /// A transmitter that still reports key-down is a fault this long after it was unkeyed, because
    /// some radios report it more than 0.5 s late.
    Duration unkey_grace = std::chrono::seconds(1);
    /// It is a fault as well when it reports receive in no gap between bursts, and these gaps add
    /// up to this.
    Duration unkey_grace_of_gaps = std::chrono::seconds(5);
    Duration ptt_lead{};                              // time from key-down to the first sample
    Duration ptt_tail{};                              // time from the last sample to key-up
    std::vector<Mode> receive_modes;                  // empty: all modes
    Duration keyed_margin = std::chrono::seconds(2);  // watchdog: added to the airtime of the burst
    // This is the limit of the watchdog and the longest burst that is taken.
    Duration keyed_max = std::chrono::seconds(140);
    /// A burst is taken at most this long after its time.
    Duration late_max = kBurstLateMax;
    // This watchdog acts when the worker's thread hangs; in real time only.
    KeyGuard::Config key_guard;
    bool full_duplex = false;      // receives while it transmits, on another frequency
    bool lead_tone = false;        // sound in the lead, for a radio that keys on sound
    Ms110dChoice ms110d{};         // choices for bursts that are sent
    double transmit_level_db = 0;  // level at the start; see SetTransmitLevel
    // Without a block for this time the device counts as lost; in real time only.
    Duration silence_max = std::chrono::seconds(2);
    // This limit holds until the first block after open(), because PulseAudio gives the first
    // samples of a sink's monitor two seconds after the start, and a busy machine gives them later.
    Duration first_silence_max = std::chrono::seconds(6);
    // Attempts to open a lost device; without a value there is no limit.
    std::optional<unsigned> reopen_attempts_max;
    Duration reopen_delay = std::chrono::milliseconds(100);  // doubled at each attempt …
    Duration reopen_delay_max = std::chrono::seconds(5);     // … up to this
    // The reason of the loss is reported again after this time, which doubles …
    Duration lost_repeat = std::chrono::minutes(1);
    Duration lost_repeat_max = std::chrono::hours(1);  // … up to this
    // In real time this decides what counts as a loss of samples and not as a delay.
    ClockFollower::Config sample_clock;
    /// This is the sound after the opening of a device. A standstill in it is no fault, because
    /// some devices begin only then, as PulseAudio does. The clock is set forward after it.
    Duration beginning = std::chrono::seconds(2);
    Duration beginning_window = std::chrono::milliseconds(500);
    /// In real time: the thread is in a call of a device or key that does not return, so that
    /// stop() and the destructor would hang as well. Another thread calls it once. When empty, the
    /// thread is not watched.
    std::function<void()> on_hang;
    posix::HangWatch::Config hang_watch;
    /// Time for the watchdog and for the clock between blocks; std::chrono::steady_clock when
    /// empty.
    std::function<Duration()> monotonic;
  };

  /// The worker's thread calls `notify` when events were queued and, in lockstep, at each block
  /// boundary.
  Worker(const Config& config, std::unique_ptr<Device> device, std::unique_ptr<Ptt> ptt,
         std::function<void()> notify);
  /// Stops, unkeys and joins the thread.
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Opens the device and runs until stop() or until the device is lost for good. A device that is
  /// missing but may come later (Device::may_come_later) counts as lost from the start. A key that
  /// cannot be unkeyed is a fault and no error, because the program that moves it may start later
  /// than this one; no burst is taken until it was unkeyed.
  Result<void> start() override;
  void stop() override;

  // --- For the node's thread, after start() ---

  /// Never blocks; the result is queue_full when the command was refused.
  Result<void> request(Command command) override;
  std::optional<Event> poll_event() override;
  bool lockstep() const override { return lockstep_; }
  /// In lockstep this is exactly the sample count, which stands still until release(). In real time
  /// it runs smoothly between blocks.
  Instant now() const override;
  Duration utc_began() const override;
  void release(Instant until) override;
  bool finished() const override { return finished_; }
  ModemState state() const override;

 private:
  static constexpr std::size_t kEventsReserved = 8;

  Result<void> open_device();
  void run();
  void alive();
  Result<void> exchange_block();
  std::uint64_t to_modem_samples(std::uint64_t samples) const;
  void take_losses(const Device::Received& received);
  void watch_level();
  Result<void> check_silence();
  bool wait_for_release();
  void take_commands();
  void move_key();
  Result<void> unkey();
  bool is_within_grace(const Error& error) const;
  void reach_key();
  void report_trip();
  void unkey_at_the_end();
  bool recover(const Error& error);
  Result<void> reopen();
  void set_down(bool down);
  std::uint64_t transmit_delay() const;
  void catch_up();
  void set_utc();
  void publish();
  bool queue_event(Event event);
  void set_clock();
  void step_clock(Duration now);
  void count(ModemCounter counter);

  Config config_;
  std::unique_ptr<Device> device_;
  std::function<void()> notify_;
  Device::Info info_;
  std::optional<Error> missing_;  // reason why the device has been missing since the start
  bool lockstep_ = false;
  std::thread thread_;

  std::unique_ptr<posix::HangWatch> hang_watch_;  // set in real time, if on_hang is set

  // These members belong to the thread.
  std::unique_ptr<RateAdapter> adapter_;
  std::unique_ptr<Radio> radio_;
  std::optional<LevelWatch> level_watch_;  // set only for sound that has a level
  ClockFollower sample_clock_;             // follows the clock since the device was opened
  std::uint64_t samples_heard_ = 0;  // count since the device was opened, without lost samples
  ClockDrift clock_drift_{{}};
  std::vector<float> received_;
  std::vector<float> made_;
  std::vector<float> to_send_;
  Duration lost_at_{};           // the device counts as lost if no block has come until then
  bool keyed_ = false;           // the transmitter is or may be keyed
  std::uint64_t keyed_for_ = 0;  // number of the burst
  // The time of the last attempt to reach a key that was not present at the start.
  std::optional<Duration> key_missing_since_;
  Duration unkey_again_at_{};               // the earliest time of the next attempt
  std::optional<Duration> unkeying_since_;  // the unkeying has been sent and not confirmed yet
  Duration unconfirmed_before_{};           // sum of the gaps since the last confirmed unkeying
  bool trip_reported_ = false;
  bool key_failing_ = false;
  // The CarrierUp was lost, so the other events of that carrier are dropped too.
  bool carrier_unreported_ = false;
  bool occupancy_unreported_ = false;  // the event of an occupied channel was lost

  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  BoundedQueue<Command> commands_;
  BoundedQueue<Event> events_;
  std::uint64_t events_lost_unreported_ = 0;
  Instant released_until_{};
  Instant clock_{};
  Duration utc_began_{};
  Duration clock_offset_{};  // real time: now() is the monotonic time plus this
  mutable Instant newest_reading_{};
  ModemState state_;

  KeyWatchdog key_;  // the last member, because its thread reads the clock in config_
};

}  // namespace s5066::modem
