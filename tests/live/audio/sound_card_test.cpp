// Goal:   the worker on PortAudio moves a burst through a real sound system in real time.
// Method: a PulseAudio of our own; its cards are two stations with a crossed pair of wires.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "modem/audio/portaudio_device.h"
#include "modem/ptt/ptt.h"
#include "modem/worker/worker.h"
#include "s5066d/posix/socket.h"
#include "tests/support/sound_server.h"

namespace s5066::modem {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

std::unique_ptr<Worker> station(const std::string& card) {
  auto device = std::make_unique<PortAudioDevice>(
      PortAudioDevice::Config{.input_name = card,
                              .output_name = card,
                              .blocks_ahead = 12,  // the machine may be busy with other tests
                              .latency = std::chrono::milliseconds(120)});
  // A machine that is busy makes the sound server pause, which is a loss like any other; not here.
  const Worker::Config config{.sample_clock = {.loss_window = std::chrono::hours(1)}};
  return std::make_unique<Worker>(config, std::move(device), std::make_unique<NoPtt>(), [] {});
}

Bytes pattern(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + 7);
  return bytes;
}

/// Sends a burst and waits for its end at the receiver.
void expect_burst_arrives(Worker& sender, Worker& receiver) {
  const Mode mode{.rate_bps = 2400, .interleaver = Interleaver::short_};
  const Bytes sent = pattern(300);
  ASSERT_TRUE(sender.request(TransmitBurst{.id = {1}, .mode = mode, .bytes = sent}).ok());
  Bytes received;
  std::optional<TransmitOutcome> outcome;
  bool ended = false;
  const Duration end = posix::monotonic_now() + kPatience;
  while (!(ended && outcome) && posix::monotonic_now() < end) {
    while (auto event = sender.poll_event()) {
      if (const auto* done = std::get_if<TransmitFinished>(&*event)) outcome = done->outcome;
      if (const auto* fault = std::get_if<Fault>(&*event)) {
        std::cout << "sender: " << fault->detail << '\n';
      }
    }
    while (auto event = receiver.poll_event()) {
      if (const auto* part = std::get_if<ReceivedBytes>(&*event)) append(received, part->bytes);
      if (std::holds_alternative<CarrierDown>(*event)) ended = true;
      if (const auto* fault = std::get_if<Fault>(&*event)) {
        std::cout << "receiver: " << fault->detail << '\n';
      }
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(outcome, TransmitOutcome::sent);
  EXPECT_EQ(received, sent);
}

TEST(SoundCard, a_burst_arrives_over_a_real_sound_system_both_ways) {
  test::SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  const auto alpha = station("s5066alpha");
  const auto bravo = station("s5066bravo");
  const auto started = alpha->start();
  ASSERT_TRUE(started.ok()) << to_string(started.error());
  ASSERT_TRUE(bravo->start().ok());
  EXPECT_FALSE(alpha->lockstep());
  expect_burst_arrives(*alpha, *bravo);
  expect_burst_arrives(*bravo, *alpha);
  for (const Worker* worker : {alpha.get(), bravo.get()}) {
    const auto stats = worker->stats();
    std::cout << "blocks " << stats.blocks << ", dropped " << stats.samples_dropped << ", late "
              << stats.samples_underrun << '\n';
  }
}

TEST(SoundCard, the_way_around_is_what_was_measured_of_it_or_else_what_the_card_says) {
  test::SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  PortAudioDevice::Config config{.input_name = "s5066loop", .output_name = "s5066loop"};
  PortAudioDevice by_itself(config);
  ASSERT_TRUE(by_itself.open());
  EXPECT_GT(by_itself.info().transmit_delay, config.blocks_ahead * config.block_samples);
  config.round_trip = std::chrono::milliseconds(123);
  PortAudioDevice measured(config);
  ASSERT_TRUE(measured.open());
  EXPECT_EQ(measured.info().transmit_delay, 123U * 48);
}

TEST(SoundCard, a_card_that_is_not_there_is_an_error_that_names_it) {
  test::SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  PortAudioDevice device({.input_name = "no such card", .output_name = "s5066alpha"});
  const auto opened = device.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().detail.find("no such card"), std::string::npos);
}

}  // namespace
}  // namespace s5066::modem
