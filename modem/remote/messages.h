// What passes between a host that has a modem and the process that uses it: lines of text on the
// control connection, and octets of bursts on the data connection, which say nothing by themselves.
// docs/REMOTE_MODEM.md has the protocol in words.
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

/// A message that waits for octets.
struct Incomplete {
  std::uint64_t message = 0;  // a number that no other has had in the session
  std::size_t octets = 0;     // that have come
  friend bool operator==(const Incomplete&, const Incomplete&) = default;
};

inline constexpr unsigned kVersion = 2;
/// That which is spoken with whoever knows no other: without ChannelOccupancy.
inline constexpr unsigned kVersionLeast = 1;
inline constexpr unsigned kVersionOfOccupancy = 2;
/// Without its end. The longest is LISTEN with all modes.
inline constexpr std::size_t kLineMax = 4096;
/// Of one burst, and of what is received at a time: above what is sent in 140 s at 16 kbit/s.
inline constexpr std::size_t kOctetsMax = 1U << 20;
/// So long after its time the octets of a burst may be complete.
inline constexpr Duration kOctetsLateMax = std::chrono::seconds(2);
inline constexpr std::size_t kTokenLength = 16;
inline constexpr std::size_t kListenModesMax = 128;

// --- From the user ---

struct Hello {
  unsigned version = kVersion;  // the highest that the user speaks
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// As many octets follow on the data connection.
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
  unsigned version = kVersion;  // that both speak from now on
  std::string token;            // with which the data connection begins
};
/// The data connection has been made.
struct Ready {};
inline constexpr const char* kInUse = "in use";  // by somebody else
/// The last line of a connection.
struct Refused {
  std::string why;
};
/// The host's sample clock when this was written.
struct Clock {
  Instant now{};
};
/// Octets of a ReceivedBytes follow on the data connection.
struct Happened {
  Event event;
  std::size_t octets = 0;
};
using HostMessage = std::variant<Welcome, Ready, Refused, Clock, Happened>;

/// With the end of the line.
std::string encode(const UserMessage& message);
std::string encode(const HostMessage& message);
/// Of a line without its end. Any text is safe.
Result<UserMessage> parse_user_line(std::string_view line);
Result<HostMessage> parse_host_line(std::string_view line);

/// Cuts a stream into lines.
class LineSplitter {
 public:
  /// too_large, bad_field for what is no text; nothing must be added after an error.
  Result<void> add(std::string_view octets);
  std::optional<std::string> next();

 private:
  std::string held_;
  std::size_t open_ = 0;  // characters of the line that has no end yet
};

}  // namespace s5066::modem::remote
