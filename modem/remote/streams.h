// Two TCP connections of one session, and what wakes a thread that waits for them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

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

/// Until one of them has something to read, or one of the second has room to write; descriptors
/// below 0 are left out.
void wait_for_any(const std::vector<int>& to_read, const std::vector<int>& to_write,
                  Duration timeout);

/// All that has come so far is handed over in parts. An error is the reader's, or link_down.
Result<void> read_all(int socket, const std::function<Result<void>(ByteSpan)>& take);
/// Writes what the socket takes now and removes it.
Result<void> write_some(int socket, std::string& octets);
Result<void> write_some(int socket, Bytes& octets);

std::string_view text_of(ByteSpan octets);

}  // namespace s5066::modem::remote
