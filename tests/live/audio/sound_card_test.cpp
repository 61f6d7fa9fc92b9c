// SPDX-License-Identifier: Apache-2.0
// Goal:   the worker on PortAudio moves a burst through a real sound system in real time.
// Method: a PulseAudio server of our own, whose cards are two stations with a crossed pair of
//         wires.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "modem/audio/portaudio_device.h"
#include "modem/ptt/ptt.h"
#include "modem/worker/worker.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"
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
  // The loss window is one hour, because a busy machine makes the sound server pause, which would
  // count as lost samples.
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
    const ModemCounters counters = worker->state().counters;
    std::cout << "blocks " << counters[ModemCounter::blocks] << ", dropped "
              << counters[ModemCounter::samples_dropped] << ", late "
              << counters[ModemCounter::samples_underrun] << '\n';
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

/// Runs blocks until `done` returns true or the device reports an error. Returns an error after
/// `patience`.
template <typename Done>
Result<void> run_until(PortAudioDevice& device, Done done, Duration patience = kPatience) {
  const std::size_t count = device.info().block_samples;
  std::vector<float> heard(count), silence(count);
  const Duration end = posix::monotonic_now() + patience;
  while (posix::monotonic_now() < end) {
    const auto received = device.receive(heard);
    if (!received && received.error().code == ErrorCode::timed_out) continue;
    if (!received) return received.error();
    if (auto sent = device.transmit(false, silence); !sent) return sent;
    if (done(heard)) return {};
  }
  return Error{ErrorCode::timed_out, "patience"};
}

/// Opens the device until it delivers a second of sound. A busy machine may lose the stream at
/// first, and then a worker opens the device again, too.
Result<void> open_until_heard(PortAudioDevice& device) {
  Result<void> heard;
  test::eventually([&] {
    heard = device.open();
    unsigned blocks = 0;
    const auto second = [&](const std::vector<float>&) { return ++blocks == 50; };
    if (heard) heard = run_until(device, second, std::chrono::seconds(10));
    return heard.ok();
  });
  return heard;
}

/// Moves all streams of this kind to `to`, until the device reports an error. ALSA's plugin makes a
/// new stream at the old place after an overrun, which undoes the move.
Result<void> move_until_lost(PortAudioDevice& device, const std::string& kind,
                             const std::string& to) {
  const std::string command = "pactl list short " + kind +
                              "s | while read number rest; do pactl move-" + kind + " $number " +
                              to + "; done";
  const auto never = [](const std::vector<float>&) { return false; };
  Result<void> lost;
  test::eventually([&] {
    static_cast<void>(std::system(command.c_str()));  // fails for a stream that has just ended
    lost = run_until(device, never, std::chrono::seconds(5));
    return lost.error().code != ErrorCode::timed_out;
  });
  return lost;
}

TEST(SoundCard, a_stream_that_the_sound_server_moves_is_the_loss_of_the_card) {
  test::SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  PortAudioDevice device({.input_name = "s5066alpha", .output_name = "s5066alpha"});
  for (const std::string kind : {"sink-input", "source-output"}) {
    auto heard = open_until_heard(device);
    ASSERT_TRUE(heard.ok()) << to_string(heard.error());
    const std::string to = kind == "sink-input" ? "loop_out" : "loop_out.monitor";
    const auto lost = move_until_lost(device, kind, to);
    EXPECT_EQ(lost.error().code, ErrorCode::link_down) << to_string(lost.error());
    EXPECT_NE(lost.error().detail.find(to), std::string::npos) << to_string(lost.error());
  }
  const auto heard = open_until_heard(device);
  EXPECT_TRUE(heard.ok()) << to_string(heard.error());
}

TEST(SoundCard, sound_in_the_second_channel_alone_is_heard) {
  test::SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  std::string pattern = "/tmp/s5066-stereo-XXXXXX";
  const posix::Fd made(::mkstemp(pattern.data()));
  std::vector<float> samples;  // 20 s of sound on the right channel
  for (int i = 0; i < 20 * 48000; ++i) {
    samples.push_back(0);
    samples.push_back(i / 24 % 2 == 0 ? 0.5F : -0.5F);
  }
  std::ofstream(pattern, std::ios::binary)
      .write(reinterpret_cast<const char*>(samples.data()),
             static_cast<std::streamsize>(samples.size() * sizeof(float)));
  const std::string play =
      "timeout 60 pacat --raw --device=loop_out --format=float32le --channels=2 --rate=48000 " +
      pattern + " >/dev/null 2>&1 &";
  ASSERT_EQ(std::system(play.c_str()), 0);
  const auto loud = [](const std::vector<float>& heard) {
    return std::any_of(heard.begin(), heard.end(), [](float sample) { return sample > 0.2F; });
  };
  PortAudioDevice either({.input_name = "s5066loop", .output_name = "s5066loop"});
  ASSERT_TRUE(either.open().ok());
  EXPECT_TRUE(run_until(either, loud).ok());
  either.close();
  PortAudioDevice second(
      {.input_name = "s5066loop", .output_name = "s5066loop", .input_channel = 2});
  ASSERT_TRUE(second.open().ok());
  EXPECT_TRUE(run_until(second, loud).ok());
  std::filesystem::remove(pattern);
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
