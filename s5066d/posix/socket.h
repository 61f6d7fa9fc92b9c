// Socket calls that never wait longer than they were told, and local sockets with an owner.
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

/// std::chrono::steady_clock, as a time since its own beginning.
Duration monotonic_now();
/// Since 1970-01-01 00:00 UTC; may be set at any time.
Duration utc_now();
UtcSeconds to_utc_seconds(Duration since_1970);

/// bad_field for what is none of IPv4 or IPv6 in digits.
Result<void> check_ip_address(const std::string& text);
/// Of the other end of a TCP connection; "?" when it is gone already.
std::string peer_address(int socket);

/// All of these are non-blocking sockets, closed on exec.
Result<Fd> connect_unix(const std::string& path, Duration timeout);
Result<Fd> connect_loopback(std::uint16_t port, Duration timeout);
/// `address` is one of IPv4 or IPv6 in digits. What is written leaves at once.
Result<Fd> connect_tcp(const std::string& address, std::uint16_t port, Duration timeout);
/// Port 0: any free one, which local_port() tells.
Result<Fd> listen_tcp(const std::string& address, std::uint16_t port, int backlog);
Result<std::uint16_t> local_port(int socket);
/// Of a listener; no value when nobody waits.
Result<std::optional<Fd>> accept_tcp(int listener);
/// Who may connect to a local socket.
enum class LocalAccess { owner, owner_and_group };
/// Takes over what a dead process left behind: not the socket of a living one, and no other file.
Result<Fd> listen_unix(const std::string& path, int backlog,
                       LocalAccess access = LocalAccess::owner);

/// The system ends a TCP connection whose peer has not answered for so long, whether we have
/// something to send or not.
void notice_dead_peer(int socket, Duration timeout);

/// The file of a socket that we listened on.
void remove_socket(const std::string& path);

/// All of them, or an error: timed_out, or link_down when the peer is gone.
Result<void> send_all(int socket, ByteSpan bytes, Duration timeout);
/// As many as the socket takes now, perhaps none; link_down when the peer is gone.
Result<std::size_t> send_some(int socket, ByteSpan bytes);
/// Waits for the first octets and takes what there is. timed_out, or link_down at the end.
Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> bytes, Duration timeout);

/// One request line to a control socket; the answer ends where the connection does. `timeout` is
/// for each step: to connect, to send, and between any two parts of the answer.
Result<std::string> ask_control(const std::string& path, const std::string& request,
                                Duration timeout);

}  // namespace s5066::posix
