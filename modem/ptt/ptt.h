// SPDX-License-Identifier: Apache-2.0
// The interface that keys a transmitter. The classes behind it do so by a serial line, a rig
// control daemon or a pin of a sound chip, or not at all. The modem worker decides when to key.
#pragma once

#include <cstdint>

#include "s5066d/base/result.h"

namespace s5066::modem {

/// The evidence that a transmitter is unkeyed.
enum class Unkeyed : std::uint8_t {
  confirmed,    // the transmitter, or the line that keys it, was read
  unconfirmed,  // the command was sent, and its effect cannot be read
};

/// One thread owns an object. The destructor unkeys.
class Ptt {
 public:
  virtual ~Ptt() = default;
  /// Returns when the command has been sent to the transmitter. A call that changes nothing is sent
  /// as well, so that the owner can repeat unkeying. Unkeying fails when the transmitter is known
  /// to be still keyed.
  virtual Result<void> key(bool on) = 0;
  /// The key stays down for another burst.
  virtual void on_next_burst() {}
  /// Unkeys, from any thread, without waiting for another thread that hangs in key().
  virtual Result<void> release() = 0;
  /// Returns an error when the transmitter reports that it is keyed, or does not answer although it
  /// can.
  virtual Result<Unkeyed> confirm_unkeyed() { return Unkeyed::unconfirmed; }
};

/// This class is for cables and for radios that key on sound; those unkey when the sound ends.
class NoPtt final : public Ptt {
 public:
  Result<void> key(bool) override { return {}; }
  Result<void> release() override { return {}; }
};

}  // namespace s5066::modem
