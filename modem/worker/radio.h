// One half-duplex radio without its thread: takes received blocks and commands, makes transmit
// blocks and events. Positions are samples at kSampleRate on one time line, that of the samples
// received; what is made now leaves `transmit_delay` later on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/ms110a/burst_receiver.h"
#include "modem/waveforms/ms110a/burst_transmitter.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

class Radio {
 public:
  struct Config {
    std::size_t block_samples = 192;   // of both directions, at kSampleRate
    std::uint64_t transmit_delay = 0;  // at kSampleRate
    Duration ptt_lead{};
    Duration ptt_tail{};
    std::vector<Mode> receive_modes;  // empty: all
    Duration keyed_margin{};          // over the time that a burst should be keyed
    Duration keyed_max{};
    /// A longer gap in what we receive ends the burst in it; a shorter one is heard as silence.
    std::uint64_t gap_max = kSampleRate / 2;
  };

  explicit Radio(const Config& config);

  // --- In ---
  void on_command(Command command);
  /// One block; `dropped` samples were lost before it, `underrun` of ours on their way out.
  void on_received(std::span<const float> samples, std::uint64_t dropped, std::uint64_t underrun);
  /// The time line goes on without samples.
  void on_gap(std::uint64_t samples);
  /// Both directions are dead: whatever goes on has ended. Receiving starts afresh afterwards.
  void on_device_lost(const std::string& why);
  /// The transmitter cannot be keyed, or must not be any longer: ends the burst.
  void on_key_failed(const std::string& why);

  // --- Out ---
  /// The block that answers the one received; true when the transmitter is on in it.
  bool fill(std::span<float> samples);
  /// Whether the key has to be down for the next block time.
  bool key_wanted() const;
  /// How long the present burst may keep the transmitter keyed.
  Duration keyed_limit() const;
  std::optional<Event> poll_event();

  std::uint64_t clock() const { return clock_; }
  Instant now() const;

 private:
  struct Burst {
    BurstId id;
    ms110a::BurstTransmitter transmitter;
    Duration limit{};                      // keyed no longer than this
    std::uint64_t key_at = 0;              // lead before …
    std::uint64_t first_at = 0;            // … the first sample
    std::optional<std::uint64_t> unkey_at; // known once the last sample is made
    bool started = false;                  // announced
    TransmitOutcome outcome = TransmitOutcome::sent;
  };

  void transmit(TransmitBurst command);
  void refuse(std::string why);
  void abort(std::string_view);
  void end_burst(std::uint64_t at, TransmitOutcome outcome);
  void advance(std::span<const float> samples);
  void pass_edges();
  std::optional<std::uint64_t> next_edge() const;
  bool deaf() const;
  void listen(std::span<const float> samples);
  void stop_listening();
  void collect_burst_events();
  void skip_transmission(std::uint64_t samples);

  Config config_;
  std::uint64_t clock_ = 0;  // samples received, lost ones too
  std::optional<Burst> burst_;
  std::optional<ms110a::BurstReceiver> receiver_;
  std::uint64_t receiver_base_ = 0;  // position of the receiver's sample 0
  bool carrier_ = false;
  std::deque<Event> events_;
};

}  // namespace s5066::modem
