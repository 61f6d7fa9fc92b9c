// SPDX-License-Identifier: Apache-2.0
// Parses the requests of an operator to a running s5066d: each is one line of words on its control
// socket.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/control/verbs.h"
#include "s5066d/sap/unidata_queue.h"

namespace s5066::config {

struct StatusAsked {};
struct CountersAsked {};
struct EventsAsked {
  control::EventFilter filter;
};
struct HelpAsked {};
/// Asks the peer of a link for another mode of what we send on it.
struct ModeAsked {
  Address peer;
  modem::Mode mode;
};
struct EmconAsked {
  bool on = false;
};
struct BroadcastAsked {
  bool on = false;
};
struct SapAsked {
  SapId sap;
  bool open = false;
};
/// Sets the level of all that is sent until the next start.
struct LevelAsked {
  double level_db = 0;
};
struct DisconnectAsked {
  ClientId client;
};
struct BreakAsked {
  Address peer;
};
struct QueueAsked {
  sap::UpduFilter filter;
};
/// The filter of a purge has at least one condition.
struct PurgeAsked {
  sap::UpduFilter filter;
};
struct ReloadAsked {};

using ControlRequest =
    std::variant<StatusAsked, CountersAsked, ModeAsked, EmconAsked, BroadcastAsked, SapAsked,
                 DisconnectAsked, BreakAsked, QueueAsked, PurgeAsked, ReloadAsked, EventsAsked,
                 HelpAsked, LevelAsked>;

/// The result is `unsupported` when the first word is no request, and `bad_field` with the syntax
/// of the request when its arguments do not fit it.
/// The book has the names that may stand for addresses.
Result<ControlRequest> parse_control_request(std::string_view line, const AddressBook& book = {});

/// Returns all requests, in the order of the help text.
const std::vector<control::VerbInfo>& control_verbs();
/// Returns the row of the first word of a request that was parsed.
const control::VerbInfo& control_verb_of(std::string_view line);

}  // namespace s5066::config
