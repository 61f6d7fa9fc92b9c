// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/verbs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "config/proto/control.pb.h"
#include "s5066d/control/json.h"
#include "s5066d/control/log_fields.h"
#include "s5066d/control/station_names.h"

namespace s5066::control {
namespace {

/// Column of --help in which the purpose of a verb begins.
constexpr std::size_t kPurposeColumn = 46;

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && !text.empty();
}

bool read_level(std::string_view text, LogLevel& level) {
  for (const LogLevel known : {LogLevel::info, LogLevel::warning, LogLevel::error}) {
    if (to_string(known) != text) continue;
    level = known;
    return true;
  }
  return false;
}

bool read_condition(std::string_view name, std::string_view value, EventFilter& filter) {
  if (value.empty()) return false;
  if (name == "count") return read_number(value, filter.count);
  if (name == "after") return read_number(value, filter.after);
  if (name == "level") return read_level(value, filter.least);
  if (name == "event") filter.event = value;
  if (name == "with") filter.with = value;
  return name == "event" || name == "with";
}

std::string written(const VerbInfo& verb) {
  std::string text(verb.name);
  if (!verb.arguments.empty()) text.append(" ").append(verb.arguments);
  return text;
}

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

}  // namespace

const VerbInfo kCountersVerb = {"counters", "", "all counters with their meaning",
                                answered_by<proto::CounterTable>};
const VerbInfo kEventsVerb = {"events",
                              "[count=N] [level=LEVEL] [event=NAME] [with=TEXT] [after=N]",
                              "the last lines of the log", answered_by<proto::Events>};
const VerbInfo kHelpVerb = {"help", "", "the requests that the daemon answers",
                            answered_by<proto::VerbList>};

Words words_of(std::string_view line) {
  Words words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::string synopsis(std::span<const VerbInfo> verbs) {
  std::string text;
  for (const VerbInfo& verb : verbs) {
    std::string line = "  " + written(verb);
    if (line.size() + 2 > kPurposeColumn) line.append("\n");
    const std::size_t start = line.back() == '\n' ? line.size() : 0;
    line.resize(start + kPurposeColumn, ' ');
    text.append(line).append(verb.purpose).append("\n");
  }
  return text;
}

Error usage_error(const VerbInfo& verb) {
  return {ErrorCode::bad_field, "the request is `" + written(verb) + "`"};
}

Error unknown_verb(std::span<const VerbInfo> verbs) {
  std::string names;
  for (const VerbInfo& verb : verbs) names.append(names.empty() ? "" : ", ").append(verb.name);
  return {ErrorCode::unsupported, "requests are " + names};
}

std::optional<EventFilter> parse_event_filter(const Words& arguments) {
  EventFilter filter;
  std::set<std::string_view> given;
  for (const std::string_view word : arguments) {
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(0, sign);
    if (!given.insert(name).second) return std::nullopt;
    if (!read_condition(name, word.substr(sign + 1), filter)) return std::nullopt;
  }
  return filter;
}

std::string events_json(const EventRing& ring, const EventFilter& filter) {
  proto::Events to;
  for (const LoggedEvent& event : ring.last(filter)) {
    proto::Event& row = *to.add_events();
    row.set_sequence(number(event.sequence));
    row.set_time(utc_text(event.utc));
    row.set_level(std::string(to_string(event.level)));
    const LogFields line = fields_of(event.line);
    row.set_event(line.event);
    for (const auto& [key, value] : line.fields) {
      proto::EventField& field = *row.add_fields();
      field.set_key(key);
      field.set_value(value);
    }
  }
  to.set_oldest(number(ring.oldest(filter.least)));
  to.set_newest(number(ring.newest()));
  return answer_json(std::move(to));
}

std::string counters_json(const CounterRows& rows) {
  proto::CounterTable to;
  for (const CounterRow& counter : rows) {
    proto::CounterValue& row = *to.add_counters();
    row.set_name(std::string(counter.name));
    row.set_value(number(counter.value));
    row.set_unit(std::string(counter.unit));
    row.set_help(std::string(counter.help));
    row.set_kind(counter.kind == CounterKind::gauge ? "gauge" : "counter");
    for (const CounterLabel& label : counter.labels) {
      (*row.mutable_labels())[label.name] = label.value;
    }
  }
  return answer_json(std::move(to));
}

std::string help_json(std::span<const VerbInfo> verbs) {
  proto::VerbList to;
  for (const VerbInfo& verb : verbs) {
    proto::Verb& row = *to.add_verbs();
    row.set_request(written(verb));
    row.set_purpose(std::string(verb.purpose));
    row.set_answer(verb.answer().GetTypeName());
  }
  return answer_json(std::move(to));
}

void VerbTable::add(const VerbInfo& verb, Handler handler) {
  add_with_file(verb, [handler = std::move(handler)](const Words& arguments, posix::PassedFile) {
    return handler(arguments);
  });
}

void VerbTable::add_with_file(const VerbInfo& verb, FileHandler handler) {
  verbs_.push_back(verb);
  handlers_[verb.name] = std::move(handler);
}

void VerbTable::add_common(const EventRing& ring, std::function<CounterRows()> counters) {
  add(kCountersVerb, [counters = std::move(counters)](const Words& arguments) -> Answer {
    if (!arguments.empty()) return std::nullopt;
    return Result<std::string>(counters_json(counters()));
  });
  add(kEventsVerb, [&ring](const Words& arguments) -> Answer {
    const auto filter = parse_event_filter(arguments);
    if (!filter) return std::nullopt;
    return Result<std::string>(events_json(ring, *filter));
  });
  add(kHelpVerb, [this](const Words& arguments) -> Answer {
    if (!arguments.empty()) return std::nullopt;
    return Result<std::string>(help_json(verbs_));
  });
}

Result<std::string> VerbTable::answer(std::string_view line, posix::PassedFile file) const {
  Words words = words_of(line);
  const auto verb = std::find_if(verbs_.begin(), verbs_.end(), [&words](const VerbInfo& known) {
    return !words.empty() && known.name == words.front();
  });
  if (verb == verbs_.end()) return unknown_verb(verbs_);
  words.erase(words.begin());
  auto answer = handlers_.at(verb->name)(words, std::move(file));
  if (!answer) return usage_error(*verb);
  if (!*answer || book_ == nullptr) return *std::move(answer);
  return with_names(*verb, **std::move(answer), *book_);
}

}  // namespace s5066::control
