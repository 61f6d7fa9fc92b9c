// SPDX-License-Identifier: Apache-2.0
// The requests of the mail core to its spool and their results, all of them values. A request has
// exactly one result, and a result that reports success holds after a power cut.
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

using gateways::SpoolChange;
using gateways::SpoolState;
using gateways::StoreTicket;

/// Number of a message that goes one way. Numbers rise and are never used again in a spool.
struct MailId {
  std::int64_t value = 0;
  friend auto operator<=>(const MailId&, const MailId&) = default;
};

// Limit for the part of a Message-ID that is kept.
inline constexpr std::size_t kLabelOctetsMax = 200;

enum class Transport : std::uint8_t {
  air,   // to stations
  smtp,  // to the mail server of this station
};
std::string_view to_string(Transport transport);

/// A recipient of a new message.
struct NewTarget {
  Path recipient;
  NodeId station;    // 0: the mail server
  std::string mark;  // identifies a repeat; empty if repeats are wanted
};

struct NewMail {
  Transport transport = Transport::air;
  std::uint8_t priority = 6;  // priority of P_MUL
  UtcSeconds expiry;
  UtcSeconds delay;  // when the sender is told of a delay; 0: never
  Path from;
  std::vector<NewTarget> targets;
  std::shared_ptr<const Bytes> content;
  std::string label;    // Message-ID, for people
  std::string came{};   // SMTP client that sent it, for people
  MessageName heard{};  // name on the air, if it came from there
  MailId about{};  // the message that it reports on; 0: no report, or a message outside the spool
};

struct MailTarget {
  std::uint32_t number = 0;
  Path recipient;
  NodeId station;
  /// Sequence in the submission `message_id`; 0: it is no destination of that.
  std::uint32_t sequence = 0;
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
  UtcSeconds finished;                // 0: the target is open
  std::uint32_t message_id = 0;       // 0: not submitted
  std::uint16_t block_octets = 0;     // block size of that submission
  CdtTags tags = CdtTags::implicit_;  // tagging of that submission
  std::string reason;
  std::vector<MailTarget> targets;
  std::shared_ptr<const Bytes> content;  // null if the request did not ask for it
};

/// The origin of a message, and the messages that belong to it.
struct MailCourse {
  MailId first;  // the first of all messages that were made of one, one for each way
  MailId about;
  MessageName heard;
  std::string came;
};

/// The conditions for messages that an operator wants to see.
struct MailFilter {
  bool finished = false;  // includes finished messages
  std::optional<SpoolState> state{};
  std::optional<NodeId> station{};  // with an open target there, or with `finished` any target
  std::string from{};               // address of the sender
};

/// The open messages for a station.
struct WaitingMail {
  std::uint64_t mails = 0;
  std::uint64_t octets = 0;
  UtcSeconds next_try;  // the earliest next try
};

struct StationRow {
  NodeId station;
  std::uint32_t sequence = 0;
  std::uint32_t failures = 0;  // failures in a row
  UtcSeconds dead_until;
  std::string reason;
  UtcSeconds heard{};  // time of the last PDU of the station; 0: none so far
};

/// Gives the next submission of a message a new number, because its octets differ from those of the
/// last one.
inline void renumber(MailItem& item) {
  item.message_id = 0;
  item.block_octets = 0;
  for (MailTarget& target : item.targets) target.sequence = 0;
}

// --- Requests ------------------------------------------------------------------------------------

/// Keeps all messages or none, without targets whose mark is known. With `name` it also keeps that
/// the message came from the air. A name that came before is a repeat if its content is equal or
/// its first message has not expired; no message of a repeat is kept. Answer: MailKept;
/// `queue_full` over the limits of the spool.
struct AcceptMail {
  std::vector<NewMail> mails;
  UtcSeconds now;
  std::optional<MessageName> name;
  UtcSeconds name_expiry;
  Bytes name_content{};  // as received, decompressed
};
/// Takes the most urgent messages that are due and that `room` admits, with content. They become
/// active. Answer: TakenMail.
struct TakeDue {
  Transport transport = Transport::air;
  UtcSeconds now;
  std::uint32_t items_max = 1;
  bool expired_only = false;  // takes expired messages only
  // Limit for the octets of content. The first message is taken whatever its size.
  std::uint64_t octets_max = std::numeric_limits<std::uint64_t>::max();
  std::optional<DeliveryRoom> room{};  // none: room for all
};
/// Keeps the numbers of a submission before the message is handed to P_MUL. Running numbers of an
/// earlier submission are forgotten. Answer: Done.
struct SaveSubmission {
  MailId id;
  std::uint32_t message_id = 0;
  std::uint16_t block_octets = 0;
  std::vector<Destination> destinations;
  CdtTags tags = CdtTags::implicit_;
};
/// Keeps the end of an attempt, or of a part of it. A message without open targets is finished. An
/// active one waits for `next_try`; without `next_try` it stays active. A held message stays held.
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
  bool forget_submission = false;  // the next submission gets a new number
  UtcSeconds now;
  std::vector<NewMail> reports;
};
/// Takes messages that are late and whose senders are to be told, with content; states stay as they
/// are. Answer: TakenMail.
struct TakeDelayed {
  UtcSeconds now;
  std::uint32_t items_max = 1;
};
/// Keeps that the sender was told of a delay, so that the report is not repeated. Answer: Done.
struct SaveDelayed {
  MailId id;
  UtcSeconds now;
  std::vector<NewMail> reports;
};
struct SaveStation {
  StationRow row;  // its sequence is ignored
};
/// Makes mail by air due that waits for its next try: mail for one station, or all mail for station
/// 0. Answer: Done.
struct WakeMail {
  NodeId station;
  UtcSeconds now;
};
/// Call at the start. Active messages wait again. If the clock has been put back since NoteClock,
/// the times for which messages wait are put back with it. Answer: Resumed.
struct Resume {
  UtcSeconds now;
};
/// Call from time to time. `step` is the change of the clock since the last call. All stored times
/// are moved by it, so that waits keep their length. Answer: Done.
struct NoteClock {
  UtcSeconds now;
  std::chrono::seconds step{};
};
/// Deletes messages, marks and numbers that are old enough. Answer: Done, or PurgedInPart.
struct PurgeMail {
  enum class Part : std::uint8_t {
    mails,
    marks,     // marks that identify repeats from SMTP
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

/// Numbers in the order of AcceptMail; 0 if every target was a repeat.
struct MailKept {
  enum class Repeat : std::uint8_t {
    none,
    same,   // the message is a repeat from the air
    other,  // another message has this number, which is still in use
  };
  std::vector<MailId> ids;
  Repeat repeat = Repeat::none;
  MailId repeat_of{};  // the first message, if all targets were known and the spool still has it
};
struct TakenMail {
  std::vector<MailItem> items;
  std::optional<UtcSeconds> next_delay{};  // for TakeDelayed: when the next message is late
};
struct Resumed {
  std::uint32_t last_message_id = 0;
  std::vector<StationRow> stations;
  std::vector<std::pair<MessageName, UtcSeconds>> received;
};
struct Done {};
/// More is left to delete.
struct PurgedInPart {};
using MailAnswer = std::variant<MailKept, TakenMail, Resumed, Done, PurgedInPart>;

/// A message whose content is not what was accepted. It is parked until an operator asks for a
/// retry or cancels it.
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
