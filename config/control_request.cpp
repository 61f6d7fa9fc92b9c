// SPDX-License-Identifier: Apache-2.0
#include "config/control_request.h"

#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "config/proto/control.pb.h"
#include "modem/api/port.h"

namespace s5066::config {
namespace {

using control::answered_by;
using control::Words;
using Parsed = std::optional<Result<ControlRequest>>;

template <typename Number>
std::optional<Number> number_of(std::string_view text, Number max) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number > max) return std::nullopt;
  return number;
}

Result<Address> station(std::string_view text, const AddressBook& book) {
  const auto address = book.find(text);
  if (address && address->group) return Error{ErrorCode::bad_field, "a group has no link"};
  return address;
}

template <typename Asked>
Parsed nothing_more(const Words& arguments, const AddressBook&) {
  if (!arguments.empty()) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(Asked{}));
}

template <typename Asked>
Parsed on_or_off(const Words& arguments, const AddressBook&) {
  if (arguments.size() != 1 || (arguments[0] != "on" && arguments[0] != "off")) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(Asked{arguments[0] == "on"}));
}

Parsed mode(const Words& arguments, const AddressBook& book) {
  if (arguments.size() != 2) return std::nullopt;
  const auto peer = station(arguments[0], book);
  if (!peer) return Result<ControlRequest>(peer.error());
  const auto mode = modem::parse_mode(arguments[1]);
  if (!mode) return Result<ControlRequest>(mode.error());
  return Result<ControlRequest>(ControlRequest(ModeAsked{*peer, *mode}));
}

Parsed sap(const Words& arguments, const AddressBook&) {
  if (arguments.size() != 2) return std::nullopt;
  const auto number = number_of<std::uint8_t>(arguments[0], SapId::kMax);
  const bool word = arguments[1] == "open" || arguments[1] == "shut";
  if (!number || !word) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(SapAsked{SapId{*number}, arguments[1] == "open"}));
}

Parsed level(const Words& arguments, const AddressBook&) {
  if (arguments.size() != 1) return std::nullopt;
  double level_db = 0;
  const char* const end = arguments[0].data() + arguments[0].size();
  const auto read = std::from_chars(arguments[0].data(), end, level_db);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (!(level_db >= modem::kTransmitLevelMinDb && level_db <= 0)) {
    return Result<ControlRequest>(Error{ErrorCode::bad_field, "the level goes from -40 to 0 dB"});
  }
  return Result<ControlRequest>(ControlRequest(LevelAsked{level_db}));
}

Parsed disconnect(const Words& arguments, const AddressBook&) {
  if (arguments.size() != 1) return std::nullopt;
  const auto id = number_of(arguments[0], std::numeric_limits<std::uint32_t>::max());
  if (!id) return std::nullopt;
  return Result<ControlRequest>(ControlRequest(DisconnectAsked{ClientId{*id}}));
}

Parsed break_link(const Words& arguments, const AddressBook& book) {
  if (arguments.size() != 1) return std::nullopt;
  const auto peer = station(arguments[0], book);
  if (!peer) return Result<ControlRequest>(peer.error());
  return Result<ControlRequest>(ControlRequest(BreakAsked{*peer}));
}

/// Parses the conditions "id=17", "client=3" and "to=1.2.3.4"; each may occur once.
std::optional<Result<sap::UpduFilter>> filter_of(const Words& arguments, const AddressBook& book) {
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
      const auto address = book.find(value);
      if (!address) return Result<sap::UpduFilter>(address.error());
      filter.destination = *address;
    } else {
      return std::nullopt;
    }
  }
  return Result<sap::UpduFilter>(filter);
}

template <typename Asked>
Parsed filtered(const Words& arguments, const AddressBook& book) {
  const auto filter = filter_of(arguments, book);
  if (!filter) return std::nullopt;
  if (!*filter) return Result<ControlRequest>(filter->error());
  return Result<ControlRequest>(ControlRequest(Asked{**filter}));
}

Parsed purge(const Words& arguments, const AddressBook& book) {
  if (arguments.empty()) return std::nullopt;
  return filtered<PurgeAsked>(arguments, book);
}

}  // namespace

const std::vector<ControlVerb>& control_verbs() {
  static const std::vector<ControlVerb> table = {
      {{"status", "", "the status of node, links and clients", answered_by<proto::Status>},
       nothing_more<StatusAsked>},
      {{"emcon", "on|off", "radio silence; nothing is transmitted while it is on",
        answered_by<proto::Emcon>},
       on_or_off<EmconAsked>},
      {{"broadcast", "on|off", "begin or end a broadcast session, which has no links and no ARQ",
        answered_by<proto::BroadcastSession>},
       on_or_off<BroadcastAsked>},
      {{"sap", "0..15 open|shut", "allow or forbid binds to the SAP; shut also unbinds its client",
        answered_by<proto::SapOpen>},
       sap},
      {{"level", "DB", "transmit level, -40 to 0 dB, until the next start",
        answered_by<proto::TransmitLevel>},
       level},
      {{"disconnect", "CLIENT", "end the connection of a client, by its number in `status`",
        answered_by<proto::Disconnected>},
       disconnect},
      {{"break", "STATION", "end the link with a station", answered_by<proto::LinkBreaking>},
       break_link},
      {{"queue", "[id=N] [client=N] [to=STATION]", "list the U_PDUs that are not finished",
        answered_by<proto::UpduQueue>},
       filtered<QueueAsked>},
      {{"purge", "[id=N] [client=N] [to=STATION]",
        "reject the queued U_PDUs that match; needs at least one condition",
        answered_by<proto::Purged>},
       purge},
      {{"mode", "STATION MODE",
        "ask a linked station to accept this mode for our transmissions to it",
        answered_by<proto::ModeAsked>},
       mode},
      {{"reload", "", "read configuration and certificates again", answered_by<proto::Reloaded>},
       nothing_more<ReloadAsked>},
  };
  return table;
}

Result<ControlRequest> parse_control_request(std::string_view line, const AddressBook& book) {
  Words words = control::words_of(line);
  for (const ControlVerb& verb : control_verbs()) {
    if (words.empty() || verb.info.name != words.front()) continue;
    words.erase(words.begin());
    if (const Parsed parsed = verb.parse(words, book)) return *parsed;
    return control::usage_error(verb.info);
  }
  return Error{ErrorCode::unsupported, "no request of s5066d alone"};
}

}  // namespace s5066::config
