// SPDX-License-Identifier: Apache-2.0
#include "config/control_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

namespace s5066::config {
namespace {

using Words = std::vector<std::string_view>;
using Parsed = std::optional<Result<ControlRequest>>;

/// A verb is one request: its syntax, its purpose and its parser.
struct Verb {
  std::string_view name;
  std::string_view arguments;
  std::string_view purpose;
  /// Returns nothing when the arguments do not fit, and an error when an argument gives the reason.
  Parsed (*parse)(const Words& arguments);
};

template <typename Number>
std::optional<Number> number_of(std::string_view text, Number max) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number > max) return std::nullopt;
  return number;
}

Result<Address> station(std::string_view text) {
  const auto address = parse_address(text);
  if (address && address->group) return Error{ErrorCode::bad_field, "a group has no link"};
  return address;
}

template <typename Asked>
Parsed nothing_more(const Words& arguments) {
  if (!arguments.empty()) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(Asked{}));
}

template <typename Asked>
Parsed on_or_off(const Words& arguments) {
  if (arguments.size() != 1 || (arguments[0] != "on" && arguments[0] != "off")) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(Asked{arguments[0] == "on"}));
}

Parsed mode(const Words& arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const auto peer = station(arguments[0]);
  if (!peer) return Result<ControlRequest>(peer.error());
  const auto mode = modem::parse_mode(arguments[1]);
  if (!mode) return Result<ControlRequest>(mode.error());
  return Result<ControlRequest>(ControlRequest(ModeAsked{*peer, *mode}));
}

Parsed sap(const Words& arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const auto number = number_of<std::uint8_t>(arguments[0], SapId::kMax);
  const bool word = arguments[1] == "open" || arguments[1] == "shut";
  if (!number || !word) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(SapAsked{SapId{*number}, arguments[1] == "open"}));
}

Parsed disconnect(const Words& arguments) {
  if (arguments.size() != 1) return std::nullopt;
  const auto id = number_of(arguments[0], std::numeric_limits<std::uint32_t>::max());
  if (!id) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(DisconnectAsked{ClientId{*id}}));
}

Parsed break_link(const Words& arguments) {
  if (arguments.size() != 1) return std::nullopt;
  const auto peer = station(arguments[0]);
  if (!peer) return Result<ControlRequest>(peer.error());
  return Result<ControlRequest>(ControlRequest(BreakAsked{*peer}));
}

/// Parses the conditions "id=17", "client=3" and "to=1.2.3.4"; each may occur once.
std::optional<Result<sap::UpduFilter>> filter_of(const Words& arguments) {
  sap::UpduFilter filter;
  for (const std::string_view word : arguments) {
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(0, sign);
    const std::string_view value = word.substr(sign + 1);
    if (name == "id" && !filter.id) {
      const auto id = number_of(value, std::numeric_limits<std::uint64_t>::max());
      if (!id) return std::nullopt;
      filter.id = UpduId{*id};
    } else if (name == "client" && !filter.client) {
      const auto id = number_of(value, std::numeric_limits<std::uint32_t>::max());
      if (!id) return std::nullopt;
      filter.client = ClientId{*id};
    } else if (name == "to" && !filter.destination) {
      const auto address = parse_address(value);
      if (!address) return Result<sap::UpduFilter>(address.error());
      filter.destination = *address;
    } else {
      return std::nullopt;
    }
  }
  return Result<sap::UpduFilter>(filter);
}

template <typename Asked>
Parsed filtered(const Words& arguments) {
  const auto filter = filter_of(arguments);
  if (!filter) return std::nullopt;
  if (!*filter) return Result<ControlRequest>(filter->error());
  return Result<ControlRequest>(ControlRequest(Asked{**filter}));
}

Parsed purge(const Words& arguments) {
  if (arguments.empty()) return std::nullopt;
  return filtered<PurgeAsked>(arguments);
}

constexpr std::array<Verb, 11> kVerbs = {{
    {"status", "", "the status of node, links and clients", nothing_more<StatusAsked>},
    {"counters", "", "all counters with their meaning", nothing_more<CountersAsked>},
    {"emcon", "on|off", "radio silence; nothing is transmitted while it is on",
     on_or_off<EmconAsked>},
    {"broadcast", "on|off", "begin or end a broadcast session, which has no links and no ARQ",
     on_or_off<BroadcastAsked>},
    {"sap", "0..15 open|shut", "allow or forbid binds to the SAP; shut also unbinds its client",
     sap},
    {"disconnect", "CLIENT", "end the connection of a client, by its number in `status`",
     disconnect},
    {"break", "ADDRESS", "end the link with a station", break_link},
    {"queue", "[id=N] [client=N] [to=ADDRESS]", "list the U_PDUs that are not finished",
     filtered<QueueAsked>},
    {"purge", "[id=N] [client=N] [to=ADDRESS]",
     "reject the queued U_PDUs that match; needs at least one condition", purge},
    {"mode", "ADDRESS MODE", "ask a linked station to accept this mode for our transmissions to it",
     mode},
    {"reload", "", "read configuration and certificates again", nothing_more<ReloadAsked>},
}};

std::string written(const Verb& verb) {
  std::string text(verb.name);
  if (!verb.arguments.empty()) text.append(" ").append(verb.arguments);
  return text;
}

}  // namespace

Result<ControlRequest> parse_control_request(std::string_view line) {
  Words words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  const auto verb = std::find_if(kVerbs.begin(), kVerbs.end(), [&words](const Verb& known) {
    return !words.empty() && known.name == words.front();
  });
  if (verb == kVerbs.end()) {
    std::string names;
    for (const Verb& known : kVerbs) names.append(names.empty() ? "" : ", ").append(known.name);
    return Error{ErrorCode::unsupported, "requests are " + names};
  }
  words.erase(words.begin());
  if (const Parsed parsed = verb->parse(words)) return *parsed;
  return Error{ErrorCode::bad_field, "the request is `" + written(*verb) + "`"};
}

std::string control_synopsis() {
  std::string text;
  for (const Verb& verb : kVerbs) {
    std::string line = "  " + written(verb);
    line.resize(std::max<std::size_t>(line.size() + 2, 46), ' ');
    text.append(line).append(verb.purpose).append("\n");
  }
  return text;
}

}  // namespace s5066::config
