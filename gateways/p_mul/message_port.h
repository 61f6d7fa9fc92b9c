// SPDX-License-Identifier: Apache-2.0
// The values that pass between the mail side and the P_MUL core of the messaging gateway.
//
// The mail side owns everything that must survive a crash, in its spool:
//   - a message's number and the running numbers of its destinations, taken from counters that are
//     committed before the message is handed down, and handed down again unchanged after a restart;
//   - the outcome for each destination: a destination that ended is not handed down again;
//   - what was received: content, source and number are committed before Committed is answered, and
//     remembered until the expiry plus a margin, because a lost acknowledgement brings them again.
// The core keeps all else in memory: after a restart the peers are asked again.
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

/// A node of the P_MUL community: Source_ID and Destination_ID on the air. 0 names nobody.
struct NodeId {
  std::uint32_t value = 0;
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

/// A configured set of nodes that one transmission reaches. 0 names none.
struct GroupId {
  std::uint32_t value = 0;
  friend auto operator<=>(const GroupId&, const GroupId&) = default;
};

/// The mail side's name for one submission; chosen by it, never used for another.
struct MessageKey {
  std::uint64_t value = 0;
  friend auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

/// Names a message on the air: the MSID is unique for its source only.
struct MessageName {
  NodeId source;
  std::uint32_t message_id = 0;
  friend auto operator<=>(const MessageName&, const MessageName&) = default;
};

/// The message number after `last`, which is the largest ever used here, 0 for none. Follows the
/// calendar, so that a spool that was lost does not bring old numbers back.
constexpr std::uint32_t next_message_id(std::uint32_t last, UtcSeconds now) {
  return std::max(last + 1, static_cast<std::uint32_t>(now.value));
}

// --- Down ----------------------------------------------------------------------------------------

struct Destination {
  NodeId node;
  // Counts the messages for this node, to show a gap to it. 0: no answer is wanted, which only a
  // node understands that is configured so.
  std::uint32_t sequence = 0;
  friend bool operator==(const Destination&, const Destination&) = default;
};

/// Asked by request_submit(now, Submission) -> Result<Accepted>. Every destination of an accepted
/// submission ends with exactly one DestinationEnded.
struct Submission {
  MessageKey key;
  std::uint32_t message_id = 0;  // from next_message_id
  std::uint8_t priority = 6;     // 0 is the most urgent
  UtcSeconds expiry;
  std::vector<Destination> destinations;  // each node once, at least one
  std::optional<GroupId> group;           // absent: the core chooses what reaches them all
  bool acknowledged = true;               // false: sent as often as configured, nobody answers
  std::uint16_t block_octets = 0;         // 0: the core chooses; after a restart, what it chose
  Bytes content;
  // Rows of parity for each block that go ahead to nodes that cannot ask; none: as the rules say.
  // Then the end of the message is told as often as that is ever done.
  std::optional<double> parity_ahead{};
};

/// The spool keeps this with the message, so that the message is cut into equal blocks after a
/// restart.
struct Accepted {
  std::uint16_t block_octets = 0;
};

/// Asked by request_cancel(now, MessageKey): its destinations end as `cancelled`.
/// Asked by request_suspend(now, MessageKey): its destinations end as `suspended`, and what they
/// have of it stays there.

// --- Up ------------------------------------------------------------------------------------------

enum class Outcome : std::uint8_t {
  delivered,  // the node has committed it, and said so
  sent,       // without acknowledgement, as often as configured
  expired,    // the time was up before the node said anything final
  cancelled,  // by request
  suspended,  // by request; the same submission comes again
  failed,     // see the reason
};

/// The final result for one destination of a submission.
struct DestinationEnded {
  MessageKey key;
  NodeId node;
  Outcome outcome = Outcome::failed;
  std::string reason{};     // for people; empty when delivered
  bool unanswered = false;  // something was sent to the node, and it said nothing in its time
};

/// A message is complete. Nothing is acknowledged over the air until on_committed(now, name). After
/// on_not_committed(now, name) the same comes again after a while. Restarts and lost
/// acknowledgements bring it again too: a second commit of one name must change nothing.
struct Received {
  MessageName name;
  std::uint8_t priority = 0;
  UtcSeconds expiry;
  Bytes content;
  std::vector<NodeId> destinations{};  // that it was announced to, as far as we have heard
  std::size_t block_octets = 0;        // of all blocks but the last
  bool one_way = false;                // no answer is wanted
};

/// Some blocks of a message to which no answer was wanted, and of which nothing more is to come.
/// Nothing is answered to it.
struct ReceivedPart {
  MessageName name;
  UtcSeconds expiry;
  std::vector<Bytes> blocks;  // ascending
};

/// For the log of message events; nothing depends on it.
struct MessageNews {
  enum class Kind : std::uint8_t {
    round_started,      // octets: of this transmission
    round_sent,         // the bearer has transmitted all of it
    partly_received,    // a node's list; octets: still missing there
    sequence_gap,       // received a number that does not follow the last from this source
    discarded_by_peer,  // a half-received message was withdrawn
    receive_expired,    // a half-received message was not completed in time
    left_silence,       // a node in EMCON spoke
    clock_apart,        // a message of the node had expired by our clock when it came
    ack_refused,        // an acknowledgement by `node` does not count; see the detail
    pdu_refused,        // a PDU by `node` cannot be read; see the detail
    group_unheard,      // `node` answers by its own address, and not what goes to its group
  };
  Kind kind = Kind::round_started;
  MessageName name;
  NodeId node;
  std::uint64_t octets = 0;
  std::chrono::seconds apart{};  // our clock is ahead of the node's by at least this
  std::string detail{};
  GroupId group{};  // of group_unheard; 0: any dynamic one
};

/// A destination has not answered what was sent to it, or is in EMCON and has been sent the message
/// as often as configured. Its message is the first to be suspended when others need the room.
struct Unanswered {
  MessageKey key;
  NodeId node;
};

using MessageEvent =
    std::variant<DestinationEnded, Received, MessageNews, Unanswered, ReceivedPart>;

/// Handed in at the start, for each message that the spool remembers as received:
/// on_known(now, MessageName, expiry). It is acknowledged again, not delivered again.

}  // namespace s5066::p_mul
