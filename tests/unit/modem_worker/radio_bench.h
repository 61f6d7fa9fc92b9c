// SPDX-License-Identifier: Apache-2.0
// The test runs a radio block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "modem/worker/radio.h"
#include "tests/unit/modem_worker/events.h"

namespace s5066::modem {

constexpr std::size_t kBlock = 192;
const Mode kMode{.rate_bps = 2400, .interleaver = Interleaver::short_};

inline Radio::Config config() {
  return {.block_samples = kBlock,
          .keyed_margin = std::chrono::seconds(2),
          .keyed_max = std::chrono::seconds(140)};
}

inline Bytes some_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return bytes;
}

inline TransmitBurst burst(std::uint64_t id, Instant not_before = {}) {
  return {.id = {id}, .mode = kMode, .bytes = some_bytes(50), .not_before = not_before};
}

inline std::vector<float> modulated(const TransmitBurst& command) {
  BurstTransmitter transmitter(command.mode, command.bytes);
  std::vector<float> samples(transmitter.total_samples());
  transmitter.read(samples);
  return samples;
}

/// Runs a radio block by block and keeps all that comes out of it.
struct RadioBench {
  explicit RadioBench(const Radio::Config& radio_config) : radio(radio_config) {}

  void tick(std::span<const float> heard = {}) {
    std::vector<float> block(heard.begin(), heard.end());
    block.resize(kBlock);
    radio.on_received(block);
    drain();
    answer();
  }
  void answer() {
    std::vector<float> block(kBlock, 9.0F);
    key.push_back(radio.key_wanted());
    keyed.push_back(radio.fill(block));
    sent.insert(sent.end(), block.begin(), block.end());
    drain();
  }
  void run(std::size_t blocks) {
    for (std::size_t n = 0; n < blocks; ++n) tick();
  }
  void drain() {
    while (auto event = radio.poll_event()) events.push_back(*event);
  }
  template <typename E>
  std::vector<E> all() const {
    return of_kind<E>(events);
  }

  Radio radio;
  std::vector<float> sent;  // sample n leaves at kBlock + delay + n on the time line
  std::vector<bool> keyed;
  std::vector<bool> key;
  std::vector<Event> events;
};

}  // namespace s5066::modem
