// SPDX-License-Identifier: Apache-2.0
// Durable storage as a gateway core sees it: values out, values in. One writer thread serves it;
// a request has exactly one result, and what a result calls saved survives a power cut.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateways/common/inbox_types.h"
#include "gateways/common/range_set.h"
#include "gateways/common/transfer_manifest.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::gateways {

/// Names one accepted file or message. It is unique in a spool for ever, and grows with age.
struct SpoolId {
  std::int64_t value = 0;
  friend auto operator<=>(const SpoolId&, const SpoolId&) = default;
};

/// Returns nothing if the text is not the number of a file: 1 to 18 digits.
std::optional<SpoolId> parse_spool_id(std::string_view text);

enum class SpoolState : std::uint8_t {
  incoming,   // the file was accepted and never tried
  active,     // an attempt is running, or was when the power went
  deferred,   // the file waits for its next attempt
  delivered,  // the other side says it has the file
  failed,     // the file was given up after too many attempts
  expired,    // the file was given up because of its age
  held,       // the file waits for the operator
  corrupt,    // the file cannot be read back, and is kept for the operator to look at
  sent,       // the file went without acknowledgement, so nobody says whether it has arrived
  count
};
std::string_view to_string(SpoolState state);
Result<SpoolState> parse_spool_state(std::string_view text);
/// True if no attempt will follow without an operator.
bool is_final(SpoolState state);
/// True if no attempt will follow: the file was delivered, sent, or given up. Its row stays for a
/// while.
bool is_over(SpoolState state);

/// A change that an operator may ask for. cancel gives a file up for good.
enum class SpoolChange : std::uint8_t { hold, release, retry, cancel, count };
std::string_view to_string(SpoolChange change);
Result<SpoolChange> parse_spool_change(std::string_view text);

/// Tells how much of a file is certain to arrive.
enum class FileGrade : std::uint8_t {
  reliable,  // all octets arrive
  head,      // the first octets arrive; the rest goes once, and may arrive with holes
  /// The file goes once with parity and without acknowledgement, and arrives whole or not at all.
  coded,
  best_effort,  // the file goes once, and may arrive with holes
  count
};
std::string_view to_string(FileGrade grade);
Result<FileGrade> parse_file_grade(std::string_view text);

/// A coded file has so much parity, in percent of its octets, if nobody says otherwise.
inline constexpr std::uint8_t kStrengthPercent = 50;
inline constexpr std::uint8_t kStrengthPercentMax = 60;  // limit for the parity of the erasure code

/// The grade of a file with its settings.
struct GradeSettings {
  FileGrade grade = FileGrade::reliable;
  std::uint8_t strength_percent = 0;  // parity of the octets that go without acknowledgement
  std::uint32_t head_octets = 0;      // with FileGrade::head, at least 1
  friend bool operator==(const GradeSettings&, const GradeSettings&) = default;
};
/// Returns the first problem, if any.
Result<void> validate(const GradeSettings& settings);

/// Facts about a file that goes by P_MUL.
struct PMulFacts {
  SpoolId first;  // row that names the message; its rows for several stations have the same
  /// Number of the message with acknowledgement; the message without has the next.
  std::uint32_t message_id = 0;
  std::uint32_t sequence = 0;  // counts the messages for the station
  GradeSettings grade;
};

/// The room that the files of one other station may take here, in octets.
struct StationQuota {
  std::uint64_t inbox_octets_max = UINT64_MAX;     // octets of its files that lie in the inbox
  std::uint64_t arriving_octets_max = UINT64_MAX;  // octets of its files that have begun to arrive
};

/// Limits of the files that wait for one station, in octets.
struct SendLimits {
  std::uint32_t file_octets_max = UINT32_MAX;     // limit of one file
  std::uint64_t waiting_octets_max = UINT64_MAX;  // limit of all files that are not over
};

/// A row of the spool without its content.
struct SpoolItem {
  SpoolId id;
  Address destination;
  std::string name;
  std::uint32_t size = 0;
  Bytes sha256;              // hash of the content
  std::uint8_t updu_id = 0;  // set by the first attempt, and the same for all: decision 0001
  SpoolState state = SpoolState::incoming;
  std::uint32_t attempts = 0;  // attempts that were started so far
  UtcSeconds created;
  UtcSeconds next_try;
  std::string reason;                    // text about the last failure, for people
  std::optional<std::uint8_t> priority;  // 0..15; none: the priority of the relay
  std::optional<PMulFacts> p_mul{};      // none: the file goes to its station alone, by RCOP
};

struct StoreTicket {
  std::uint64_t value = 0;
  friend auto operator<=>(const StoreTicket&, const StoreTicket&) = default;
};

// --- Requests ------------------------------------------------------------------------------------

/// Lists rows that want sending, oldest first, younger than `after`. Answer: OpenItems.
struct ListOpen {
  SpoolId after;
  std::uint32_t items_max = 0;
  bool by_p_mul = false;  // only rows that go by P_MUL, or only the others
};
/// Reads a piece of a file, which is checked as a whole. Answer: Content; `bad_checksum` when the
/// file is not what was accepted, and the row is then parked.
struct ReadContent {
  SpoolId id;
  std::uint64_t offset = 0;
  std::size_t octets_max = SIZE_MAX;
};
/// Changes a row. Answer: Saved. A row that is over gives up its content. When the first attempt of
/// a file becomes active, the file gets its U_PDU_ID; `refused` when none is free, because too many
/// files for the station have been tried and are not over.
struct SaveItem {
  SpoolId id;
  SpoolState state = SpoolState::deferred;
  std::uint32_t attempts = 0;
  UtcSeconds next_try;
  UtcSeconds now;
  std::string reason;
  bool without_updu_id = false;  // the file goes by P_MUL
};
/// Puts a received file into the inbox. Answer: FileStored; `refused` if the quota is used up.
struct StoreFile {
  Address source;
  SapId source_sap;
  std::uint8_t updu_id = 0;
  std::string name;  // name on the air
  std::shared_ptr<const Bytes> content;
  UtcSeconds now;
  std::int64_t mtime = 0;  // UTC seconds; 0 if unknown
  std::uint16_t mode = 0;  // permissions; 0 if unknown
  bool folders = false;    // the name may have folders in it
  StationQuota quota{};
};
/// Removes rows that have been finished for long. Answer: Saved; an error where some could not be
/// removed, though others have been.
struct Purge {
  UtcSeconds now;
};
/// Moves the stored times, because the clock was set by so much. Files then wait, live and are
/// remembered for as long as before. Files younger than `last` have been handed over by the new
/// clock, and keep their times. Answer: Saved.
struct MoveTimes {
  std::chrono::seconds step{};
  SpoolId last;
};

// --- Requests of the transfer service ------------------------------------------------------------

/// Makes the octets on the air of a file, unless they are made already. Answer: ImageReady.
struct PrepareImage {
  SpoolId id;
  /// Signature of the file `base`; null: no difference is made.
  std::shared_ptr<const Bytes> signature;
  Bytes base;
  bool without_delta = false;  // throws away a difference that was made
  bool plain = false;          // the octets on the air are the file
};
/// Reads a piece of the octets on the air. Answer: Content, as for ReadContent.
struct ReadImage {
  SpoolId id;
  std::uint64_t offset = 0;
  std::size_t octets_max = SIZE_MAX;
};
/// Names a transfer at its receiver.
struct TransferKey {
  Address source;
  std::uint32_t number = 0;
  friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
};
/// Begins a transfer that another station offers, or goes on with it. Answer: TransferNews.
struct OpenTransfer {
  TransferKey key;
  SapId source_sap;
  std::uint8_t updu_id = 0;  // U_PDU_ID of the same file by BFTP
  TransferManifest manifest;
  bool wants_signature = false;
  UtcSeconds now;
  StationQuota quota{};
};
/// Keeps blocks of an open transfer. Answer: Saved; `not_found` if the transfer is not open.
struct SaveBlocks {
  struct Block {
    std::uint32_t at = 0;
    Bytes octets;
  };
  TransferKey key;
  std::shared_ptr<const std::vector<Block>> blocks;
  UtcSeconds now;
};
/// Puts the file of a transfer that has all its octets into the inbox. Answer: TransferNews.
struct FinishTransfer {
  TransferKey key;
  UtcSeconds now;
  StationQuota quota{};
};
/// Forgets an open transfer and its octets. Answer: Saved.
struct DropTransfer {
  TransferKey key;
};
/// Lists the open transfers, the youngest first. Answer: OpenTransfers.
struct ListTransfers {
  std::uint32_t transfers_max = 0;
};

/// Looks for a file that is not over. Answer: OpenItems.
struct FindOpen {
  SpoolId id;
  Address destination;
};
/// Releases a file that is held because its station suspended it. Answer: OpenItems, with the row
/// if it was released.
struct ReleaseSuspended {
  SpoolId id;
  Address destination;
  UtcSeconds now;
};
/// Files that are held because their station suspended them have this reason.
inline constexpr std::string_view kSuspendedThere = "suspended by the other station";

// --- Requests of files by P_MUL ------------------------------------------------------------------

/// Keeps what a message has brought of a file, and puts the file into the inbox if nothing is
/// missing, or if it may have holes and this was the last of it. Answer: TransferNews; `not_found`
/// if a manifest is missing and the file is not known.
struct TakeMessage {
  TransferKey key;
  std::uint32_t message_id = 0;
  UtcSeconds expiry;
  bool whole = false;  // the message is complete
  /// The message wants no acknowledgement, and the rest of the file ends with it. Otherwise the
  /// message is remembered, so that it is acknowledged again.
  bool last = false;
  bool holes = false;  // the file may have holes; set with a manifest
  bool head = false;   // the file has a message with acknowledgement, too; set with a manifest
  std::optional<TransferManifest> manifest;
  std::shared_ptr<const std::vector<SaveBlocks::Block>> blocks;
  UtcSeconds now;
  StationQuota quota{};
};
/// Ends files of which nothing more has come by their time: with holes if they may have these,
/// otherwise they are forgotten. One that cannot be ended holds up no others; it is tried with the
/// next request. Answer: FilesEnded; an error if none could be ended.
struct EndOverdue {
  UtcSeconds now;
};
/// Lists messages that were taken and have not expired. Answer: KnownNames.
struct ListNames {
  UtcSeconds now;
};

// --- Requests about the inbox, of other stations -------------------------------------------------

/// Lists entries of a folder from `first` on, in the order of their names. Answer: InboxListing.
struct ListInbox {
  std::string path;
  std::uint32_t first = 0;
  std::size_t entries_max = 0;
};
/// Describes one entry, with its digest. Answer: InboxListing.
struct StatInbox {
  std::string path;
};
/// Removes a file or an empty folder. Answer: InboxListing without entries.
struct RemoveFromInbox {
  std::string path;
};
/// Puts a file of the inbox into the spool for a station, once for each request. Answer:
/// InboxListing without entries.
struct SendFromInbox {
  std::string path;
  Address to;
  std::uint32_t request = 0;
  UtcSeconds now;
};

using StoreOperation =
    std::variant<ListOpen, ReadContent, SaveItem, StoreFile, Purge, MoveTimes, PrepareImage,
                 ReadImage, OpenTransfer, SaveBlocks, FinishTransfer, DropTransfer, ListTransfers,
                 ListInbox, StatInbox, RemoveFromInbox, SendFromInbox, FindOpen, ReleaseSuspended,
                 TakeMessage, EndOverdue, ListNames>;

struct StoreRequest {
  StoreTicket ticket;
  StoreOperation operation;
};

// --- Results -------------------------------------------------------------------------------------

struct OpenItems {
  std::vector<SpoolItem> items;
  std::vector<SpoolId> parked{};  // rows that cannot be read, now `corrupt`
};
struct Content {
  Bytes octets;
};
struct Saved {
  std::uint8_t updu_id = 0;  // U_PDU_ID of a file that became active
};
struct FileStored {
  bool repeated = false;   // the file was there already; nothing was written
  std::string inbox_name;  // file name in the inbox
};
struct ImageReady {
  TransferManifest manifest;  // manifest without expiry and priority
  bool known_there = false;   // a file of this name or content was delivered to the station before
};
struct TransferNews {
  enum class State : std::uint8_t {
    open,     // the octets `have` are on the disk
    done,     // the file is in the inbox
    no_room,  // the limits of the station or of the disk do not allow it now
    bad,      // the octets that arrived are not those of the offer, again
    no_base   // the file against which the difference was made is no longer there
  };
  State state = State::open;
  RangeSet have;
  bool had_it = false;     // with `done`: the content was there before
  bool repeated = false;   // with `done`: the transfer was done before
  std::string inbox_name;  // with `done`: name of the file
  std::string text;        // reason of a failure
  Bytes base;              // SHA-256 of an older file
  Bytes signature;         // signature of that file; empty if there is none
  std::string name;        // name of the file, in answers about P_MUL
  std::uint32_t size = 0;  // size of the file, in answers about P_MUL
  Bytes sha256;            // hash of the file, in answers about P_MUL
  RangeSet holes;          // with `done`: octets that the file lacks
  /// The time when the file was offered first, if it is done.
  std::optional<UtcSeconds> begun = std::nullopt;
};
struct OpenTransfers {
  struct Transfer {
    TransferKey key;
    std::uint8_t updu_id = 0;
    TransferManifest manifest;
    RangeSet have;
    UtcSeconds begun{};
  };
  std::vector<Transfer> transfers;
};
struct InboxListing {
  struct Item {
    InboxItem entry;
    Bytes sha256;  // set in the answer to StatInbox only
  };
  std::vector<Item> entries;
  std::uint32_t total = 0;  // number of all entries of the folder
};
struct FilesEnded {
  struct File {
    TransferKey key;
    TransferNews news;
  };
  std::vector<File> files;
};
struct KnownNames {
  struct Name {
    Address source;
    std::uint32_t message_id = 0;
    UtcSeconds expiry;
  };
  std::vector<Name> names;
};
using StoreAnswer = std::variant<OpenItems, Content, Saved, FileStored, ImageReady, TransferNews,
                                 OpenTransfers, InboxListing, FilesEnded, KnownNames>;

struct StoreResult {
  StoreTicket ticket;
  Result<StoreAnswer> answer;
  bool reserve_used = false;  // the disk was full, so the reserve for this was given up
};

}  // namespace s5066::gateways
