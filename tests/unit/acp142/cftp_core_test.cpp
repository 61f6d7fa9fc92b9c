// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/cftp_core.h"

#include <gtest/gtest.h>

#include "gateways/acp142/peers/cftp_pdu.h"
#include "gateways/acp142/peers/cftp_record.h"

namespace s5066::acp142 {
namespace {

using gateways::SisBound;
using gateways::SisConfirmed;
using gateways::SisIndication;
using gateways::SisLost;
using gateways::SisRejected;
using gateways::SisUnidata;
using Kind = RecipientOutcome::Kind;
using std::chrono::seconds;

constexpr NodeId kShip{2};
constexpr NodeId kTug{3};
constexpr Address kShipAddress{0x01020002};
constexpr Address kTugAddress{0x01020003};

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

class CftpCoreTest : public testing::Test {
 protected:
  CftpCoreTest() {
    config.stations = {{kShip, {.address = kShipAddress}}, {kTug, {.address = kTugAddress}}};
    start();
  }
  void start() {
    core.emplace(config, rng);
    core->on_sis(now, SisBound{2048});
  }
  void send(std::int64_t id, NodeId station = kShip, std::string_view content = "hello\r\n",
            std::vector<std::string> to = {"b@ship"}, std::uint8_t priority = 6) {
    auto mail = std::make_shared<Mail>();
    mail->envelope.from.address = "a@shore";
    for (std::string& one : to) mail->envelope.recipients.push_back({std::move(one), {}});
    mail->content = octets(content);
    core->request_send(now, {.id = {id},
                             .station = station,
                             .priority = priority,
                             .left = seconds(86400),
                             .mail = std::move(mail)});
    drain();
  }
  void drain() {
    while (auto unidata = core->poll_unidata(now)) sent.push_back(*std::move(unidata));
    while (auto event = core->poll_event()) {
      if (auto* one = std::get_if<PeerEnded>(&*event)) {
        ended.push_back(std::move(*one));
      } else if (auto* mail = std::get_if<PeerReceived>(&*event)) {
        received.push_back(std::move(*mail));
      } else if (auto* other = std::get_if<PeerUnreadable>(&*event)) {
        unreadable.push_back(std::move(*other));
      } else {
        news.push_back(std::get<PeerNews>(*event));
      }
    }
  }
  void sis(const gateways::SisEvent& event) {
    core->on_sis(now, event);
    drain();
  }
  void indicate(Bytes updu, Address from = kShipAddress) {
    sis(SisIndication{.source = from, .source_sap = kCftpSap, .updu = std::move(updu)});
  }
  void confirm(std::size_t i) { sis(SisConfirmed{sent.at(i).id}); }
  void acknowledge(std::size_t i) {
    const Bytes& updu = sent.at(i).updu;
    indicate(cftp_acknowledgement(updu[0] >> 4, updu[1]), sent[i].destination);
  }
  void wait(Duration time) {
    now += time;
    core->on_deadline(now);
    drain();
  }
  static Bytes file(const std::string& record) {
    return bftp_v1_file("A", deflated(octets(record), Container::gzip));
  }
  /// Sends a file of a station in segments, with the last octet of each at most `mtu`.
  void receive(const Bytes& octets_of_file, std::uint8_t updu_id = 9, std::size_t mtu = 2048,
               Address from = kShipAddress) {
    const std::size_t segments = cftp_segment_count(octets_of_file.size(), mtu);
    for (std::size_t i = 0; i < segments; ++i) {
      indicate(cftp_segment({.updu_id = updu_id, .segment = static_cast<std::uint16_t>(i)},
                            octets_of_file, mtu),
               from);
    }
  }

  CftpCore::Config config;
  Rng rng{1};
  std::optional<CftpCore> core;
  Instant now{seconds(1)};
  std::vector<SisUnidata> sent;
  std::vector<PeerEnded> ended;
  std::vector<PeerReceived> received;
  std::vector<PeerUnreadable> unreadable;
  std::vector<PeerNews> news;
};

// F.14.2(1), F.14.5(1)
TEST_F(CftpCoreTest, a_message_goes_as_one_file_and_is_delivered_when_the_far_end_acknowledges_it) {
  send(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].destination, kShipAddress);
  EXPECT_EQ(sent[0].destination_sap, SapId{12});
  EXPECT_EQ(sent[0].delivery, (sis::DeliveryMode{.mode = sis::TransmissionMode::arq,
                                                 .confirmation = sis::Confirmation::client}));
  const auto header = decode_bftp_v1_header(ByteSpan(sent[0].updu).subspan(4));
  ASSERT_TRUE(header && *header);
  const auto record = decode_cftp_record(
      *inflated(ByteSpan(sent[0].updu).subspan(4 + (*header)->octets), {}, Container::gzip), 10);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->id, (*header)->name);
  EXPECT_EQ(record->mail.content, octets("hello\r\n"));
  confirm(0);
  EXPECT_TRUE(ended.empty());
  acknowledge(0);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].done.outcomes.at(0).kind, Kind::delivered);
  EXPECT_FALSE(ended[0].more);
  acknowledge(0);
  EXPECT_EQ(core->counters()[CftpCounter::acknowledgements_unmatched], 1u);
}

// F.14.5(2)
TEST_F(CftpCoreTest, one_file_at_a_time_goes_to_a_station_unless_it_takes_more) {
  for (int id = 1; id <= 3; ++id) send(id);
  EXPECT_EQ(sent.size(), 1u);
  confirm(0);
  acknowledge(0);
  EXPECT_EQ(sent.size(), 2u);
  sent.clear();
  config.stations[kShip].files_max = 2;
  start();
  for (int id = 1; id <= 3; ++id) send(id);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[0].updu[1], sent[1].updu[1]);
}

TEST_F(CftpCoreTest, as_many_files_as_there_are_numbers_can_be_under_way) {
  config.stations[kShip].files_max = 256;
  config.outstanding_max = config.station_outstanding_max = 1000;
  start();
  for (int id = 1; id <= 257; ++id) send(id);
  EXPECT_EQ(sent.size(), 256u);
  acknowledge(100);
  EXPECT_EQ(sent.size(), 257u);
  EXPECT_EQ(sent[256].updu[1], sent[100].updu[1]);
}

TEST_F(CftpCoreTest, the_most_urgent_message_for_a_station_goes_next) {
  send(1);
  send(2, kShip, "routine\r\n", {"b@ship"}, 8);
  send(3, kShip, "flash\r\n", {"b@ship"}, 2);
  acknowledge(0);
  acknowledge(1);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[1].id, MailId{3});
  EXPECT_GT(sent[1].priority, sent[2].priority);
}

TEST_F(CftpCoreTest, a_station_that_never_answers_holds_up_no_other) {
  config.outstanding_max = 4;
  config.station_outstanding_max = 2;
  config.stations[kShip].files_max = 10;
  start();
  for (int id = 1; id <= 10; ++id) send(id);
  EXPECT_EQ(sent.size(), 2u);
  send(11, kTug);
  ASSERT_EQ(sent.size(), 3u);
  acknowledge(2);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].station, kTug);
}

TEST_F(CftpCoreTest, all_that_waits_for_a_station_ends_with_the_first_that_it_does_not_answer) {
  for (int id = 1; id <= 3; ++id) send(id);
  send(4, kTug);
  sis(SisRejected{sent[0].id, sis::RejectReason::destination_not_responding});
  ASSERT_EQ(ended.size(), 3u);
  for (const PeerEnded& one : ended) {
    EXPECT_EQ(one.station, kShip);
    EXPECT_EQ(one.done.outcomes.at(0).kind, Kind::deferred);
  }
  EXPECT_TRUE(ended[0].unanswered);
  EXPECT_FALSE(ended[1].unanswered);
  acknowledge(1);
  EXPECT_EQ(ended.back().id, MailId{4});
}

TEST_F(CftpCoreTest, a_station_whose_mail_program_is_away_counts_as_answering) {
  send(1);
  send(2);
  sis(SisRejected{sent[0].id, sis::RejectReason::destination_sap_not_bound});
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_FALSE(ended[0].unanswered);
  send(3);
  sis(SisRejected{sent[1].id, sis::RejectReason::larger_than_mtu});
  EXPECT_EQ(ended.size(), 3u);
}

// F.14.5(1): the clause has no timer.
TEST_F(CftpCoreTest,
       a_file_that_is_not_acknowledged_in_time_ends_and_has_the_same_id_the_next_time) {
  send(1);
  send(2);
  confirm(0);
  wait(config.answer_wait - seconds(1));
  EXPECT_TRUE(ended.empty());
  wait(seconds(60));  // and its time on the air
  ASSERT_EQ(ended.size(), 2u) << "what waits for the station ends, too";
  EXPECT_TRUE(ended[0].unanswered);
  EXPECT_FALSE(ended[1].unanswered);
  EXPECT_EQ(ended[0].done.outcomes.at(0).kind, Kind::deferred);
  send(1);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[0].updu[1], sent[1].updu[1]);
  EXPECT_TRUE(std::equal(sent[0].updu.begin() + 2, sent[0].updu.end(), sent[1].updu.begin() + 2));
}

TEST_F(CftpCoreTest, what_was_under_way_begins_again_when_the_node_is_back) {
  send(1);
  sis(SisLost{});
  send(2);
  EXPECT_EQ(sent.size(), 1u);
  sis(SisBound{2048});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[0].updu[1], sent[1].updu[1]);
  sis(SisConfirmed{sent[0].id});  // of the lost connection; it means nothing
  acknowledge(0);
  EXPECT_TRUE(ended.empty());
  acknowledge(1);
  EXPECT_EQ(ended.at(0).id, MailId{1});
}

TEST_F(CftpCoreTest, nothing_is_handed_over_while_quiet_or_while_the_flow_is_off) {
  core->set_quiet(true);
  receive(file("A\na@x,b@shore\n2\nhi"));
  core->on_committed(now, received.at(0).ticket, CommitOutcome::committed);
  send(1);
  EXPECT_TRUE(sent.empty());
  core->set_quiet(false);
  sis(gateways::SisFlow{false});
  EXPECT_EQ(sent.size(), 1u) << "an acknowledgement is short";
  sis(gateways::SisFlow{true});
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(CftpCoreTest, a_withdrawn_message_ends_at_once) {
  send(1);
  send(2);
  core->request_withdraw(now, {2});
  core->request_withdraw(now, {1});
  core->request_withdraw(now, {3});
  drain();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].id, MailId{2});
}

TEST_F(CftpCoreTest, a_message_ends_with_its_lifetime_while_it_waits) {
  send(1);
  send(2);
  wait(seconds(86400));
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended[0].id, MailId{2});
}

TEST_F(CftpCoreTest, recipients_and_contents_that_cftp_cannot_carry_fail) {
  send(1, kShip, "hi\r\n", {"\"a,b\"@ship", "b@ship"});
  acknowledge(0);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].done.outcomes.at(0).kind, Kind::failed);
  EXPECT_EQ(ended[0].done.outcomes.at(1).kind, Kind::delivered);
  send(2, kShip, "bare\nend\r\n");
  EXPECT_EQ(ended.at(1).done.outcomes.at(0).kind, Kind::failed);
  send(3, NodeId{99});
  EXPECT_EQ(ended.at(2).done.outcomes.at(0).kind, Kind::deferred);
}

// F.14.6(2)
TEST_F(CftpCoreTest, more_recipients_than_one_list_has_room_for_go_in_several_files) {
  std::vector<std::string> to(150, std::string(90, 'b') + "@ship");
  send(1, kShip, "hi\r\n", to);
  acknowledge(0);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].more);
  const auto count = [&](Kind kind) {
    const auto& all = ended[0].done.outcomes;
    return std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.kind == kind; });
  };
  EXPECT_EQ(count(Kind::delivered), 106);
  EXPECT_EQ(count(Kind::deferred), 44);
}

// F.14.5(1), F.14.6(5)
TEST_F(CftpCoreTest, a_file_is_acknowledged_when_the_spool_has_its_mail_and_not_before) {
  receive(file("A\na@x,b@shore\n7\nhi\r\n.\r\n"), 0x2A);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].station, kShip);
  EXPECT_EQ(received[0].mail.envelope.from.address, "a@x");
  EXPECT_EQ(received[0].mail.content, octets("hi\r\n"));
  EXPECT_TRUE(sent.empty());
  core->on_committed(now, received[0].ticket, CommitOutcome::committed);
  drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(to_hex(sent[0].updu), "00 2A 00 00 10 0B");
  EXPECT_EQ(sent[0].destination, kShipAddress);
  receive(file("A\na@x,b@shore\n2\nho"), 0x2B);
  core->on_committed(now, received.at(1).ticket, CommitOutcome::full);
  drain();
  EXPECT_EQ(sent.size(), 1u);
}

// F.14.3(2)
TEST_F(CftpCoreTest,
       segments_of_any_size_are_put_together_and_repeats_are_known_by_their_identity) {
  Rng noise(3);
  std::string text;
  for (int i = 0; i < 5000; ++i) text.push_back(static_cast<char>('a' + noise.below(26)));
  const Bytes one = file("A\na@x,b@shore\n5000\n" + text);
  receive(one, 1, 100);
  receive(one, 2, 2048);
  receive(file("B\na@x,b@shore\n5000\n" + text), 3, 2048);
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].mail.content, octets(text));
  EXPECT_EQ(received[0].identity, received[1].identity);
  EXPECT_NE(received[0].identity, received[2].identity);
}

TEST_F(CftpCoreTest, what_cannot_be_read_is_acknowledged_when_the_operator_has_it) {
  receive(bftp_v1_file("A", octets("no gzip")));
  receive(file("no record"), 10);
  indicate(*from_hex("00 0B 00 00 55 55 55"));
  indicate(*from_hex("00 0B"));
  EXPECT_EQ(core->counters()[CftpCounter::files_unreadable], 3u);
  EXPECT_EQ(core->counters()[CftpCounter::malformed], 1u);
  EXPECT_TRUE(received.empty());
  EXPECT_TRUE(sent.empty());
  ASSERT_EQ(unreadable.size(), 3u);
  EXPECT_EQ(unreadable[0].octets, bftp_v1_file("A", octets("no gzip")));
  EXPECT_EQ(unreadable[0].address, kShipAddress);
  core->on_committed(now, unreadable[0].ticket, CommitOutcome::failed);
  drain();
  EXPECT_TRUE(sent.empty());
  core->on_committed(now, unreadable[1].ticket, CommitOutcome::committed);
  drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].updu, cftp_acknowledgement(0, 10));
}

TEST_F(CftpCoreTest, a_file_that_swells_beyond_the_limit_is_refused) {
  config.inflate.octets_max = 1000;
  start();
  const std::string head = "A\na@x,b@shore\n";
  receive(file(head + "982\n" + std::string(982, 'x')), 1);
  EXPECT_EQ(received.size(), 1u);
  receive(file(head + "983\n" + std::string(983, 'x')), 2);
  EXPECT_EQ(received.size(), 1u);
  EXPECT_EQ(core->counters()[CftpCounter::files_unreadable], 1u);
}

TEST_F(CftpCoreTest, a_station_that_is_not_configured_is_not_listened_to) {
  receive(file("A\na@x,b@shore\n2\nhi"), 1, 2048, Address{0x01020099});
  EXPECT_TRUE(received.empty());
  EXPECT_EQ(news.at(0).kind, PeerNews::Kind::peer_unknown);
  EXPECT_EQ(core->counters()[CftpCounter::unknown_stations], 1u);
}

TEST_F(CftpCoreTest, no_more_files_wait_for_the_spool_than_the_limit) {
  config.committing_max = 2;
  start();
  for (std::uint8_t i = 0; i < 3; ++i) receive(file("A\na@x,b@shore\n1\n" + std::to_string(i)), i);
  EXPECT_EQ(received.size(), 2u);
  EXPECT_EQ(core->counters()[CftpCounter::busy], 1u);
  core->on_committed(now, received[0].ticket, CommitOutcome::committed);
  receive(file("A\na@x,b@shore\n1\n2"), 7);
  EXPECT_EQ(received.size(), 3u);
}

}  // namespace
}  // namespace s5066::acp142
