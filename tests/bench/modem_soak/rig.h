// A sound card and a key for a modem worker, moved block by block by whoever drives the soak.
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

/// What the driver and the worker's thread hand each other. Every wait of the driver ends the
/// program when the worker does not answer: that is a hang of the thread itself.
class Gate {
 public:
  // --- The driver ---

  /// Until the worker asks for a block.
  void wait_until_asked();
  /// Until the worker has taken the block in and waits for its release.
  void give(std::span<const float> block, const Device::Received& losses);
  /// The device is lost; until the worker has opened it again and asks for a block.
  void lose_device();
  /// Until the answer to the block is there.
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

/// Outlives the worker.
struct Key {
  std::atomic<bool> down{false};
  std::atomic<unsigned> failures{0};  // so many of the next calls are errors …
  std::atomic<unsigned> failed{0};    // … and so many were
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
