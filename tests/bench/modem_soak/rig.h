// SPDX-License-Identifier: Apache-2.0
// A sound card and a key for a modem worker, which the soak moves block by block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/audio/device.h"
#include "modem/ptt/ptt.h"

namespace s5066::modem {

/// The exchange between the driver and the worker's thread. Every wait of the driver ends the
/// program if the worker does not answer, because that is a hang of the thread itself.
class Gate {
 public:
  // --- The driver ---

  /// Waits until the worker asks for a block.
  void wait_until_asked();
  /// Gives a block and waits until the worker has taken it in and waits for its release.
  void give(std::span<const float> block, const Device::Received& losses);
  /// Loses the device and waits until the worker has opened it again and asks for a block.
  void lose_device();
  /// Waits until the answer to the block is there.
  void wait_for_answer();
  bool keyed() const { return keyed_; }
  std::span<const float> answer() const { return answer_; }

  // --- The worker's thread ---

  void on_notify();
  Result<Device::Received> receive(std::span<float> samples);
  void transmit(bool keyed, std::span<const float> samples);

 private:
  void wait(const std::function<bool()>& done, const char* what);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  bool notified_ = false;
  bool answered_ = false;
  bool lost_ = false;
  std::optional<std::vector<float>> block_;
  Device::Received losses_;
  bool keyed_ = false;
  std::vector<float> answer_;
};

class GateDevice final : public Device {
 public:
  explicit GateDevice(Gate& gate) : gate_(gate) {}

  Result<void> open() override { return {}; }
  void close() override {}
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override { return gate_.receive(samples); }
  Result<void> transmit(bool keyed, std::span<const float> samples) override;

 private:
  Gate& gate_;
  Info info_{.name = "soak", .lockstep = true, .has_level = true};
};

/// The key of a transmitter; this object outlives the worker.
struct Key {
  std::atomic<bool> down{false};
  std::atomic<unsigned> failures{0};  // number of next calls that fail
  std::atomic<unsigned> failed{0};    // number of calls that have failed
};

class KeyPtt final : public Ptt {
 public:
  explicit KeyPtt(Key& key) : key_(key) {}
  ~KeyPtt() override { key_.down = false; }
  Result<void> key(bool on) override;
  Result<void> release() override;

 private:
  Key& key_;
};

}  // namespace s5066::modem
