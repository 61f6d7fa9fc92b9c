// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/trace_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/control/event_ring.h"
#include "tests/support/temporary_folder.h"

namespace s5066::runtime {
namespace {

struct Lines final : LogSink {
  void write(LogLevel level, std::string_view line) override {
    lines.push_back(std::string(to_string(level)) + " " + std::string(line));
  }
  std::vector<std::string> lines;
};

// /dev/full behaves like a full disk.
TEST(TraceWriter, a_full_disk_ends_the_capture_and_not_the_service) {
  Lines log;
  TraceWriter writer(log);
  EXPECT_TRUE(writer.open_capture({.path = "/dev/full"}, Duration{}).ok());
  EXPECT_FALSE(writer.wants_octets());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("capture_ended"), std::string::npos) << log.lines[0];
}

class Capture : public testing::Test {
 protected:
  void trace(TraceWriter& writer, int times) const {
    const Bytes dpdu(30);
    for (int n = 0; n < times; ++n) {
      writer.on_trace({.at = {}, .kind = TraceKind::dpdu_sent, .octets = dpdu});
    }
  }
  /// Returns the number of D_PDUs in the file. Returns nullopt if there is no file or no whole
  /// capture.
  std::optional<std::size_t> records(const std::string& name) const {
    std::error_code missing;
    const auto size = std::filesystem::file_size(folder_.path() / name, missing);
    if (missing || size < kHeader || (size - kHeader) % kRecord != 0) return std::nullopt;
    return (size - kHeader) / kRecord;
  }
  std::string path() const { return folder_ / "c.pcap"; }

  static constexpr std::size_t kHeader = 24;
  static constexpr std::size_t kRecord = 16 + 30;
  Lines log_;
  test::TemporaryFolder folder_;
};

TEST_F(Capture, a_full_file_makes_room_for_the_next_and_the_oldest_goes) {
  TraceWriter writer(log_);
  const CaptureConfig config{
      .path = path(), .file_octets_max = kHeader + 2 * kRecord, .files_max = 3};
  ASSERT_TRUE(writer.open_capture(config, Duration{}).ok());
  trace(writer, 2);
  EXPECT_EQ(records("c.pcap"), 2u);
  EXPECT_EQ(records("c.pcap.1"), std::nullopt);
  trace(writer, 1);
  EXPECT_EQ(records("c.pcap"), 1u);
  EXPECT_EQ(records("c.pcap.1"), 2u);
  EXPECT_EQ(records("c.pcap.2"), std::nullopt);
  trace(writer, 100);
  EXPECT_EQ(records("c.pcap"), 1u);
  EXPECT_EQ(records("c.pcap.1"), 2u);
  EXPECT_EQ(records("c.pcap.2"), 2u);
  EXPECT_EQ(records("c.pcap.3"), std::nullopt);
  EXPECT_TRUE(writer.wants_octets());
}

TEST_F(Capture, one_octet_less_holds_one_record_less) {
  TraceWriter writer(log_);
  const CaptureConfig config{
      .path = path(), .file_octets_max = kHeader + 2 * kRecord - 1, .files_max = 1};
  ASSERT_TRUE(writer.open_capture(config, Duration{}).ok());
  trace(writer, 2);
  EXPECT_EQ(records("c.pcap"), 1u);
  EXPECT_EQ(records("c.pcap.1"), std::nullopt);
}

TEST_F(Capture, a_restart_puts_what_was_captured_before_aside) {
  const CaptureConfig config{.path = path(), .files_max = 2};
  for (int run = 1; run <= 3; ++run) {
    TraceWriter writer(log_);
    ASSERT_TRUE(writer.open_capture(config, Duration{}).ok());
    trace(writer, run);
  }
  EXPECT_EQ(records("c.pcap"), 3u);
  EXPECT_EQ(records("c.pcap.1"), 2u);
  EXPECT_EQ(records("c.pcap.2"), std::nullopt);
}

TEST_F(Capture, files_that_cannot_be_moved_end_it_and_not_the_service) {
  TraceWriter writer(log_);
  std::filesystem::create_directories(folder_ / "c.pcap.1/in the way");
  const CaptureConfig config{.path = path(), .file_octets_max = kHeader + kRecord, .files_max = 2};
  ASSERT_TRUE(writer.open_capture(config, Duration{}).ok());
  trace(writer, 2);
  EXPECT_FALSE(writer.wants_octets());
  const auto& lines = log_.lines;
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const auto& l) { return l.find("capture_ended") != l.npos; }),
            1);
}

// On a cable at pace max many seconds of the sample clock pass in one of the machine's.
TEST(TraceWriter, events_of_many_seconds_all_get_into_journal_and_ring_once) {
  constexpr std::size_t kEvents = 30;
  Lines journal;
  control::EventRing ring(journal);
  TraceWriter writer(ring);
  for (std::size_t second = 0; second < kEvents; ++second) {
    writer.on_trace(
        {.at = Instant(std::chrono::seconds(second)), .kind = TraceKind::burst_started});
  }
  const auto kept = ring.last({.count = 2 * kEvents});
  ASSERT_EQ(journal.lines.size(), kEvents);
  ASSERT_EQ(kept.size(), kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) {
    EXPECT_TRUE(kept[i].line.starts_with("burst_started t=" + std::to_string(i) + "."));
    EXPECT_EQ(journal.lines[i], "info " + kept[i].line);
  }
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
            "warning updu_discarded" + peer + " updu=17 sent=0" + known);
  EXPECT_EQ(told(TraceKind::spdu_discarded, data), "warning spdu_discarded" + peer + known);
  writer.on_trace({.at = Instant(std::chrono::seconds(2)),
                   .kind = TraceKind::clocks_apart,
                   .peer = Address{0x01020304},
                   .a = 7200});
  EXPECT_EQ(log.lines.back(),
            "warning clocks_apart" + peer + " at_least_s=7200 at_least=\"2 h 0 min\"");
  // These discards are no loss to any client here.
  EXPECT_EQ(told(TraceKind::spdu_discarded, {.reason = DiscardReason::not_bound, .octets = 9}),
            "info spdu_discarded" + peer + " reason=not_bound octets=9");
  EXPECT_EQ(told(TraceKind::answer_discarded, {.reason = DiscardReason::no_room}),
            "info answer_discarded" + peer + " reason=no_room octets=0");
}

TEST(TraceWriter, writes_few_lines_of_what_a_client_causes_without_end) {
  Lines log;
  TraceWriter writer(log);
  for (int i = 0; i < 20'000; ++i) {  // 5000 events a second
    const Instant at(std::chrono::microseconds(200) * i);
    writer.on_trace({.at = at, .kind = TraceKind::updu_accepted, .a = i, .b = 9});
    writer.on_trace({.at = at,
                     .kind = TraceKind::updu_discarded,
                     .discarded = Discarded{.reason = DiscardReason::no_room, .octets = 9}});
  }
  EXPECT_LT(log.lines.size(), 100u);
  const std::string rest = "warning log_lines_repeated event=updu_discarded reason=no_room lines=";
  EXPECT_EQ(std::count(log.lines.begin(), log.lines.end(), rest + "4990"), 3);
}

}  // namespace
}  // namespace s5066::runtime
