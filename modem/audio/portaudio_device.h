// A sound card as a Device, through PortAudio. The callback moves samples between the card and two
// lock-free rings and counts; everything else happens on the worker's thread.
#pragma once

#include <cstddef>
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
    /// Part of the name of a device, or a USB path (sound_cards.h); empty: the system's default.
    std::string input_name;
    std::string output_name;
    /// Channel of the input that is heard, 1 or 2. 0: the first, until it has been silent for a
    /// while and the second has not.
    unsigned input_channel = 0;
    unsigned rate_hz = 48000;
    std::size_t block_samples = 960;
    /// Blocks that lie ready for the card, so that a busy machine leaves no hole in what is sent.
    std::size_t blocks_ahead = 4;
    std::size_t ring_blocks = 32;  // of each direction; more is dropped and counted
    Duration latency = std::chrono::milliseconds(40);  // asked of the card, each way
    /// From the making of a sample until it is heard where output and input are joined, as measured
    /// (hfmodem doctor --loop); 0: what the card says of itself.
    Duration round_trip{};
    Duration receive_timeout = std::chrono::milliseconds(100);  // then receive says timed_out
    CardSearch::Config search;                                  // where there is no such card
  };

  struct Listed {
    std::string name;
    std::string api;
    std::string usb_path;  // empty: none
    unsigned inputs = 0;
    unsigned outputs = 0;
    double rate_hz = 0;
    Duration input_latency{};
    Duration output_latency{};
  };
  static Result<std::vector<Listed>> list();
  /// An error where there is no such card; it names those that there are.
  static Result<void> look_for(const Config& config);

  explicit PortAudioDevice(Config config);
  ~PortAudioDevice() override;

  /// Where it was missing and it is not time for another look, the error of the last one.
  Result<void> open() override;
  void close() override;
  const Info& info() const override { return info_; }
  bool may_come_later() const override { return true; }
  Result<Received> receive(std::span<float> samples) override;
  Result<void> transmit(bool keyed, std::span<const float> samples) override;

 private:
  struct Stream;

  Result<void> open_stream();

  Config config_;
  Info info_;
  CardSearch search_;
  SoundServerWatch watch_;
  Error last_look_{ErrorCode::link_down, "sound card was not looked for"};
  std::unique_ptr<Stream> stream_;
  Duration channel_looked_at_{};
};

}  // namespace s5066::modem
