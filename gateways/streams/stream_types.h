// SPDX-License-Identifier: Apache-2.0
// Values that the streams report to their shell and to operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "s5066d/base/counter_set.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::streams {

/// Identifies a stream within this process. No value is used twice.
struct StreamId {
  std::uint64_t value = 0;
  friend auto operator<=>(const StreamId&, const StreamId&) = default;
};

/// The server that the far end connects to. If `host` is a name, the far end resolves it.
struct Target {
  std::string host;  // name or address as text, 1..kHostOctetsMax octets
  std::uint16_t port = 0;
  friend bool operator==(const Target&, const Target&) = default;
};
inline constexpr std::size_t kHostOctetsMax = 255;

/// Reasons why a stream is reset. A RESET carries these numbers over the air. This end finds
/// `peer_restarted`, `peer_silent` and `unsupported` by itself and does not send them.
enum class ResetCode : std::uint8_t {
  by_application = 1,  // an application ended its connection without closing it
  refused = 2,         // the server refused the connection
  unreachable = 3,     // the server did not answer, or its name is not known
  not_allowed = 4,     // the far end may not connect to this server
  limit = 5,           // the far end has too many streams
  protocol_error = 6,  // a frame contradicts what came before, or compressed data is invalid
  unknown_stream = 7,  // the far end has no such stream
  peer_restarted = 8,
  peer_silent = 9,   // the station did not answer for `give_up_after`
  unsupported = 10,  // the station has no streams
  idle = 11,
};
std::string_view to_string(ResetCode code);

enum class StreamCounter : std::uint8_t {
  opened,    // streams that this end opened
  accepted,  // streams that a peer opened
  completed,
  reset_here,
  reset_by_peer,
  refused_limit,
  updus_sent,
  octets_sent,
  octets_received,
  octets_resent,
  octets_before_compression,
  octets_after_compression,
  compressions_given_up,
  updus_received,
  malformed,
  stale,
  repeated_octets,
  sessions_lost,
  open,  // gauge
  held,  // gauge
  count
};
const CounterTable<StreamCounter>& counter_table(StreamCounter);

struct StreamEvent {
  enum class Kind : std::uint8_t {
    peer_capable,
    peer_incapable,
    peer_restarted,
    peer_silent,
    peer_answering,
    peer_given_up,
    nonsense_received,
  };
  Kind kind{};
  Address station{};
  std::string detail;
};
std::string_view to_string(StreamEvent::Kind kind);

/// State of one stream, for operators.
struct StreamState {
  StreamId id;
  Address station;
  bool ours = false;  // true if this end opened the stream
  Target target;
  bool interactive = true;
  bool compressed = false;
  std::uint64_t octets_sent = 0;      // octets on the air that the far end has acknowledged
  std::uint64_t octets_received = 0;  // octets in order
  std::size_t waiting = 0;            // octets that are not yet with the node
  std::size_t with_node = 0;          // octets handed over and not acknowledged by the far end
  Duration age{};
};

enum class Capability : std::uint8_t { unknown, capable, incapable };

}  // namespace s5066::streams
