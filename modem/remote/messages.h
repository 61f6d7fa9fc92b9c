// SPDX-License-Identifier: Apache-2.0
// The messages between a host that has a modem and the process that uses it. The control connection
// carries lines of text. The data connection carries the octets of bursts without any framing.
// docs/conformance/remote_modem_protocol.md describes the protocol.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem::remote {

/// An incomplete message waits for octets.
struct Incomplete {
  std::uint64_t message = 0;  // a number that is unique in the session
  std::size_t octets = 0;     // octets received
  friend bool operator==(const Incomplete&, const Incomplete&) = default;
};

inline constexpr unsigned kVersion = 2;
/// This version, without ChannelOccupancy, is used with a peer that knows no other.
inline constexpr unsigned kVersionLeast = 1;
inline constexpr unsigned kVersionOfOccupancy = 2;
/// The limit does not count the end of the line. The longest line is LISTEN with all modes.
inline constexpr std::size_t kLineMax = 4096;
/// The limit applies to one burst, and to what is received at a time. It is above what is sent in
/// 140 s at 16 kbit/s.
inline constexpr std::size_t kOctetsMax = 1U << 20;
/// The octets of a burst must be complete at most this long after its time.
inline constexpr Duration kOctetsLateMax = std::chrono::seconds(2);
inline constexpr std::size_t kTokenLength = 16;
inline constexpr std::size_t kListenModesMax = 128;

// --- From the user ---

struct Hello {
  unsigned version = kVersion;  // the highest version of the user
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// The data connection then carries the burst, which has `octets` octets.
struct Send {
  BurstId id;
  Mode mode;
  Instant not_before{};
  std::size_t octets = 0;
  friend bool operator==(const Send&, const Send&) = default;
};
struct Abort {
  BurstId id;
  friend bool operator==(const Abort&, const Abort&) = default;
};
struct Listen {
  std::vector<Mode> modes;
  friend bool operator==(const Listen&, const Listen&) = default;
};
struct Ping {
  friend bool operator==(const Ping&, const Ping&) = default;
};
using UserMessage = std::variant<Hello, Send, Abort, Listen, Ping>;

// --- From the host ---

struct Welcome {
  unsigned version = kVersion;  // version in use from now on
  std::string token;            // the data connection begins with it
};
/// The data connection has been made.
struct Ready {};
inline constexpr const char* kInUse = "in use";  // another user has the modem
/// The last line of a connection that is refused.
struct Refused {
  std::string why;
};
/// The host's sample clock when this was written.
struct Clock {
  Instant now{};
};
/// The octets of a ReceivedBytes follow on the data connection.
struct Happened {
  Event event;
  std::size_t octets = 0;
};
using HostMessage = std::variant<Welcome, Ready, Refused, Clock, Happened>;

/// The result includes the end of the line.
std::string encode(const UserMessage& message);
std::string encode(const HostMessage& message);
/// The line has no end-of-line character. Any text is safe.
Result<UserMessage> parse_user_line(std::string_view line);
Result<HostMessage> parse_host_line(std::string_view line);

/// Cuts a stream into lines.
class LineSplitter {
 public:
  /// Returns too_large, or bad_field for octets that are no text. Nothing may be added after an
  /// error.
  Result<void> add(std::string_view octets);
  std::optional<std::string> next();

 private:
  std::string held_;
  std::size_t open_ = 0;  // characters of the line that is not complete yet
};

}  // namespace s5066::modem::remote
