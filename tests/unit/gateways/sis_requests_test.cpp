// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sis_requests.h"

#include <gtest/gtest.h>

namespace s5066::gateways {
namespace {

namespace in = sis::event;

/// A client that takes requests while it is open.
struct Client {
  Result<sis::RequestId> request_unidata(sis::UnidataRequest request) {
    if (!open) return Error{ErrorCode::queue_full, "requests"};
    taken = std::move(request);
    return sis::RequestId{++last};
  }
  bool open = true;
  std::uint64_t last = 100;
  sis::UnidataRequest taken;
};

TEST(SisRequests, each_request_ends_once_under_the_number_of_its_core) {
  Client client;
  SisRequests requests;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(requests.request(client, {.id = {id}, .updu = {1, 2}}));
  }
  const auto confirmed = requests.event_of(in::Confirmed{{101}});
  ASSERT_TRUE(confirmed && std::holds_alternative<SisConfirmed>(*confirmed));
  EXPECT_EQ(std::get<SisConfirmed>(*confirmed).id, SisRequestId{1});
  EXPECT_FALSE(requests.event_of(in::Confirmed{{101}}));
  const auto rejected =
      requests.event_of(in::Rejected{{102}, sis::RejectReason::destination_not_responding});
  ASSERT_TRUE(rejected && std::holds_alternative<SisRejected>(*rejected));
  EXPECT_EQ(std::get<SisRejected>(*rejected).id, SisRequestId{2});
  const auto unresolved = requests.event_of(in::Unresolved{{103}});
  ASSERT_TRUE(unresolved && std::holds_alternative<SisUnresolved>(*unresolved));
  EXPECT_EQ(std::get<SisUnresolved>(*unresolved).id, SisRequestId{3});
  EXPECT_EQ(requests.size(), 0u);
}

TEST(SisRequests, no_request_is_remembered_once_the_node_has_what_is_not_confirmed) {
  Client client;
  SisRequests requests;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    ASSERT_TRUE(requests.request(client, {.id = {id}, .updu = {1}}));
    EXPECT_FALSE(requests.event_of(in::Sent{{client.last}}));
  }
  EXPECT_EQ(requests.size(), 0u);
}

TEST(SisRequests, a_lost_binding_ends_all_requests_and_a_refused_one_is_not_kept) {
  Client client;
  SisRequests requests;
  ASSERT_TRUE(requests.request(client, {.id = {1}, .updu = {1}}));
  client.open = false;
  EXPECT_FALSE(requests.request(client, {.id = {2}, .updu = {1}}));
  EXPECT_EQ(requests.size(), 1u);
  const auto lost = requests.event_of(in::Unbound{});
  ASSERT_TRUE(lost && std::holds_alternative<SisLost>(*lost));
  EXPECT_EQ(requests.size(), 0u);
}

TEST(SisRequests, the_time_to_live_is_rounded_up_to_the_units_of_the_node) {
  Client client;
  SisRequests requests;
  ASSERT_TRUE(requests.request(client, {.id = {1}, .time_to_live_s = 7, .updu = {1}}));
  EXPECT_EQ(client.taken.time_to_live, 4u);
}

}  // namespace
}  // namespace s5066::gateways
