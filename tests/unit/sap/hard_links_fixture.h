// SPDX-License-Identifier: Apache-2.0
// Runs the hard links of one node. The test plays its clients, its channel access and its peers.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "s5066d/sap/hard_links.h"

namespace s5066::sap {

class HardLinksFixture : public ::testing::Test {
 protected:
  static constexpr Address kOwn{10};
  static constexpr Address kPeer{20};  // larger than kOwn, so its request wins if two cross
  static constexpr Address kOther{5};
  static constexpr ClientId kClient{1};
  static constexpr ClientId kSecond{2};

  HardLinksFixture() { restart(); }
  void restart() { core.emplace(options, outbox, counters, trace); }

  /// Returns all actions since the last call as short words.
  std::string said() {
    std::string all;
    while (auto action = outbox.poll()) {
      if (const auto* keep = std::get_if<KeepLink>(&*action)) {
        kept.push_back(keep->peer);
      } else {
        all += (all.empty() ? "" : " ") + word(*action);
      }
    }
    return all;
  }
  std::string word(const Action& action) {
    if (const auto* send = std::get_if<SendPrimitive>(&action)) {
      return "c" + std::to_string(send->client.value) + ":" + word(send->primitive);
    }
    if (const auto* call = std::get_if<RequestLink>(&action)) {
      EXPECT_EQ(call->type, cas::LinkType::exclusive);
      return "call-" + std::to_string(call->peer.value);
    }
    if (const auto* end = std::get_if<RequestBreak>(&action)) {
      return "break-" + std::to_string(end->peer.value);
    }
    const auto& spdu = std::get<cas::SpduRequest>(action);
    last_id = spdu.id;
    EXPECT_EQ(spdu.service, cas::Service::expedited_arq);
    EXPECT_EQ(spdu.priority, 15);  // before the expedited data of clients
    return std::to_string(spdu.destination.value) + ":" + to_hex(spdu.spdu);
  }
  static std::string word(const sis::Primitive& primitive) {
    const auto with = [](const char* name, auto reason) {
      return std::string(name) + "-" + std::to_string(static_cast<int>(reason));
    };
    if (const auto* m = std::get_if<sis::HardLinkRejected>(&primitive)) {
      return with("rejected", m->reason);
    }
    if (const auto* end = std::get_if<sis::HardLinkTerminated>(&primitive)) {
      return with("terminated", end->reason);
    }
    if (std::holds_alternative<sis::HardLinkEstablished>(primitive)) return "established";
    return std::holds_alternative<sis::HardLinkIndication>(primitive) ? "indication" : "?";
  }

  static sis::HardLink link(unsigned type, unsigned priority = 0, Address remote = kPeer,
                            unsigned remote_sap = 4) {
    return {static_cast<sis::HardLinkType>(type), static_cast<std::uint8_t>(priority),
            SapId{static_cast<std::uint8_t>(remote_sap)}, remote};
  }
  /// Asks for a hard link as the client on SAP 3, or as kSecond on SAP 6.
  bool ask(const sis::HardLink& wanted, ClientId client = kClient) {
    return core->request_establish(now, party(client), wanted);
  }
  HardLinks::Party party(ClientId client) const {
    const bool first = client == kClient;
    return {client, SapId{static_cast<std::uint8_t>(first ? 3 : 6)}, first ? rank : second_rank};
  }
  void made(Address peer = kPeer, bool we_called = true) {
    core->on_link_made(now, {peer, we_called, cas::LinkType::exclusive});
  }
  void broken(cas::LinkEnd how = cas::LinkEnd::by_peer, Address peer = kPeer) {
    core->on_link_broken(now, {peer, how, cas::LinkType::exclusive});
  }
  void rejected(std::optional<cas::RejectReason> reason) {
    EXPECT_TRUE(core->on_link_rejected(now, {kPeer, reason, cas::LinkType::exclusive}));
  }
  /// Delivers an S_PDU from a peer. SAPs 3 and 6 are bound here.
  void hear(std::string_view hex, Address peer = kPeer) {
    const Spdu spdu = *decode(*from_hex(hex));
    if (const auto* request = std::get_if<HardLinkRequest>(&spdu)) {
      std::optional<HardLinks::Party> called;
      if (request->remote_sap == SapId{3}) called = party(kClient);
      if (request->remote_sap == SapId{6}) called = party(kSecond);
      core->on_spdu(now, peer, *request, called, soft_link);
    } else if (std::holds_alternative<HardLinkConfirm>(spdu)) {
      core->on_spdu(now, peer, std::get<HardLinkConfirm>(spdu));
    } else if (std::holds_alternative<HardLinkRefused>(spdu)) {
      core->on_spdu(now, peer, std::get<HardLinkRefused>(spdu));
    } else if (std::holds_alternative<HardLinkTerminate>(spdu)) {
      core->on_spdu(now, peer, std::get<HardLinkTerminate>(spdu));
    } else {
      core->on_spdu(now, peer, std::get<HardLinkTerminateConfirm>(spdu));
    }
  }
  /// Returns the last S_PDU to the node as not sent.
  void come_back(cas::CpduFailure why = cas::CpduFailure::not_connected) {
    core->on_spdu_rejected({last_id, why});
    core->on_deadline(now);
  }
  void wait(Duration duration) {
    now += duration;
    core->on_deadline(now);
  }
  std::string state() const {
    std::string all;
    for (const HardLinkInfo& info : core->links()) {
      all += (all.empty() ? "" : " ") + std::string(to_string(info.state));
    }
    return all;
  }
  /// Makes an active link that kClient owns.
  void establish(unsigned type, unsigned priority = 0) {
    ASSERT_TRUE(ask(link(type, priority)));
    made();
    hear("40");
    said();
    ASSERT_EQ(state(), "active");
  }
  /// Makes an active link that the peer's client on SAP 7 owns.
  void be_called(std::string_view request) {
    made(kPeer, false);
    hear(request);
    if (state() == "indicated") {
      ASSERT_TRUE(core->request_accept(now, kClient, link(2, 0, kPeer, 7)));
    }
    said();
    ASSERT_EQ(state(), "active");
  }

  HardLinks::Options options{.config = {}, .own = kOwn};
  bool soft_link = true;  // the sender has a soft link with us
  std::vector<Address> kept;
  CpduId last_id;  // of the last S_PDU sent
  std::uint8_t rank = 5;
  std::uint8_t second_rank = 5;
  Counters counters;
  TraceRing trace;
  Outbox outbox{counters};
  std::optional<HardLinks> core;
  Instant now{};
};

}  // namespace s5066::sap
