// SPDX-License-Identifier: Apache-2.0
// A file that one process hands to another with a request on a local socket. It is a memory file
// that the sender has sealed, so the receiver needs no right to any file of the sender, its content
// does not change, and reading it never waits for a disk, a network or another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::posix {

/// Returns a memory file with this content that nobody can change any more.
Result<Fd> make_sealed_file(ByteSpan content);
/// Reads the whole of a sealed memory file. Fails with `refused` for every other descriptor, and
/// with `too_large` above the limit.
Result<Bytes> read_sealed_file(int file, std::size_t octets_max);

/// The descriptor that came with the octets of a local socket.
struct PassedFile {
  Fd file;
  bool more = false;  // other files came, too, or could not be taken; they are closed
};

/// Sends octets with a descriptor. Returns how many were sent, perhaps not all; the descriptor went
/// with the first.
Result<std::size_t> send_with_file(int socket, ByteSpan bytes, int file);
/// Receives what there is now; 0 if there is nothing yet, and link_down at the end.
Result<std::size_t> receive_with_file(int socket, std::span<std::uint8_t> bytes,
                                      PassedFile& passed);

}  // namespace s5066::posix
