// SPDX-License-Identifier: Apache-2.0
// A PulseAudio server without hardware. PortAudio uses its null sinks as sound cards through ALSA's
// pulse plugin.
#pragma once

#include <sys/types.h>

#include <string>

namespace s5066::test {

/// Serves this process only, because it changes its environment. Cards: `s5066alpha` and
/// `s5066bravo` each hear the other's output; `s5066loop` hears its own.
class SoundServer {
 public:
  SoundServer();
  ~SoundServer();
  SoundServer(const SoundServer&) = delete;
  SoundServer& operator=(const SoundServer&) = delete;

  /// Returns false and prints the reason if PulseAudio is not installed here.
  bool start();

 private:
  std::string socket() const { return directory_ + "/native"; }

  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace s5066::test
