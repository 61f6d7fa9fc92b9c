// SPDX-License-Identifier: Apache-2.0
// The terminal must not stop a program that it started while the program keys, because the key
// would stay down.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/support/patience.h"
#include "tests/support/rigctld_stand_in.h"

namespace s5066::modem {
namespace {

/// Runs hfmodem as a job of its own, as a shell does, because a terminal can stop only such a job.
class Job {
 public:
  explicit Job(std::vector<std::string> words) {
    words.insert(words.begin(), HFMODEM);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    EXPECT_EQ(::posix_spawn(&pid_, HFMODEM, nullptr, &attributes, arguments.data(), environ), 0);
    posix_spawnattr_destroy(&attributes);
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// True if the job was stopped, false if it ended.
  bool stops() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    if (!WIFSTOPPED(status)) return false;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    return true;
  }

 private:
  pid_t pid_ = -1;
};

TEST(Terminal, does_not_stop_what_moves_a_key) {
  for (const int number : {SIGTSTP, SIGTTOU}) {
    for (std::vector<std::string> words :
         {std::vector<std::string>{"key", "--seconds", "0.2"},
          {"doctor", "--input", "no such card", "--output", "no such card"},
          {"serve", "--input", "no such card", "--output", "no such card", "--control-port", "0",
           "--data-port", "0"}}) {
      SCOPED_TRACE(words[0]);
      const bool serves = words[0] == "serve";
      const test::RigctldStandIn rig;
      words.insert(words.end(), {"--rigctld-port", std::to_string(rig.port())});
      Job job(words);
      const std::string moved = serves ? "T 0\n" : "T 1\n";
      ASSERT_TRUE(test::eventually([&] { return rig.heard().find(moved) != std::string::npos; }));
      job.signal(number);
      if (serves) job.signal(SIGTERM);
      EXPECT_FALSE(job.stops());
      EXPECT_EQ(rig.heard().substr(rig.heard().rfind('T')).substr(0, 4), "T 0\n");
    }
  }
}

}  // namespace
}  // namespace s5066::modem
