// A PulseAudio without hardware, whose null sinks are sound cards to PortAudio by ALSA's pulse
// plugin.
#pragma once

#include <sys/types.h>

#include <string>

namespace s5066::test {

/// For this process only, whose environment it changes. Cards: `s5066alpha` and `s5066bravo` each
/// hear what the other sends; `s5066loop` hears itself.
class SoundServer {
 public:
  SoundServer();
  ~SoundServer();
  SoundServer(const SoundServer&) = delete;
  SoundServer& operator=(const SoundServer&) = delete;

  /// False, and the reason printed, when there is no PulseAudio here.
  bool start();

 private:
  std::string socket() const { return directory_ + "/native"; }

  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace s5066::test
