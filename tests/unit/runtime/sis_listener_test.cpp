// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/sis_listener.h"

#include "tests/support/no_descriptors_left.h"
#include "tests/unit/runtime/sis_rig.h"

namespace s5066::runtime {
namespace {

namespace error = boost::asio::error;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PlainPort : public TcpPort {
 protected:
  /// Connects a client and waits until the server has served it.
  Client& accepted() {
    Client& client = connected();
    client.send(sis::KeepAlive{});
    run_until([&] { return !client.received.empty() || client.end; });
    EXPECT_FALSE(client.end) << client.end.message();
    return client;
  }
  void expect_refused() {
    Client& client = connected();
    run_until([&] { return client.end.failed(); });
    EXPECT_TRUE(client.received.empty());
  }
  std::vector<sis::Primitive> answer_to(Client& client, const sis::Primitive& primitive) {
    client.received.clear();
    client.send(primitive);
    run_until([&] { return !client.received.empty() || client.end; });
    return client.received;
  }
};

TEST_F(PlainPort, carries_primitives_in_both_directions_and_in_order) {
  ASSERT_TRUE(open());
  Client& client = connected();
  client.send(bind_to(3));
  Bytes requests;
  for (int i = 0; i < 200; ++i) {
    sis::UnidataRequest request;
    request.destination = Address{kOwn};
    request.destination_sap = SapId{3};
    request.updu = Bytes(static_cast<std::size_t>(i), static_cast<std::uint8_t>(i));
    sis::encode(request, requests);
  }
  client.send_octets(requests);
  run_until([&] { return client.all<sis::UnidataIndication>().size() == 200 || client.end; });
  const auto all = client.all<sis::UnidataIndication>();
  ASSERT_EQ(all.size(), 200u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].updu, Bytes(i, static_cast<std::uint8_t>(i)));
  }
}

TEST_F(PlainPort, resets_a_client_whose_output_is_to_be_discarded) {
  node_config_.client_output_octets_max = 0;  // any waiting output is too much
  ASSERT_TRUE(open());
  Client& client = connected();
  client.send(bind_to(3));
  run_until([&] { return client.end.failed(); });
  EXPECT_EQ(client.end, error::connection_reset);
  EXPECT_TRUE(client.received.empty());
}

TEST_F(PlainPort, no_more_is_confirmed_than_a_client_that_was_reset_can_read) {
  // The limits leave room for what the kernel takes and for the rejections of U_PDUs that it has
  // not passed on.
  constexpr std::size_t kUpdus = 5000;
  node_config_.client_output_octets_max = 4 * 1024 * 1024;
  node_config_.client_rate = {0, 0};
  ASSERT_TRUE(open());
  Client& sender = connected();
  auto bind = bind_to(3);
  bind.service.confirmation = sis::Confirmation::client;
  sender.send(bind);
  boost::asio::ip::tcp::socket deaf(io_, boost::asio::ip::tcp::v4());
  deaf.set_option(boost::asio::socket_base::receive_buffer_size(4096));
  deaf.connect({boost::asio::ip::address_v4::loopback(), listener_->port()});
  Bytes asked;
  sis::encode(bind_to(4), asked);
  boost::asio::write(deaf, boost::asio::buffer(asked));
  run_until(
      [&] { return node_->status().clients.size() == 2 && node_->status().clients.back().bound; });
  std::size_t given = 0;
  while (node_->status().clients.size() == 2 && given < kUpdus) {
    sis::UnidataRequest request;
    request.destination = Address{kOwn};
    request.destination_sap = SapId{4};
    request.updu = Bytes(2000, static_cast<std::uint8_t>(given++));
    sender.send(request);
    run_until([&] { return sender.all_sent(); });
    io_.poll();
  }
  run_until([&] { return node_->status().clients.size() == 1; });  // too much output was unread
  std::size_t read = 0;
  sis::Framer framer;
  std::array<std::uint8_t, 4096> input{};
  for (boost::system::error_code end; !end;) {
    framer.push(ByteSpan(input.data(), deaf.read_some(boost::asio::buffer(input), end)));
    while (const auto item = framer.poll()) {
      const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
      ASSERT_NE(frame, nullptr);
      read += std::holds_alternative<sis::UnidataIndication>(*sis::decode(frame->body)) ? 1 : 0;
    }
  }
  const auto ended = [&] {
    return sender.all<sis::UnidataRequestConfirm>().size() +
           sender.all<sis::UnidataRequestRejected>().size();
  };
  pass(std::chrono::hours(2));
  run_until([&] { return ended() == given; });
  EXPECT_GT(read, 0u);
  EXPECT_LE(sender.all<sis::UnidataRequestConfirm>().size(), read);
}

TEST_F(PlainPort, a_client_that_reads_has_everything_confirmed) {
  ASSERT_TRUE(open());
  Client& client = connected();
  auto bind = bind_to(3);
  bind.service.confirmation = sis::Confirmation::client;
  client.send(bind);
  for (int i = 0; i < 300; ++i) {
    sis::UnidataRequest request;
    request.destination = Address{kOwn};
    request.destination_sap = SapId{3};
    request.updu = Bytes(2000, static_cast<std::uint8_t>(i));
    client.send(request);
  }
  run_until([&] { return client.all<sis::UnidataRequestConfirm>().size() == 300 || client.end; });
  EXPECT_EQ(client.all<sis::UnidataRequestConfirm>().size(), 300u);
  EXPECT_EQ(node_->status().holdings.untaken, 0u);
}

TEST_F(PlainPort, sends_what_waits_before_it_closes_otherwise) {
  node_config_.sap.invalid_primitives_max = 1;
  ASSERT_TRUE(open());
  Client& client = connected();
  client.send(bind_to(3));
  client.send(sis::BindAccepted{});
  client.send(sis::BindAccepted{});
  run_until([&] { return client.end.failed(); });
  EXPECT_EQ(client.end, error::eof);
  ASSERT_EQ(client.received.size(), 2u);
  EXPECT_EQ(client.all<sis::UnbindIndication>().size(), 1u);
}

// --- Limits --------------------------------------------------------------------------------------

TEST_F(PlainPort, at_the_end_clients_still_get_what_was_delivered_to_them) {
  ASSERT_TRUE(open());
  Client& client = clients_.emplace_back(io_);
  client.connect(listener_->port());  // the client does not read yet
  client.send(bind_to(3));
  constexpr std::uint64_t kUpdus = 200;
  Bytes requests;
  for (std::uint64_t i = 0; i < kUpdus; ++i) {
    sis::encode(
        sis::UnidataRequest{
            .destination_sap = SapId{3}, .destination = Address{kOwn}, .updu = Bytes(sis::kMtu)},
        requests);
  }
  client.send_octets(requests);
  run_until([&] { return node_->counters()[Counter::updus_indicated] == kUpdus; });
  bool finished = false;
  listener_->finish([&] { finished = true; });
  EXPECT_FALSE(finished);
  client.read();
  run_until([&] { return client.end.failed(); });
  EXPECT_EQ(client.end, error::eof);
  EXPECT_EQ(client.all<sis::UnidataIndication>().size(), kUpdus);
  client.stream.close();
  run_until([&] { return finished; });
}

TEST_F(PlainPort, a_client_that_leaves_while_it_is_not_read_is_noticed) {
  node_config_.client_rate.primitives_per_second_max = 10;  // the clock of the test stands still
  for (const bool by_reset : {false, true}) {
    ASSERT_TRUE(open());
    Client& client = accepted();
    Bytes many;
    for (int i = 0; i < 200; ++i) sis::encode(sis::KeepAlive{}, many);
    client.send_octets(many);
    run_until([&] { return node_->counters()[Counter::primitives_received] >= 5; });
    client.stream.set_option(boost::asio::socket_base::linger(by_reset, 0));
    client.stream.close();
    run_until([&] { return log_.has("sis_client_gone"); });
    EXPECT_TRUE(node_->status().clients.empty());
    log_.lines.clear();
    listener_->stop();
  }
}

TEST_F(PlainPort, an_end_without_clients_is_over_at_once) {
  ASSERT_TRUE(open());
  bool finished = false;
  listener_->finish([&] { finished = true; });
  EXPECT_TRUE(finished);
}

// F.16
TEST_F(PlainPort, serves_as_many_connections_as_it_may_and_not_one_more) {
  config_.connections_max = 5;
  ASSERT_TRUE(open());
  Client& first = accepted();
  for (int i = 1; i < 5; ++i) accepted();
  expect_refused();
  EXPECT_TRUE(log_.has("too many connections"));
  first.stream.close();
  run_until([&] { return log_.has("sis_client_gone"); });
  accepted();
}

TEST_F(PlainPort, serves_as_many_connections_from_one_address_as_it_may) {
  config_.connections_per_address_max = 2;
  ASSERT_TRUE(open());
  accepted();
  accepted();
  expect_refused();
  EXPECT_TRUE(log_.has("too many connections from this address"));
}

TEST_F(PlainPort, a_connection_that_makes_room_for_another_is_not_counted_any_more) {
  config_.connections_max = 2;
  node_config_.clients_unbound_max = 1;
  ASSERT_TRUE(open());
  for (int i = 0; i < 3; ++i) {
    Client& idle = accepted();
    Client& newcomer = accepted();
    run_until([&] { return idle.end.failed(); });
    EXPECT_EQ(idle.end, error::connection_reset);
    newcomer.stream.close();
    run_until([&] { return node_->status().clients.empty(); });
  }
}

TEST_F(PlainPort, half_a_primitive_holds_its_connection_until_the_time_is_up) {
  ASSERT_TRUE(open());
  Client& client = accepted();
  const Bytes dripping = {0x90, 0xEB, 0x00, 0x00, 0x04};
  client.send_octets({dripping[0]});
  run_until([&] { return node_->next_deadline() <= Instant{} + seconds(60); });
  pass(seconds(30));
  for (std::size_t i = 1; i < dripping.size(); ++i) client.send_octets({dripping[i]});
  pass(seconds(30) - Duration(1));
  io_.poll();
  EXPECT_FALSE(client.end);
  pass(Duration(1));
  run_until([&] { return client.end.failed(); });
}

TEST_F(PlainPort, a_client_above_its_rate_waits_and_loses_nothing) {
  node_config_.client_rate.primitives_per_second_max = 10;
  constexpr std::size_t kSent = 400;  // more than the node keeps unserved
  ASSERT_TRUE(open());
  Client& client = connected();
  Bytes requests;
  sis::encode(bind_to(3), requests);
  for (std::size_t i = 0; i < kSent; ++i) {
    sis::UnidataRequest request;
    request.destination = Address{kOwn};
    request.destination_sap = SapId{3};
    request.updu = Bytes(1000, static_cast<std::uint8_t>(i));
    sis::encode(request, requests);
  }
  ASSERT_GT(requests.size(), node_config_.client_input_octets_max);
  client.send_octets(requests);
  const auto indications = [&] { return client.all<sis::UnidataIndication>().size(); };
  run_until([&] { return indications() == 9; });
  io_.poll();
  EXPECT_EQ(indications(), 9u);
  for (int i = 0; i < 500 && indications() < kSent; ++i) {
    pass(milliseconds(100));
    for (int turn = 0; turn < 10; ++turn) io_.poll();
  }
  run_until([&] { return indications() == kSent; });
  const auto all = client.all<sis::UnidataIndication>();
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].updu[0], i % 256);
}

TEST_F(PlainPort, without_descriptors_it_rests_and_then_serves) {
  ASSERT_TRUE(open());
  Client& client = clients_.emplace_back(io_);
  client.connect(listener_->port());
  {
    const test::NoDescriptorsLeft none;
    int handlers = 0;
    while (handlers < 100 && io_.poll_one() != 0) ++handlers;
    EXPECT_LT(handlers, 100);
    EXPECT_TRUE(log_.has("sis_accept_failed"));
  }
  client.read();
  client.send(sis::KeepAlive{});
  run_until([&] { return !client.received.empty(); });
}

// --- Access --------------------------------------------------------------------------------------

// [A.2.1.4(1)]
// F.16
TEST_F(PlainPort, an_entry_says_which_saps_and_ranks_a_client_may_have) {
  config_.allow = {
      {.address = "192.0.2.0/24"},
      {.address = "127.0.0.0/8", .access = sap::ClientAccess{.saps = 1u << 3, .rank_max = 9}}};
  ASSERT_TRUE(open());
  Client& client = accepted();
  EXPECT_EQ(answer_to(client, bind_to(4, 9)),
            std::vector<sis::Primitive>{sis::BindRejected{sis::BindRejectReason::invalid_sap}});
  EXPECT_EQ(
      answer_to(client, bind_to(3, 10)),
      std::vector<sis::Primitive>{sis::BindRejected{sis::BindRejectReason::not_enough_resources}});
  const auto accepted_now = answer_to(client, bind_to(3, 9));
  ASSERT_EQ(accepted_now.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(accepted_now[0]));
}

TEST_F(PlainPort, an_address_that_no_entry_names_is_not_served) {
  config_.allow = {{.address = "192.0.2.7"}};
  ASSERT_TRUE(open());
  expect_refused();
  EXPECT_TRUE(log_.has("address not allowed"));
}

TEST_F(PlainPort, without_entries_sap_0_and_rank_15_are_what_the_policy_says) {
  node_config_.sap.bind.allow_management_sap = true;
  ASSERT_TRUE(open());
  Client& client = accepted();
  EXPECT_TRUE(std::holds_alternative<sis::BindRejected>(answer_to(client, bind_to(0, 15)).at(0)));
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(answer_to(client, bind_to(0, 14)).at(0)));
}

}  // namespace
}  // namespace s5066::runtime
