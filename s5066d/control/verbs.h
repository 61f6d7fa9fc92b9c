// SPDX-License-Identifier: Apache-2.0
// The requests of a daemon: a table of verbs for its control socket, its --help and the tools that
// show its answers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/address_book.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/result.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/posix/passed_file.h"

namespace google::protobuf {
class Message;
}

namespace s5066::control {

/// Arguments of a request. Words are separated by blanks.
using Words = std::vector<std::string_view>;
Words words_of(std::string_view line);

/// One request as its users see it.
struct VerbInfo {
  std::string_view name;
  std::string_view arguments;  // for people, such as "ID" or "on|off"
  std::string_view purpose;
  /// Returns the default instance of the message that answers.
  const google::protobuf::Message& (*answer)();
};

/// For VerbInfo::answer.
template <typename Answer>
const google::protobuf::Message& answered_by() {
  return Answer::default_instance();
}

/// Requests that all daemons answer; `status` has fields of its own in each.
extern const VerbInfo kCountersVerb;
extern const VerbInfo kEventsVerb;
extern const VerbInfo kHelpVerb;

/// Returns the table as lines for --help.
std::string synopsis(std::span<const VerbInfo> verbs);
/// Returns the error for a request with a known verb and wrong arguments.
Error usage_error(const VerbInfo& verb);
/// Returns the error for a request with an unknown verb.
Error unknown_verb(std::span<const VerbInfo> verbs);

/// Reads the arguments of `events`: count=N level=LEVEL event=NAME with=TEXT after=N, each at most
/// once. Returns nothing if an argument is wrong.
std::optional<EventFilter> parse_event_filter(const Words& arguments);

/// Answers to the common requests.
std::string events_json(const EventRing& ring, const EventFilter& filter);
std::string counters_json(const CounterRows& rows);
std::string help_json(std::span<const VerbInfo> verbs);

/// The verbs of one daemon with the functions that answer them.
class VerbTable {
 public:
  /// The JSON of an answer, or an error. Nothing means that the arguments are wrong.
  using Answer = std::optional<Result<std::string>>;
  using Handler = std::function<Answer(const Words& arguments)>;
  /// For a request that a descriptor comes with.
  using FileHandler = std::function<Answer(const Words& arguments, posix::PassedFile file)>;

  VerbTable() = default;
  VerbTable(const VerbTable&) = delete;
  VerbTable& operator=(const VerbTable&) = delete;

  void add(const VerbInfo& verb, Handler handler);
  void add_with_file(const VerbInfo& verb, FileHandler handler);
  /// Adds `counters`, `events` and `help`. The ring outlives the table.
  void add_common(const EventRing& ring, std::function<CounterRows()> counters);

  /// Answers show the names of this book, which outlives the table.
  void name_stations(const AddressBook& book) { book_ = &book; }

  /// A descriptor that comes with a request that takes none is closed unread.
  Result<std::string> answer(std::string_view line, posix::PassedFile file = {}) const;
  const std::vector<VerbInfo>& verbs() const { return verbs_; }

 private:
  std::vector<VerbInfo> verbs_;
  std::map<std::string_view, FileHandler> handlers_;
  const AddressBook* book_ = nullptr;
};

}  // namespace s5066::control
