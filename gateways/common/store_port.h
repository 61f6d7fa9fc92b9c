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

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::gateways {

/// One accepted file or message; unique in a spool for ever, and grows with age.
struct SpoolId {
  std::int64_t value = 0;
  friend auto operator<=>(const SpoolId&, const SpoolId&) = default;
};

/// Empty if the text is not the number of a file: 1 to 18 digits.
std::optional<SpoolId> parse_spool_id(std::string_view text);

enum class SpoolState : std::uint8_t {
  incoming,   // accepted, never tried
  active,     // an attempt is running, or was when the power went
  deferred,   // waits for its next attempt
  delivered,  // the other side says it has it
  failed,     // given up after too many attempts
  expired,    // given up because of its age
  held,       // waits for the operator
  corrupt,    // cannot be read back; kept for the operator to look at
  count
};
std::string_view to_string(SpoolState state);
Result<SpoolState> parse_spool_state(std::string_view text);
/// No attempt will follow without an operator.
bool is_final(SpoolState state);
/// No attempt will follow: the file was delivered, or given up. Its row stays for a while.
bool is_over(SpoolState state);

/// A change that an operator may ask for. cancel gives a file up for good.
enum class SpoolChange : std::uint8_t { hold, release, retry, cancel, count };
std::string_view to_string(SpoolChange change);
Result<SpoolChange> parse_spool_change(std::string_view text);

/// A row of the spool without its content.
struct SpoolItem {
  SpoolId id;
  Address destination;
  std::string name;
  std::uint32_t size = 0;
  Bytes sha256;              // of the content
  std::uint8_t updu_id = 0;  // from the first attempt on, and the same for all: decision 0001
  SpoolState state = SpoolState::incoming;
  std::uint32_t attempts = 0;  // started so far
  UtcSeconds created;
  UtcSeconds next_try;
  std::string reason;                    // of the last failure, for people
  std::optional<std::uint8_t> priority;  // 0..15; none: that of the relay
};

struct StoreTicket {
  std::uint64_t value = 0;
  friend auto operator<=>(const StoreTicket&, const StoreTicket&) = default;
};

// --- Requests ------------------------------------------------------------------------------------

/// Rows that want sending, oldest first, younger than `after`. Answer: OpenItems.
struct ListOpen {
  SpoolId after;
  std::uint32_t items_max = 0;
};
/// A piece of a file, which is checked as a whole. Answer: Content; `bad_checksum` when the file is
/// not what was accepted, and the row is then parked.
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
};
/// Puts a received file into the inbox. Answer: FileStored.
struct StoreFile {
  Address source;
  SapId source_sap;
  std::uint8_t updu_id = 0;
  std::string name;  // as it was on the air
  std::shared_ptr<const Bytes> content;
  UtcSeconds now;
};
/// Removes rows that have been finished for long. Answer: Saved; an error where some could not be
/// removed, though others have been.
struct Purge {
  UtcSeconds now;
};
/// The clock was set by so much: stored times are moved with it, so that what waits, lives or is
/// remembered for a time does so for as long as before. Files younger than `last` have been handed
/// over by the new clock, and keep theirs. Answer: Saved.
struct MoveTimes {
  std::chrono::seconds step{};
  SpoolId last;
};
using StoreOperation = std::variant<ListOpen, ReadContent, SaveItem, StoreFile, Purge, MoveTimes>;

struct StoreRequest {
  StoreTicket ticket;
  StoreOperation operation;
};

// --- Results -------------------------------------------------------------------------------------

struct OpenItems {
  std::vector<SpoolItem> items;
};
struct Content {
  Bytes octets;
};
struct Saved {
  std::uint8_t updu_id = 0;  // of a file that became active
};
struct FileStored {
  bool repeated = false;   // it was there already; nothing was written
  std::string inbox_name;  // file name in the inbox
};
using StoreAnswer = std::variant<OpenItems, Content, Saved, FileStored>;

struct StoreResult {
  StoreTicket ticket;
  Result<StoreAnswer> answer;
  bool reserve_used = false;  // the disk was full, and gave up the room kept for this
};

}  // namespace s5066::gateways
