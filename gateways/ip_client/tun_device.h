// SPDX-License-Identifier: Apache-2.0
// A TUN interface of Linux. One read or write is one IP datagram.
#pragma once

#include <optional>
#include <string>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::ip_client {

class TunDevice {
 public:
  /// Attaches to the interface, and makes it if it does not exist. The kernel removes an interface
  /// that was made here when this object ends.
  static Result<TunDevice> open(const std::string& interface);

  int fd() const { return fd_.get(); }
  /// Returns a datagram, or nothing if none waits. Returns an error if the interface does not exist
  /// any more.
  Result<std::optional<Bytes>> read();
  /// Returns false if the interface did not take the datagram because it is down or full.
  bool write(ByteSpan datagram);

 private:
  explicit TunDevice(posix::Fd fd) : fd_(std::move(fd)) {}
  posix::Fd fd_;
};

}  // namespace s5066::ip_client
