// SPDX-License-Identifier: Apache-2.0
// Runs a worker on a scripted device, with the test as the node.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "modem/worker/worker.h"
#include "tests/unit/modem_worker/fakes.h"

namespace s5066::modem {

const Mode kMode{.rate_bps = 2400, .interleaver = Interleaver::short_};

/// Runs a worker on a scripted device, with this thread as the node's thread.
struct WorkerBench {
  explicit WorkerBench(Device::Info info = {.lockstep = true}, Worker::Config config = {}) {
    worker = std::make_unique<Worker>(config, std::make_unique<FakeDevice>(device, info),
                                      std::make_unique<FakePtt>(key), [this] { ++notified; });
  }
  /// Passes `blocks` blocks in lockstep, in which the node does nothing.
  void tick(std::size_t blocks = 1) {
    for (std::size_t n = 0; n < blocks; ++n) {
      const Instant before = worker->now();
      device->give_blocks(1);
      ASSERT_TRUE(eventually([&] { return worker->now() > before; }));
      release();
    }
  }
  void release() {
    const std::size_t answered = device->answered();
    worker->release(worker->now());
    ASSERT_TRUE(eventually([&] { return device->answered() > answered; }));
  }
  std::vector<Event> events() {
    std::vector<Event> all;
    while (auto event = worker->poll_event()) all.push_back(std::move(*event));
    return all;
  }
  template <typename E>
  std::optional<E> await() {
    std::optional<E> found;
    eventually([&] {
      auto event = worker->poll_event();
      if (event && std::holds_alternative<E>(*event)) found = std::get<E>(*event);
      return found.has_value();
    });
    return found;
  }
  Result<void> send(std::uint64_t id, std::size_t octets = 50) {
    return worker->request(TransmitBurst{.id = {id}, .mode = kMode, .bytes = Bytes(octets)});
  }

  std::shared_ptr<DeviceScript> device = std::make_shared<DeviceScript>();
  std::shared_ptr<KeyScript> key = std::make_shared<KeyScript>();
  std::atomic<std::size_t> notified{0};
  std::unique_ptr<Worker> worker;
};

}  // namespace s5066::modem
