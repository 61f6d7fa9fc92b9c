// SPDX-License-Identifier: Apache-2.0
#include "config/control_json.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "config/proto/control.pb.h"

namespace s5066::config {
namespace {

proto::Status parsed(const DaemonStatus& status) {
  proto::Status read;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(to_json(status), &read).ok());
  return read;
}

TEST(ControlJson, the_status_shows_each_hard_link_with_its_client) {
  DaemonStatus status;
  status.node.clients = {{.id = ClientId{7}, .bound = true, .sap = SapId{3}, .rank = 9}};
  status.node.hard_links = {{.peer = Address{0x01020305},
                             .state = sap::HardLinkState::requesting,
                             .type = sis::HardLinkType::full_bandwidth,
                             .priority = 2,
                             .we_called = true,
                             .client = ClientId{7},
                             .local_sap = SapId{3},
                             .remote_sap = SapId{4}}};
  const proto::Status read = parsed(status);
  ASSERT_EQ(read.hard_links_size(), 1);
  const proto::HardLinkStatus& link = read.hard_links(0);
  EXPECT_EQ(link.peer(), to_string(Address{0x01020305}));
  EXPECT_EQ(link.state(), "requesting");
  EXPECT_EQ(link.type(), 2u);
  EXPECT_EQ(link.priority(), 2u);
  EXPECT_TRUE(link.we_called());
  EXPECT_EQ(link.remote_sap(), 4u);
  ASSERT_TRUE(link.has_client());
  EXPECT_EQ(link.client().id(), 7u);
  EXPECT_EQ(link.client().sap(), 3u);
  EXPECT_EQ(link.client().rank(), 9u);
}

TEST(ControlJson, a_peers_hard_link_for_all_clients_names_none) {
  DaemonStatus status;
  status.node.clients = {{.id = ClientId{7}, .bound = true, .sap = SapId{3}, .rank = 9}};
  status.node.hard_links = {{.peer = Address{0x01020305},
                             .state = sap::HardLinkState::active,
                             .type = sis::HardLinkType::partial_bandwidth,
                             .remote_sap = SapId{4}}};
  const proto::Status read = parsed(status);
  ASSERT_EQ(read.hard_links_size(), 1);
  EXPECT_FALSE(read.hard_links(0).has_client());
  EXPECT_EQ(read.hard_links(0).type(), 1u);
}

TEST(ControlJson, the_status_shows_whether_the_channel_is_busy_or_occupied) {
  for (const bool occupied : {false, true}) {
    DaemonStatus status;
    status.node.channel_busy = !occupied;
    status.node.channel_occupied = occupied;
    EXPECT_EQ(parsed(status).channel_busy(), !occupied);
    EXPECT_EQ(parsed(status).channel_occupied(), occupied);
  }
}

TEST(ControlJson, a_link_shows_what_was_said_of_its_mode) {
  DaemonStatus status;
  status.node.links.resize(2);
  const modem::Mode mode{modem::Waveform::ms110a, 600, modem::Interleaver::long_};
  status.node.links[1].advised_mode = mode;
  status.node.links[1].mode_refused = pdu::DrcReason::not_consistent_with_conditions;
  status.node.links[1].capabilities = 0xB0;
  const proto::Status read = parsed(status);
  ASSERT_EQ(read.links_size(), 2);
  EXPECT_EQ(read.links(0).advised_mode(), "");
  EXPECT_EQ(read.links(0).mode_refused(), "");
  EXPECT_FALSE(read.links(0).has_capabilities());
  EXPECT_EQ(read.links(1).advised_mode(), "110a-600-long");
  EXPECT_EQ(read.links(1).mode_refused(), "not_consistent_with_conditions");
  EXPECT_EQ(read.links(1).capabilities(), 0xB0u);
}

}  // namespace
}  // namespace s5066::config
