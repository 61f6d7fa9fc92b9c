// SPDX-License-Identifier: Apache-2.0
// Goal:   from the answers of an operator to a file at the other station, over a sound system.
// Method: `s5066 setup` twice with the devices of a PulseAudio server and a stand-in for rigctld,
//         then both subnet servers and both relays with the files that it wrote.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/live/process.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/support/sound_server.h"
#include "tests/support/temporary_folder.h"

namespace s5066::live {
namespace {

namespace fs = std::filesystem;

class LiveSetup : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.start()) GTEST_SKIP() << "no PulseAudio here";
  }

  ProcessOptions options(const std::string& log) const {
    return {.folder = folder_.path().string(), .log = folder_ / log};
  }
  /// Writes answers and returns their path. `sink` and `source` are devices of the sound server.
  std::string answers(const std::string& name, const std::string& address, const std::string& sink,
                      const std::string& source, const std::string& more) const {
    const std::string path = folder_ / (name + ".answers");
    std::ofstream(path) << "station { name: \"" << name << "\" call_sign: \"T" << name
                        << "\" address: \"" << address << "\" }\n"
                        << "mode: \"110a-1200-short\"\n"
                        << "sound_card { input: \"pulse:" << source << "\" output: \"pulse:" << sink
                        << "\" }\n"
                        << "rigctld { port: " << rig_.port() << " }\n"
                        << "folder: \"" << folder_ / name << "\"\n"
                        << "run_folder: \"" << folder_ / name << "\"\n"
                        << "state_folder: \"" << folder_ / name << "\"\n"
                        << "sis_port: 0\n"
                        << more << "\n";
    return path;
  }
  Outcome set_up(const std::string& path) const {
    return run({S5066_SETUP, "--answers", path}, options("setup.log"));
  }
  Process serve(const std::string& name, const std::string& program) const {
    const bool node = program == S5066_S5066D;
    const std::string file = folder_ / name + "/" + name + (node ? "" : "-relay") + ".textproto";
    std::vector<std::string> command = {program};
    if (!node) command.emplace_back("run");
    command.insert(command.end(), {"--config", file});
    return Process(command, options(name + (node ? "-node.log" : "-relay.log")));
  }
  std::string log(const std::string& name) const { return text_of(folder_ / name); }

  test::TemporaryFolder folder_;
  test::SoundServer server_;
  test::RigctldStandIn rig_;
};

TEST_F(LiveSetup, two_stations_from_answers_bring_a_file_across) {
  const std::string trials = "trials { listen_s: 0 tone_s: 1 }";
  const Outcome alpha =
      set_up(answers("alpha", "1.2.0.1", "alpha_out", "bravo_out.monitor",
                     "peers { name: \"bravo\" address: \"1.2.0.2\" }\n" + trials));
  ASSERT_EQ(alpha.status, 0) << alpha.output;
  const Outcome bravo =
      set_up(answers("bravo", "1.2.0.2", "bravo_out", "alpha_out.monitor",
                     "peers { name: \"alpha\" address: \"1.2.0.1\" }\n" + trials));
  ASSERT_EQ(bravo.status, 0) << bravo.output;
  EXPECT_NE(rig_.heard().find("T 1"), std::string::npos) << "the tone keyed the transmitter";

  for (const std::string name : {"alpha", "bravo"}) {
    for (const char* folder : {"/spool", "/inbox"}) {
      fs::create_directories(folder_ / name + "/" + name + folder);
    }
  }
  const Process alpha_node = serve("alpha", S5066_S5066D);
  const Process bravo_node = serve("bravo", S5066_S5066D);
  for (const std::string name : {"alpha", "bravo"}) {
    ASSERT_TRUE(await([&] { return fs::exists(folder_ / name + "/sis"); }))
        << log(name + "-node.log");
  }
  const Process alpha_relay = serve("alpha", S5066_RELAY);
  const Process bravo_relay = serve("bravo", S5066_RELAY);
  ASSERT_TRUE(await([&] {
    return run({S5066_RELAY, "status", "--config", folder_ / "alpha/alpha-relay.textproto"},
               options("relay-status.log"))
               .status == 0;
  })) << log("alpha-relay.log");

  std::ofstream(folder_ / "message.txt") << "radio check\n";
  const Outcome sent =
      run({S5066_RELAY, "send", "--config", folder_ / "alpha/alpha-relay.textproto", "--to",
           "BRAVO", folder_ / "message.txt"},
          options("send.log"));
  ASSERT_EQ(sent.status, 0) << sent.output;
  const std::string arrived = folder_ / "bravo/bravo/inbox/message.txt";
  ASSERT_TRUE(await([&] { return fs::exists(arrived); }, std::chrono::seconds(300)))
      << log("alpha-node.log") << log("bravo-node.log") << log("alpha-relay.log");
  EXPECT_EQ(text_of(arrived), "radio check\n");

  const Outcome status =
      run({S5066_S5066D, "--control", folder_ / "alpha/control", "status"}, options("status.log"));
  EXPECT_NE(status.output.find("address_name alpha"), std::string::npos) << status.output;
  EXPECT_NE(status.output.find("bravo"), std::string::npos) << status.output;
  EXPECT_NE(log("alpha-node.log").find("peer=1.2.0.2 peer_name=bravo"), std::string::npos);
}

TEST_F(LiveSetup, the_round_trip_is_measured_over_the_sound_server) {
  const Outcome done = set_up(answers("loop", "1.2.0.3", "loop_out", "loop_out.monitor",
                                      "trials { listen_s: 0 round_trip: true }"));
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_NE(text_of(folder_ / "loop/loop.textproto").find("round_trip_ms: "), std::string::npos);
}

TEST_F(LiveSetup, a_fault_or_a_file_in_the_way_prevents_the_writing) {
  const std::string silent = "trials { listen_s: 0.5 }";
  const Outcome fault = set_up(answers("loop", "1.2.0.3", "loop_out", "loop_out.monitor", silent));
  EXPECT_EQ(fault.status, 1) << fault.output;
  EXPECT_FALSE(fs::exists(folder_ / "loop/loop.textproto"));

  fs::create_directories(folder_ / "loop");
  std::ofstream(folder_ / "loop/loop.textproto") << "# mine\n";
  const std::string none = "trials { listen_s: 0 }\n";
  const std::string path = answers("loop", "1.2.0.3", "loop_out", "loop_out.monitor", none);
  const Outcome refused = set_up(path);
  EXPECT_EQ(refused.status, 1) << refused.output;
  EXPECT_EQ(text_of(folder_ / "loop/loop.textproto"), "# mine\n");
  EXPECT_FALSE(fs::exists(folder_ / "loop/stations")) << "all files or none";

  std::ofstream(path, std::ios::app) << "replace: true\n";
  EXPECT_EQ(set_up(path).status, 0);
  std::size_t copies = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "loop")) {
    if (entry.path().string().find(".before-") == std::string::npos) continue;
    EXPECT_EQ(text_of(entry.path().string()), "# mine\n");
    ++copies;
  }
  EXPECT_EQ(copies, 1u);
}

TEST_F(LiveSetup, a_device_that_the_sound_server_does_not_have_is_named_with_those_it_has) {
  const Outcome done =
      set_up(answers("loop", "1.2.0.3", "lop_out", "loop_out.monitor", "trials { listen_s: 1 }"));
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.output.find("has no sink lop_out"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("loop_out"), std::string::npos) << done.output;
}

// SIGKILL leaves no time to unkey, so another process must do it.
TEST_F(LiveSetup, the_key_is_released_whatever_ends_the_program_in_the_tone) {
  for (const int number : {SIGKILL, SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(number);
    const std::size_t before = rig_.heard().size();
    const std::string path = answers("loop", "1.2.0.3", "loop_out", "loop_out.monitor",
                                     "trials { listen_s: 0 tone_s: 10 }");
    Process setup({S5066_SETUP, "--answers", path}, options("killed.log"));
    const auto since = [&] { return rig_.heard().substr(before); };
    ASSERT_TRUE(await([&] { return since().find("T 1") != std::string::npos; }))
        << log("killed.log");
    const std::size_t keyed = since().find("T 1");
    setup.signal(number);
    (void)setup.wait();
    EXPECT_TRUE(await([&] { return since().rfind("T 0") > keyed; })) << since();
    // The process that unkeys after a crash does it six times, and no other may key until it ends.
    const auto unkeyed = [&] {
      std::size_t times = 0;
      for (std::size_t at = keyed; (at = since().find("T 0", at)) != std::string::npos; ++at) {
        ++times;
      }
      return times;
    };
    EXPECT_TRUE(await([&] { return number != SIGKILL || unkeyed() >= 6; })) << since();
  }
}

}  // namespace
}  // namespace s5066::live
