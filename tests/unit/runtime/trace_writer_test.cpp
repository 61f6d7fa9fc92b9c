#include "s5066d/runtime/trace_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace s5066::runtime {
namespace {

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
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

}  // namespace
}  // namespace s5066::runtime
