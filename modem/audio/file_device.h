// SPDX-License-Identifier: Apache-2.0
// Sound files as a Device, in lockstep. The radio receives a recording, and its transmissions are
// recorded. The device ends with the recording.
#pragma once

#include <memory>
#include <string>

#include "modem/audio/device.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

class FileDevice final : public Device {
 public:
  struct Config {
    std::string input_path;   // any format that libsndfile reads; the first channel is taken
    std::string output_path;  // WAV, float samples at the rate of the input; none if empty
    /// Silence of this length follows the recording, so that a receiver finishes.
    Duration silence_after = std::chrono::seconds(1);
  };

  explicit FileDevice(Config config);
  ~FileDevice() override;

  /// May be called once, because a recording cannot be played again.
  Result<void> open() override;
  void close() override;
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override;
  Result<void> transmit(bool keyed, std::span<const float> samples) override;

 private:
  struct Files;

  Config config_;
  Info info_;
  std::unique_ptr<Files> files_;
  std::uint64_t silence_left_ = 0;
  bool used_ = false;
};

}  // namespace s5066::modem
