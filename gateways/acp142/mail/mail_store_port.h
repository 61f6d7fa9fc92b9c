// SPDX-License-Identifier: Apache-2.0
// The requests of the mail core to its spool and their results, all values. A request has exactly
// one result, and what a result calls done survives a power cut.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gateways/acp142/mail/cdt.h"
#include "gateways/acp142/mail/delivery_room.h"
#include "gateways/acp142/mail/mail_types.h"
#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/common/store_port.h"

namespace s5066::acp142 {

using gateways::SpoolState;
using gateways::StoreTicket;

/// One message that goes one way; unique in a spool for ever, and grows with age.
struct MailId {
  std::int64_t value = 0;
  friend auto operator<=>(const MailId&, const MailId&) = default;
};

inline constexpr std::size_t kLabelOctetsMax = 200;  // of a Message-ID that is kept

enum class Transport : std::uint8_t {
  air,   // to stations
  smtp,  // to the mail server of this station
};
std::string_view to_string(Transport transport);

/// A recipient of a new message.
struct NewTarget {
  Path recipient;
  NodeId station;    // 0: to the mail server
  std::string mark;  // by which a repeat is known; empty where repeats are wanted
};

struct NewMail {
  Transport transport = Transport::air;
  std::uint8_t priority = 6;  // as P_MUL counts it
  UtcSeconds expiry;
  UtcSeconds delay;  // when to tell the sender that it is late; 0: never
  Path from;
  std::vector<NewTarget> targets;
  std::shared_ptr<const Bytes> content;
  std::string label;    // for people: the Message-ID
  std::string came{};   // from which client by SMTP, for people
  MessageName heard{};  // how it was called on the air, if it came from there
  MailId about{};  // the message that it reports on; 0: it is no report, or on none in the spool
};

struct MailTarget {
  std::uint32_t number = 0;
  Path recipient;
  NodeId station;
  std::uint32_t sequence = 0;  // of the submission `message_id`; 0: not among its destinations
  SpoolState state = SpoolState::incoming;
  std::string reason;
};
inline bool is_open(const MailTarget& target) {
  return !gateways::is_final(target.state);
}

struct MailItem {
  MailId id;
  Transport transport = Transport::air;
  SpoolState state = SpoolState::incoming;
  std::uint8_t priority = 0;
  Path from;
  std::string label;
  std::uint64_t size = 0;
  std::uint32_t attempts = 0;
  UtcSeconds created;
  UtcSeconds expiry;
  UtcSeconds next_try;
  UtcSeconds finished;                // 0: it is not
  std::uint32_t message_id = 0;       // 0: not submitted
  std::uint16_t block_octets = 0;     // with which it was
  CdtTags tags = CdtTags::implicit_;  // the same
  std::string reason;
  std::vector<MailTarget> targets;
  std::shared_ptr<const Bytes> content;  // null where it was not asked for
};

/// The origin of a message, and what belongs to it.
struct MailCourse {
  MailId first;  // of all that were made of one message, one for each way
  MailId about;
  MessageName heard;
  std::string came;
};

/// The messages that an operator wants to see.
struct MailFilter {
  bool finished = false;  // those, too
  std::optional<SpoolState> state{};
  std::optional<NodeId> station{};  // something for it is open; with `finished`, or was
  std::string from{};               // the address of the sender
};

/// The messages that are open for a station.
struct WaitingMail {
  std::uint64_t mails = 0;
  std::uint64_t octets = 0;
  UtcSeconds next_try;  // the first
};

struct StationRow {
  NodeId station;
  std::uint32_t sequence = 0;
  std::uint32_t failures = 0;  // in a row
  UtcSeconds dead_until;
  std::string reason;
  UtcSeconds heard{};  // the last PDU of the station; 0: none so far
};

/// Its next submission has a number of its own, because its octets differ from those of the last.
inline void renumber(MailItem& item) {
  item.message_id = 0;
  item.block_octets = 0;
  for (MailTarget& target : item.targets) target.sequence = 0;
}

/// The changes that an operator may make to a message.
enum class OperatorVerb : std::uint8_t { hold, release, requeue, remove };

// --- Requests ------------------------------------------------------------------------------------

/// Keeps all of it or nothing; targets whose mark is known are left out. With `name` also that the
/// message came from the air, and nothing else of one that did before: with the same content, or
/// before the time of the first was over. Answer: MailKept; `queue_full` over the limits of the
/// spool.
struct AcceptMail {
  std::vector<NewMail> mails;
  UtcSeconds now;
  std::optional<MessageName> name;
  UtcSeconds name_expiry;
  Bytes name_content{};  // as it came, but for compression
};
/// The most urgent that are due and that `room` admits, with content; they become active. Answer:
/// TakenMail.
struct TakeDue {
  Transport transport = Transport::air;
  UtcSeconds now;
  std::uint32_t items_max = 1;
  bool expired_only = false;  // of these only what is too late by now
  // Limit for the octets of content. The first message is taken whatever its size.
  std::uint64_t octets_max = std::numeric_limits<std::uint64_t>::max();
  std::optional<DeliveryRoom> room{};  // none: for all
};
/// Before a message is handed to P_MUL. Running numbers of another submission are forgotten.
/// Answer: Done.
struct SaveSubmission {
  MailId id;
  std::uint32_t message_id = 0;
  std::uint16_t block_octets = 0;
  std::vector<Destination> destinations;
  CdtTags tags = CdtTags::implicit_;
};
/// The end of an attempt, or of a part of it. A message without open targets is finished; an active
/// one waits for `next_try`, without that it stays active. What an operator has held stays held.
/// Answer: Done.
struct SaveOutcome {
  struct Change {
    std::uint32_t number = 0;
    SpoolState state = SpoolState::deferred;
    std::string reason;
  };
  MailId id;
  std::vector<Change> changes;
  std::optional<UtcSeconds> next_try;
  bool counts_as_attempt = false;
  bool forget_submission = false;  // the next one has a number of its own
  UtcSeconds now;
  std::vector<NewMail> reports;
};
/// Takes messages whose senders are to be told that they are late, with content; states stay as
/// they are. Answer: TakenMail.
struct TakeDelayed {
  UtcSeconds now;
  std::uint32_t items_max = 1;
};
/// He has been, once. Answer: Done.
struct SaveDelayed {
  MailId id;
  UtcSeconds now;
  std::vector<NewMail> reports;
};
struct SaveStation {
  StationRow row;  // but for the sequence
};
/// Mail by air that waits for its next try is due now: that for one station, or all of it for
/// station 0. Answer: Done.
struct WakeMail {
  NodeId station;
  UtcSeconds now;
};
/// At the start: what was active waits again. If the clock has been put back since NoteClock, what
/// waits for a time is moved with it. Answer: Resumed.
struct Resume {
  UtcSeconds now;
};
/// Now and then. `step` is by how much the clock was set since the last: all that waits for a time,
/// or was done at one, is moved with it, so that it waits for as long as it would have. Answer:
/// Done.
struct NoteClock {
  UtcSeconds now;
  std::chrono::seconds step{};
};
/// Forgets what has been finished, or known, for long enough. Answer: Done, or PurgedInPart.
struct PurgeMail {
  enum class Part : std::uint8_t {
    mails,
    marks,     // by which repeats from SMTP are known
    received,  // numbers from the air
  };
  UtcSeconds now;
  Part part = Part::mails;
};
using MailOperation =
    std::variant<AcceptMail, TakeDue, SaveSubmission, SaveOutcome, TakeDelayed, SaveDelayed,
                 SaveStation, WakeMail, Resume, PurgeMail, NoteClock>;

struct MailRequest {
  StoreTicket ticket;
  MailOperation operation;
};

// --- Results -------------------------------------------------------------------------------------

/// In the order of AcceptMail; 0 where every target was a repeat.
struct MailKept {
  enum class Repeat : std::uint8_t {
    none,
    same,   // from the air once more
    other,  // another under a number that is still that of the first
  };
  std::vector<MailId> ids;
  Repeat repeat = Repeat::none;
  MailId
      repeat_of{};  // where all of it was known: the message that was first, if it is still there
};
struct TakenMail {
  std::vector<MailItem> items;
  std::optional<UtcSeconds> next_delay{};  // of TakeDelayed: when the next one is late
};
struct Resumed {
  std::uint32_t last_message_id = 0;
  std::vector<StationRow> stations;
  std::vector<std::pair<MessageName, UtcSeconds>> received;
};
struct Done {};
/// There is more than is deleted in one go.
struct PurgedInPart {};
using MailAnswer = std::variant<MailKept, TakenMail, Resumed, Done, PurgedInPart>;

/// A message that was not what was accepted, so that it was parked. It stays as it is until an
/// operator requeues or deletes it.
struct MailTrouble {
  MailId id;
  std::string reason;
};

struct MailResult {
  StoreTicket ticket;
  Result<MailAnswer> answer;
  std::vector<MailTrouble> parked{};
  bool reserve_used = false;  // the disk is full, and nothing new is taken
};

}  // namespace s5066::acp142
