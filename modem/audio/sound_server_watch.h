// Watches on which source and sink a PulseAudio or PipeWire server keeps the sound of one device.
// If a card goes, such a server moves its streams to another one without a word to the program: the
// modem would hear a microphone, and transmit into a loudspeaker.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "s5066d/base/time.h"

namespace s5066::modem {

/// One thread owns it; the server's news come on a thread of libpulse.
class SoundServerWatch {
 public:
  SoundServerWatch();
  ~SoundServerWatch();
  SoundServerWatch(const SoundServerWatch&) = delete;
  SoundServerWatch& operator=(const SoundServerWatch&) = delete;

  /// Call before the streams are opened: the next stream of this process each way is the one that
  /// is watched. Waits up to `patience` for the server. Without a server there is nothing to watch.
  void expect_streams(Duration patience = std::chrono::seconds(1));

  /// Says where the server has put a stream, if that is not where the first one was. The names of
  /// the first source and sink are kept as long as this object lives.
  std::optional<std::string> misplaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace s5066::modem
