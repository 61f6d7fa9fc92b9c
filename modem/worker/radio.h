// SPDX-License-Identifier: Apache-2.0
// One radio without its thread: it takes received blocks and commands, and makes transmit blocks
// and events. Positions are samples at kSampleRate on the time line of the received samples. A
// sample made now leaves `transmit_delay` later on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "modem/api/counters.h"
#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "modem/waveforms/occupancy_detector.h"
#include "modem/worker/sample_time.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

class Radio {
 public:
  struct Config {
    std::size_t block_samples = 192;
    std::uint64_t transmit_delay = 0;
    Duration ptt_lead{};
    Duration ptt_tail{};
    std::vector<Mode> receive_modes;  // empty: all modes
    Duration keyed_margin{};          // added to the time that a burst should be keyed
    Duration keyed_max{};             // includes the margin; a longer burst is refused
    Duration late_max = kBurstLateMax;
    bool full_duplex = false;      // receives while it transmits, on another frequency
    bool lead_tone = false;        // a tone in the lead, for a radio that keys on sound
    Ms110dChoice ms110d{};         // choices for bursts that are sent
    double transmit_level_db = 0;  // as in SetTransmitLevel
    /// A longer gap in the received samples ends the burst in it. A shorter gap counts as silence.
    std::uint64_t gap_samples_max = kSampleRate / 2;
  };

  explicit Radio(const Config& config)
      : config_(config),
        gain_(gain_of(config.transmit_level_db)),
        receiver_({.modes = config.receive_modes}) {
    events_.reserve(kEventsAtOnce);
  }

  // --- In ---
  /// `requested_at` is the time of the node's clock, which may be ahead of the samples.
  void on_command(Command command, Instant requested_at);
  void on_command(Command command) { on_command(std::move(command), now()); }
  void on_received(std::span<const float> block);
  /// The time line goes on, but its samples are lost. A burst that was to begin in them is aborted
  /// instead of being sent without its beginning.
  void on_dropped(std::uint64_t samples);
  /// The clock is found to be behind by this much, because samples were lost before without a
  /// report. Their place is not known, so a reception goes on unchanged. A burst is handled as in
  /// on_dropped().
  void on_clock_behind(std::uint64_t samples);
  /// The device has stood still for this long without losing samples, so the samples in it go on
  /// later. A burst that was to begin meanwhile is aborted.
  void on_pause(std::uint64_t samples);
  /// Samples of ours came too late to be sent. The burst has a hole if any of its samples were
  /// made, whether it is keyed already or still in the device.
  void on_underrun(std::uint64_t samples);
  /// This many samples from the next one on are already too late. A burst that was to begin in them
  /// is aborted, and none begins before their end.
  void on_unplayable(std::uint64_t samples);
  /// Every transmission and reception has ended. Nothing can be sent until on_device_back().
  void on_device_lost(const std::string& why);
  void on_device_back();
  /// A device that came back may have another delay.
  void set_transmit_delay(std::uint64_t samples) { config_.transmit_delay = samples; }
  /// The transmitter cannot be keyed, must not be keyed any longer, or does not unkey. The burst
  /// ends, and nothing is sent until on_unkeyed(), which reports to the node that the fault is
  /// over.
  void on_key_failed(const std::string& why);
  void on_unkeyed();
  /// The notice is only passed on, in order with the other events.
  void on_notice(FaultKind kind, const std::string& text) { fault(kind, text); }

  // --- Out ---
  /// Makes the block that answers the received one. Returns true when the transmitter is on in it.
  bool fill(std::span<float> block);
  /// Returns true when the key must be down until the next block.
  bool key_wanted() const;
  /// Returns how long the present burst may keep the transmitter keyed.
  Duration keyed_limit() const;
  /// Returns the number of the burst for which key_wanted() is true; each burst has another one.
  std::uint64_t burst_number() const { return bursts_; }
  /// The caller must read all events after every other call.
  std::optional<Event> poll_event();

  const ReceiverCounters& receiver_counters() const { return receiver_.counters(); }
  /// Returns true when the last received samples were not our own transmission.
  bool hears() const { return !deaf(); }
  std::uint64_t clock() const { return clock_; }
  Instant now() const { return sample_to_instant(clock_); }

 private:
  struct Burst {
    BurstId id;
    BurstTransmitter transmitter;
    std::uint64_t key_at = 0;
    std::uint64_t first_at = 0;  // first sample
    std::uint64_t end_at = 0;    // first sample behind the last one
    std::uint64_t unkey_at = 0;
    std::uint64_t made = 0;  // samples made so far
    bool announced = false;
    TransmitOutcome outcome = TransmitOutcome::sent;
  };

  /// The number of events that a block normally brings; more events need more memory.
  static constexpr std::size_t kEventsAtOnce = 16;

  static float gain_of(double level_db);
  void transmit(const TransmitBurst& command, Instant requested_at);
  void cut_burst();
  void cut_what_begins_before(std::uint64_t end);
  void fault(FaultKind kind, std::string detail);
  void advance(std::span<const float> samples);
  void pass_edges();
  std::uint64_t next_edge() const;
  bool keyed() const { return burst_ && clock_ >= burst_->key_at; }
  bool deaf() const { return keyed() && !config_.full_duplex; }
  void listen(std::span<const float> samples);
  void stop_listening();
  void tell_occupancy(Instant at);
  void collect(const BurstEvent& event);
  std::uint64_t sound_begins() const;
  std::uint64_t next_to_make() const;

  Config config_;
  float gain_;               // gain of all that is sent
  std::uint64_t clock_ = 0;  // samples received, including lost ones
  bool answered_ = false;    // the newest received block has its answer
  bool device_lost_ = false;
  bool key_failed_ = false;
  std::optional<Burst> burst_;
  std::uint64_t bursts_ = 0;            // number of bursts taken so far
  std::uint64_t unplayable_until_ = 0;  // a position
  BurstReceiver receiver_;
  bool listening_ = false;  // when false, the receiver starts with the next received sample
  std::uint64_t receiver_base_ = 0;  // position of the receiver's sample 0
  bool carrier_ = false;
  OccupancyDetector occupancy_;
  bool occupied_ = false;  // state that was reported last
  bool in_gap_ = false;    // the received samples stand for lost ones
  std::vector<float> scratch_;
  std::vector<Event> events_;
  std::size_t polled_ = 0;  // number of events that were polled
};

}  // namespace s5066::modem
