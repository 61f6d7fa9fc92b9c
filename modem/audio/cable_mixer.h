// SPDX-License-Identifier: Apache-2.0
// Mixes what each station of an audio cable receives of the others. Every ordered pair of stations
// has its own channel and every receiver its own noise. A seed determines all of them.
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
  clean,      // the samples unchanged, with the offset if any
  awgn,       // … with noise
  two_path,   // two equal fixed paths with noise
  watterson,  // two independently fading paths with noise
};

Result<CableChannel> parse_cable_channel(std::string_view text);

class CableMixer {
 public:
  struct Config {
    std::size_t stations = 2;
    unsigned rate_hz = 9600;
    CableChannel channel = CableChannel::clean;
    double snr_db = 20;           // dB in 3 kHz
    double signal_power = 0.125;  // mean of the transmissions to which the ratio applies
    double delay_ms = 2;          // delay between the two paths
    double doppler_hz = 1;        // spread of a fading path
    double offset_hz = 0;         // offset of the carrier
    std::uint64_t seed = 1;
  };

  explicit CableMixer(const Config& config);

  /// Makes one block for every station. `sent[i]` is the block that station i sends, empty while
  /// unkeyed. All blocks are as long as those of `heard`. The channels also advance when nothing is
  /// sent.
  void mix(std::span<const std::span<const float>> sent, std::span<std::vector<float>> heard);

 private:
  std::size_t stations_;
  // The index is from * stations + to. It is empty from a station to itself and when the samples
  // stay unchanged.
  std::vector<std::optional<channel::Watterson>> paths_;
  std::vector<std::optional<channel::Awgn>> noises_;  // one generator for each receiver
  std::vector<float> scratch_;
};

}  // namespace s5066::modem
