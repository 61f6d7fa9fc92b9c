// What each station of an audio cable hears of the others: every ordered pair has a channel of its
// own, every receiver its own noise, and a seed decides all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "modem/channel/awgn.h"
#include "modem/channel/watterson.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

enum class CableChannel : std::uint8_t {
  clean,      // the samples as they are, and the offset if any
  awgn,       // … and noise
  two_path,   // two equal fixed paths, and noise
  watterson,  // two independently fading paths, and noise
};

Result<CableChannel> parse_cable_channel(std::string_view text);

class CableMixer {
 public:
  struct Config {
    std::size_t stations = 2;
    unsigned rate_hz = 9600;
    CableChannel channel = CableChannel::clean;
    double snr_db = 20;           // in 3 kHz
    double signal_power = 0.125;  // mean, of the transmissions that the ratio is meant for
    double delay_ms = 2;          // between the two paths
    double doppler_hz = 1;        // spread of a fading path
    double offset_hz = 0;         // of the carrier
    std::uint64_t seed = 1;
  };

  explicit CableMixer(const Config& config);

  /// Makes one block for every station. `sent[i]` is what station i sends, empty while unkeyed;
  /// all blocks are as long as those of `heard`. The channels live on when nothing is sent.
  void mix(std::span<const std::span<const float>> sent, std::span<std::vector<float>> heard);

 private:
  std::size_t stations_;
  // From * stations + to; none to oneself, and none where the samples stay as they are.
  std::vector<std::optional<channel::Watterson>> paths_;
  std::vector<std::optional<channel::Awgn>> noises_;  // of each receiver
  std::vector<float> scratch_;
};

}  // namespace s5066::modem
