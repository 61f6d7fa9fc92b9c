#include "s5066d/runtime/trace_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace s5066::runtime {
namespace {

struct Lines final : LogSink {
  void write(LogLevel level, std::string_view line) override {
    lines.push_back(std::string(to_string(level)) + " " + std::string(line));
  }
  std::vector<std::string> lines;
};

// /dev/full is a disk without room.
TEST(TraceWriter, a_full_disk_ends_the_capture_and_not_the_service) {
  Lines log;
  TraceWriter writer(log);
  EXPECT_TRUE(writer.open_capture("/dev/full", Duration{}).ok());
  EXPECT_FALSE(writer.wants_octets());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("capture_ended"), std::string::npos) << log.lines[0];
}

TEST(TraceWriter, tells_of_data_that_got_no_further_what_is_known_of_it) {
  Lines log;
  TraceWriter writer(log);
  const Discarded data{
      .reason = DiscardReason::expired,
      .octets = 300,
      .clients = {{.source_sap = SapId{3}, .destination_sap = SapId{4}, .priority = 7}}};
  const auto told = [&](TraceKind kind, const Discarded& discarded, std::int64_t id = 0) {
    const TraceEvent event{.at = Instant(std::chrono::seconds(2)),
                           .kind = kind,
                           .peer = Address{0x01020304},
                           .a = id,
                           .discarded = discarded};
    writer.on_trace(event);
    return log.lines.back();
  };
  const std::string peer = " t=2.000 peer=" + to_string(Address{0x01020304});
  const std::string known = " reason=expired octets=300 source_sap=3 destination_sap=4 priority=7";
  EXPECT_EQ(told(TraceKind::updu_discarded, data, 17),
            "warning updu_discarded" + peer + " updu=17" + known);
  EXPECT_EQ(told(TraceKind::spdu_discarded, data), "warning spdu_discarded" + peer + known);
  // What is no loss to anybody here.
  EXPECT_EQ(told(TraceKind::spdu_discarded, {.reason = DiscardReason::not_bound, .octets = 9}),
            "info spdu_discarded" + peer + " reason=not_bound octets=9");
  EXPECT_EQ(told(TraceKind::answer_discarded, {.reason = DiscardReason::no_room}),
            "info answer_discarded" + peer + " reason=no_room octets=0");
}

TEST(TraceWriter, writes_few_lines_of_what_a_client_causes_without_end) {
  Lines log;
  TraceWriter writer(log);
  for (int i = 0; i < 20'000; ++i) {  // 5000 a second
    const Instant at(std::chrono::microseconds(200) * i);
    writer.on_trace({.at = at, .kind = TraceKind::updu_accepted, .a = i, .b = 9});
    writer.on_trace({.at = at,
                     .kind = TraceKind::updu_discarded,
                     .discarded = Discarded{.reason = DiscardReason::no_room, .octets = 9}});
  }
  EXPECT_LT(log.lines.size(), 100u);
  const std::string rest = "warning log_lines_alike event=updu_discarded reason=no_room lines=";
  EXPECT_EQ(std::count(log.lines.begin(), log.lines.end(), rest + "4990"), 3);
}

}  // namespace
}  // namespace s5066::runtime
