// SPDX-License-Identifier: Apache-2.0
// The whole file relay but for its main(), between a scripted SIS server and a scripted control
// socket of s5066d.
#include "gateways/file_relay/relay_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "config/proto/control.pb.h"
#include "gateways/common/service_client.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/control/control_socket.h"
#include "s5066d/control/json.h"
#include "s5066d/control/text.h"
#include "s5066d/posix/passed_file.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"
#include "tests/support/sis_server_stand_in.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::file_relay {
namespace {

constexpr Address kPeer{0x01020304};

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  bool has(std::string_view word) const { return text.find(word) != std::string::npos; }
  std::string text;
};

class RelayServiceTest : public testing::Test {
 protected:
  RelayServiceTest() {
    config.sis_port = server.port();
    config.spool_directory = folder.make("spool");
    config.inbox_directory = folder.make("inbox");
    config.node_control_socket = (folder.path() / "node.sock").string();
    config.spool_reserve_octets = 4096;
    config.transfer_service = false;  // the stand-in for the server answers no offers
    config.lifetime_s = 7 * 86400;
    config.duplicate_window_s = config.lifetime_s;
  }

  void start_node() {
    node = std::make_unique<control::ControlSocket>(
        server.io, control::SocketConfig{.path = config.node_control_socket},
        [this](std::string_view, posix::PassedFile) {
          ++asked;
          return Result<std::string>("{\"up_s\": " + std::to_string(up_s) +
                                     ", \"lockstep\": " + (lockstep ? "true" : "false") + "}");
        },
        log);
    ASSERT_TRUE(node->open());
  }
  void start() {
    service.emplace(config, log);
    const auto started = service->start();
    ASSERT_TRUE(started) << started.error().detail;
    ASSERT_TRUE(until([&] { return server.bound > 0; }));
  }
  std::string ask(const std::string& request, int file = -1) {
    Result<std::string> answer = Error{ErrorCode::io, ""};
    std::atomic<bool> done = false;
    std::thread other([&] {
      answer =
          posix::ask_control(control_socket_path(config), request, std::chrono::seconds(10), file);
      done = true;
    });
    EXPECT_TRUE(until([&] { return done.load(); }));
    other.join();
    return answer ? *answer : answer.error().detail;
  }
  template <typename Condition>
  bool until(Condition condition) {
    return test::eventually([&] {
      service->io().poll();
      server.io.poll();
      return condition();
    });
  }
  /// The relay has asked so often again, and has had the answers but the last.
  void let_it_ask(int times) {
    const int enough = asked + times;
    ASSERT_TRUE(until([&] { return asked >= enough; }));
  }
  gateways::SpoolId send() {
    auto store = gateways::SqliteStore::open(store_config(config, 0));
    return *store->enqueue({.destination = kPeer,
                            .name = "f",
                            .content = {1},
                            .now = posix::to_utc_seconds(posix::utc_now()),
                            .priority = {}});
  }
  SpoolState state(gateways::SpoolId id) {
    auto store = gateways::SqliteStore::open(store_config(config, 0));
    return (*store->find(id))->state;
  }
  /// The node reports that the file's U_PDU did not arrive.
  void refuse(std::size_t updu) {
    ASSERT_TRUE(until([&] { return server.sent.size() > updu; }));
    const auto& sent = server.sent[updu];
    server.say(sis::UnidataRequestRejected{.reason = sis::RejectReason::destination_not_responding,
                                           .destination_sap = sent.destination_sap,
                                           .destination = sent.destination,
                                           .updu_part = sent.updu});
  }

  test::TemporaryFolder folder;
  RelayConfig config;
  Lines log;
  test::SisServerStandIn server{gateways::kRcopSap};
  std::unique_ptr<control::ControlSocket> node;
  int asked = 0;
  double up_s = 100;
  bool lockstep = true;
  std::optional<RelayService> service;
};

TEST_F(RelayServiceTest, a_retry_waits_by_the_clock_of_a_node_on_a_cable_that_runs_fast) {
  config.retry_delay_min_s = config.retry_delay_max_s = 3600;
  const auto id = send();
  ASSERT_NO_FATAL_FAILURE(start_node());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(refuse(0));
  ASSERT_TRUE(until([&] { return state(id) == SpoolState::deferred; })) << log.text;
  up_s += 3590;
  ASSERT_NO_FATAL_FAILURE(let_it_ask(3));
  EXPECT_EQ(server.sent.size(), 1u);
  up_s += 20;
  EXPECT_TRUE(until([&] { return server.sent.size() == 2; })) << log.text;
  EXPECT_TRUE(log.has("clock_source clock=node")) << log.text;
  EXPECT_FALSE(log.has("clock_set")) << log.text;
}

TEST_F(RelayServiceTest, a_retry_does_not_come_while_the_clock_of_the_cable_stands_still) {
  config.retry_delay_min_s = 1;
  const auto id = send();
  ASSERT_NO_FATAL_FAILURE(start_node());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(refuse(0));
  ASSERT_TRUE(until([&] { return state(id) == SpoolState::deferred; })) << log.text;
  // Longer than the wait by the clock of the machine.
  ASSERT_NO_FATAL_FAILURE(let_it_ask(
      static_cast<int>(3 * std::chrono::seconds(1) / gateways::NodeTimeAsker::kFollowEvery)));
  EXPECT_EQ(server.sent.size(), 1u);
  up_s += 2;
  EXPECT_TRUE(until([&] { return server.sent.size() == 2; })) << log.text;
}

TEST_F(RelayServiceTest, a_retry_goes_on_waiting_over_a_restart_of_the_node) {
  config.retry_delay_min_s = config.retry_delay_max_s = 3600;
  const auto id = send();
  ASSERT_NO_FATAL_FAILURE(start_node());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(refuse(0));
  ASSERT_TRUE(until([&] { return state(id) == SpoolState::deferred; })) << log.text;
  up_s += 1800;
  ASSERT_NO_FATAL_FAILURE(let_it_ask(3));
  node.reset();
  server.drop();
  ASSERT_TRUE(until([&] { return log.has("clock_source clock=machine"); })) << log.text;
  up_s = 5;
  ASSERT_NO_FATAL_FAILURE(start_node());
  ASSERT_TRUE(until([&] { return server.bound == 2; })) << log.text;
  ASSERT_NO_FATAL_FAILURE(let_it_ask(3));
  up_s += 1700;
  ASSERT_NO_FATAL_FAILURE(let_it_ask(3));
  EXPECT_EQ(server.sent.size(), 1u);
  up_s += 120;
  EXPECT_TRUE(until([&] { return server.sent.size() == 2; })) << log.text;
}

TEST_F(RelayServiceTest, without_a_node_that_answers_the_clock_of_the_machine_counts) {
  config.retry_delay_min_s = 1;
  send();
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(refuse(0));
  EXPECT_TRUE(until([&] { return server.sent.size() == 2; })) << log.text;
  EXPECT_FALSE(log.has("clock_source")) << log.text;
}

TEST_F(RelayServiceTest, a_command_changes_a_file_through_the_relay_that_runs) {
  using gateways::SpoolChange;
  const auto id = send();
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(until([&] { return server.sent.size() == 1; })) << log.text;
  const auto command = [&](SpoolChange change) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::atomic<bool> done = false;
    std::thread other([&] {
      const gateways::ServiceClient relay(
          {.program = "s5066-relay", .socket = control_socket_path(config), .start = ""});
      relay.ask_and_print(std::string(to_string(change)) + " " + std::to_string(id.value),
                          proto::Done::default_instance());
      done = true;
    });
    EXPECT_TRUE(until([&] { return done.load(); }));
    other.join();
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(command(SpoolChange::retry), "s5066-relay: the file is on its way\n");
  EXPECT_EQ(command(SpoolChange::hold), "ok, but the other station may have it already\n");
  EXPECT_EQ(state(id), SpoolState::held);
  EXPECT_TRUE(log.has("file_changed by=hold item=1")) << log.text;
  EXPECT_EQ(command(SpoolChange::hold), "s5066-relay: the file is held\n");
  EXPECT_EQ(command(SpoolChange::release), "ok\n");
  EXPECT_TRUE(until([&] { return server.sent.size() == 2; })) << log.text;
  EXPECT_EQ(command(SpoolChange::cancel), "ok, but the other station may have it already\n");
  EXPECT_EQ(state(id), SpoolState::failed);
}

TEST_F(RelayServiceTest, a_request_that_it_does_not_know_is_refused_in_json) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::string usage = "the request is `hold ID`";
  const std::string known =
      "requests are status, queue, show, hold, release, retry, cancel, put, incoming, received, "
      "ask, asked, counters, events, help";
  for (const auto& [request, text] : std::map<std::string, std::string>{{"", known},
                                                                        {"drop 1", known},
                                                                        {"hold", usage},
                                                                        {"hold ", usage},
                                                                        {"hold x", usage},
                                                                        {"hold 1 2", usage},
                                                                        {"hold -1", usage}}) {
    const auto answer = control::read_answer<proto::Done>(ask(request));
    ASSERT_FALSE(answer) << request;
    EXPECT_EQ(answer.error().detail, text) << request;
  }
}

TEST_F(RelayServiceTest, a_file_that_is_put_goes_into_the_spool_through_the_socket) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto sealed = posix::make_sealed_file(Bytes{1, 2});
  ASSERT_TRUE(sealed);
  const auto sent =
      control::read_answer<proto::FileSent>(ask("put a/f 1700000000 644 1.2.3.4 9", sealed->get()));
  ASSERT_TRUE(sent);
  auto store = gateways::SqliteStore::open(store_config(config, 0));
  const auto item = *store->find({static_cast<std::int64_t>(sent->id())});
  EXPECT_EQ(item->name, "a/f");
  EXPECT_EQ(item->destination, kPeer);
  EXPECT_EQ(item->priority, 9);
  EXPECT_EQ(item->size, 2u);
  EXPECT_TRUE(log.has("file_accepted"));
  for (const std::string request : {"put f 0 644 16.0.0.1", "put f 0 644 1.2.3.4 16",
                                    "put f 1.2.3.4", "put f 0 644 1.2.3.4 - coded 50 0"}) {
    EXPECT_FALSE(control::read_answer<proto::FileSent>(ask(request, sealed->get()))) << request;
  }
}

TEST_F(RelayServiceTest, a_put_with_any_other_descriptor_than_a_sealed_file_is_refused) {
  config.file_octets_max = 10;
  ASSERT_NO_FATAL_FAILURE(start());
  const auto refusal = [&](int file) {
    const auto sent = control::read_answer<proto::FileSent>(ask("put f 0 644 1.2.3.4", file));
    return sent ? "accepted" : sent.error().detail;
  };
  const std::string none = "no descriptor of a sealed memory file came with it";
  const std::string fifo = (folder.path() / "fifo").string();
  const std::string file = (folder.path() / "file").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(file) << "text";
  EXPECT_EQ(refusal(-1), none);
  for (const auto& [path, flags] : {std::pair{file, O_RDONLY},
                                    {file, O_WRONLY},
                                    {folder.path().string(), O_RDONLY},
                                    {fifo, O_RDONLY | O_NONBLOCK},
                                    {std::string("/dev/zero"), O_RDONLY},
                                    {config.spool_directory + "/spool.db", O_RDONLY}}) {
    const posix::Fd opened(::open(path.c_str(), flags | O_CLOEXEC));
    ASSERT_TRUE(opened) << path;
    EXPECT_EQ(refusal(opened.get()), none) << path;
  }
  const auto large = posix::make_sealed_file(Bytes(11, 1));
  EXPECT_EQ(refusal(large->get()), "the file is larger than the limit of 10 octets");
  auto store = gateways::SqliteStore::open(store_config(config, 0));
  EXPECT_EQ(store->list({.over = true}, 10)->size(), 0u);
}

TEST_F(RelayServiceTest, a_file_in_a_watched_directory_is_sent) {
  config.watch_folders = {
      {.directory = folder.make("outbox"), .to = {kPeer}, .priority = 7, .keep = false}};
  std::ofstream(folder.path() / "outbox/f") << "text";
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(until([&] { return log.has("file_accepted"); }));
  auto store = gateways::SqliteStore::open(store_config(config, 0));
  ASSERT_EQ(store->list(10)->size(), 1u);
  EXPECT_EQ(store->list(10)->at(0).name, "f");
}

// Each answer is the message that `help` names, has the version, and is shown as text.
TEST_F(RelayServiceTest, every_request_is_answered_by_its_message) {
  ASSERT_NO_FATAL_FAILURE(start());
  server.say(sis::DataFlowOff{});
  const auto id = send();
  const auto expect = [&](const std::string& request, auto answer) {
    const std::string json = ask(request);
    EXPECT_NE(json.find("\"version\": 1"), std::string::npos) << json;
    const auto read = control::read_answer(json, answer);
    EXPECT_TRUE(read) << request << ": " << json;
    EXPECT_FALSE(control::text_of(answer).empty()) << request;
    return answer;
  };
  for (const char* change : {"hold", "release", "retry", "cancel"}) {
    std::string json;
    ASSERT_TRUE(until([&] {  // the relay may be working on the file
      json = ask(change + (" " + std::to_string(id.value)));
      return json.find("ask again") == std::string::npos;
    }));
    EXPECT_NE(json.find("\"version\": 1"), std::string::npos) << json;
  }
  const auto status = expect("status", proto::RelayStatus());
  EXPECT_EQ(status.program().name(), "s5066-relay");
  EXPECT_TRUE(status.bound());
  EXPECT_EQ(expect("help", proto::VerbList()).verbs_size(), 15);
  EXPECT_EQ(control::text_of(expect("incoming", proto::IncomingFiles())), "none\n");
  EXPECT_EQ(control::text_of(expect("received", proto::ReceivedFiles())), "none\n");
  EXPECT_EQ(expect("queue all=1", proto::FileQueue()).files_size(), 1);
  EXPECT_EQ(expect("show " + std::to_string(id.value), proto::FileDetails()).name(), "f");
  expect("counters", proto::CounterTable());
  const auto events = expect("events event=relay_started", proto::Events());
  ASSERT_EQ(events.events_size(), 1);
}

}  // namespace
}  // namespace s5066::file_relay
