// SPDX-License-Identifier: Apache-2.0
// The values that pass between the mail side and the P_MUL core of the messaging gateway.
//
// The mail side owns everything that must survive a crash, in its spool:
//   - a message's number and the running numbers of its destinations, taken from counters that are
//     committed before the message is handed down, and handed down again unchanged after a restart;
//   - the outcome for each destination: a destination that ended is not handed down again;
//   - the received messages: content, source and number are committed before on_committed(), and
//     remembered until the expiry plus a margin, because the transmitter repeats the message after
//     a lost acknowledgement.
// The core keeps all other state in memory. After a restart it asks the other nodes again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

/// Number of a P_MUL node: Source_ID or Destination_ID on the air. 0 stands for no node.
struct NodeId {
  std::uint32_t value = 0;
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

/// Number of a configured set of nodes that one transmission reaches. 0 stands for no group.
struct GroupId {
  std::uint32_t value = 0;
  friend auto operator<=>(const GroupId&, const GroupId&) = default;
};

/// Key of one submission. The mail side chooses it and never uses it for another submission.
struct MessageKey {
  std::uint64_t value = 0;
  friend auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

/// Identifies a message on the air. The message number (MSID) is unique for its source only.
struct MessageName {
  NodeId source;
  std::uint32_t message_id = 0;
  friend auto operator<=>(const MessageName&, const MessageName&) = default;
};

/// Returns the message number that follows `last`, the largest number used here (0: none). Numbers
/// are not below the time of day in seconds, so that old numbers are not used again after the spool
/// was lost.
constexpr std::uint32_t next_message_id(std::uint32_t last, UtcSeconds now) {
  return std::max(last + 1, static_cast<std::uint32_t>(now.value));
}

// --- Down ----------------------------------------------------------------------------------------

struct Destination {
  NodeId node;
  // Counts the messages for this node, so that the node notices a gap. 0: the message wants no
  // answer; the node must be configured for that.
  std::uint32_t sequence = 0;
  friend bool operator==(const Destination&, const Destination&) = default;
};

/// The argument of request_submit, which returns Accepted or an error. Every destination of an
/// accepted submission ends with exactly one DestinationEnded.
struct Submission {
  MessageKey key;
  std::uint32_t message_id = 0;  // from next_message_id
  std::uint8_t priority = 6;     // 0 is the most urgent
  UtcSeconds expiry;
  std::vector<Destination> destinations;  // each node once, at least one
  std::optional<GroupId> group;  // absent: the core chooses a group that has all destinations
  bool acknowledged = true;      // false: sent as often as configured, without an answer
  /// 0: the core chooses the size. After a restart it is the size that the core chose before.
  std::uint16_t block_octets = 0;
  Bytes content;
  // Rows of parity for each block that are sent in the first round, for nodes that cannot ask
  // again. Absent: the value of the round rules. If it is present and the message is not
  // acknowledged, the end of the round is marked as often as the core allows.
  std::optional<double> parity_ahead{};
};

/// The spool keeps this with the message, so that the message is cut into equal blocks after a
/// restart.
struct Accepted {
  std::uint16_t block_octets = 0;
};

/// request_cancel(now, MessageKey) ends the destinations as `cancelled`. request_suspend(now,
/// MessageKey) ends them as `suspended`, and the nodes keep the parts that they have.

// --- Up ------------------------------------------------------------------------------------------

enum class Outcome : std::uint8_t {
  delivered,  // the node has committed and acknowledged the message
  sent,       // the message was sent as often as configured, without acknowledgement
  expired,    // the lifetime ended before the node acknowledged the whole message
  cancelled,  // request_cancel ended it
  suspended,  // request_suspend ended it; the same submission follows again later
  failed,     // see the reason
};

/// The final result for one destination of a submission.
struct DestinationEnded {
  MessageKey key;
  NodeId node;
  Outcome outcome = Outcome::failed;
  std::string reason{};     // for people; empty when delivered
  bool unanswered = false;  // the node was sent something and did not answer in time
};

/// A complete message. It is acknowledged over the air after on_committed(now, name). After
/// on_not_committed(now, name) it is offered again after a while. It may also come again after a
/// restart or a lost acknowledgement, so a second commit of one name must change nothing.
struct Received {
  MessageName name;
  std::uint8_t priority = 0;
  UtcSeconds expiry;
  Bytes content;
  std::vector<NodeId> destinations{};  // destinations in the Address_PDUs that were received
  std::size_t block_octets = 0;        // size of each block except the last
  bool one_way = false;                // the sender wants no answer
};

/// The received blocks of an incomplete message that wants no answer. It is reported when no more
/// PDUs of the message are expected, and it is not acknowledged.
struct ReceivedPart {
  MessageName name;
  UtcSeconds expiry;
  std::vector<Bytes> blocks;  // ascending
};

/// An event for the log; nothing depends on it.
struct MessageNews {
  enum class Kind : std::uint8_t {
    round_started,      // a round has begun; octets: its blocks and parity
    round_sent,         // the whole round was handed to the bearer
    partly_received,    // a node has sent its list; octets: its missing blocks
    sequence_gap,       // a number does not follow the last one from this source
    discarded_by_peer,  // the source withdrew a half-received message
    receive_expired,    // a half-received message was not completed in time
    left_silence,       // a node that was in EMCON has transmitted
    clock_apart,        // a message of the node had expired by our clock when it came
    ack_refused,        // an acknowledgement by `node` does not count; see the detail
    pdu_refused,        // a PDU by `node` cannot be read; see the detail
    group_unheard,      // `node` answers PDUs to its own address, but not those to its group
  };
  Kind kind = Kind::round_started;
  MessageName name;
  NodeId node;
  std::uint64_t octets = 0;
  std::chrono::seconds apart{};  // lower bound of the lead of our clock
  std::string detail{};
  GroupId group{};  // for group_unheard; 0: any dynamic group
};

/// A destination that did not answer, or that is in EMCON and has got the message as often as
/// configured. Its message is suspended first when other messages need the room.
struct Unanswered {
  MessageKey key;
  NodeId node;
};

using MessageEvent =
    std::variant<DestinationEnded, Received, MessageNews, Unanswered, ReceivedPart>;

/// Call on_known(now, MessageName, expiry) at the start for each message that the spool remembers
/// as received. Such a message is acknowledged again, but not delivered again.

}  // namespace s5066::p_mul
