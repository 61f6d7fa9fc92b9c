// SPDX-License-Identifier: Apache-2.0
// The requests of an operator that s5066d answers besides those of every daemon: each is one line
// of words on its control socket.
#pragma once

#include <optional>
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
    std::variant<StatusAsked, ModeAsked, EmconAsked, BroadcastAsked, SapAsked, DisconnectAsked,
                 BreakAsked, QueueAsked, PurgeAsked, ReloadAsked, LevelAsked>;

/// A request and the parser of its arguments.
struct ControlVerb {
  control::VerbInfo info;
  /// Returns nothing if the arguments do not fit, and an error if an argument gives the reason. The
  /// book has the names that may stand for addresses.
  std::optional<Result<ControlRequest>> (*parse)(const control::Words& arguments,
                                                 const AddressBook& book);
};
/// Returns all of these requests, in the order of the help text.
const std::vector<ControlVerb>& control_verbs();

/// Parses a whole line. The error is `unsupported` if the first word is none of these requests, and
/// `bad_field` with the syntax of the request if its arguments do not fit.
Result<ControlRequest> parse_control_request(std::string_view line, const AddressBook& book = {});

}  // namespace s5066::config
