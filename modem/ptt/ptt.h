// Keys a transmitter. How (not at all, a serial line, a rig control daemon, a pin of a sound chip)
// is the business of the classes behind this interface; when is the modem worker's.
#pragma once

#include <cstdint>

#include "s5066d/base/result.h"

namespace s5066::modem {

/// What speaks for it that a transmitter is unkeyed.
enum class Unkeyed : std::uint8_t {
  confirmed,  // it, or the line that keys it, was read
  untold,     // it was told, and nobody can say what it did
};

/// One thread owns it. A destructor unkeys.
class Ptt {
 public:
  virtual ~Ptt() = default;
  /// Returns when the transmitter has been told. Calls that change nothing are repeated to the
  /// transmitter all the same, so that unkeying can be insisted on. Unkeying has failed where it
  /// is known that the transmitter is keyed all the same.
  virtual Result<void> key(bool on) = 0;
  /// The key is down and stays so for another burst.
  virtual void on_next_burst() {}
  /// Unkeys, from any thread, and without waiting for another one that hangs in key().
  virtual Result<void> release() = 0;
  /// An error where the transmitter says that it is keyed, or does not answer though it could.
  virtual Result<Unkeyed> confirm_unkeyed() { return Unkeyed::untold; }
};

/// For cables, and radios that key on sound: those unkey when no sound comes.
class NoPtt final : public Ptt {
 public:
  Result<void> key(bool) override { return {}; }
  Result<void> release() override { return {}; }
};

}  // namespace s5066::modem
