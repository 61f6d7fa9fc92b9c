// SPDX-License-Identifier: Apache-2.0
// The two TCP connections of one session, and the object that wakes a thread that waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modem/remote/messages.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem::remote {

/// Another thread ends a wait with this object.
class Wakeup {
 public:
  Wakeup();
  void wake();
  void clear();
  int fd() const { return event_.get(); }

 private:
  posix::Fd event_;
};

/// This class measures how long an expected transfer has stood still.
class StallWatch {
 public:
  /// `moved` tells whether octets moved since the last look.
  Duration look(bool owed, bool moved, Duration now) {
    if (!owed || moved || !since_) since_ = now;
    return now - *since_;
  }

 private:
  std::optional<Duration> since_;
};

/// These are the watches of one session for incoming and outgoing octets.
struct StallWatches {
  /// Returns how long a message has waited for octets while none came.
  Duration look_at_incomplete(const std::optional<Incomplete>& message, Duration now) {
    const bool moved = std::exchange(incomplete_, message) != message;
    return incoming_.look(message.has_value(), moved, now);
  }

  StallWatch control_out;
  StallWatch data_out;

 private:
  StallWatch incoming_;
  std::optional<Incomplete> incomplete_;
};

/// Waits until a descriptor of the first list can be read or one of the second can be written.
/// Descriptors below 0 are ignored.
void wait_for_any(const std::vector<int>& to_read, const std::vector<int>& to_write,
                  Duration timeout);

/// Hands over all received octets in parts. An error comes from `take`, or is link_down.
Result<void> read_all(int socket, const std::function<Result<void>(ByteSpan)>& take);
/// Writes the octets that the socket takes now and removes them.
Result<void> write_some(int socket, std::string& octets);
Result<void> write_some(int socket, Bytes& octets);
/// These do the same; the result is timed_out when the peer has taken no octet for longer than the
/// limit.
Result<void> write_some(int socket, std::string& octets, StallWatch& watch, Duration stalled_max);
Result<void> write_some(int socket, Bytes& octets, StallWatch& watch, Duration stalled_max);

std::string_view text_of(ByteSpan octets);

}  // namespace s5066::modem::remote
