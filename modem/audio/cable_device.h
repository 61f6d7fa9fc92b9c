// SPDX-License-Identifier: Apache-2.0
// A station's end of the audio cable. It is a Device whose other side is a CableHub behind a Unix
// socket (cable_protocol.h). It runs in lockstep when the hub has pace `max`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "modem/audio/cable_protocol.h"
#include "modem/audio/device.h"
#include "s5066d/base/bytes.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {

class CableDevice final : public Device {
 public:
  struct Config {
    std::string socket_path;
    /// This number is the end of the cable; fixed numbers make a run repeatable.
    std::optional<std::uint16_t> station;
    Duration connect_timeout = std::chrono::seconds(2);
    // After it receive() returns timed_out.
    Duration receive_timeout = std::chrono::milliseconds(100);
    Duration transmit_timeout = std::chrono::seconds(2);  // the hub counts as lost after this time
  };

  explicit CableDevice(Config config) : config_(std::move(config)) {}

  Result<void> open() override;
  void close() override;
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override;
  Result<void> transmit(bool keyed, std::span<const float> samples) override;

 private:
  Result<void> shake_hands();

  Config config_;
  Info info_;
  posix::Fd socket_;
  Bytes in_;              // a block and …
  std::size_t held_ = 0;  // … the number of its octets that have come
  Bytes out_;
  std::optional<std::uint64_t> index_;  // index of the newest received block
};

}  // namespace s5066::modem
