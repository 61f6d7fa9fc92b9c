// SPDX-License-Identifier: Apache-2.0
// These tests run whole nodes through broadcast sessions, radio silence, a lost modem and
// management messages.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

using sis::Confirmation;

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;

class NodeStates : public ::testing::Test {
 protected:
  static NodeConfig manageable(std::uint32_t address) {
    NodeConfig config = node_config(address);
    config.sap.bind.allow_rank_15 = true;
    return config;
  }
  NodeStates() : alpha(medium.add(manageable(kAlpha))), bravo(medium.add(manageable(kBravo))) {
    medium.on_burst = [this](std::size_t from, Bytes&) { ++bursts[from]; };
    // The date on the air keeps a U_PDU that is sent again after a lost link from a second
    // delivery.
    for (Medium::Station* station : {&alpha, &bravo}) {
      medium.with([&](Instant now) { station->node.on_utc(now, UtcSeconds{1772409540}); });
    }
  }
  ClientId bind(Medium::Station& station, const sis::BindRequest& request) {
    const ClientId id = medium.connect(station);
    medium.send(station, id, request);
    return id;
  }
  ClientId manager(Medium::Station& station) {
    sis::BindRequest request = bind_to(1, Confirmation::none);
    request.rank = 15;
    request.service.mode = sis::TransmissionMode::nonarq;
    return bind(station, request);
  }
  std::string ask(Medium::Station& station, ClientId client, std::uint8_t type,
                  const std::string& body = "") {
    medium.send(station, client, sis::ManagementRequest{type, Bytes(body.begin(), body.end())});
    const auto answers = station.clients[client].all<sis::ManagementIndication>();
    if (answers.empty()) return "none";
    const Bytes& text = answers.back().body;
    return std::to_string(answers.back().message_type) + " " +
           std::string(text.begin(), text.end());
  }
  std::size_t indications(Medium::Station& station, ClientId client) {
    return station.clients[client].all<sis::UnidataIndication>().size();
  }

  Medium medium;
  Medium::Station& alpha;
  Medium::Station& bravo;
  std::map<std::size_t, int> bursts;
};

TEST_F(NodeStates, in_silence_nothing_is_keyed_not_even_acknowledgements_and_all_arrives_after_it) {
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  const ClientId to = bind(bravo, bind_to(4, Confirmation::none));
  medium.send(alpha, from, request_to(kBravo, 4, Bytes(500, 1)));
  medium.run_for(seconds(20));
  ASSERT_EQ(indications(bravo, to), 1u);

  medium.with([&](Instant now) { bravo.node.request_silence(now, true); });
  const int before = bursts[1];
  medium.send(alpha, from, request_to(kBravo, 4, Bytes(500, 2)));
  medium.send(bravo, to, request_to(kAlpha, 3, Bytes(500, 3)));
  medium.run_for(minutes(3));
  EXPECT_EQ(bursts[1], before);
  EXPECT_EQ(indications(bravo, to), 2u);  // the node still receives

  medium.with([&](Instant now) { bravo.node.request_silence(now, false); });
  medium.run_for(minutes(20));
  EXPECT_EQ(indications(alpha, from), 1u);
  EXPECT_EQ(indications(bravo, to), 2u);
  EXPECT_EQ(alpha.clients[from].all<sis::UnidataRequestConfirm>().size(), 2u);
}

TEST_F(NodeStates, a_transmission_in_progress_is_cut_short_by_silence) {
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  medium.send(alpha, from, request_to(kBravo, 4, Bytes(500, 1)));
  while (!alpha.node.status().transmitting) medium.run_for(milliseconds(10));
  bool aborted = false;
  alpha.node.request_silence(medium.now(), true);
  while (const auto action = alpha.node.poll_action()) {
    const auto* command = std::get_if<modem::Command>(&*action);
    aborted = aborted || (command && std::holds_alternative<modem::AbortTransmit>(*command));
  }
  EXPECT_TRUE(aborted);
}

TEST_F(NodeStates, a_broadcast_session_breaks_links_refuses_them_and_ends_without_a_trace) {
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  sis::BindRequest broadcast = bind_to(4, Confirmation::none);
  broadcast.service.mode = sis::TransmissionMode::nonarq;
  const ClientId to = bind(bravo, broadcast);
  medium.send(alpha, from, request_to(kBravo, 4, Bytes{1}));
  medium.run_for(seconds(20));
  ASSERT_EQ(alpha.node.status().links.at(0).state, cas::LinkState::made);

  const ClientId boss = manager(bravo);
  EXPECT_EQ(ask(bravo, boss, 7, "on=1"), "7 part=1/1\non=1\n");
  medium.run_for(seconds(30));
  EXPECT_EQ(alpha.node.status().links.at(0).state, cas::LinkState::idle);
  const auto rejected_before = alpha.node.counters()[Counter::links_rejected];
  medium.send(alpha, from, request_to(kBravo, 4, Bytes{2}));
  medium.run_for(minutes(1));
  EXPECT_GT(alpha.node.counters()[Counter::links_rejected], rejected_before);
  EXPECT_EQ(indications(bravo, to), 1u);
  sis::UnidataRequest to_all = request_to(Address::all_stations().value, 3, Bytes{9});
  to_all.destination = Address::all_stations();
  medium.send(bravo, to, to_all);
  medium.run_for(seconds(20));
  EXPECT_EQ(indications(alpha, from), 1u);

  EXPECT_EQ(ask(bravo, boss, 7, "on=0"), "7 part=1/1\non=0\n");
  medium.run_for(minutes(5));
  EXPECT_EQ(indications(bravo, to), 2u);
}

// The channel access sublayer still waits for BREAK CONFIRM when the session is over, so the link
// may carry nothing. The U_PDU has to wait until the link is broken and made again.
TEST_F(NodeStates, a_broadcast_session_shorter_than_the_break_of_a_link_lets_later_data_through) {
  for (const Duration on_for : {Duration::zero(), Duration(seconds(1)), Duration(seconds(2))}) {
    const ClientId to = bind(bravo, bind_to(4, Confirmation::none));
    const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
    medium.send(alpha, from, request_to(kBravo, 4, Bytes{1}));
    medium.run_for(seconds(20));
    ASSERT_EQ(alpha.node.status().links.at(0).state, cas::LinkState::made);

    const ClientId boss = manager(alpha);
    EXPECT_EQ(ask(alpha, boss, 7, "on=1"), "7 part=1/1\non=1\n");
    medium.run_for(on_for);
    EXPECT_EQ(ask(alpha, boss, 7, "on=0"), "7 part=1/1\non=0\n");
    // The session has unbound the client, because the client was bound for ARQ.
    medium.send(alpha, from, bind_to(3, Confirmation::node));
    medium.send(alpha, from, request_to(kBravo, 4, Bytes{2}));
    medium.run_for(minutes(2));
    EXPECT_EQ(indications(bravo, to), 2u);
    EXPECT_EQ(alpha.clients[from].all<sis::UnidataRequestConfirm>().size(), 2u);
    for (const ClientId client : {from, boss}) medium.disconnect(alpha, client);
    medium.disconnect(bravo, to);
  }
}

// Goal:   a manager that is bound with ARQ gets its answer before its own request ends its bind. It
//         may bind again for non-ARQ and end the session.
TEST_F(NodeStates, a_manager_bound_with_arq_is_answered_before_broadcast_ends_its_bind) {
  sis::BindRequest with_arq = bind_to(1, Confirmation::none);
  with_arq.rank = 15;
  const ClientId boss = bind(bravo, with_arq);
  EXPECT_EQ(ask(bravo, boss, 7, "on=1"), "7 part=1/1\non=1\n");
  EXPECT_TRUE(bravo.node.status().broadcast_session);
  const auto& received = bravo.clients[boss].received;
  ASSERT_GE(received.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<sis::ManagementIndication>(received[1]));
  ASSERT_TRUE(std::holds_alternative<sis::UnbindIndication>(received[2]));
  EXPECT_EQ(std::get<sis::UnbindIndication>(received[2]).reason,
            sis::UnbindReason::arq_unsupportable_in_broadcast);
  medium.send(bravo, boss, [] {
    sis::BindRequest again = bind_to(1, Confirmation::none);
    again.rank = 15;
    again.service.mode = sis::TransmissionMode::nonarq;
    return again;
  }());
  EXPECT_EQ(ask(bravo, boss, 7, "on=0"), "7 part=1/1\non=0\n");
  EXPECT_FALSE(bravo.node.status().broadcast_session);
}

TEST_F(NodeStates, a_node_may_start_in_silence_and_in_a_broadcast_session) {
  NodeConfig config = node_config(0x01020306);
  config.sap.emcon = true;
  config.sap.broadcast_session = true;
  Medium::Station& charlie = medium.add(config);
  EXPECT_TRUE(charlie.node.status().emcon);
  EXPECT_TRUE(charlie.node.status().broadcast_session);
  sis::BindRequest broadcast = bind_to(4, Confirmation::none);
  broadcast.service.mode = sis::TransmissionMode::nonarq;
  const ClientId client = bind(charlie, broadcast);
  medium.send(charlie, client, request_to(kAlpha, 3, Bytes{1}));
  medium.run_for(minutes(1));
  EXPECT_EQ(bursts[2], 0);
  medium.with([&](Instant now) { charlie.node.request_silence(now, false); });
  medium.run_for(minutes(1));
  EXPECT_EQ(bursts[2], 1);
}

TEST_F(NodeStates, clients_hear_that_the_modem_is_gone_and_back) {
  const ClientId client = bind(alpha, bind_to(3, Confirmation::none));
  const auto tell = [&](modem::FaultKind kind) {
    medium.with([&](Instant now) { alpha.node.on_modem_event(now, modem::Fault{now, kind, ""}); });
    return alpha.clients[client].all<sis::SubnetAvailability>();
  };
  EXPECT_TRUE(tell(modem::FaultKind::samples_dropped).empty());
  ASSERT_EQ(tell(modem::FaultKind::device_lost).size(), 1u);
  EXPECT_EQ(tell(modem::FaultKind::device_lost).back().status, sis::NodeStatus::off);
  ASSERT_EQ(tell(modem::FaultKind::device_back).size(), 2u);
  EXPECT_EQ(alpha.clients[client].all<sis::SubnetAvailability>().back().status,
            sis::NodeStatus::on);
}

TEST_F(NodeStates, nothing_is_given_to_a_modem_that_is_gone_until_it_is_back) {
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  const auto tell = [&](modem::FaultKind kind) {
    medium.with([&](Instant now) { alpha.node.on_modem_event(now, modem::Fault{now, kind, ""}); });
  };
  tell(modem::FaultKind::device_lost);
  medium.send(alpha, from, request_to(kBravo, 4, Bytes{1}));
  medium.run_for(minutes(2));
  EXPECT_EQ(bursts[0], 0);
  tell(modem::FaultKind::device_back);
  medium.run_for(minutes(2));
  EXPECT_GT(bursts[0], 0);
}

TEST_F(NodeStates, a_manager_asks_for_state_numbers_links_and_clients) {
  const ClientId boss = manager(alpha);
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  medium.send(alpha, from, request_to(kBravo, 4, Bytes{1}));
  EXPECT_EQ(ask(alpha, boss, 1),
            "1 part=1/1\naddress=1.2.3.4\nbroadcast_session=0\nchannel_busy=0\n"
            "channel_occupied=0\nclients_bound=2\nclients_connected=2\nemcon=0\nmode=110a-2400-"
            "short\nmodem_working=1\n"
            "octets_charged=129\ntransmitting=0\nupdus_awaiting_client=0\nupdus_below=0\n"
            "updus_queued=1\n");
  const std::string numbers = ask(alpha, boss, 2);
  for (const auto& info : counter_table(Counter{})) {
    EXPECT_NE(numbers.find("\n" + std::string(info.name) + "="), std::string::npos) << info.name;
  }
  EXPECT_NE(
      ask(alpha, boss, 3).find("\nlink.1.2.3.5.state=calling\nlink.1.2.3.5.type=nonexclusive\n"),
      std::string::npos);
  EXPECT_EQ(ask(alpha, boss, 4),
            "4 part=1/1\nsap.1.flow_off=0\nsap.1.queued_octets=0\nsap.1.queued_updus=0\n"
            "sap.1.rank=15\nsap.3.flow_off=0\nsap.3.queued_octets=129\nsap.3.queued_updus=1\n"
            "sap.3.rank=0\n");
}

// Goal:   an operator can ask for another mode of a link, and sees the result.
// Method: the operator asks without a link, with a granting peer, for the mode that the link
//         already has, and at a peer that cannot change the rate.
TEST_F(NodeStates, an_operator_asks_for_another_mode_of_a_link) {
  const modem::Mode wanted{modem::Waveform::ms110a, 600, modem::Interleaver::long_};
  NodeConfig config = manageable(0x01020306);
  config.dts.rate_change = false;
  Medium::Station& charlie = medium.add(config);
  const auto ask_for = [&](Medium::Station& station, std::uint32_t peer) {
    Result<void> done;
    medium.with([&](Instant now) { done = station.node.request_mode(now, {peer}, wanted); });
    return done;
  };
  EXPECT_EQ(ask_for(alpha, kBravo).error().code, ErrorCode::link_down);
  const ClientId from = bind(alpha, bind_to(3, Confirmation::node));
  bind(bravo, bind_to(4, Confirmation::none));
  bind(charlie, bind_to(4, Confirmation::none));
  medium.send(alpha, from, request_to(kBravo, 4, Bytes(500, 1)));
  medium.send(alpha, from, request_to(0x01020306, 4, Bytes(500, 1)));
  medium.run_for(minutes(1));

  EXPECT_TRUE(ask_for(alpha, kBravo).ok());
  medium.run_for(minutes(1));
  EXPECT_TRUE(ask_for(alpha, 0x01020306).ok());
  medium.run_for(minutes(1));
  const auto links = alpha.node.status().links;
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].transmit_mode, wanted);
  EXPECT_EQ(links[0].mode_refused, std::nullopt);
  EXPECT_EQ(links[0].capabilities, 0xB0);
  EXPECT_EQ(links[1].transmit_mode, config.dts.mode);
  EXPECT_EQ(links[1].mode_refused, pdu::DrcReason::cannot_change_either);
  EXPECT_EQ(links[1].capabilities, 0x30);
  // The link already has this mode.
  EXPECT_EQ(ask_for(alpha, kBravo).error().code, ErrorCode::refused);
  const std::string told = ask(alpha, manager(alpha), 3);
  for (const char* line :
       {"\nlink.1.2.3.5.transmit_mode=110a-600-long\n", "\nlink.1.2.3.5.capabilities=176\n",
        "\nlink.1.2.3.6.mode_refused=cannot_change_either\n"}) {
    EXPECT_NE(told.find(line), std::string::npos) << line << told;
  }
}

TEST_F(NodeStates, where_adaptation_chooses_no_operator_does) {
  NodeConfig config = manageable(0x01020306);
  config.dts.adaptation.emplace();
  Medium::Station& charlie = medium.add(config);
  const ClientId from = bind(charlie, bind_to(3, Confirmation::node));
  bind(bravo, bind_to(4, Confirmation::none));
  medium.send(charlie, from, request_to(kBravo, 4, Bytes(50, 1)));
  medium.run_for(minutes(1));
  const modem::Mode wanted{modem::Waveform::ms110a, 75, modem::Interleaver::long_};
  medium.with([&](Instant now) {
    const auto done = charlie.node.request_mode(now, {kBravo}, wanted);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::refused);
  });
}

TEST_F(NodeStates, a_manager_sees_at_both_ends_which_hard_link_holds_the_channel_and_whose_it_is) {
  const ClientId boss = manager(alpha);
  const ClientId boss_there = manager(bravo);
  const ClientId owner = bind(alpha, bind_to(3, Confirmation::node));
  sis::HardLinkEstablish establish;
  establish.link = {sis::HardLinkType::partial_bandwidth, 2, SapId{7}, Address{kBravo}};
  medium.send(alpha, owner, establish);
  EXPECT_NE(ask(alpha, boss, 3).find("\nhard_link.1.2.3.5.state=linking\n"), std::string::npos);
  medium.run_for(minutes(2));
  ASSERT_EQ(alpha.clients[owner].all<sis::HardLinkEstablished>().size(), 1u);
  const std::string here = ask(alpha, boss, 3);
  EXPECT_NE(here.find("\nhard_link.1.2.3.5.owner_sap=3\nhard_link.1.2.3.5.priority=2\n"
                      "hard_link.1.2.3.5.state=active\nhard_link.1.2.3.5.type=1\n"
                      "hard_link.1.2.3.5.we_called=1\n"),
            std::string::npos)
      << here;
  EXPECT_NE(here.find("\nlink.1.2.3.5.type=exclusive\n"), std::string::npos) << here;
  const std::string there = ask(bravo, boss_there, 3);
  EXPECT_NE(there.find("\nhard_link.1.2.3.4.owner_sap=3\nhard_link.1.2.3.4.priority=2\n"
                       "hard_link.1.2.3.4.state=active\nhard_link.1.2.3.4.type=1\n"
                       "hard_link.1.2.3.4.we_called=0\n"),
            std::string::npos)
      << there;
}

TEST_F(NodeStates, a_manager_shuts_a_sap_but_not_his_own) {
  const ClientId boss = manager(alpha);
  const ClientId client = bind(alpha, bind_to(3, Confirmation::node));
  EXPECT_EQ(ask(alpha, boss, 5, "sap=3\n"), "5 part=1/1\nsap=3\n");
  EXPECT_EQ(alpha.clients[client].all<sis::UnbindIndication>().size(), 1u);
  medium.send(alpha, client, bind_to(3, Confirmation::node));
  EXPECT_EQ(alpha.clients[client].all<sis::BindRejected>().size(), 1u);
  EXPECT_EQ(ask(alpha, boss, 6, "sap=3"), "6 part=1/1\nsap=3\n");
  medium.send(alpha, client, bind_to(3, Confirmation::node));
  EXPECT_EQ(alpha.clients[client].all<sis::BindAccepted>().size(), 2u);
  EXPECT_EQ(ask(alpha, boss, 5, "sap=1").substr(0, 4), "255 ");
}

TEST_F(NodeStates, what_a_manager_gets_wrong_is_answered_and_changes_nothing) {
  const ClientId boss = manager(alpha);
  EXPECT_EQ(ask(alpha, boss, 99), "255 part=1/1\nerror=unsupported: message type\nrequest=99\n");
  EXPECT_EQ(ask(alpha, boss, 255), "255 part=1/1\nerror=unsupported: message type\nrequest=255\n");
  for (const char* body : {"", "on", "on=", "on=2", "on=1x", "on= 1", "of=1", "on=-1"}) {
    EXPECT_EQ(ask(alpha, boss, 8, body).substr(0, 4), "255 ") << body;
  }
  EXPECT_EQ(ask(alpha, boss, 5, "sap=16").substr(0, 4), "255 ");
  EXPECT_FALSE(alpha.node.status().emcon);
}

TEST_F(NodeStates, a_manager_switches_silence) {
  const ClientId boss = manager(alpha);
  EXPECT_EQ(ask(alpha, boss, 8, "on=1"), "8 part=1/1\non=1\n");
  EXPECT_TRUE(alpha.node.status().emcon);
  EXPECT_EQ(alpha.clients[boss].all<sis::SubnetAvailability>().size(), 1u);
  EXPECT_EQ(ask(alpha, boss, 8, "on=0"), "8 part=1/1\non=0\n");
  EXPECT_FALSE(alpha.node.status().emcon);
}

}  // namespace
}  // namespace s5066::test
