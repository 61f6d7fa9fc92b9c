// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sound_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <thread>
#include <vector>

#include "s5066d/posix/socket.h"

namespace s5066::test {

namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

/// Configures each capture and playback pair as one sound card for PortAudio.
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
pcm.s5066loop {
  type asym
  playback.pcm { type pulse device "loop_out" }
  capture.pcm { type pulse device "loop_out.monitor" }
}
)";

}  // namespace

SoundServer::SoundServer() {
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

SoundServer::~SoundServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove_all(directory_);
}

bool SoundServer::start() {
  std::vector<std::string> words = {
      "pulseaudio",
      "-n",
      "--daemonize=no",
      "--use-pid-file=no",
      "--exit-idle-time=-1",
      "--disable-shm=yes",
      "--log-level=error",
      "-L",
      "module-native-protocol-unix auth-anonymous=1 socket=" + socket()};
  for (const char* sink : {"alpha_out", "bravo_out", "loop_out"}) {
    words.insert(words.end(), {"-L", std::string("module-null-sink rate=48000 sink_name=") + sink});
  }
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

}  // namespace s5066::test
