// SPDX-License-Identifier: Apache-2.0
// The command line of a gateway, with a small gateway behind it that answers on a control socket.
#include "gateways/common/service_main.h"

#include <gtest/gtest.h>

#include <boost/program_options/errors.hpp>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <thread>

#include "config/proto/control.pb.h"
#include "gateways/common/damage_note.h"
#include "gateways/common/service_host.h"
#include "s5066d/control/json.h"
#include "s5066d/control/station_files.h"
#include "s5066d/posix/main_tail.h"
#include "tests/support/temporary_folder.h"

namespace s5066::gateways {
namespace {

struct Nothing final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

const control::VerbInfo kHold = {"hold", "ID", "keep it", control::answered_by<proto::Done>};

class ServiceMainTest : public testing::Test {
 protected:
  ServiceMainTest() {
    program.name = "s5066-test";
    program.load = [this](const std::string& file, config::Scope how_much) {
      loaded = file;
      scope = how_much;
      return file == "wrong" ? ServiceLoaded{.problems = {"wrong:1:2: no"}, .warnings = {"odd"}}
                             : ServiceLoaded{.problems = {}, .warnings = {"odd"}};
    };
    program.log_level = [] { return LogLevel::error; };
    program.spool_directory = [this] { return folder.path().string(); };
    program.control_socket = [this] { return (folder.path() / "c.sock").string(); };
    program.serve = [this](LogSink&) { return served; };
    program.verbs = {kHold};
    program.aliases = {{"keep", "hold"}};
    program.commands = {
        {"count", "WORDS", "count the words",
         [](const ServiceArguments& arguments, const ServiceClient&) -> std::optional<int> {
           if (arguments.words.empty()) return std::nullopt;
           return static_cast<int>(arguments.words.size());
         }}};
    host.verbs().add(kHold, [this](const control::Words& words) -> control::VerbTable::Answer {
      asked.assign(words.begin(), words.end());
      if (words.size() != 1) return std::nullopt;
      if (words[0] != "1") return Result<std::string>(Error{ErrorCode::not_found, "no such one"});
      return Result<std::string>(control::done_json());
    });
  }

  struct Outcome {
    int status = -1;
    std::string out;
    std::string err;
  };
  Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), "s5066-test");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    std::exception_ptr problem;
    try {
      outcome.status = service_main(program, static_cast<int>(argv.size()), argv.data());
    } catch (...) {
      problem = std::current_exception();
    }
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    if (problem) std::rethrow_exception(problem);
    return outcome;
  }
  /// Runs a command while the gateway serves.
  Outcome run_beside_gateway(const std::vector<std::string>& words) {
    if (!open) {
      open = true;
      EXPECT_TRUE(
          host.open_control({.path = program.control_socket()}, [] { return CounterRows(); }));
    }
    Outcome outcome;
    std::thread command([&] {
      outcome = run(words);
      host.io().stop();
    });
    host.io().run();
    command.join();
    host.io().restart();
    return outcome;
  }

  test::TemporaryFolder folder;
  Nothing log;
  ServiceHost host{"s5066-test", log};
  ServiceProgram program;
  Result<void> served;
  std::string loaded;
  config::Scope scope = config::Scope::text;
  std::vector<std::string> asked;
  bool open = false;
};

TEST_F(ServiceMainTest, help_lists_own_and_common_commands) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* line : {"s5066-test run\n", "s5066-test check\n", "s5066-test count WORDS\n",
                           "s5066-test hold ID\n", "s5066-test counters\n", "s5066-test events ",
                           "s5066-test keep\n", "--json", "--config FILE"}) {
    EXPECT_NE(help.out.find(line), std::string::npos) << line << help.out;
  }
  EXPECT_EQ(run({"--version"}).out.rfind("s5066-test ", 0), 0u);
}

TEST_F(ServiceMainTest, wrong_arguments_are_exit_status_2) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{},
                                             {"hold"},
                                             {"dance", "--config", "f"},
                                             {"run", "x", "--config", "f"},
                                             {"count", "--config", "f"},
                                             {"hold", "a b", "--config", "f"},
                                             {"hold", "--config", "f", std::string(301, 'a')}}) {
    const Outcome outcome = run(wrong);
    EXPECT_EQ(outcome.status, posix::kExitUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

TEST_F(ServiceMainTest, problems_of_the_configuration_are_shown_and_end_it) {
  const Outcome wrong = run({"run", "--config", "wrong"});
  EXPECT_EQ(wrong.status, posix::kExitUsage);
  EXPECT_EQ(wrong.err, "wrong:1:2: no\n");
  const Outcome check = run({"check", "--config", "f"});
  EXPECT_EQ(check.status, posix::kExitOk);
  EXPECT_EQ(check.err, "odd\n");
  EXPECT_EQ(loaded, "f");
}

TEST_F(ServiceMainTest, check_and_run_look_at_this_machine_and_requests_do_not) {
  run({"check", "--config", "f"});
  EXPECT_EQ(scope, config::Scope::before_start);
  run({"run", "--config", "f"});
  EXPECT_EQ(scope, config::Scope::start);
  run({"hold", "1", "--config", "f"});
  EXPECT_EQ(scope, config::Scope::text);
  program.check = [] { return Result<void>(Error{ErrorCode::bad_field, "never"}); };
  const Outcome check = run({"check", "--config", "f"});
  EXPECT_EQ(check.status, posix::kExitUsage);
  EXPECT_EQ(check.err, "odd\ns5066-test: never\n");
}

TEST_F(ServiceMainTest, quiet_says_only_errors_and_verbose_names_the_good_file) {
  EXPECT_EQ(run({"check", "--config", "f", "-q"}).err, "");
  EXPECT_EQ(run({"check", "--config", "f", "-v"}).out, "f: good\n");
  EXPECT_EQ(run({"check", "--config", "f"}).out, "");
  EXPECT_EQ(run({"check", "--config", "wrong", "-q"}).err, "wrong:1:2: no\n");
}

TEST_F(ServiceMainTest, a_mistyped_command_or_option_is_named_with_the_one_that_was_meant) {
  EXPECT_EQ(run({"chekc", "--config", "f"}).err,
            "s5066-test: no such command: chekc; --help lists them; did you mean check?\n");
  try {
    run({"check", "--confg", "f"});
    ADD_FAILURE() << "no exception";
  } catch (const boost::program_options::error& problem) {
    EXPECT_STREQ(problem.what(),
                 "no such option: --confg; --help lists them; did you mean --config?");
  }
}

TEST_F(ServiceMainTest, the_configuration_of_the_only_station_is_the_default) {
  program.suffix = "-test";
  const auto write = [this](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  ::setenv("S5066_CONFIG", folder.path().c_str(), 1);
  EXPECT_NE(run({"check"}).err.find("no station is configured in"), std::string::npos);
  write("station.textproto", "# address: \"1.2.0.1\"\n");
  EXPECT_NE(run({"check"}).err.find("no station is configured in"), std::string::npos)
      << "it was not completed";
  write("shore.textproto", "  address : \"1.2.0.1\"\n");
  EXPECT_EQ(run({"check"}).status, posix::kExitOk);
  EXPECT_EQ(loaded, folder / "shore-test.textproto");
  write("ship.textproto", "address: \"1.2.0.1\"\n");
  EXPECT_NE(run({"check"}).err.find("give --config FILE: ship shore"), std::string::npos);
  ::setenv("S5066_STATION", "ship", 1);
  EXPECT_EQ(run({"check"}).status, posix::kExitOk);
  EXPECT_EQ(loaded, folder / "ship-test.textproto");
  ::setenv("S5066_STATION", "../ship", 1);
  EXPECT_EQ(run({"check"}).status, posix::kExitUsage);
  ::setenv("S5066_CONFIG", (folder / "ship.textproto").c_str(), 1);
  EXPECT_EQ(run({"check"}).status, posix::kExitOk);
  EXPECT_EQ(loaded, folder / "ship.textproto") << "a file is taken as it is";
  ::unsetenv("S5066_STATION");
  ::setenv("S5066_CONFIG", (folder / "none").c_str(), 1);
  EXPECT_NE(run({"check"}).err.find("No such file or directory"), std::string::npos);
  ::unsetenv("S5066_CONFIG");
}

TEST_F(ServiceMainTest, what_no_restart_mends_is_exit_status_2) {
  for (const auto& [code, status] : {std::pair{ErrorCode::io, posix::kExitEnvironment},
                                     {ErrorCode::already_exists, posix::kExitEnvironment},
                                     {ErrorCode::bad_field, posix::kExitUsage},
                                     {ErrorCode::refused, posix::kExitUsage},
                                     {ErrorCode::unsupported, posix::kExitUsage},
                                     {ErrorCode::bad_checksum, posix::kExitSpoolDamaged}}) {
    served = Error{code, "it"};
    EXPECT_EQ(run({"run", "--config", "f"}).status, status) << to_string(code);
  }
}

TEST_F(ServiceMainTest, a_service_that_fails_is_exit_status_1) {
  EXPECT_EQ(run({"run", "--config", "f"}).status, posix::kExitOk);
  served = Error{ErrorCode::io, "no\nport"};
  const Outcome failed = run({"run", "--config", "f"});
  EXPECT_EQ(failed.status, posix::kExitEnvironment);
  EXPECT_NE(failed.err.find("s5066-test: no\\x0aport\n"), std::string::npos) << failed.err;
  program.check = [] { return Result<void>(Error{ErrorCode::bad_field, "never"}); };
  EXPECT_EQ(run({"run", "--config", "f"}).status, posix::kExitUsage);
}

TEST_F(ServiceMainTest, a_damaged_spool_is_exit_status_3_and_a_note_beside_it) {
  const std::string spool = (folder.path() / "spool.db").string();
  served = Error{ErrorCode::io, "no port"};
  run({"run", "--config", "f"});
  EXPECT_EQ(noted_damage(spool), "");
  served = Error{ErrorCode::bad_checksum, "database disk image is malformed"};
  EXPECT_EQ(run({"run", "--config", "f"}).status, posix::kExitSpoolDamaged);
  EXPECT_EQ(noted_damage(spool),
            "reported while the gateway ran: database disk image is malformed");
}

TEST_F(ServiceMainTest, a_command_of_its_own_gets_its_words) {
  EXPECT_EQ(run({"count", "a", "b", "--config", "f", "c"}).status, 3);
}

TEST_F(ServiceMainTest, a_service_that_does_not_run_is_named_with_the_command_that_starts_it) {
  const Outcome none = run({"hold", "1", "--config", "f"});
  EXPECT_EQ(none.status, posix::kExitEnvironment);
  EXPECT_NE(none.err.find("no program answers there: control socket "), std::string::npos);
  EXPECT_NE(none.err.find("; start it with `s5066-test run --config f`\n"), std::string::npos)
      << none.err;
  const auto start = [](const std::string& file) {
    return control::start_command("s5066-relay", "-relay", file);
  };
  EXPECT_EQ(start("/etc/s5066/shore-relay.textproto"), "sudo systemctl start s5066-relay@shore");
  EXPECT_EQ(control::unit_of("s5066d", "", "/etc/s5066/shore.textproto"), "s5066d@shore");
  EXPECT_EQ(control::unit_of("s5066d", "", "/etc/other/shore.textproto"), std::nullopt);
  for (const std::string other : {"/etc/s5066/-relay.textproto", "/etc/s5066/shore.textproto",
                                  "/etc/s5066/x/a-relay.textproto", "a-relay.textproto"}) {
    EXPECT_EQ(start(other), "s5066-relay run --config " + other);
  }
}

TEST_F(ServiceMainTest, a_request_is_answered_as_text_or_json) {
  Outcome done = run_beside_gateway({"keep", "1", "--config", "f"});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.out, "ok\n");
  EXPECT_EQ(asked, std::vector<std::string>{"1"});
  done = run_beside_gateway({"hold", "1", "--config", "f", "--json"});
  EXPECT_TRUE(control::read_answer<proto::Done>(done.out)->done()) << done.out;

  Outcome refused = run_beside_gateway({"hold", "2", "--config", "f"});
  EXPECT_EQ(refused.status, posix::kExitEnvironment);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, "s5066-test: no such one\n");
  refused = run_beside_gateway({"hold", "2", "--config", "f", "--json"});
  EXPECT_EQ(refused.status, posix::kExitEnvironment);
  EXPECT_EQ(control::read_answer<proto::Done>(refused.out).error().code, ErrorCode::not_found);
}

TEST_F(ServiceMainTest, a_request_without_a_gateway_says_so) {
  const Outcome alone = run({"hold", "1", "--config", "f"});
  EXPECT_EQ(alone.status, posix::kExitEnvironment);
  EXPECT_EQ(alone.err.rfind("s5066-test: no program answers there: control socket ", 0), 0u)
      << alone.err;
}

TEST_F(ServiceMainTest, common_requests_go_to_the_gateway) {
  LogLine(host.log(), LogLevel::warning, "odd_thing").kv("reason", "none");
  const Outcome events = run_beside_gateway({"events", "level=warning", "--config", "f"});
  EXPECT_EQ(events.status, 0);
  EXPECT_NE(events.out.find("odd_thing  reason=none\n"), std::string::npos) << events.out;
  const Outcome counters = run_beside_gateway({"counters", "--config", "f", "--json"});
  EXPECT_TRUE(control::read_answer<proto::CounterTable>(counters.out)) << counters.out;
}

}  // namespace
}  // namespace s5066::gateways
