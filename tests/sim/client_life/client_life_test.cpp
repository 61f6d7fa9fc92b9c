// SPDX-License-Identifier: Apache-2.0
// Tests clients that disconnect at any time, with data in any stage of the queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sis/codec.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKillsPerWorld = 100;
constexpr SapId kBystanders{5};

/// Returns the faults in the data that the bystanders exchanged; empty if there are none.
std::string harm_to(const sim::Client& sender, const sim::Client& receiver) {
  std::string faults;
  if (sender.closed()) faults += "closed; ";
  for (const auto& sent : sender.sent()) {
    const auto number = std::to_string(sent.number);
    const auto arrived = std::count_if(receiver.received().begin(), receiver.received().end(),
                                       [&](const auto& r) { return r.number == sent.number; });
    if (sent.confirms != 1 || sent.rejects != 0) faults += "not confirmed " + number + "; ";
    if (arrived != 1) faults += "arrived " + std::to_string(arrived) + " times " + number + "; ";
  }
  std::uint32_t last = 0;
  for (const auto& received : receiver.received()) {
    if (!received.intact || received.number < last) faults += "damaged or out of order; ";
    last = received.number;
  }
  return faults;
}

/// Returns the resources that a node still holds after all requests have ended.
std::string left_behind(const Node& node, std::size_t clients) {
  const NodeStatus status = node.status();
  std::string left;
  if (!(status.holdings == sap::Holdings{})) {
    left += "queued " + std::to_string(status.holdings.updus_queued) + " below " +
            std::to_string(status.holdings.updus_below) + " awaiting " +
            std::to_string(status.holdings.updus_awaiting) + " charged " +
            std::to_string(status.holdings.octets_charged) + "; ";
  }
  if (status.clients.size() != clients) left += "clients; ";
  for (const LinkStatus& link : status.links) {
    if (link.state != cas::LinkState::idle) left += "link; ";
    if (link.queued_octets + link.outstanding_octets > 0) left += "octets for a peer; ";
  }
  const Counters& counters = node.counters();
  const auto ended = counters[Counter::updus_confirmed] + counters[Counter::updus_rejected] +
                     counters[Counter::updus_expired] + counters[Counter::updus_dropped];
  if (counters[Counter::updus_accepted] != ended) left += "U_PDUs without an end; ";
  return left;
}

class Reaper {
 public:
  explicit Reaper(sim::World& world) : world_(world), rng_(world.rng().fork()) {}

  /// One client binds, does one random thing, and disconnects.
  void one_life() {
    const std::size_t station = rng_.below(2);
    const SapId sap{static_cast<std::uint8_t>(6 + rng_.below(3))};
    const auto confirmation = static_cast<sis::Confirmation>(rng_.below(3));
    sim::Client& client = world_.add_client(station, sap, confirmation);
    const std::size_t updus = rng_.below(30);
    for (std::size_t i = 0; i < updus && client.bound(); ++i) send_something(client, station);
    if (rng_.chance(0.1)) unbind_and_go_on(client, station);
    if (rng_.chance(0.6)) world_.run_for(std::chrono::milliseconds(rng_.below(60'000)));
    switch (rng_.below(4)) {
      case 0:  // the connection ends in the middle of a primitive
        world_.write(client, Bytes{0x90, 0xEB, 0x00, 0x08, 0x00, 20, 0x56, 0xE1});
        break;
      case 1:  // the node closes a client that sends garbage
        for (int i = 0; i < 20; ++i) world_.write(client, Bytes(5000, 0xAA));
        break;
      default:
        break;
    }
    world_.disconnect(client);
  }

 private:
  void send_something(sim::Client& client, std::size_t station) {
    sim::World::SendOptions options;
    options.expedited = rng_.chance(0.05);
    if (rng_.chance(0.1)) options.delivery.mode = sis::TransmissionMode::nonarq;
    const Duration time_to_live = std::chrono::seconds(20 + rng_.below(600));
    // One request in ten is for a station that does not exist.
    const std::size_t to = rng_.chance(0.1) ? 7 : 1 - station;
    world_.send(client, to, 12 + rng_.below(500), time_to_live, options);
  }
  void unbind_and_go_on(sim::Client& client, std::size_t station) {
    Bytes bytes;
    sis::encode(sis::UnbindRequest{}, bytes);
    sis::encode(
        sis::BindRequest{
            .sap = SapId{9}, .rank = 0, .service = {.mode = sis::TransmissionMode::arq}},
        bytes);
    world_.write(client, bytes);
    send_something(client, station);
  }

  sim::World& world_;
  Rng rng_;
};

class ClientLife : public ::testing::Test {
 protected:
  void kill_clients(sim::Seed seed) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.05}});
    auto& alpha = world.add_client(0, kBystanders, sis::Confirmation::client);
    auto& bravo = world.add_client(1, kBystanders, sis::Confirmation::client);
    Reaper reaper(world);
    for (std::size_t kill = 0; kill < kKillsPerWorld; ++kill) {
      if (kill % 5 == 0) world.send(alpha, 1, 200, 24h);
      if (kill % 7 == 0) world.send(bravo, 0, 200, 24h);
      reaper.one_life();
    }
    world.run_for(30h);
    EXPECT_EQ(harm_to(alpha, bravo), "");
    EXPECT_EQ(harm_to(bravo, alpha), "");
    EXPECT_EQ(left_behind(world.node(0), 1), "");
    EXPECT_EQ(left_behind(world.node(1), 1), "");
    EXPECT_EQ(world.unreported(), 0u);
  }
};

// Goal:   a client that dies leaves no data behind, keeps no link up, and harms no other client.
// Method: clients with data in every stage are killed at random, one in twenty D_PDUs is lost,
//         while two bystanders exchange U_PDUs; then every accepted U_PDU comes to its end.
TEST_F(ClientLife, a_killed_client_leaves_no_trace_and_harms_nobody) {
  for (const sim::Seed seed : sim::seeds(100)) {
    kill_clients(seed);
    if (HasFailure()) return;
  }
}

// Found:  a peer that forgot the link three times in a row was treated as one that does not
//         respond.
TEST_F(ClientLife, links_that_the_peer_forgets_do_not_cost_a_bystander_its_data) {
  kill_clients(267);
}

// Found:  both nodes called, and the second REQUEST of one arrived after its ACCEPTED. The other
//         node restarted its numbering, and its new frames were acknowledged as repetitions.
TEST_F(ClientLife, calls_that_cross_do_not_cost_a_bystander_its_data) {
  kill_clients(851);
}

}  // namespace
}  // namespace s5066
