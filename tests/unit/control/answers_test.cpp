// SPDX-License-Identifier: Apache-2.0
// Answers of the control interface: their JSON, their text for people, and the common requests.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "config/proto/control.pb.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/control/json.h"
#include "s5066d/control/log_fields.h"
#include "s5066d/control/text.h"
#include "s5066d/control/verbs.h"

namespace s5066::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

class Ring : public testing::Test {
 protected:
  std::vector<std::string> last(const EventFilter& filter) const {
    std::vector<std::string> lines;
    for (const LoggedEvent& event : ring.last(filter)) lines.push_back(event.line);
    return lines;
  }

  Lines sink;
  Duration now = seconds(1);
  EventRing ring{sink, [this] { return now; }};
};

TEST(UtcText, gives_seconds_with_or_without_a_fraction) {
  EXPECT_EQ(utc_text(UtcSeconds{1769860800}), "2026-01-31T12:00:00Z");
  EXPECT_EQ(utc_text(seconds(1769860800) + std::chrono::milliseconds(7)),
            "2026-01-31T12:00:00.007Z");
}

TEST_F(Ring, keeps_the_last_events_and_passes_all_lines_on) {
  for (std::size_t i = 1; i <= EventRing::kEventsMax + 5; ++i) {
    ring.write(LogLevel::info, "event n=" + std::to_string(i));
    ring.write(LogLevel::debug, "dpdu");
  }
  EXPECT_EQ(sink.lines.size(), 2 * EventRing::kEventsMax + 10);
  EXPECT_EQ(ring.oldest(), 6u);
  EXPECT_EQ(ring.newest(), EventRing::kEventsMax + 5);
  const auto events = last({.count = 2});
  EXPECT_EQ(events, (std::vector<std::string>{"event n=1004", "event n=1005"}));
  EXPECT_EQ(last({.count = EventRing::kEventsMax + 99}).size(), EventRing::kEventsMax);
}

TEST_F(Ring, lines_about_traffic_displace_no_more_than_half_of_the_warnings) {
  const auto count = [&](LogLevel least) {
    return last({.count = EventRing::kEventsMax, .least = least}).size();
  };
  for (int i = 1; i <= 700; ++i) ring.write(LogLevel::warning, "fault n=" + std::to_string(i));
  for (int i = 1; i <= 5000; ++i) ring.write(LogLevel::info, "traffic n=" + std::to_string(i));
  EXPECT_EQ(count(LogLevel::warning), EventRing::kEventsMax / 2 - 1);
  EXPECT_EQ(count(LogLevel::info), EventRing::kEventsMax);
  EXPECT_EQ(last({.count = 1, .least = LogLevel::warning}).at(0), "fault n=700");
  EXPECT_EQ(last({.count = 1}).at(0), "traffic n=5000");
  // A reader that asks for later lines sees whether some are missing.
  const std::uint64_t oldest = ring.oldest();
  EXPECT_EQ(last({.count = EventRing::kEventsMax, .after = oldest - 1}).size(),
            ring.newest() - oldest + 1);
  // A reader of warnings misses none of them when lines about traffic go.
  const std::uint64_t oldest_warning = ring.oldest(LogLevel::warning);
  EXPECT_EQ(oldest_warning, 700 - EventRing::kEventsMax / 2 + 2);
  ring.write(LogLevel::info, "traffic");
  EXPECT_EQ(ring.oldest(LogLevel::warning), oldest_warning);
  EXPECT_GT(ring.oldest(), oldest_warning);
  const auto events = read_answer<proto::Events>(events_json(ring, {.least = LogLevel::warning}));
  ASSERT_TRUE(events);
  EXPECT_EQ(events->oldest(), static_cast<double>(oldest_warning));
  EXPECT_EQ(ring.oldest(LogLevel::error), 1u);
  for (int i = 1; i <= 5000; ++i) ring.write(LogLevel::error, "fault");
  EXPECT_EQ(count(LogLevel::error), EventRing::kEventsMax);
}

TEST_F(Ring, a_filter_has_level_event_text_and_sequence) {
  ring.write(LogLevel::info, "link peer=1.2.3.4");
  ring.write(LogLevel::warning, "link_lost peer=1.2.3.4");
  ring.write(LogLevel::error, "link peer=1.2.3.5");
  EXPECT_EQ(last({.least = LogLevel::warning}).size(), 2u);
  EXPECT_EQ(last({.event = "link"}).size(), 2u);
  EXPECT_EQ(last({.with = "peer=1.2.3.4"}).size(), 2u);
  EXPECT_EQ(last({.after = 2}), (std::vector<std::string>{"link peer=1.2.3.5"}));
  EXPECT_EQ(last({.count = 0}).size(), 0u);
}

TEST_F(Ring, a_long_line_is_cut_between_two_characters) {
  std::string line = "event text=\"";
  while (line.size() < 2 * EventRing::kLineOctetsMax) line += "\xe2\x82\xac";
  ring.write(LogLevel::info, line);
  const std::string kept = last({}).at(0);
  EXPECT_LE(kept.size(), EventRing::kLineOctetsMax);
  EXPECT_GT(kept.size(), EventRing::kLineOctetsMax - 4);
  EXPECT_TRUE(is_utf8(kept));
}

TEST_F(Ring, may_be_written_by_several_threads_while_it_is_read) {
  struct Nothing final : LogSink {
    void write(LogLevel, std::string_view) override {}
  } nothing;
  EventRing shared(nothing);
  std::atomic<bool> done = false;
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) shared.write(LogLevel::info, "event n=1");
    done = true;
  });
  while (!done) EXPECT_LE(shared.last({.count = 7}).size(), 7u);
  other.join();
  EXPECT_EQ(shared.newest(), 2000u);
}

TEST(LogFields, are_read_from_the_lines_that_the_log_writes) {
  Lines sink;
  LogLine(sink, LogLevel::info, "event")
      .kv("plain", "1.2.3.4")
      .kv("empty", "")
      .kv("blanks", "a \"b\" \\ c=d")
      .kv("control", std::string_view("\n\xff", 2))
      .kv("number", 7);
  const LogFields read = fields_of(sink.lines.at(0));
  EXPECT_EQ(read.event, "event");
  const std::vector<std::pair<std::string, std::string>> expected = {{"plain", "1.2.3.4"},
                                                                     {"empty", ""},
                                                                     {"blanks", "a \"b\" \\ c=d"},
                                                                     {"control", "\\x0a\\xff"},
                                                                     {"number", "7"}};
  EXPECT_EQ(read.fields, expected);
  for (std::size_t n = 0; n <= sink.lines[0].size(); ++n) fields_of(sink.lines[0].substr(0, n));
}

TEST_F(Ring, events_are_answered_with_their_fields_and_where_the_reader_stands) {
  now = seconds(1'700'000'000) + milliseconds(42);
  ring.write(LogLevel::warning, "link_lost peer=1.2.3.4 reason=\"no answer\"");
  const auto events = read_answer<proto::Events>(events_json(ring, {}));
  ASSERT_TRUE(events);
  EXPECT_EQ(events->version(), kInterfaceVersion);
  EXPECT_EQ(events->oldest(), 1);
  EXPECT_EQ(events->newest(), 1);
  ASSERT_EQ(events->events_size(), 1);
  const proto::Event& event = events->events(0);
  EXPECT_EQ(event.time(), "2023-11-14T22:13:20.042Z");
  EXPECT_EQ(event.level(), "warning");
  EXPECT_EQ(event.event(), "link_lost");
  ASSERT_EQ(event.fields_size(), 2);
  EXPECT_EQ(event.fields(1).key(), "reason");
  EXPECT_EQ(event.fields(1).value(), "no answer");
  EXPECT_EQ(text_of(*events),
            "oldest 1\nnewest 1\nevents:\n"
            "  sequence  time                      level    event      fields\n"
            "  1         2023-11-14T22:13:20.042Z  warning  link_lost  peer=1.2.3.4 "
            "reason=no answer\n");
}

TEST(EventFilterText, takes_each_condition_once_and_nothing_else) {
  const auto filter = parse_event_filter(
      words_of("count=5 level=error event=link_lost with=peer=1.2.3.4 after=17"));
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->count, 5u);
  EXPECT_EQ(filter->least, LogLevel::error);
  EXPECT_EQ(filter->event, "link_lost");
  EXPECT_EQ(filter->with, "peer=1.2.3.4");
  EXPECT_EQ(filter->after, 17u);
  EXPECT_TRUE(parse_event_filter({}));
  for (const char* wrong :
       {"5", "count=", "count=-1", "count=x", "count=99999999999999999999999", "level=loud",
        "level=debug", "event=", "count=1 count=2", "=1", "x=1"}) {
    EXPECT_FALSE(parse_event_filter(words_of(wrong))) << wrong;
  }
}

TEST(ControlJson, texts_that_are_not_utf8_are_escaped_in_every_place) {
  proto::Events events;
  proto::Event& event = *events.add_events();
  event.set_event("\xff");
  event.add_fields()->set_value("a\xc0");
  proto::CounterTable counters;
  (*counters.add_counters()->mutable_labels())["station"] = "\xfe";
  EXPECT_NE(json_of(events).find("a\\\\xc0"), std::string::npos) << json_of(events);
  EXPECT_NE(json_of(counters).find("\\\\xfe"), std::string::npos) << json_of(counters);
  proto::Done done;
  done.set_note("na\xc3\xafve \"x\"\n");
  const auto read = read_answer<proto::Done>(answer_json(done));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->note(), done.note());
}

TEST(ControlJson, a_reader_skips_what_it_does_not_know_and_refuses_what_is_no_answer) {
  EXPECT_TRUE(read_answer<proto::Done>("{\"later\": [1, {\"x\": 2}], \"done\": true}")->done());
  for (const std::string wrong : {"", "{", "error: no", "[]", "{\"done\": \"perhaps\"}"}) {
    EXPECT_FALSE(read_answer<proto::Done>(wrong)) << wrong;
  }
  EXPECT_FALSE(read_answer<proto::Done>(std::string(100'000, '[')));
  const auto refused =
      read_answer<proto::Done>("{\"error\": {\"code\": \"new\", \"text\": \"t\"}}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(refused.error().detail, "t");
}

TEST(ControlJson, every_error_code_comes_back) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::io); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(read_answer<proto::Done>(failure_json({code, "x"})).error().code, code);
    EXPECT_EQ(code_name(code).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
  }
}

TEST(ControlText, shows_fields_blocks_and_tables) {
  proto::RelayStatus status;
  status.mutable_program()->set_name("s5066-relay");
  status.set_bound(true);
  for (const double id : {7.0, 12.0}) {
    proto::Transfer& transfer = *status.add_transfers();
    transfer.set_id(id);
    transfer.set_attempt(1);
    transfer.set_octets(2000);
    transfer.set_octets_confirmed(0.5);
  }
  status.set_version(1);
  EXPECT_EQ(text_of(status),
            "bound yes\n"
            "program:\n"
            "  name s5066-relay\n"
            "  up 0 s\n"
            "transfers:\n"
            "  id  attempt  octets  octets_confirmed\n"
            "  7   1        2000    0.500\n"
            "  12  1        2000    0.500\n");
}

TEST(ControlText, an_empty_list_is_none) {
  proto::IncomingFiles files;
  files.set_version(1);
  EXPECT_EQ(text_of(files), "none\n");
  files.add_files()->set_id("1.2.0.1/7");
  EXPECT_EQ(text_of(files),
            "id         octets  octets_here\n"
            "1.2.0.1/7  0       0\n");
}

TEST(ControlText, times_are_for_people) {
  const auto shown = [](double silent_for_s) {
    proto::SilentStation station;
    station.set_station("1.2.3.4");
    station.set_silent_for_s(silent_for_s);
    proto::RelayStatus status;
    *status.add_silent_stations() = station;
    return text_of(status);
  };
  EXPECT_NE(shown(59.5).find("silent_for"), std::string::npos) << shown(59.5);
  EXPECT_NE(shown(59.5).find("59.500 s"), std::string::npos) << shown(59.5);
  EXPECT_NE(shown(7260).find("2 h 1 min"), std::string::npos) << shown(7260);
  EXPECT_NE(shown(-90000).find("-1 d 1 h"), std::string::npos) << shown(-90000);
  EXPECT_NE(shown(1e300).find(" s"), std::string::npos);
  EXPECT_NE(shown(std::nan("")).find("nan s"), std::string::npos);
  EXPECT_EQ(shown(1).find("silent_for_s"), std::string::npos);
}

TEST(ControlText, nothing_from_outside_steers_the_terminal_and_columns_keep_in_line) {
  proto::FileQueue queue;
  for (const char* name : {"a\tb\n\x1b[2J", "\xc3\xa4\xc3\xb6", ""}) {
    proto::QueuedFile& file = *queue.add_files();
    file.set_name(name);
    file.set_last("x");
  }
  EXPECT_EQ(text_of(queue),
            "id  octets  attempts  name               last\n"
            "0   0       0         a\\x09b\\x0a\\x1b[2J  x\n"
            "0   0       0         \xc3\xa4\xc3\xb6                 x\n"
            "0   0       0         -                  x\n");
}

TEST(ControlText, says_ok_and_what_follows_from_it) {
  proto::Done done;
  EXPECT_EQ(text_of(done), "ok\n");
  done.set_note("the other station may have it");
  EXPECT_EQ(text_of(done), "ok, but the other station may have it\n");
}

class Verbs : public testing::Test {
 protected:
  Verbs() {
    table.add({"hold", "ID", "keep it", answered_by<proto::Done>},
              [](const Words& words) -> std::optional<Result<std::string>> {
                if (words.size() != 1) return std::nullopt;
                if (words[0] == "9") return Result<std::string>(Error{ErrorCode::not_found, "no"});
                return Result<std::string>(answer_json(proto::Done()));
              });
    table.add_common(ring, [] {
      return CounterRows{
          {"files", "files", "files stored", CounterKind::gauge, {{"station", "1.2.3.4"}}, 3}};
    });
  }
  Error error(const std::string& line) const {
    const auto answer = table.answer(line);
    return answer ? Error{ErrorCode::io, *answer} : answer.error();
  }

  Lines sink;
  EventRing ring{sink};
  VerbTable table;
};

TEST_F(Verbs, of_each_daemon_include_the_common_ones) {
  EXPECT_TRUE(read_answer<proto::Done>(*table.answer(" hold  7 ")));
  EXPECT_EQ(error("hold 9").detail, "no");
  EXPECT_EQ(error("hold").detail, "the request is `hold ID`");
  EXPECT_EQ(error("hold 1 2").code, ErrorCode::bad_field);
  for (const char* unknown : {"", " ", "dance", "hold\t7"}) {
    EXPECT_EQ(error(unknown).detail, "requests are hold, counters, events, help");
    EXPECT_EQ(error(unknown).code, ErrorCode::unsupported);
  }
  EXPECT_TRUE(read_answer<proto::Events>(*table.answer("events level=error")));
  EXPECT_EQ(error("events x").code, ErrorCode::bad_field);
}

TEST_F(Verbs, counters_come_with_unit_kind_and_labels) {
  const auto counters = read_answer<proto::CounterTable>(*table.answer("counters"));
  ASSERT_TRUE(counters);
  ASSERT_EQ(counters->counters_size(), 1);
  EXPECT_EQ(counters->counters(0).kind(), "gauge");
  EXPECT_EQ(counters->counters(0).labels().at("station"), "1.2.3.4");
  EXPECT_EQ(text_of(*counters),
            "name   value  unit   help          kind   labels\n"
            "files  3      files  files stored  gauge  station=1.2.3.4\n");
}

TEST_F(Verbs, help_names_each_request_and_the_message_that_answers) {
  const auto help = read_answer<proto::VerbList>(*table.answer("help"));
  ASSERT_TRUE(help);
  ASSERT_EQ(help->verbs_size(), 4);
  EXPECT_EQ(help->verbs(0).request(), "hold ID");
  EXPECT_EQ(help->verbs(1).answer(), "s5066.proto.CounterTable");
  EXPECT_NE(synopsis(table.verbs()).find("  hold ID   "), std::string::npos);
}

/// Every message that answers a request has the version.
TEST_F(Verbs, each_answer_has_the_version) {
  for (const VerbInfo& verb : table.verbs()) {
    const auto* field = verb.answer().GetDescriptor()->FindFieldByName("version");
    ASSERT_NE(field, nullptr) << verb.name;
    EXPECT_EQ(field->number(), 100) << verb.name;
  }
}

}  // namespace
}  // namespace s5066::control
