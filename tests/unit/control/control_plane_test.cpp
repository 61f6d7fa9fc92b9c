// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/control_plane.h"

#include <gtest/gtest.h>

#include <thread>

#include "config/proto/control.pb.h"
#include "s5066d/base/version.h"
#include "s5066d/control/ask.h"
#include "s5066d/control/json.h"
#include "tests/support/temporary_folder.h"

namespace s5066::control {
namespace {

struct NoLog final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

TEST(ControlPlane, answers_the_common_requests_and_those_of_the_daemon) {
  NoLog log;
  EventRing events(log);
  events.write(LogLevel::info, "began n=1");
  boost::asio::io_context io;
  ControlPlane plane(io, "daemon", events, log);
  plane.verbs().add({"status", "", "the program", answered_by<proto::ModemServerStatus>},
                    [&](const Words&) -> VerbTable::Answer {
                      proto::ModemServerStatus status;
                      *status.mutable_program() = plane.program();
                      return Result<std::string>(answer_json(std::move(status)));
                    });
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "control").string();
  ASSERT_TRUE(plane.open({.path = path}, [] {
    return CounterRows{
        {.name = "turns", .unit = "turns", .help = "of the loop", .labels = {}, .value = 7}};
  }));
  std::thread client([&] {
    const auto status = ask<proto::ModemServerStatus>(path, "status");
    const auto counters = ask<proto::CounterTable>(path, "counters");
    const auto seen = ask<proto::Events>(path, "events event=began");
    const auto help = ask<proto::VerbList>(path, "help");
    const auto unknown = ask<proto::Done>(path, "dance");
    io.stop();
    ASSERT_TRUE(status && counters && seen && help);
    EXPECT_EQ(status->program().name(), "daemon");
    EXPECT_EQ(status->program().version(), version());
    ASSERT_EQ(counters->counters_size(), 1);
    EXPECT_EQ(counters->counters(0).name(), "turns");
    EXPECT_EQ(counters->counters(0).value(), 7);
    EXPECT_EQ(seen->events_size(), 1);
    EXPECT_EQ(help->verbs_size(), 4);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
  });
  io.run();
  client.join();
  plane.stop();
  EXPECT_FALSE(ask<proto::Done>(path, "status"));
}

}  // namespace
}  // namespace s5066::control
