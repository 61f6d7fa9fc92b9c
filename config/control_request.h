// Requests of an operator to a running s5066d on its control socket: one line of words.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "modem/api/modes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/sap/unidata_queue.h"

namespace s5066::config {

struct StatusAsked {};
struct CountersAsked {};
/// Of a link, for what we send.
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
struct DisconnectAsked {
  ClientId client;
};
struct BreakAsked {
  Address peer;
};
struct QueueAsked {
  sap::UpduFilter filter;
};
/// The filter says something.
struct PurgeAsked {
  sap::UpduFilter filter;
};
struct ReloadAsked {};

using ControlRequest =
    std::variant<StatusAsked, CountersAsked, ModeAsked, EmconAsked, BroadcastAsked, SapAsked,
                 DisconnectAsked, BreakAsked, QueueAsked, PurgeAsked, ReloadAsked>;

/// `unsupported` where the first word is no request, `bad_field` with how it is written where the
/// others do not fit it.
Result<ControlRequest> parse_control_request(std::string_view line);

/// One line for each request, for people.
std::string control_synopsis();

}  // namespace s5066::config
