// SPDX-License-Identifier: Apache-2.0
// One client asks for more than the antenna gives; the others must still get their turns.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

using sis::Confirmation;
using sis::TransmissionMode;

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;
constexpr std::uint32_t kAbsent = 0x01020306;
constexpr std::size_t kWanted = 20;

/// Selects how the U_PDUs are sent and what the channel loses.
struct Case {
  unsigned rate_bps = 2400;
  std::size_t flood_octets = 2000;
  TransmissionMode mode = TransmissionMode::arq;
  bool expedited = false;
  double loss = 0;  // share of lost D_PDUs in either direction
};

class FairTurns {
 public:
  explicit FairTurns(const Case& how, std::size_t sessions_max = 4) : how_(how) {
    alpha_ = &medium_.add(config(kAlpha, sessions_max));
    bravo_ = &medium_.add(config(kBravo, sessions_max));
    medium_.on_burst = [this](std::size_t, Bytes& octets) { damage(octets); };
    to_flood_ = bind(*bravo_, 3, 0);
    to_modest_ = bind(*bravo_, 5, 0);
    flood_ = bind(*alpha_, 3, 0);
    modest_ = bind(*alpha_, 5, 9);
  }

  /// Sends one U_PDU from the modest client. Its first octet is its number.
  void send(std::uint8_t priority = 0, std::size_t octets = 4) {
    Bytes updu(octets);
    updu[0] = ++numbered_;
    give(modest_, 5, kBravo, priority, std::move(updu));
  }
  void run_for(Duration duration) { medium_.run_for(duration); }
  /// Runs while the other client sends as much as the node takes at this priority.
  void run_beside_flood(Duration duration, std::uint8_t priority = 15, std::uint32_t to = kBravo) {
    for (const Instant end = medium_.now() + duration; medium_.now() < end;
         medium_.run_for(seconds(5))) {
      // Each step offers at most 300 U_PDUs, because expedited data has no flow control of its own.
      for (int i = 0; i < 300 && !alpha_->clients[flood_].paused; ++i) {
        give(flood_, 3, to, priority, Bytes(how_.flood_octets));
      }
    }
  }
  /// Returns the numbers of the U_PDUs from the modest client in the order of their arrival.
  std::string arrived() {
    std::string numbers;
    for (const Bytes* updu : of(to_modest_)) numbers += std::to_string((*updu)[0]) + ' ';
    return numbers;
  }
  std::size_t count_arrived() { return of(to_modest_).size(); }
  std::size_t flood_arrived() { return of(to_flood_).size(); }
  Instant now() const { return medium_.now(); }

 private:
  NodeConfig config(std::uint32_t address, std::size_t sessions_max) const {
    NodeConfig config = node_config(address);
    config.dts.mode.rate_bps = how_.rate_bps;
    config.sap.expedited_requests_max = 1'000'000;
    config.sap.links.soft_links_max = sessions_max;
    return config;
  }
  ClientId bind(Medium::Station& station, std::uint8_t sap, std::uint8_t rank) {
    sis::BindRequest request = bind_to(sap, Confirmation::none);
    request.rank = rank;
    request.service.mode = how_.mode;
    const ClientId id = medium_.connect(station);
    medium_.send(station, id, request);
    EXPECT_EQ(station.clients[id].all<sis::BindAccepted>().size(), 1u);
    return id;
  }
  void give(ClientId client, std::uint8_t sap, std::uint32_t to, std::uint8_t priority,
            Bytes updu) {
    sis::UnidataRequest request = request_to(to, sap, std::move(updu));
    request.priority = priority;
    request.time_to_live = sis::kTimeToLiveMax;
    if (!how_.expedited) return medium_.send(*alpha_, client, request);
    medium_.send(*alpha_, client,
                 sis::ExpeditedUnidataRequest{.destination_sap = request.destination_sap,
                                              .destination = request.destination,
                                              .delivery = request.delivery,
                                              .time_to_live = request.time_to_live,
                                              .updu = std::move(request.updu)});
  }
  std::vector<const Bytes*> of(ClientId client) {
    std::vector<const Bytes*> updus;
    for (const auto& primitive : bravo_->clients[client].received) {
      if (const auto* one = std::get_if<sis::UnidataIndication>(&primitive)) {
        updus.push_back(&one->updu);
      } else if (const auto* other = std::get_if<sis::ExpeditedUnidataIndication>(&primitive)) {
        updus.push_back(&other->updu);
      }
    }
    return updus;
  }
  void damage(Bytes& octets) {
    if (how_.loss == 0) return;
    for (std::size_t begin = 0; begin < octets.size();) {
      const auto frame = pdu::decode(ByteSpan(octets).subspan(begin));
      ASSERT_TRUE(frame.ok());
      if (rng_.chance(how_.loss)) octets[begin + 3] ^= 0xFF;
      begin += frame->octets;
    }
  }

  const Case how_;
  Rng rng_{7};
  Medium medium_;
  Medium::Station* alpha_ = nullptr;
  Medium::Station* bravo_ = nullptr;
  ClientId to_flood_;
  ClientId to_modest_;
  ClientId flood_;
  ClientId modest_;
  std::uint8_t numbered_ = 0;
};

std::string first_numbers(std::size_t count) {
  std::string numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers += std::to_string(i) + ' ';
  return numbers;
}

// Goal:   every client has its share of the air, whatever another client asks for.
// Method: a client of rank 0 floods at priority 15. A client of rank 9 sends 20 U_PDUs of 4 octets
//         at priority 0. The cases have several rates, losses, no ARQ, and expedited data.
// Accept: all 20 arrive in order. For each of them the flood gets at most eight U_PDUs, plus those
//         of six transmissions that were handed down before.
TEST(FairTurnsAtTheAntenna, a_flood_at_the_highest_priority_leaves_one_turn_in_eight) {
  const Case cases[] = {
      {.rate_bps = 75, .flood_octets = 50},
      {.rate_bps = 600, .flood_octets = 500},
      {},
      {.rate_bps = 9600},
      {.loss = 0.3},
      {.mode = TransmissionMode::nonarq},
      {.rate_bps = 600, .flood_octets = 100, .expedited = true},
  };
  for (const Case& how : cases) {
    SCOPED_TRACE(std::to_string(how.rate_bps) + " bit/s, " + std::to_string(how.loss) + " lost, " +
                 std::to_string(static_cast<int>(how.mode)) + (how.expedited ? " expedited" : ""));
    FairTurns world(how);
    world.run_beside_flood(seconds(300));
    const std::size_t before = world.flood_arrived();
    for (std::size_t i = 0; i < kWanted; ++i) world.send();
    for (int i = 0; i < 100 && world.count_arrived() < kWanted; ++i) {
      world.run_beside_flood(seconds(54));
    }
    EXPECT_EQ(world.arrived(), first_numbers(kWanted));
    const std::size_t below = 3 * how.rate_bps / 8 * 128 / how.flood_octets;
    EXPECT_GT(world.flood_arrived(), before);
    EXPECT_LE(world.flood_arrived() - before, 8 * kWanted + 2 * below);
  }
}

// Goal:   the U_PDUs of one client keep their order, also if some of them were handed down before a
//         flood gives the later ones a fair turn.
TEST(FairTurnsAtTheAntenna, a_fair_turn_overtakes_nothing_of_its_own_client) {
  FairTurns world({.rate_bps = 300, .flood_octets = 100});
  for (int i = 0; i < 100; ++i) world.send(0, 300);
  world.run_for(seconds(60));
  for (int i = 0; i < 200 && world.count_arrived() < 100; ++i) {
    world.run_beside_flood(seconds(54));
  }
  EXPECT_EQ(world.arrived(), first_numbers(100));
}

// Goal:   an urgent U_PDU goes in the next transmission, whatever else waits.
// Method: the urgent U_PDU comes at several times in a flood at priority 0.
TEST(FairTurnsAtTheAntenna, an_urgent_u_pdu_waits_for_one_transmission_at_most) {
  for (const unsigned rate_bps : {75u, 600u, 2400u, 9600u}) {
    for (const auto after : {seconds(300), seconds(340), seconds(380), seconds(420)}) {
      SCOPED_TRACE(std::to_string(rate_bps) + " bit/s after " + std::to_string(after.count()));
      FairTurns world({.rate_bps = rate_bps, .flood_octets = std::min(rate_bps / 8, 2000u)});
      world.run_beside_flood(after, 0);
      world.send(9);
      world.run_beside_flood(2 * dts::kTransmissionMax + seconds(20), 0);
      EXPECT_EQ(world.arrived(), first_numbers(1));
    }
  }
}

// Goal:   a station that never answers delays no client that sends to another station.
// Method: the flood is for the absent station, with one session at a time and with several.
TEST(FairTurnsAtTheAntenna, a_flood_for_an_absent_station_stops_nobody) {
  for (const std::size_t sessions_max : {1u, 4u}) {
    SCOPED_TRACE(sessions_max);
    FairTurns world({}, sessions_max);
    world.run_beside_flood(seconds(60), 15, kAbsent);
    for (std::size_t i = 0; i < kWanted; ++i) {
      world.send();
      world.run_beside_flood(seconds(60), 15, kAbsent);
    }
    EXPECT_EQ(world.arrived(), first_numbers(kWanted));
  }
}

}  // namespace
}  // namespace s5066::test
