// SPDX-License-Identifier: Apache-2.0
// The operator sees in the log and in the counters who the clients are and why they were refused or
// ended. Other tests here use clients at a local socket.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <list>

#include "s5066d/runtime/sis_listener.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/runtime/sis_rig.h"

namespace s5066::runtime {
namespace {

using std::chrono::seconds;

class OperatorView : public TcpPort {
 protected:
  /// Connects and binds a client and waits for the server's answer.
  Client& bound(std::uint8_t sap, std::uint8_t rank = 5) {
    Client& client = connected();
    client.send(bind_to(sap, rank));
    run_until([&] { return !client.received.empty(); });
    return client;
  }
  void run_to_the_end_of(Client& client) {
    run_until([&] { return client.end.failed(); });
  }
  std::string origin_of(Client& client) {
    return "origin=127.0.0.1:" + std::to_string(client.stream.local_endpoint().port());
  }
  std::uint64_t counted(Counter counter) const { return node_->counters()[counter]; }
};

TEST_F(OperatorView, a_bind_names_the_client_and_where_it_comes_from) {
  ASSERT_TRUE(open());
  Client& client = bound(3, 5);
  EXPECT_TRUE(log_.has("client_bound t=0.000 client=1 " + origin_of(client) + " sap=3 rank=5"));
  EXPECT_EQ(node_->status().clients.at(0).origin, origin_of(client).substr(7));
  for (const std::string& line : log_.lines) EXPECT_EQ(line.find("peer="), line.npos) << line;
}

TEST_F(OperatorView, each_rejected_bind_has_its_reason_in_the_log_and_a_counter) {
  ASSERT_TRUE(open());
  bound(3);
  Client& client = connected();
  const auto expect_rejected = [&](const sis::BindRequest& request, const std::string& reason,
                                   Counter counter) {
    client.received.clear();
    client.send(request);
    run_until([&] { return !client.received.empty(); });
    EXPECT_EQ(client.all<sis::BindRejected>().size(), 1u);
    EXPECT_TRUE(log_.has("bind_rejected t=0.000 client=2 " + origin_of(client) +
                         " sap=" + std::to_string(request.sap.value) +
                         " rank=" + std::to_string(request.rank) + " reason=\"" + reason + "\""))
        << reason;
    EXPECT_EQ(counted(counter), 1u) << reason;
  };
  expect_rejected(bind_to(3), "another client has the SAP", Counter::binds_rejected_sap_taken);
  expect_rejected(bind_to(10), "SAPs 10 and 11 are reserved", Counter::binds_rejected_sap_reserved);
  expect_rejected(bind_to(0), "the SAP is not allowed to this client",
                  Counter::binds_rejected_sap_not_allowed);
  expect_rejected(bind_to(4, 15), "the rank is not allowed to this client",
                  Counter::binds_rejected_rank_not_allowed);
  ASSERT_TRUE(driver_->drive(
      [](Node& node, Instant now) { return node.request_sap_open(now, SapId{6}, false); }));
  expect_rejected(bind_to(6), "the SAP is shut", Counter::binds_rejected_sap_shut);
  ASSERT_TRUE(driver_->drive(
      [](Node& node, Instant now) { return node.request_broadcast_session(now, true); }));
  expect_rejected(bind_to(7), "no ARQ in a broadcast session", Counter::binds_rejected_no_arq);
}

TEST_F(OperatorView, each_end_by_the_server_has_its_reason_in_the_log_and_a_counter) {
  node_config_.sap.invalid_primitives_max = 1;
  node_config_.sap.keep_alive_interval = seconds(120);
  node_config_.sap.unbound_idle_timeout = seconds(300);
  node_config_.partial_primitive_timeout = seconds(60);
  ASSERT_TRUE(open());
  std::uint32_t number = 0;
  const auto expect_ended = [&](Client& client, const std::string& sap, const std::string& reason,
                                Counter counter) {
    const std::string origin = origin_of(client);
    run_to_the_end_of(client);
    EXPECT_TRUE(log_.has("client=" + std::to_string(number) + " " + origin + sap + " reason=\"" +
                         reason + "\""))
        << reason << "\n"
        << log_.lines.back();
    EXPECT_EQ(counted(counter), 1u) << reason;
  };
  const auto next = [&](bool is_bound) -> Client& {
    ++number;
    Client& client = is_bound ? bound(3) : connected();
    run_until([&] { return node_->status().clients.size() == 1; });
    return client;
  };
  {
    Client& client = next(true);
    pass(seconds(121));
    pass(seconds(31));
    expect_ended(client, " sap=3", "it did not answer a keep-alive",
                 Counter::clients_ended_inactive);
  }
  {
    Client& client = next(false);
    pass(seconds(301));
    expect_ended(client, "", "it did not bind in time", Counter::clients_ended_idle);
  }
  {
    Client& client = next(true);
    client.send_octets({0x90, 0xEB, 0x00, 0x00});
    run_until([&] { return node_->next_deadline() <= modem_.now() + seconds(60); });
    pass(seconds(61));
    expect_ended(client, " sap=3", "a primitive stayed incomplete",
                 Counter::clients_ended_partial_primitive);
  }
  {
    Client& client = next(true);
    client.send(sis::BindAccepted{});
    client.send(sis::BindAccepted{});
    expect_ended(client, " sap=3", "too many invalid primitives",
                 Counter::clients_ended_invalid_primitives);
  }
  {
    Client& client = next(true);
    ASSERT_TRUE(driver_->drive([number](Node& node, Instant now) {
      return node.request_disconnect(now, ClientId{number});
    }));
    expect_ended(client, " sap=3", "an operator disconnected it",
                 Counter::clients_ended_by_operator);
    EXPECT_EQ(client.all<sis::UnbindIndication>().size(), 1u);
  }
}

TEST_F(OperatorView, a_bind_that_ends_and_leaves_its_connection_has_a_reason_too) {
  node_config_.clients_max = 1;
  ASSERT_TRUE(open());
  Client& low = bound(3, 1);
  bound(4, 9);
  run_until([&] { return low.all<sis::UnbindIndication>().size() == 1; });
  EXPECT_TRUE(log_.has("client_unbound t=0.000 client=1 " + origin_of(low) +
                       " sap=3 reason=\"a client of higher rank replaced it\""));
  EXPECT_EQ(counted(Counter::clients_ended_preempted), 1u);
}

TEST_F(OperatorView, a_client_that_leaves_is_told_apart_from_one_that_was_ended) {
  ASSERT_TRUE(open());
  Client& client = bound(3);
  const std::string origin = origin_of(client);
  client.stream.close();
  run_until([&] { return log_.has("sis_client_gone"); });
  EXPECT_TRUE(log_.has("sis_client_gone client=1 " + origin + " reason=\"the client closed it\""));
  EXPECT_TRUE(log_.has("reason=\"the client closed its connection\""));
  EXPECT_EQ(counted(Counter::clients_dropped), 0u);
}

TEST_F(OperatorView, a_refused_connection_is_counted) {
  config_.allow = {{.address = "192.0.2.7"}};
  ASSERT_TRUE(open());
  Client& client = connected();
  run_to_the_end_of(client);
  EXPECT_TRUE(log_.has("sis_client_refused origin=127.0.0.1:"));
  EXPECT_EQ(counted(Counter::clients_refused), 1u);
}

// --- Another protocol at the port ----------------------------------------------------------------

TEST_F(OperatorView, a_tls_client_at_the_plain_port_is_refused_at_once_with_a_tls_alert) {
  ASSERT_TRUE(open());
  TestClient<boost::asio::ip::tcp::socket> client(io_);
  client.connect(listener_->port());
  client.send_octets({22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3});  // the start of a ClientHello
  Bytes answer(7);
  bool whole = false;
  boost::asio::async_read(client.stream, boost::asio::buffer(answer),
                          [&](auto failure, auto) { whole = !failure; });
  run_until([&] { return whole; });
  EXPECT_EQ(answer, (Bytes{21, 3, 1, 0, 2, 2, 70}));
  EXPECT_TRUE(log_.has("reason=\"it uses TLS, but this port has no TLS\""));
  EXPECT_EQ(counted(Counter::clients_ended_tls), 1u);
}

TEST_F(OperatorView, a_client_that_sends_the_low_octet_first_is_refused_at_once) {
  ASSERT_TRUE(open());
  Bytes request;
  sis::encode(bind_to(3), request);
  std::swap(request[3], request[4]);
  Client& client = connected();
  client.send_octets(request);
  run_to_the_end_of(client);
  EXPECT_EQ(client.all<sis::BindRejected>().size(), 1u);
  EXPECT_TRUE(log_.has("reason=\"it sends numbers with the low octet first\""));
  EXPECT_EQ(counted(Counter::clients_ended_octet_order), 1u);
}

// --- Changes at run time -------------------------------------------------------------------------

TEST_F(OperatorView, who_is_allowed_no_longer_is_disconnected_and_the_others_stay) {
  ASSERT_TRUE(open());
  Client& client = bound(3);
  SisListenerConfig changed = config_;
  changed.allow = {{.address = "127.0.0.0/8"}};
  ASSERT_TRUE(listener_->change(changed));
  EXPECT_EQ(node_->status().clients.size(), 1u);
  changed.allow = {{.address = "not an address"}};
  EXPECT_FALSE(listener_->change(changed));
  EXPECT_EQ(node_->status().clients.size(), 1u) << "as it was";
  changed.allow = {{.address = "192.0.2.7"}};
  ASSERT_TRUE(listener_->change(changed));
  run_to_the_end_of(client);
  EXPECT_TRUE(log_.has("an operator disconnected it"));
}

// --- At a local socket ---------------------------------------------------------------------------

class LocalSocket : public OperatorView {
 protected:
  using Local = TestClient<boost::asio::local::stream_protocol::socket>;

  LocalSocket() {
    config_.local.emplace();
    config_.local->socket_path = folder_ / "sis";
  }

  Local& connect_locally() {
    Local& client = locals_.emplace_back(io_);
    client.stream.connect({config_.local->socket_path});
    client.read();
    return client;
  }

  test::TemporaryFolder folder_;
  std::list<Local> locals_;
};

TEST_F(LocalSocket, serves_clients_and_names_their_process_and_user) {
  ASSERT_TRUE(open());
  Local& client = connect_locally();
  client.send(bind_to(3));
  Bytes requests;
  for (int i = 0; i < 200; ++i) {
    sis::encode(
        sis::UnidataRequest{
            .destination_sap = SapId{3}, .destination = Address{kOwn}, .updu = Bytes(sis::kMtu)},
        requests);
  }
  client.send_octets(requests);
  run_until([&] { return client.all<sis::UnidataIndication>().size() == 200; });
  EXPECT_TRUE(log_.has("client_bound t=0.000 client=1 origin=\"pid " + std::to_string(::getpid()) +
                       " uid " + std::to_string(::getuid()) + "\" sap=3"));
  client.stream.close();
  run_until([&] { return node_->status().clients.empty(); });
  EXPECT_TRUE(log_.has("the client closed it"));
}

TEST_F(LocalSocket, is_for_the_owner_or_the_group_and_goes_with_the_listener) {
  for (const bool group : {false, true}) {
    config_.local->group_too = group;
    ASSERT_TRUE(open());
    struct stat about {};
    ASSERT_EQ(::stat(config_.local->socket_path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, group ? 0660u : 0600u);
    listener_->stop();
    EXPECT_FALSE(std::filesystem::exists(config_.local->socket_path));
  }
}

TEST_F(LocalSocket, a_reconnect_storm_of_one_program_leaves_the_port_to_the_others) {
  config_.local->connects_per_process_second_max = 4;
  ASSERT_TRUE(open());
  for (int i = 0; i < 20; ++i) connect_locally();
  run_until([&] { return counted(Counter::clients_refused) == 16; });
  EXPECT_TRUE(log_.has("too many connections a second of this process"));
  bound(3);
  EXPECT_EQ(counted(Counter::clients_bound), 1u);
}

TEST_F(LocalSocket, a_process_that_holds_its_connections_gets_no_more_than_its_part) {
  config_.local->connections_per_process_max = 3;
  ASSERT_TRUE(open());
  for (int i = 0; i < 4; ++i) connect_locally();
  run_until([&] { return counted(Counter::clients_refused) == 1; });
  EXPECT_TRUE(log_.has("too many connections of this process"));
  EXPECT_EQ(node_->status().clients.size(), 3u);
}

TEST_F(LocalSocket, what_its_clients_may_bind_can_be_set) {
  config_.local->access = sap::ClientAccess{.saps = 1u << 5, .rank_max = 9};
  config_.allow = {{.address = "192.0.2.7"}};  // does not apply to a local socket
  ASSERT_TRUE(open());
  Local& client = connect_locally();
  client.send(bind_to(6));
  client.send(bind_to(5, 9));
  run_until([&] { return client.received.size() == 2; });
  EXPECT_EQ(client.all<sis::BindRejected>().size(), 1u);
  EXPECT_EQ(client.all<sis::BindAccepted>().size(), 1u);
}

}  // namespace
}  // namespace s5066::runtime
