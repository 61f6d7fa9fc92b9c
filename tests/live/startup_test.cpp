// SPDX-License-Identifier: Apache-2.0
// Tests how s5066d starts and stops: refused configurations with their messages and exit statuses.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "tests/live/pair.h"
#include "tests/support/fake_service_manager.h"
#include "tests/support/rigctld_stand_in.h"

namespace s5066::live {
namespace {

Outcome s5066d(const Pair& pair, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), S5066_S5066D);
  return run(arguments, pair.options("s5066d"));
}

TEST(LiveStartup, a_bad_configuration_draws_all_its_problems_and_exit_status_2) {
  Pair pair;
  pair.folder().write("bad.textproto",
                      "address: \"1.2.3\"\nmodem { mode: \"110a-2400-short\" }\nprot: 1\n");
  for (const bool check_only : {false, true}) {
    std::vector<std::string> arguments = {"--config", "bad.textproto"};
    if (check_only) arguments.push_back("--check-config");
    const auto outcome = s5066d(pair, arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.output,
              "bad.textproto:1:1: address: \"1.2.3\" is no address: address needs four numbers, "
              "w.x.y.z\n"
              "bad.textproto:2:1: cable or sound_card or remote: missing\n"
              "bad.textproto:3:1: prot: unknown field; did you mean port in `sis`?\n");
  }
  EXPECT_EQ(s5066d(pair, {"--config", "none.textproto"}).output,
            "none.textproto: cannot be read: No such file or directory\n");
  EXPECT_EQ(s5066d(pair, {"--config", "none.textproto"}).status, 2);
  EXPECT_EQ(s5066d(pair, {"--nonsense"}).status, 2);
  EXPECT_EQ(s5066d(pair, {}).status, 2);
  const auto extra = s5066d(pair, {"--config", "none.textproto", "extra"});
  EXPECT_EQ(extra.status, 2);
  EXPECT_NE(extra.output.find("no such request: extra"), std::string::npos) << extra.output;
}

TEST(LiveStartup, what_a_restart_may_cure_is_exit_status_1_and_the_rest_is_2) {
  Pair pair;
  const auto config = [&](const std::string& cable, const std::string& more) {
    pair.folder().write(
        "c.textproto", "address: \"1.2.3.4\" modem { mode: \"110a-2400-short\" cable { socket: \"" +
                           cable + "\" } }\n" + more);
    return s5066d(pair, {"--config", "c.textproto"});
  };
  const auto expect_said = [](const Outcome& outcome, const std::string& words, int status = 1) {
    EXPECT_EQ(outcome.status, status);
    EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
  };
  expect_said(config("nowhere.sock", "sis { port: 0 }"),
              "s5066d: modem: connect to nowhere.sock: No such file or directory");
  expect_said(config("cable.sock", "sis { port: 0 } capture { file: \"no/where\" }"),
              "s5066d: capture no/where: No such file or directory");
  expect_said(config("cable.sock", "sis { port: 0 } control { socket: \"c.textproto\" }"),
              "c.textproto:2:27: socket: \"c.textproto\" is there and is not a socket", 2);

  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const std::string taken = std::to_string(pair.sis_port("alpha"));
  expect_said(config("cable.sock", "sis { port: " + taken + " }"),
              "SIS port " + taken + " on 127.0.0.1: Address already in use");
  expect_said(config("cable.sock", "sis { port: 0 } control { socket: \"alpha.control\" }"),
              "control socket alpha.control: another process listens on it");
  EXPECT_NE(pair.ask("alpha", "status"), "") << "the first one must not have been disturbed";
}

TEST(LiveStartup, only_the_owner_may_reach_the_control_socket) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  struct stat status {};
  ASSERT_EQ(::stat((pair.folder() / "alpha.control").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(LiveStartup, the_command_line_asks_a_running_daemon) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const auto status = s5066d(pair, {"--control", "alpha.control", "--status", "--json"});
  EXPECT_EQ(status.status, 0);
  EXPECT_EQ(json_value(status.output, "address"), "1.2.0.1");
  EXPECT_EQ(json_value(status.output, "lockstep"), "true");
  const auto text = s5066d(pair, {"--control", "alpha.control", "status"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.output.find("address 1.2.0.1\n"), std::string::npos) << text.output;
  const auto events =
      s5066d(pair, {"--control", "alpha.control", "--json", "events", "event=started"});
  EXPECT_EQ(json_value(events.output, "event"), "started") << events.output;
  const auto counters = s5066d(pair, {"--control", "alpha.control", "--counters"});
  EXPECT_EQ(counters.status, 0);
  EXPECT_NE(counters.output.find("dpdus_bad_header_crc"), std::string::npos);
  const auto nobody = s5066d(pair, {"--control", "bravo.control", "--status"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_NE(nobody.output.find("No such file or directory"), std::string::npos);
}

TEST(LiveStartup, an_answer_that_could_not_be_printed_is_exit_status_1) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  for (const char* question : {"--status", "--counters"}) {
    const std::string command =
        std::string(S5066_S5066D) + " --control alpha.control " + question + " > /dev/full";
    const auto outcome = run({"/bin/sh", "-c", command}, pair.options("s5066d"));
    EXPECT_EQ(outcome.status, 1) << question;
    EXPECT_NE(outcome.output.find("standard output could not be written"), std::string::npos);
  }
}

// A stopped process could not unkey its transmitter.
TEST(LiveStartup, a_terminal_does_not_stop_it) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const std::string status =
      text_of("/proc/" + std::to_string(pair.process("alpha").id()) + "/status");
  const std::string name = "SigIgn:\t";
  const auto at = status.find(name);
  ASSERT_NE(at, std::string::npos);
  const auto ignored = std::stoull(status.substr(at + name.size()), nullptr, 16);
  for (const int signal : {SIGTSTP, SIGTTOU}) EXPECT_NE(ignored >> (signal - 1) & 1, 0U) << signal;
}

TEST(LiveStartup, a_signal_in_mid_transmission_ends_it_cleanly_and_unkeys_the_transmitter) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const test::RigctldStandIn rig;
    Pair pair;
    pair.configure_modem("alpha", "rigctld { port: " + std::to_string(rig.port()) + " }");
    ASSERT_NO_FATAL_FAILURE(pair.start_all());
    pair.folder().write("noise.bin", noise(60'000, 5));
    Process send = pair.send("noise.bin");
    ASSERT_TRUE(await([&] {
      return json_value(pair.ask("alpha", "status"), "transmitting") == "true" &&
             pair.counter("alpha", "frames_sent_new") > 10;
    }));
    pair.process("alpha").signal(signal);
    EXPECT_EQ(pair.process("alpha").wait(), 0) << pair.log("alpha");
    EXPECT_FALSE(std::filesystem::exists(pair.folder() / "alpha.control"));
    const std::string keyings = rig.heard();
    EXPECT_NE(keyings.find("T 1\n"), std::string::npos);
    EXPECT_TRUE(keyings.ends_with("T 0\nt\n")) << keyings;
  }
}

// At power-up both start at the same time and rigctld takes longer.
TEST(LiveStartup, a_rigctld_that_is_not_there_yet_is_waited_for_and_nothing_is_sent_meanwhile) {
  std::uint16_t port = 0;
  {
    const test::RigctldStandIn gone;
    port = gone.port();
  }
  Pair pair;
  pair.configure_modem("alpha", "rigctld { port: " + std::to_string(port) + " }");
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  const auto logged = [&](const std::string& words) {
    return pair.log("alpha").find(words) != std::string::npos;
  };
  EXPECT_TRUE(await([&] { return logged("kind=ptt_failed"); })) << pair.log("alpha");
  EXPECT_EQ(pair.counter("alpha", "bursts_sent"), 0);
  const test::RigctldStandIn rig("RPRT 0\n", port);
  EXPECT_TRUE(await([&] { return logged("kind=ptt_back"); })) << pair.log("alpha");
  pair.folder().write("noise.bin", noise(2'000, 7));
  Process send = pair.send("noise.bin");
  EXPECT_EQ(send.wait(), 0) << pair.log("send");
  EXPECT_EQ(pair.received("noise.bin"), noise(2'000, 7));
  EXPECT_NE(rig.heard().find("T 1\n"), std::string::npos);
}

TEST(LiveStartup, a_sound_card_that_is_not_there_is_named_and_waited_for) {
  Pair pair;
  pair.folder().write("card.textproto",
                      "address: \"1.2.3.4\" modem { mode: \"110a-2400-short\"\n"
                      "sound_card { input: \"no such card\" output: \"no such card\" } }\n"
                      "sis { port: 0 } control { socket: \"card.control\" }\n");
  const auto checked = s5066d(pair, {"--config", "card.textproto", "--check-config"});
  EXPECT_EQ(checked.status, 0);
  EXPECT_NE(checked.output.find("warning: sound_card: no audio input named no such card; there "),
            std::string::npos)
      << checked.output;
  Process daemon({S5066_S5066D, "--config", "card.textproto"}, pair.options("card"));
  ASSERT_TRUE(await([&] {
    return pair.log("card").find(" started address=1.2.3.4 ") != std::string::npos;
  })) << pair.log("card");
  const auto lost = [&] {
    const std::string log = pair.log("card");
    return log.find("kind=device_lost") != std::string::npos &&
           log.find("no audio input named no such card; there ") != std::string::npos;
  };
  EXPECT_TRUE(await(lost)) << pair.log("card");
  const auto status = s5066d(pair, {"--control", "card.control", "--status", "--json"});
  EXPECT_EQ(json_value(status.output, "down"), "true") << status.output;
  EXPECT_EQ(daemon.stop(), 0) << pair.log("card");
}

TEST(LiveStartup, the_loss_of_the_modem_ends_the_daemon_with_a_clear_word) {
  Pair pair;
  pair.configure_modem("alpha", "reopen_attempts_max: 1");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  pair.kill("cable");
  EXPECT_EQ(pair.process("alpha").wait(), 1);
  EXPECT_NE(pair.log("alpha").find("s5066d: modem: the device is lost"), std::string::npos)
      << pair.log("alpha");
}

TEST(LiveStartup, a_cable_that_comes_back_is_taken_up_again) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  pair.kill("cable");
  EXPECT_TRUE(await([&] { return pair.log("alpha").find("device_lost") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(pair.start_cable());
  pair.folder().write("noise.bin", noise(2'000, 6));
  Process send = pair.send("noise.bin");
  EXPECT_EQ(send.wait(), 0) << pair.log("send");
  EXPECT_EQ(pair.received("noise.bin"), noise(2'000, 6));
}

TEST(LiveStartup, every_program_tells_its_service_manager_that_it_serves_lives_and_ends) {
  Pair pair({}, "real");
  std::map<std::string, std::unique_ptr<test::FakeServiceManager>> managers;
  const auto as_service = [&](const std::string& name, const std::function<void()>& start) {
    SCOPED_TRACE(name);
    auto& manager = *(managers[name] = std::make_unique<test::FakeServiceManager>(name));
    ::setenv("NOTIFY_SOCKET", manager.socket_name().c_str(), 1);
    ::setenv("WATCHDOG_USEC", "2000000", 1);
    start();
    for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC"}) ::unsetenv(variable);
    EXPECT_TRUE(await([&] { return manager.count("READY=1") == 1; }));
    EXPECT_TRUE(await([&] { return manager.count("WATCHDOG=1") >= 2; }));
    EXPECT_EQ(manager.count("STOPPING=1"), 0u);
  };
  const auto expect_ending = [&](const std::string& name, Process& process) {
    managers.at(name)->heard();  // empties the socket's buffer
    EXPECT_EQ(process.stop(), 0) << pair.log(name);
    EXPECT_EQ(managers.at(name)->count("STOPPING=1"), 1u) << name;
  };
  as_service("alpha-modem", [&] { pair.lend_modem("alpha"); });
  as_service("alpha", [&] { pair.start_node("alpha"); });
  as_service("alpha-relay", [&] { pair.start_relay("alpha"); });
  pair.folder().write("mail.textproto",
                      text_of(S5066_SOURCE_DIR "/config/back-to-back/alpha-mail.textproto"));
  std::filesystem::create_directory(pair.folder() / "alpha-mail");
  std::optional<Process> mail;
  as_service("alpha-mail", [&] {
    mail.emplace(std::vector<std::string>{S5066_ACP142, "run", "--config", "mail.textproto"},
                 pair.options("alpha-mail"));
  });
  expect_ending("alpha-mail", *mail);
  for (const char* name : {"alpha-relay", "alpha", "alpha-modem"}) {
    expect_ending(name, pair.process(name));
  }
}

}  // namespace
}  // namespace s5066::live
