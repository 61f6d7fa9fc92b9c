// One radio without its thread: takes received blocks and commands, makes transmit
// blocks and events. Positions are samples at kSampleRate on one time line, that of the samples
// received; what is made now leaves `transmit_delay` later on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
    std::vector<Mode> receive_modes;  // empty: all
    Duration keyed_margin{};          // over the time that a burst should be keyed
    Duration keyed_max{};             // margin included; a longer burst is refused
    Duration late_max = kBurstLateMax;
    bool full_duplex = false;  // hears while it sends: on another frequency
    bool lead_tone = false;    // a tone in the lead, for a radio that keys on sound
    Ms110dChoice ms110d{};     // of bursts that are sent
    /// A longer gap in what we receive ends the burst in it; a shorter one is heard as silence.
    std::uint64_t gap_samples_max = kSampleRate / 2;
  };

  explicit Radio(const Config& config)
      : config_(config), receiver_({.modes = config.receive_modes}) {
    events_.reserve(kEventsAtOnce);
  }

  // --- In ---
  /// `told_at`: by the clock that the node goes by, which may be ahead of the samples.
  void on_command(Command command, Instant told_at);
  void on_command(Command command) { on_command(std::move(command), now()); }
  void on_received(std::span<const float> block);
  /// The time line goes on, but its samples are lost. A burst that was to begin among them is
  /// aborted rather than sent without its beginning.
  void on_dropped(std::uint64_t samples);
  /// The clock turns out to be so much behind: samples were lost before, and nobody told. Where it
  /// happened is not known, so what is being received goes on as it does. As to a burst: likewise.
  void on_clock_behind(std::uint64_t samples);
  /// The device has stood still for so long and lost nothing, so that what is on its way goes on
  /// later. A burst that was to begin meanwhile is aborted.
  void on_pause(std::uint64_t samples);
  /// Samples of ours that came too late to be sent. A burst of which any were made has a hole, be
  /// it keyed already or still on its way through the device.
  void on_underrun(std::uint64_t samples);
  /// So many samples from the next one on are too late already. A burst that was to begin with them
  /// is aborted, and none is begun before them.
  void on_unplayable(std::uint64_t samples);
  /// Whatever goes on has ended, and nothing can be sent until on_device_back().
  void on_device_lost(const std::string& why);
  void on_device_back();
  /// Of a device that came back.
  void set_transmit_delay(std::uint64_t samples) { config_.transmit_delay = samples; }
  /// The transmitter cannot be keyed, or must not be any longer, or does not unkey: ends the burst,
  /// and nothing is sent until on_unkeyed(), which tells the node that it is over.
  void on_key_failed(const std::string& why);
  void on_unkeyed();
  /// Only passed on, in its place among the other events.
  void on_notice(FaultKind kind, const std::string& text) { fault(kind, text); }

  // --- Out ---
  /// The block that answers the one received; true when the transmitter is on in it.
  bool fill(std::span<float> block);
  /// Whether the key has to be down until the next block.
  bool key_wanted() const;
  /// How long the present burst may keep the transmitter keyed.
  Duration keyed_limit() const;
  /// That which key_wanted() is for; another one each time.
  std::uint64_t burst_number() const { return bursts_; }
  /// Drain after every call of the others.
  std::optional<Event> poll_event();

  /// What was received last is not our own transmission.
  bool hears() const { return !deaf(); }
  std::uint64_t clock() const { return clock_; }
  Instant now() const { return sample_to_instant(clock_); }

 private:
  struct Burst {
    BurstId id;
    BurstTransmitter transmitter;
    std::uint64_t key_at = 0;
    std::uint64_t first_at = 0;  // first sample
    std::uint64_t end_at = 0;    // behind the last sample
    std::uint64_t unkey_at = 0;
    std::uint64_t made = 0;  // samples pulled so far
    bool announced = false;
    TransmitOutcome outcome = TransmitOutcome::sent;
  };

  /// As a block brings them; more take memory.
  static constexpr std::size_t kEventsAtOnce = 16;

  void transmit(const TransmitBurst& command, Instant told_at);
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
  std::uint64_t clock_ = 0;  // samples received, lost ones too
  bool answered_ = false;    // the newest block received has its answer
  bool device_lost_ = false;
  bool key_failed_ = false;
  std::optional<Burst> burst_;
  std::uint64_t bursts_ = 0;            // taken so far
  std::uint64_t unplayable_until_ = 0;  // a position
  BurstReceiver receiver_;
  bool listening_ = false;           // else it is to begin anew with the next sample heard
  std::uint64_t receiver_base_ = 0;  // position of the receiver's sample 0
  bool carrier_ = false;
  OccupancyDetector occupancy_;
  bool occupied_ = false;  // as told
  bool in_gap_ = false;    // what is heard stands for samples that were lost
  std::vector<float> scratch_;
  std::vector<Event> events_;
  std::size_t polled_ = 0;  // of them
};

}  // namespace s5066::modem
