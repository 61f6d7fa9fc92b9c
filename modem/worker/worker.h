// A modem in a thread of its own, one for each radio: owns the signal processing, the key and the
// sample clock, and speaks the modem port (modem/api/port.h) through two bounded queues.
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

/// Of a radio that keys on sound, unless stated.
inline constexpr Duration kVoxLead = std::chrono::milliseconds(300);

/// Time: Instant{} is the moment the device started; every `at` is a count of samples from there.
///
/// In lockstep the block is the tick: the worker takes a block in, queues its events, calls notify,
/// and waits for release() before it makes the block that answers. A command given in that window
/// takes effect in that same block, so that a run depends on nothing but its inputs.
class Worker final : public Modem {
 public:
  struct Config {
    /// From one attempt to the next to reach a key that was not there when we started.
    Duration key_retry = std::chrono::seconds(2);
    std::size_t command_queue_max = 16;
    std::size_t event_queue_max = 1024;  // kEventsReserved of them only for ends of bursts
    /// An unkeyed transmitter that still says that it is keyed is a fault after that time: some
    /// radios report it more than half a second late.
    Duration unkey_grace = std::chrono::seconds(1);
    Duration ptt_lead{};                              // key to first sample
    Duration ptt_tail{};                              // last sample to unkey
    std::vector<Mode> receive_modes;                  // empty: all
    Duration keyed_margin = std::chrono::seconds(2);  // watchdog: over the burst's own airtime
    Duration keyed_max = std::chrono::seconds(140);   // watchdog, and the longest burst taken
    /// After its time a burst is taken.
    Duration late_max = kBurstLateMax;
    KeyGuard::Config key_guard;  // watchdog, when we hang; in real time only
    bool full_duplex = false;    // hears while it sends: on another frequency
    bool lead_tone = false;      // sound in the lead, for a radio that keys on it
    Ms110dChoice ms110d{};       // of bursts that are sent
    Duration silence_max = std::chrono::seconds(2);  // no block for so long: device lost; real time
    std::optional<unsigned> reopen_attempts_max;     // after the loss of the device; none: for ever
    Duration reopen_delay = std::chrono::milliseconds(100);  // doubled at each attempt …
    Duration reopen_delay_max = std::chrono::seconds(5);     // … up to this
    Duration lost_repeat = std::chrono::minutes(1);  // of telling why it does not come; doubled …
    Duration lost_repeat_max = std::chrono::hours(1);  // … up to this
    ClockFollower::Config sample_clock;                // in real time; what is no hiccup but a loss
    /// Of sound behind the opening of a device, in which one that stands still is no fault but has
    /// only now begun, as PulseAudio does; the clock is set forward after so long.
    Duration beginning = std::chrono::seconds(2);
    Duration beginning_window = std::chrono::milliseconds(500);
    /// In real time: the thread is in a call of a device or key that does not return, so that
    /// neither stop() nor the destructor would. Called once, on another thread; nobody looks when
    /// empty.
    std::function<void()> on_hang;
    posix::HangWatch::Config hang_watch;
    /// Time for the watchdog and the clock between blocks; std::chrono::steady_clock when empty.
    std::function<Duration()> monotonic;
  };

  using Stats = ModemStats;

  /// `notify` is called on the worker's thread whenever events were queued or, in lockstep, a block
  /// boundary was reached.
  Worker(const Config& config, std::unique_ptr<Device> device, std::unique_ptr<Ptt> ptt,
         std::function<void()> notify);
  /// Stops, unkeys, joins.
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Opens the device, then runs until stop() or until the device is lost for good. One that is
  /// missing but may come later (Device::may_come_later) counts as lost from the start. A key that
  /// cannot be unkeyed is no error, for what moves it may start later than we do: it is a fault,
  /// and no burst is taken until it was unkeyed.
  Result<void> start() override;
  void stop() override;

  // --- For the node's thread, after start() ---

  /// queue_full when the command was refused; never blocks.
  Result<void> request(Command command) override;
  std::optional<Event> poll_event() override;
  bool lockstep() const override { return lockstep_; }
  /// Lockstep: exactly the sample count, still until release(). Real time: smooth between blocks.
  Instant now() const override;
  Duration utc_began() const override;
  void release(Instant until) override;
  bool finished() const override { return finished_; }
  Stats stats() const override;

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
  void count(std::uint64_t Stats::*counter);

  Config config_;
  std::unique_ptr<Device> device_;
  std::function<void()> notify_;
  Device::Info info_;
  std::optional<Error> missing_;  // since the start
  bool lockstep_ = false;
  std::thread thread_;

  std::unique_ptr<posix::HangWatch> hang_watch_;  // in real time, if anybody wants to know

  // The thread's own.
  std::unique_ptr<RateAdapter> adapter_;
  std::unique_ptr<Radio> radio_;
  std::optional<LevelWatch> level_watch_;  // of sound that has a level
  ClockFollower sample_clock_;             // since the device was opened
  std::uint64_t samples_heard_ = 0;        // likewise, without those that were lost
  ClockDrift clock_drift_{{}};
  std::vector<float> received_;
  std::vector<float> made_;
  std::vector<float> to_send_;
  Duration heard_from_device_at_{};
  bool keyed_ = false;                         // or perhaps so
  std::uint64_t keyed_for_ = 0;                // number of the burst
  std::optional<Duration> key_missing_since_;  // was not there at the start; of the last attempt
  Duration unkey_again_at_{};                  // not before
  std::optional<Duration> unkeying_since_;     // told to unkey, and not confirmed yet
  bool trip_told_ = false;
  bool key_failing_ = false;
  bool carrier_unreported_ = false;    // its CarrierUp was lost, so the rest of it is dropped too
  bool occupancy_unreported_ = false;  // likewise

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
  Duration clock_offset_{};  // real time: now() is monotonic time plus this
  mutable Instant newest_reading_{};
  Stats stats_;

  KeyWatchdog key_;  // last: its thread reads the clock in config_
};

}  // namespace s5066::modem
