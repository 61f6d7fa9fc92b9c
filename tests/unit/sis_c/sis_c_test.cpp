// SPDX-License-Identifier: Apache-2.0
// These tests use the C interface from a C program and at its limits.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "sis/c/s5066_sis.h"
#include "tests/support/program_test.h"

namespace s5066::sis {
namespace {

class CInterface : public test::ProgramTest {
 protected:
  /// Answers each primitive so that the program meets every event.
  void answer(const Primitive& primitive) {
    seen.push_back(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) {
      say(BindAccepted{.sap = {6}, .mtu = 100});
    }
    if (const auto* p = std::get_if<UnidataRequest>(&primitive)) confirm(*p);
    if (const auto* p = std::get_if<ExpeditedUnidataRequest>(&primitive)) {
      say(ExpeditedUnidataRequestRejected{RejectReason::destination_not_responding,
                                          p->destination_sap, p->destination, p->updu});
    }
    if (std::holds_alternative<ManagementRequest>(primitive)) {
      say(ManagementIndication{.message_type = 5, .body = {1, 2}});
    }
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      say(HardLinkEstablished{1, p->link});
    }
    if (std::holds_alternative<HardLinkTerminate>(primitive)) say(HardLinkIndication{1, offered_});
    if (std::holds_alternative<HardLinkAccept>(primitive)) say(HardLinkIndication{1, unwanted_});
    if (std::holds_alternative<HardLinkReject>(primitive)) {
      say(SubnetAvailability{NodeStatus::receive_only, AvailabilityReason::emcon});
      say(UnidataIndication{.destination_sap = {6},
                            .destination = Address::all_stations(),
                            .mode = TransmissionMode::nonarq_with_errors,
                            .source_sap = {7},
                            .source = Address{5},
                            .updu = {'a', 'b', 'c'},
                            .errored = {{0, 1}},
                            .missing = {{1, 1}, {2, 1}}});
      say(UnbindIndication{UnbindReason::preempted});
    }
  }

  const HardLink offered_{HardLinkType::full_bandwidth, 3, {6}, Address{5}};
  const HardLink unwanted_{HardLinkType::full_bandwidth, 0, {6}, Address{5}};
};

TEST_F(CInterface, a_c_program_uses_all_of_it) {
  on_primitive = [this](const Primitive& primitive) { answer(primitive); };
  const Outcome outcome = run(PROGRAM, {port()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* line :
       {"bound 100\n",
        "send 0 1\n",
        "send 0\n",
        "too large 1\n",
        "bad 1\n",
        "management 0\n",
        "of bind 0\n",
        "confirmed 1\n",
        "rejected 2 reason 3\n",
        "sent 3\n",
        "sent 4\n",
        "management 5 2\n",
        "link 0\n",
        "again 1\n",
        "established 2 1 01020305\n",
        "end 0\n",
        "accept 0\n",
        "reject 0\n",
        "availability status=\"receive only\" reason=\"emission control\"\n",
        "data 00000005/7 to 1fffffff/6 mode 3 abc errored=0+1 missing=1+1 missing=2+1\n",
        "unbound 1\n"}) {
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line << outcome.out;
  }
  for (const Primitive& primitive : seen) {
    if (const auto* p = std::get_if<UnidataRequest>(&primitive)) {
      EXPECT_EQ(p->priority, 9u);
      EXPECT_EQ(p->time_to_live, 31u) << "units of 2 s, never less than asked for";
      EXPECT_EQ(p->delivery.confirmation, Confirmation::client);
    }
    const auto* expedited = std::get_if<ExpeditedUnidataRequest>(&primitive);
    if (expedited != nullptr && expedited->delivery.mode == TransmissionMode::unspecified) {
      EXPECT_EQ(expedited->delivery, DeliveryMode{});
    }
    if (const auto* p = std::get_if<HardLinkReject>(&primitive)) {
      EXPECT_EQ(p->reason, 2u);
      EXPECT_EQ(p->link, unwanted_);
    }
    if (const auto* p = std::get_if<HardLinkAccept>(&primitive)) {
      EXPECT_EQ(p->link, offered_);
    }
    if (const auto* p = std::get_if<ManagementRequest>(&primitive)) {
      EXPECT_EQ(*p, (ManagementRequest{4, {1, 2, 3}}));
    }
  }
}

// --- Without a server ----------------------------------------------------------------------------

s5066_sis_config nowhere() {
  s5066_sis_config config{};
  config.host = "127.0.0.1";
  config.port = 1;  // no process listens here
  return config;
}

TEST(CInterfaceAlone, null_pointers_and_impossible_values_are_bad_arguments) {
  s5066_sis* client = nullptr;
  s5066_sis_event event{};
  auto config = nowhere();
  EXPECT_EQ(s5066_sis_open(nullptr, &client), S5066_SIS_BAD_ARGUMENT);
  EXPECT_EQ(s5066_sis_open(&config, nullptr), S5066_SIS_BAD_ARGUMENT);
  for (const auto change : std::vector<void (*)(s5066_sis_config&)>{
           [](s5066_sis_config& c) { c.sap = 16; }, [](s5066_sis_config& c) { c.rank = 16; },
           [](s5066_sis_config& c) { c.mode = 4; }, [](s5066_sis_config& c) { c.confirm = 3; },
           [](s5066_sis_config& c) {
             c.mode = S5066_SIS_MODE_NONARQ;
             c.confirm = 1;
           }}) {
    auto wrong = config;
    change(wrong);
    EXPECT_EQ(s5066_sis_open(&wrong, &client), S5066_SIS_BAD_ARGUMENT);
  }
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(s5066_sis_next_event(nullptr, &event, 0), S5066_SIS_BAD_ARGUMENT);
  EXPECT_EQ(s5066_sis_fd(nullptr), S5066_SIS_BAD_ARGUMENT);
  EXPECT_EQ(s5066_sis_send(nullptr, nullptr, nullptr), S5066_SIS_BAD_ARGUMENT);
  EXPECT_EQ(s5066_sis_request_link(nullptr, nullptr), S5066_SIS_BAD_ARGUMENT);
  EXPECT_EQ(s5066_sis_end_link(nullptr, 0), S5066_SIS_BAD_ARGUMENT);
  s5066_sis_close(nullptr);
}

TEST(CInterfaceAlone, a_client_without_a_server_says_so_and_closes) {
  const auto config = nowhere();
  s5066_sis* client = nullptr;
  ASSERT_EQ(s5066_sis_open(&config, &client), S5066_SIS_OK);
  s5066_sis_event event{};
  ASSERT_EQ(s5066_sis_next_event(client, &event, -1), S5066_SIS_OK);
  EXPECT_EQ(event.kind, S5066_SIS_LOST);
  EXPECT_NE(std::string(event.text).find("lost"), std::string::npos);
  EXPECT_EQ(s5066_sis_next_event(client, &event, 0), S5066_SIS_TIMED_OUT);
  pollfd waiting{s5066_sis_fd(client), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "nothing waits";
  s5066_sis_request request{};
  EXPECT_EQ(s5066_sis_send(client, &request, nullptr), S5066_SIS_NOT_BOUND);
  request.time_to_live_s = 2 * 648000 + 1;
  EXPECT_EQ(s5066_sis_send(client, &request, nullptr), S5066_SIS_BAD_ARGUMENT);
  request = {};
  request.destination = 0x20000000;
  EXPECT_EQ(s5066_sis_send(client, &request, nullptr), S5066_SIS_BAD_ARGUMENT);
  request = {};
  request.size = 1;  // a size without data
  EXPECT_EQ(s5066_sis_send(client, &request, nullptr), S5066_SIS_BAD_ARGUMENT);
  s5066_sis_close(client);
}

TEST(CInterfaceAlone, events_that_nobody_fetches_stop_the_client_and_are_told_of) {
  auto config = nowhere();
  config.events_max = 1;
  s5066_sis* client = nullptr;
  ASSERT_EQ(s5066_sis_open(&config, &client), S5066_SIS_OK);
  pollfd waiting{s5066_sis_fd(client), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 60'000), 1);
  s5066_sis_event event{};
  ASSERT_EQ(s5066_sis_next_event(client, &event, -1), S5066_SIS_OK);
  EXPECT_EQ(event.kind, S5066_SIS_LOST);
  ASSERT_EQ(s5066_sis_next_event(client, &event, -1), S5066_SIS_OK);
  EXPECT_EQ(event.kind, S5066_SIS_OVERFLOW);
  EXPECT_EQ(::poll(&waiting, 1, 0), 1) << "that it has stopped is there to be fetched";
  EXPECT_EQ(s5066_sis_next_event(client, &event, -1), S5066_SIS_CLOSED);
  EXPECT_EQ(::poll(&waiting, 1, 0), 1);
  s5066_sis_request request{};
  EXPECT_EQ(s5066_sis_send(client, &request, nullptr), S5066_SIS_CLOSED);
  s5066_sis_close(client);
}

TEST(CInterfaceAlone, its_thread_takes_no_signal_of_the_application) {
  const auto config = nowhere();
  s5066_sis* client = nullptr;
  ASSERT_EQ(s5066_sis_open(&config, &client), S5066_SIS_OK);
  sigset_t usr1;
  sigset_t before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &usr1, &before), 0);
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // without the mask this would end the process
  const timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&usr1, nullptr, &at_once), SIGUSR1);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  s5066_sis_close(client);
}

TEST(CInterfaceAlone, every_error_has_a_text_of_its_own) {
  std::vector<std::string> texts;
  for (int error = 0; error >= S5066_SIS_FAILED; --error) {
    texts.push_back(s5066_sis_error_text(error));
    EXPECT_NE(texts.back(), "unknown") << error;
    EXPECT_EQ(std::count(texts.begin(), texts.end(), texts.back()), 1) << error;
  }
  EXPECT_STREQ(s5066_sis_error_text(1), "unknown");
}

}  // namespace
}  // namespace s5066::sis
