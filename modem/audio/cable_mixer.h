// What each station of an audio cable hears of the others: every ordered pair has a channel of its
// own, every receiver its own noise, and a seed decides all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

enum class CableChannel : std::uint8_t {
  clean,      // the samples as they are, and the offset if any
  awgn,       // … and noise
  two_path,   // two equal fixed paths, and noise
  watterson,  // two independently fading paths, and noise
};

Result<CableChannel> parse_cable_channel(std::string_view text);

class CablePath;
class CableNoise;

class CableMixer {
 public:
  struct Config {
    std::size_t stations = 2;
    unsigned rate_hz = 9600;
    CableChannel channel = CableChannel::clean;
    double snr_db = 20;     // in 3 kHz, of a transmission at the modem's nominal level
    double delay_ms = 2;    // between the two paths
    double doppler_hz = 1;  // spread of a fading path
    double offset_hz = 0;   // of the carrier
    std::uint64_t seed = 1;
  };

  explicit CableMixer(const Config& config);
  ~CableMixer();
  CableMixer(CableMixer&&) noexcept;

  /// Makes one block for every station. `sent[i]` is what station i sends, empty while unkeyed;
  /// all blocks are as long as `heard[i]`. A channel lives on when nothing is sent.
  void mix(std::span<const std::span<const float>> sent, std::span<std::vector<float>> heard);

 private:
  std::size_t stations_;
  std::vector<std::unique_ptr<CablePath>> paths_;    // from * stations + to; none to oneself
  std::vector<std::unique_ptr<CableNoise>> noises_;  // of each receiver
  std::vector<float> silence_;
  std::vector<float> scratch_;
};

}  // namespace s5066::modem
