// SPDX-License-Identifier: Apache-2.0
// Watches on which source and sink a PulseAudio or PipeWire server keeps the sound of one device.
// When a card is removed, such a server moves its streams to another card without notice, so that
// the modem would receive from a microphone and transmit into a loudspeaker.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "s5066d/base/time.h"

namespace s5066::modem {

/// One thread owns the object; messages of the server come on a thread of libpulse.
class SoundServerWatch {
 public:
  SoundServerWatch();
  ~SoundServerWatch();
  SoundServerWatch(const SoundServerWatch&) = delete;
  SoundServerWatch& operator=(const SoundServerWatch&) = delete;

  /// It must be called before the streams are opened, because the next stream of this process in
  /// each direction is the one that is watched. It waits up to `patience` for the server. Without a
  /// server nothing is watched.
  void expect_streams(Duration patience = std::chrono::seconds(1));

  /// Returns where the server has put a stream when that is not the place of the first one. The
  /// names of the first source and sink are kept as long as this object exists.
  std::optional<std::string> misplaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace s5066::modem
