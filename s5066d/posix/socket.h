// SPDX-License-Identifier: Apache-2.0
// Socket calls that never wait longer than the given time, and local sockets with an owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/fd.h"

namespace s5066::posix {

/// Returns std::chrono::steady_clock as a time since its own beginning.
Duration monotonic_now();
/// Returns the time since 1970-01-01 00:00 UTC; the clock may be set at any time.
Duration utc_now();
UtcSeconds to_utc_seconds(Duration since_1970);

/// Fails with bad_field if the text is not an IPv4 or IPv6 address in digits.
Result<void> check_ip_address(const std::string& text);
/// Returns the address of the other end of a TCP connection; "?" if it has gone already.
std::string peer_address(int socket);

/// All of these make non-blocking sockets, closed on exec.
Result<Fd> connect_unix(const std::string& path, Duration timeout);
Result<Fd> connect_loopback(std::uint16_t port, Duration timeout);
/// `address` is an IPv4 or IPv6 address in digits. Written octets leave at once.
Result<Fd> connect_tcp(const std::string& address, std::uint16_t port, Duration timeout);
/// Port 0 means any free port, which local_port() returns.
Result<Fd> listen_tcp(const std::string& address, std::uint16_t port, int backlog);
Result<std::uint16_t> local_port(int socket);
/// Accepts a connection of a listener; returns no value if none waits.
Result<std::optional<Fd>> accept_tcp(int listener);
/// Users that may connect to a local socket.
enum class LocalAccess { owner, owner_and_group };
/// Replaces a socket file that a dead process left behind, but not the socket of a running one, and
/// no other file.
Result<Fd> listen_unix(const std::string& path, int backlog,
                       LocalAccess access = LocalAccess::owner);

/// Makes the system end a TCP connection whose peer has not answered for `timeout`, whether we have
/// something to send or not.
void notice_dead_peer(int socket, Duration timeout);

/// Removes the file of a socket that we listened on.
void remove_socket(const std::string& path);

/// Sends all octets, or fails with timed_out, or with link_down if the peer has gone.
Result<void> send_all(int socket, ByteSpan bytes, Duration timeout);
/// Sends as many octets as the socket takes now, perhaps none; link_down if the peer has gone.
Result<std::size_t> send_some(int socket, ByteSpan bytes);
/// Waits for the first octets and returns what there is. Fails with timed_out, or with link_down at
/// the end.
Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> bytes, Duration timeout);

/// Sends one request line to a control socket; the answer ends with the connection. `timeout` is
/// for each step: to connect, to send, and between any two parts of the answer. The descriptor
/// `file` goes with the request; -1 is none. Fails with link_down if nothing listens there, with
/// refused if this user may not connect, and with io if the other end closes without an answer.
Result<std::string> ask_control(const std::string& path, const std::string& request,
                                Duration timeout, int file = -1);

}  // namespace s5066::posix
