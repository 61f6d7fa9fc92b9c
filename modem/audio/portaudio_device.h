// SPDX-License-Identifier: Apache-2.0
// A sound card as a Device, through PortAudio. The callbacks only move samples between the card and
// two lock-free rings, and count. Everything else runs on the worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "modem/audio/card_search.h"
#include "modem/audio/device.h"
#include "modem/audio/sound_server_watch.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

class PortAudioDevice final : public Device {
 public:
  struct Config {
    /// A part of a device's name, a USB path (sound_cards.h), or "pulse:" and the name of a source
    /// or sink of the sound server (sound_server_list.h); when empty, the system's default.
    std::string input_name;
    std::string output_name;
    /// The channel of the input that is used, 1 or 2. 0 uses the first and changes to the other one
    /// when that is far louder.
    unsigned input_channel = 0;
    unsigned rate_hz = 48000;
    std::size_t block_samples = 960;
    /// This many blocks are ready for the card, so that a busy machine leaves no gap in the
    /// transmission.
    std::size_t blocks_ahead = 4;
    std::size_t ring_blocks = 32;  // blocks for each direction; more are dropped and counted
    // This latency is requested from the card for each direction.
    Duration latency = std::chrono::milliseconds(40);
    /// The time from making a sample until it is received when output and input are connected, as
    /// `hfmodem doctor --loop` measures it. 0 uses the latency that the card reports.
    Duration round_trip{};
    // After it receive() returns timed_out.
    Duration receive_timeout = std::chrono::milliseconds(100);
    CardSearch::Config search;  // used while there is no such card
  };

  struct Listed {
    std::string name;
    std::string api;
    std::string usb_path;  // empty when it has none
    unsigned inputs = 0;
    unsigned outputs = 0;
    double rate_hz = 0;
    Duration input_latency{};
    Duration output_latency{};
  };
  static Result<std::vector<Listed>> list();
  /// Returns an error when there is no such card; the error names the cards that exist.
  static Result<void> look_for(const Config& config);

  explicit PortAudioDevice(Config config);
  ~PortAudioDevice() override;

  /// When the card was missing and it is not yet time to look again, the result is the last error.
  Result<void> open() override;
  void close() override;
  const Info& info() const override { return info_; }
  bool may_come_later() const override { return true; }
  Result<Received> receive(std::span<float> samples) override;
  Result<void> transmit(bool keyed, std::span<const float> samples) override;

 private:
  struct Stream;

  Result<void> open_stream();
  bool takes_samples(std::size_t received);

  Config config_;
  Info info_;
  CardSearch search_;
  SoundServerWatch watch_;
  Error last_look_{ErrorCode::link_down, "the sound card was not opened yet"};
  std::unique_ptr<Stream> stream_;
  Duration channel_looked_at_{};
  std::uint64_t asked_for_ = 0;       // samples, when the card last asked for more
  std::size_t received_unasked_ = 0;  // samples received since then
};

}  // namespace s5066::modem
