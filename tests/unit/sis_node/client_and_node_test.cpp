// SPDX-License-Identifier: Apache-2.0
// A ClientCore and a Node exchange octets without sockets, in virtual time. U_PDUs go to the node's
// own address, so no modem is needed.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "s5066d/base/rng.h"
#include "s5066d/base/trace.h"
#include "s5066d/node/node.h"
#include "sis/client_core.h"
#include "sis/codec.h"
#include "tests/support/virtual_time.h"

namespace s5066 {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Address kOwn{0x01020304};

NodeConfig node_config() {
  NodeConfig config;
  config.dts.address = kOwn;
  config.dts.mode = {modem::Waveform::ms110a, 2400, modem::Interleaver::short_};
  return config;
}

/// Holds one client, its pipe, and the events that it was told.
struct Peer {
  Peer(const sis::ClientCore::Config& config, std::uint64_t seed) : rng(seed), core(config, rng) {}

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const sis::Event& event : events) {
      if (const auto* e = std::get_if<T>(&event)) found.push_back(*e);
    }
    return found;
  }

  Rng rng;
  sis::ClientCore core;
  std::optional<ClientId> id;  // as the node knows it
  bool paused = false;         // the node reads nothing more
  std::deque<Bytes> to_node;
  std::vector<sis::Event> events;
};

class Site {
 public:
  explicit Site(const NodeConfig& config = node_config()) : node(config, rng_, trace_) {}

  Peer& add(sis::ClientCore::Config config) {
    peers_.push_back(std::make_unique<Peer>(config, peers_.size() + 10));
    peers_.back()->core.start(now);
    settle();
    return *peers_.back();
  }

  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      while (const auto action = node.poll_action()) {
        moved = true;
        std::visit([this](const auto& a) { perform(a); }, *action);
      }
      for (auto& peer : peers_) moved |= settle(*peer);
    }
  }

  void run_for(Duration duration) {
    const auto next = [this] {
      const auto due = next_deadline();
      EXPECT_GE(due.value_or(now), now);
      return due;
    };
    sim::run_deadlines(now, now + duration, next, [this] {
      node.on_deadline(now);
      for (auto& peer : peers_) peer->core.on_deadline(now);
      settle();
    });
  }

 private:
  bool settle(Peer& peer) {
    bool moved = false;
    while (const auto action = peer.core.poll_action()) {
      moved = true;
      if (std::holds_alternative<sis::ClientCore::Connect>(*action)) {
        peer.id = node.on_client_connected(now);
        peer.core.on_connected(now);
      } else if (std::holds_alternative<sis::ClientCore::Disconnect>(*action)) {
        if (peer.id) node.on_client_closed(now, *peer.id);
        peer.id.reset();
        peer.to_node.clear();
        peer.paused = false;
      } else {
        peer.to_node.push_back(std::get<sis::ClientCore::SendBytes>(*action).octets);
      }
    }
    while (!peer.paused && peer.id && !peer.to_node.empty()) {
      moved = true;
      const Bytes octets = std::move(peer.to_node.front());
      peer.to_node.pop_front();
      node.on_client_bytes(now, *peer.id, octets);
      peer.core.on_sent(now);
    }
    while (auto event = peer.core.poll_event()) {
      moved = true;
      peer.events.push_back(*std::move(event));
    }
    return moved;
  }

  Peer* find(ClientId id) {
    for (auto& peer : peers_) {
      if (peer->id == id) return peer.get();
    }
    return nullptr;
  }

  void perform(const modem::Command&) {}
  void perform(const SendToClient& send) {
    Peer* peer = find(send.client);
    if (peer == nullptr) return;
    peer->core.on_bytes(now, send.bytes);
    node.on_client_taken(now, send.client, send.bytes.size());
  }
  void perform(const CloseClient& close) {
    Peer* peer = find(close.client);
    if (peer == nullptr) return;
    peer->id.reset();
    peer->core.on_disconnected(now, Error{ErrorCode::io, "closed by the node"});
  }
  void perform(const PauseClient& pause) {
    if (Peer* peer = find(pause.client)) peer->paused = pause.paused;
  }

  std::optional<Instant> next_deadline() const {
    auto next = node.next_deadline();
    for (const auto& peer : peers_) next = earlier(next, peer->core.next_deadline());
    return next;
  }

  Rng rng_{1};
  NullTrace trace_;
  std::vector<std::unique_ptr<Peer>> peers_;

 public:
  Node node;
  Instant now{};
};

sis::UnidataRequest to_sap(std::uint8_t sap, Bytes updu) {
  return {
      .priority = 3,
      .destination_sap = {sap},
      .destination = kOwn,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .updu = std::move(updu)};
}

TEST(ClientAndNode, a_updu_between_two_clients_of_a_node_arrives_and_is_confirmed) {
  Site site;
  Peer& a = site.add({.sap = {6}});
  Peer& b = site.add({.sap = {7}});
  ASSERT_TRUE(a.core.bound() && b.core.bound());
  EXPECT_EQ(a.all<sis::event::Bound>().at(0).mtu, sis::kMtu);
  const auto id = a.core.request_unidata(site.now, to_sap(7, {1, 2, 3}));
  ASSERT_TRUE(id.ok());
  site.settle();
  site.run_for(minutes(1));
  ASSERT_EQ(b.all<sis::event::Indication>().size(), 1u);
  const sis::UnidataIndication got = b.all<sis::event::Indication>().at(0).unidata;
  EXPECT_EQ(got.updu, (Bytes{1, 2, 3}));
  EXPECT_EQ(got.source_sap, SapId{6});
  EXPECT_EQ(got.source, kOwn);
  ASSERT_EQ(a.all<sis::event::Confirmed>().size(), 1u);
  EXPECT_EQ(a.all<sis::event::Confirmed>().at(0).id, *id);
}

TEST(ClientAndNode, a_sap_that_nobody_bound_is_told_to_the_sender) {
  Site site;
  Peer& a = site.add({.sap = {6}});
  ASSERT_TRUE(a.core.request_unidata(site.now, to_sap(7, {1})).ok());
  site.settle();
  site.run_for(minutes(1));
  ASSERT_EQ(a.all<sis::event::Rejected>().size(), 1u);
  EXPECT_EQ(a.all<sis::event::Rejected>().at(0).reason,
            sis::RejectReason::destination_sap_not_bound);
}

TEST(ClientAndNode, a_taken_sap_is_bound_soon_after_it_becomes_free) {
  Site site;
  Peer& first = site.add({.sap = {6}});
  Peer& second = site.add({.sap = {6}});
  ASSERT_EQ(second.all<sis::event::BindRejected>().size(), 1u);
  site.run_for(minutes(10));
  EXPECT_FALSE(second.core.bound());
  EXPECT_TRUE(first.core.bound());
  first.core.stop(site.now);
  site.settle();
  site.run_for(seconds(76));  // 60 s and a quarter
  EXPECT_TRUE(second.core.bound());
}

TEST(ClientAndNode, keep_alives_of_either_or_both_sides_keep_a_silent_binding_for_a_day) {
  for (const bool node_probes : {false, true}) {
    for (const bool client_probes : {false, true}) {
      NodeConfig config = node_config();
      if (node_probes) config.sap.keep_alive_interval = seconds(120);
      Site site(config);
      sis::ClientCore::Config client{.sap = {6}};
      if (client_probes) client.probe_after = seconds(120);
      Peer& a = site.add(client);
      site.run_for(hours(24));
      EXPECT_TRUE(a.core.bound());
      EXPECT_EQ(a.core.counters()[sis::ClientCounter::connections], 1u)
          << node_probes << client_probes;
      EXPECT_LE(a.core.counters()[sis::ClientCounter::keep_alives_sent] +
                    a.core.counters()[sis::ClientCounter::keep_alives_answered],
                24 * 30u);
    }
  }
}

// The other station does not exist, so no U_PDU leaves before its time to live is over.
TEST(ClientAndNode, flow_control_holds_back_what_the_node_cannot_take_and_all_of_it_is_answered) {
  NodeConfig config = node_config();
  config.sap.queue.client_octets_max = 16 * 1024;
  config.sap.queue.client_octets_reserved = 16 * 1024;
  config.sap.queue.lent_octets_max = 0;
  Site site(config);
  Peer& a = site.add({.sap = {6}, .queue_max = 8});
  constexpr std::size_t kUpdus = 100;
  std::size_t asked = 0;
  std::size_t refused = 0;
  while (asked < kUpdus && refused < 10000) {
    sis::UnidataRequest request = to_sap(7, Bytes(2048, static_cast<std::uint8_t>(asked)));
    request.destination = Address{kOwn.value + 1};
    request.time_to_live = 30;
    const auto id = a.core.request_unidata(site.now, request);
    asked += id.ok() ? 1 : 0;
    site.settle();
    if (id) continue;
    ASSERT_EQ(id.error().code, ErrorCode::queue_full);
    ++refused;
    site.run_for(seconds(1));
  }
  site.run_for(hours(1));
  EXPECT_EQ(asked, kUpdus);
  EXPECT_GT(a.all<sis::event::FlowOff>().size(), 0u);
  EXPECT_EQ(a.all<sis::event::FlowOff>().size(), a.all<sis::event::FlowOn>().size());
  EXPECT_EQ(a.core.counters()[sis::ClientCounter::rejected], kUpdus);
  EXPECT_EQ(a.core.counters()[sis::ClientCounter::unresolved] +
                a.core.counters()[sis::ClientCounter::confirmed],
            0u);
  EXPECT_TRUE(a.core.bound());
}

}  // namespace
}  // namespace s5066
