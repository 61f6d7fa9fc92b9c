// SPDX-License-Identifier: Apache-2.0
// A file that keeps room on the disk of a spool. When the disk is full the file gives its room up,
// so that what waits can still be delivered or deleted. It takes the room again when there is
// enough.
#pragma once

#include <cstdint>
#include <string>

namespace s5066::gateways {

/// All of its state is the file, so that several connections to one spool can share it.
class DiskReserve {
 public:
  /// A reserve of 0 octets does nothing, and is always held.
  DiskReserve(std::string path, std::uint64_t octets) : path_(std::move(path)), octets_(octets) {}

  bool held() const;
  /// True if the disk has twice as much room as the reserve takes.
  bool has_room() const;
  /// Takes the room again if there is twice as much of it. Returns true if it is held then.
  bool refill();
  /// Gives the room up. Returns false if there was none.
  bool release();

 private:
  std::string path_;
  std::uint64_t octets_;
};

}  // namespace s5066::gateways
