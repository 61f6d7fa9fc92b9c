// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_requests.h"

#include <algorithm>
#include <charconv>

#include "config/proto/control.pb.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/bytes.h"

namespace s5066::file_relay {
namespace {

constexpr unsigned kPriorityMax = 15;
constexpr std::uint32_t kModeMax = 0777;

std::optional<std::uint32_t> parse_number(std::string_view text, int base) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string octal(std::uint16_t mode) {
  char text[8];
  const auto written = std::to_chars(text, text + sizeof text, mode, 8);
  return {text, written.ptr};
}

/// Reads addresses with commas between. Nothing if one is no station, or comes twice.
std::optional<std::vector<Address>> parse_stations(std::string_view text) {
  std::vector<Address> stations;
  for (const std::string_view one : split_at_commas(text)) {
    const auto station = parse_address(one);
    if (!station || station->group) return std::nullopt;
    if (std::find(stations.begin(), stations.end(), *station) != stations.end())
      return std::nullopt;
    stations.push_back(*station);
  }
  return stations;
}

std::optional<gateways::GradeSettings> parse_grade(std::string_view name, std::string_view strength,
                                                   std::string_view head) {
  const auto grade = gateways::parse_file_grade(name);
  const auto percent = parse_number(strength, 10);
  const auto octets = parse_number(head, 10);
  if (!grade || !percent || *percent > UINT8_MAX || !octets) return std::nullopt;
  return gateways::GradeSettings{*grade, static_cast<std::uint8_t>(*percent), *octets};
}

}  // namespace

const control::VerbInfo kStatusVerb = {
    "status", "", "the binding to the server, files on their way, and stations that do not answer",
    control::answered_by<proto::RelayStatus>};

const control::VerbInfo kIncomingVerb = {"incoming", "", "files that are arriving",
                                         control::answered_by<proto::IncomingFiles>};

const control::VerbInfo kReceivedVerb = {
    "received", "", "files that have come, with their senders, digests and durations",
    control::answered_by<proto::ReceivedFiles>};

const control::VerbInfo kQueueVerb = {"queue", "[--all] [--state STATE] [--station STATION]",
                                      "the files that are not over",
                                      control::answered_by<proto::FileQueue>};

const control::VerbInfo kShowVerb = {"show", "ID", "one file, and what it waits for",
                                     control::answered_by<proto::FileDetails>};

const control::VerbInfo kPutVerb = {
    "put", "NAME MTIME MODE STATION[,STATION] [PRIORITY [GRADE STRENGTH HEAD]]",
    "take the file into the spool whose content is the sealed memory file that comes along",
    control::answered_by<proto::FileSent>};

control::VerbInfo change_verb(gateways::SpoolChange change) {
  using control::answered_by;
  using gateways::SpoolChange;
  switch (change) {
    case SpoolChange::hold:
      return {"hold", "ID", "keep it until it is released; also STATION/NUMBER, as in incoming",
              answered_by<proto::Done>};
    case SpoolChange::release:
      return {"release", "ID", "let a held file go on; also STATION/NUMBER",
              answered_by<proto::Done>};
    case SpoolChange::retry:
      return {"retry", "ID", "try again at once, with its whole lifetime again",
              answered_by<proto::Done>};
    case SpoolChange::cancel:
      return {"cancel", "ID", "give it up; also STATION/NUMBER", answered_by<proto::Done>};
    case SpoolChange::count:
      break;
  }
  S5066_ASSERT(false);
  return {};
}

std::string to_line(const PutRequest& request) {
  std::string line = "put " + to_percent(request.name) + " " +
                     std::to_string(std::clamp<std::int64_t>(request.mtime, 0, UINT32_MAX)) + " " +
                     octal(request.mode & kModeMax) + " ";
  for (std::size_t i = 0; i < request.to.size(); ++i) {
    line += (i == 0 ? "" : ",") + to_string(request.to[i]);
  }
  line += " " + (request.priority ? std::to_string(*request.priority) : "-");
  if (request.grade != gateways::GradeSettings{}) {
    line += " " + std::string(to_string(request.grade.grade)) + " " +
            std::to_string(request.grade.strength_percent) + " " +
            std::to_string(request.grade.head_octets);
  }
  return line;
}

std::optional<PutRequest> parse_put(const control::Words& arguments) {
  if (arguments.size() != 4 && arguments.size() != 5 && arguments.size() != 8) return std::nullopt;
  auto name = from_percent(arguments[0]);
  const auto mtime = parse_number(arguments[1], 10);
  const auto mode = parse_number(arguments[2], 8);
  auto to = parse_stations(arguments[3]);
  const std::string_view priority = arguments.size() > 4 ? arguments[4] : "-";
  const auto number = parse_number(priority, 10);
  const auto grade = arguments.size() == 8 ? parse_grade(arguments[5], arguments[6], arguments[7])
                                           : gateways::GradeSettings{};
  const bool good_priority = priority == "-" || (number && *number <= kPriorityMax);
  if (!name || name->find('\0') != std::string::npos || !mtime || !mode || *mode > kModeMax ||
      !to || !grade || !good_priority) {
    return std::nullopt;
  }
  PutRequest request{.name = *std::move(name),
                     .mtime = *mtime,
                     .mode = static_cast<std::uint16_t>(*mode),
                     .to = *std::move(to),
                     .grade = *grade};
  if (number) request.priority = static_cast<std::uint8_t>(*number);
  return request;
}

Result<gateways::ListFilter> parse_list_filter(const control::Words& arguments,
                                               const AddressBook& book) {
  gateways::ListFilter filter;
  for (const std::string_view word : arguments) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (key == "all" && value == "1") {
      filter.over = true;
    } else if (key == "state") {
      const auto state = gateways::parse_spool_state(value);
      if (!state) return Error{ErrorCode::bad_field, "no such state: " + std::string(value)};
      filter.state = *state;
    } else if (key == "station") {
      const auto station = book.find(value);
      if (!station) return station.error();
      filter.destination = *station;
    } else {
      return Error{ErrorCode::bad_field, "queue takes all=1, state=STATE and station=STATION"};
    }
  }
  return filter;
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  return parse_number(text, 10);
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string to_percent(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet > 32 && octet < 127 && octet != '%') {
      word += c;
    } else {
      word += '%';
      word += kDigits[octet >> 4];
      word += kDigits[octet & 0xF];
    }
  }
  return word;
}

std::optional<std::string> from_percent(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    const auto octet = from_hex(word.substr(i + 1, 2));
    if (!octet || octet->size() != 1) return std::nullopt;
    text += static_cast<char>((*octet)[0]);
    i += 2;
  }
  return text;
}

}  // namespace s5066::file_relay
