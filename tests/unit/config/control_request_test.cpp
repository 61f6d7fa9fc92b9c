// SPDX-License-Identifier: Apache-2.0
#include "config/control_request.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "config/control_json.h"
#include "config/proto/control.pb.h"
#include "s5066d/control/json.h"

namespace s5066::config {
namespace {

template <typename Asked>
Asked understood(const std::string& line) {
  const auto request = parse_control_request(line);
  EXPECT_TRUE(request.ok()) << line << (request ? "" : ": " + request.error().detail);
  if (!request || !std::holds_alternative<Asked>(*request)) {
    ADD_FAILURE() << line << " is another request";
    return {};
  }
  return std::get<Asked>(*request);
}

std::string refusal_of(const std::string& line) {
  const auto request = parse_control_request(line);
  EXPECT_FALSE(request.ok()) << line;
  return request ? "" : request.error().detail;
}

TEST(ControlRequest, each_is_understood) {
  understood<StatusAsked>("status");
  understood<ReloadAsked>(" reload ");
  EXPECT_TRUE(understood<EmconAsked>("emcon on").on);
  EXPECT_FALSE(understood<EmconAsked>("emcon off").on);
  EXPECT_TRUE(understood<BroadcastAsked>("broadcast on").on);
  EXPECT_EQ(understood<SapAsked>("sap 15 shut").sap, SapId{15});
  EXPECT_FALSE(understood<SapAsked>("sap 15 shut").open);
  EXPECT_TRUE(understood<SapAsked>("sap 0 open").open);
  EXPECT_EQ(understood<DisconnectAsked>("disconnect 17").client, ClientId{17});
  EXPECT_EQ(understood<BreakAsked>("break 1.2.3.4").peer, Address{0x01020304});
  const auto mode = understood<ModeAsked>("mode 1.2.3.4 110a-600-long");
  EXPECT_EQ(mode.peer, Address{0x01020304});
  EXPECT_EQ(modem::to_string(mode.mode), "110a-600-long");
  EXPECT_EQ(understood<QueueAsked>("queue").filter.id, std::nullopt);
  EXPECT_EQ(understood<QueueAsked>("queue to=31.255.255.255").filter.destination,
            Address::all_stations());
  const auto purge = understood<PurgeAsked>("purge client=3 id=18446744073709551615");
  EXPECT_EQ(purge.filter.client, ClientId{3});
  EXPECT_EQ(purge.filter.id, UpduId{~std::uint64_t{0}});
}

TEST(ControlRequest, what_does_not_fit_is_answered_with_how_it_is_written) {
  for (const char* bad : {"emcon", "emcon 1", "emcon on off", "emcon ON"}) {
    EXPECT_EQ(refusal_of(bad), "the request is `emcon on|off`");
  }
  for (const char* bad : {"sap 16 open", "sap -1 open", "sap 3", "sap x open", "sap 3 close"}) {
    EXPECT_EQ(refusal_of(bad), "the request is `sap 0..15 open|shut`");
  }
  for (const char* bad :
       {"disconnect", "disconnect x", "disconnect 4294967296", "disconnect 1 2"}) {
    EXPECT_EQ(refusal_of(bad), "the request is `disconnect CLIENT`");
  }
  for (const char* bad : {"purge", "purge 3", "purge id=x", "purge id=1 id=2", "purge sap=3",
                          "purge id=18446744073709551616", "purge id="}) {
    EXPECT_EQ(refusal_of(bad), "the request is `purge [id=N] [client=N] [to=STATION]`");
  }
  for (const char* bad : {"mode ", "mode 1.2.3.4", "mode 1.2.3.4 110a-600-long x"}) {
    EXPECT_EQ(refusal_of(bad), "the request is `mode STATION MODE`");
  }
  for (const char* bad : {"level", "level x", "level -6 0", "level -6dB"}) {
    EXPECT_EQ(refusal_of(bad), "the request is `level DB`");
  }
  for (const char* bad : {"level 0.1", "level -40.1", "level nan", "level -inf"}) {
    EXPECT_EQ(refusal_of(bad), "the level goes from -40 to 0 dB");
  }
  EXPECT_EQ(understood<LevelAsked>("level -40").level_db, -40);
  EXPECT_EQ(understood<LevelAsked>("level 0").level_db, 0);
  EXPECT_EQ(refusal_of("mode 1.2.3 110a-600-long"), "address needs four numbers, w.x.y.z");
  EXPECT_EQ(refusal_of("break 31.255.255.255"), "a group has no link");
  refusal_of("break 1.2.3");
  refusal_of("queue to=1.2.3");
  refusal_of("mode 1.2.3.4 110a-601-long");
  refusal_of("status now");
  for (const char* bad : {"", " ", "statu", "stop", "\x1B"}) {
    EXPECT_EQ(parse_control_request(bad).error().code, ErrorCode::unsupported) << bad;
  }
}

template <typename Message, typename... Values>
Message told(const Values&... values) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(to_json(values...), &message).ok());
  EXPECT_EQ(message.version(), control::kInterfaceVersion);
  return message;
}

TEST(ControlRequest, answers_say_what_was_done) {
  const auto mode = told<proto::ModeAsked>(understood<ModeAsked>("mode 1.2.3.4 110a-600-long"));
  EXPECT_EQ(mode.peer(), "1.2.3.4");
  EXPECT_EQ(mode.mode(), "110a-600-long");
  EXPECT_EQ(told<proto::TransmitLevel>(LevelAsked{-6.5}).level_db(), -6.5);
  EXPECT_TRUE(told<proto::Emcon>(EmconAsked{true}).on());
  EXPECT_TRUE(told<proto::BroadcastSession>(BroadcastAsked{true}).on());
  EXPECT_EQ(told<proto::SapOpen>(SapAsked{SapId{3}, true}).sap(), 3u);
  EXPECT_EQ(told<proto::Disconnected>(DisconnectAsked{ClientId{9}}).client(), 9u);
  EXPECT_EQ(told<proto::LinkBreaking>(BreakAsked{Address{0x01020304}}).peer(), "1.2.3.4");
  EXPECT_EQ(told<proto::Purged>(PurgeDone{3, 4}).in_transit(), 4);
}

TEST(ControlRequest, every_request_has_a_message_with_the_version_as_its_answer) {
  for (const auto& [verb, parse] : control_verbs()) {
    EXPECT_NE(verb.answer().GetDescriptor()->FindFieldByName("version"), nullptr) << verb.name;
  }
}

TEST(ControlRequest, a_queue_shows_each_updu_and_what_it_waits_for) {
  sap::UpduList list{.updus = {{.id = UpduId{17},
                                .client = ClientId{3},
                                .destination = Address{0x01020304},
                                .source_sap = SapId{4},
                                .destination_sap = SapId{5},
                                .priority = 6,
                                .octets = 700,
                                .age = std::chrono::seconds(8),
                                .time_left = std::chrono::seconds(9),
                                .attempts = 1,
                                .queued = true,
                                .waits_for = "its turn in the queue"},
                               {.id = UpduId{18}}},
                     .total = 12};
  const auto queue = told<proto::UpduQueue>(list);
  EXPECT_EQ(queue.total(), 12);
  ASSERT_EQ(queue.updus_size(), 2);
  const proto::QueuedUpdu& first = queue.updus(0);
  EXPECT_EQ(first.id(), 17);
  EXPECT_EQ(first.client(), 3u);
  EXPECT_EQ(first.destination(), "1.2.3.4");
  EXPECT_EQ(first.source_sap(), 4u);
  EXPECT_EQ(first.destination_sap(), 5u);
  EXPECT_EQ(first.priority(), 6u);
  EXPECT_EQ(first.octets(), 700);
  EXPECT_EQ(first.age_s(), 8);
  EXPECT_EQ(first.time_left_s(), 9);
  EXPECT_EQ(first.attempts(), 1u);
  EXPECT_TRUE(first.queued());
  EXPECT_EQ(first.waits_for(), "its turn in the queue");
  EXPECT_FALSE(queue.updus(1).has_client());
}

TEST(ControlRequest, the_status_does_not_say_since_when_where_that_is_not_known) {
  DaemonStatus status;
  status.now = Instant(std::chrono::seconds(100));
  status.node.links.resize(2);
  status.node.links[1].since = Instant(std::chrono::seconds(90));
  const auto read = told<proto::Status>(status);
  EXPECT_FALSE(read.links(0).has_in_state_s());
  EXPECT_EQ(read.links(1).in_state_s(), 10);
}

}  // namespace
}  // namespace s5066::config
