// Two TCP connections of one session, and what wakes a thread that waits for them.
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

/// Another thread ends a wait.
class Wakeup {
 public:
  Wakeup();
  void wake();
  void clear();
  int fd() const { return event_.get(); }

 private:
  posix::Fd event_;
};

/// How long something that ought to go on has stood still.
class StallWatch {
 public:
  /// `moved`: since the last look.
  Duration look(bool owed, bool moved, Duration now) {
    if (!owed || moved || !since_) since_ = now;
    return now - *since_;
  }

 private:
  std::optional<Duration> since_;
};

/// Of one session: what is to come and what is to leave.
struct StallWatches {
  /// How long a message has lacked its octets and none has come.
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

/// Until one of them has something to read, or one of the second has room to write; descriptors
/// below 0 are left out.
void wait_for_any(const std::vector<int>& to_read, const std::vector<int>& to_write,
                  Duration timeout);

/// All that has come so far is handed over in parts. An error is the reader's, or link_down.
Result<void> read_all(int socket, const std::function<Result<void>(ByteSpan)>& take);
/// Writes what the socket takes now and removes it.
Result<void> write_some(int socket, std::string& octets);
Result<void> write_some(int socket, Bytes& octets);
/// The same; timed_out when the peer has taken none of them for longer than the limit.
Result<void> write_some(int socket, std::string& octets, StallWatch& watch, Duration stalled_max);
Result<void> write_some(int socket, Bytes& octets, StallWatch& watch, Duration stalled_max);

std::string_view text_of(ByteSpan octets);

}  // namespace s5066::modem::remote
