// Goal:   the worker on PortAudio moves a burst through a real sound system in real time.
// Method: a PulseAudio of our own with two null sinks; each of two stations plays into one and
// hears
//         the monitor of the other, through ALSA's pulse plugin, as with two sound cards and a
//         crossed pair of wires.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

namespace s5066::modem {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

/// Each capture and playback pair looks like one sound card to PortAudio.
constexpr const char* kCards = R"(
pcm.!default { type pulse }
pcm.s5066alpha {
  type asym
  playback.pcm { type pulse device "alpha_out" }
  capture.pcm { type pulse device "bravo_out.monitor" }
}
pcm.s5066bravo {
  type asym
  playback.pcm { type pulse device "bravo_out" }
  capture.pcm { type pulse device "alpha_out.monitor" }
}
)";

/// A sound server without hardware, for this process only.
class SoundServer {
 public:
  SoundServer() {
    std::string pattern = "/tmp/s5066-pulse-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(directory_ + "/runtime");
    std::ofstream(directory_ + "/.asoundrc") << kCards;
    ::setenv("HOME", directory_.c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    ::setenv("PULSE_RUNTIME_PATH", (directory_ + "/runtime").c_str(), 1);
    ::setenv("PULSE_STATE_PATH", (directory_ + "/runtime").c_str(), 1);
    ::setenv("PULSE_SERVER", ("unix:" + socket()).c_str(), 1);
    ::setenv("JACK_NO_START_SERVER", "1", 1);
  }
  ~SoundServer() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
    std::filesystem::remove_all(directory_);
  }
  SoundServer(const SoundServer&) = delete;
  SoundServer& operator=(const SoundServer&) = delete;

  /// False, and the reason printed, when there is no PulseAudio here.
  bool start() {
    const std::string protocol = "module-native-protocol-unix auth-anonymous=1 socket=" + socket();
    std::vector<std::string> words = {"pulseaudio",
                                      "-n",
                                      "--daemonize=no",
                                      "--use-pid-file=no",
                                      "--exit-idle-time=-1",
                                      "--disable-shm=yes",
                                      "--log-level=error",
                                      "-L",
                                      protocol,
                                      "-L",
                                      "module-null-sink sink_name=alpha_out rate=48000",
                                      "-L",
                                      "module-null-sink sink_name=bravo_out rate=48000"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error =
        ::posix_spawnp(&pid_, words[0].c_str(), &quiet, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error != 0) {
      pid_ = -1;
      std::cout << "no pulseaudio to start: " << std::generic_category().message(error) << '\n';
      return false;
    }
    const Duration end = posix::monotonic_now() + kPatience;
    while (posix::monotonic_now() < end) {
      if (posix::connect_unix(socket(), kPatience)) return true;
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        std::cout << "pulseaudio ended with status " << status << '\n';
        return false;
      }
      std::this_thread::yield();
    }
    std::cout << "pulseaudio does not listen\n";
    return false;
  }

 private:
  std::string socket() const { return directory_ + "/native"; }

  std::string directory_;
  pid_t pid_ = -1;
};

std::unique_ptr<Worker> station(const std::string& card) {
  auto device = std::make_unique<PortAudioDevice>(
      PortAudioDevice::Config{.input_name = card,
                              .output_name = card,
                              .blocks_ahead = 12,  // the machine may be busy with other tests
                              .latency = std::chrono::milliseconds(120)});
  return std::make_unique<Worker>(Worker::Config{}, std::move(device), std::make_unique<NoPtt>(),
                                  [] {});
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
  SoundServer server;
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

TEST(SoundCard, a_card_that_is_not_there_is_an_error_that_names_it) {
  SoundServer server;
  if (!server.start()) GTEST_SKIP() << "no PulseAudio here";
  PortAudioDevice device({.input_name = "no such card", .output_name = "s5066alpha"});
  const auto opened = device.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().detail.find("no such card"), std::string::npos);
}

}  // namespace
}  // namespace s5066::modem
