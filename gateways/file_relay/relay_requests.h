// SPDX-License-Identifier: Apache-2.0
// The requests of an operator to the relay: their verbs, and the words that stand for a file to
// send and for the rows to list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/control/verbs.h"

namespace s5066::file_relay {

extern const control::VerbInfo kStatusVerb;
extern const control::VerbInfo kIncomingVerb;
extern const control::VerbInfo kReceivedVerb;
extern const control::VerbInfo kQueueVerb;
extern const control::VerbInfo kShowVerb;
extern const control::VerbInfo kPutVerb;
/// Returns the verb of a change of one file.
control::VerbInfo change_verb(gateways::SpoolChange change);

/// A file to send. Its content is a sealed memory file, whose descriptor comes with the request.
struct PutRequest {
  std::string name;
  std::int64_t mtime = 0;  // UTC seconds, 0 to 4,294,967,295
  std::uint16_t mode = 0;  // permissions, at most 0777
  std::vector<Address> to;
  std::optional<std::uint8_t> priority = std::nullopt;  // 0..15; none: that of the relay
  gateways::GradeSettings grade{};
  friend bool operator==(const PutRequest&, const PutRequest&) = default;
};
/// Returns the request line.
std::string to_line(const PutRequest& request);
/// Returns nothing if a word is wrong.
std::optional<PutRequest> parse_put(const control::Words& arguments);

/// Parses "all=1 state=deferred station=1.2.3.4", each word where it is wanted.
Result<gateways::ListFilter> parse_list_filter(const control::Words& arguments,
                                               const AddressBook& book);

/// Returns nothing if the text is no decimal number below 2^32.
std::optional<std::uint32_t> parse_number(std::string_view text);

/// Returns the parts between the commas, in order; a text without a comma is one part.
std::vector<std::string_view> split_at_commas(std::string_view text);

/// Turns any text into one word of a request, and back. from_percent() returns nothing if no text
/// has this word.
std::string to_percent(std::string_view text);
std::optional<std::string> from_percent(std::string_view word);

}  // namespace s5066::file_relay
