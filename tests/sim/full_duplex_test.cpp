// SPDX-License-Identifier: Apache-2.0
// Tests two whole nodes that receive while they transmit (C.3.2.3(9)).
#include <gtest/gtest.h>

#include <map>

#include "modem/api/airtime.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

sim::WorldOptions full_duplex(const modem::Mode& mode, const sim::MediumOptions& medium = {}) {
  sim::WorldOptions options{.medium = medium, .mode = mode};
  options.medium.full_duplex = true;
  options.node.dts.full_duplex = true;
  return options;
}

struct Both {
  explicit Both(sim::World& in) : world(in) {
    for (std::size_t i = 0; i < 2; ++i) {
      clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
    }
    world.run_for(10s);
  }
  void send(std::size_t from, int updus) {
    for (int i = 0; i < updus; ++i) world.send(*clients[from], 1 - from, 2000, 24h);
  }
  std::size_t received_octets(std::size_t at) const {
    return 2000 * clients[at]->received().size();
  }

  sim::World& world;
  std::vector<sim::Client*> clients;
};

// C.3.2.3(9)
// Goal:   both directions carry data at the same time, as half duplex cannot.
// Method: both ends have more data than an hour holds; the test counts what arrives in that hour.
TEST(FullDuplex, both_stations_fill_their_frequencies_at_the_same_time) {
  for (const std::uint32_t rate : {300u, 2400u, 9600u}) {
    SCOPED_TRACE(rate);
    const auto waveform = rate > 2400 ? modem::Waveform::stanag4539 : modem::Waveform::ms110a;
    sim::World world(1, full_duplex({waveform, rate, modem::Interleaver::short_}));
    Both both(world);
    const double line_octets = 3600.0 * rate / 8;
    const auto updus = static_cast<int>(line_octets / 2000) + 1;
    // The data is offered in 60 portions, because the queues do not take it all at once.
    for (int i = 0; i < 60; ++i) {
      world.at(world.now() + i * 1min, [&both, updus] {
        both.send(0, updus / 60 + 1);
        both.send(1, updus / 60 + 1);
      });
    }
    world.run_for(1h);
    for (const std::size_t station : {0u, 1u}) {
      const double share = static_cast<double>(both.received_octets(station)) / line_octets;
      EXPECT_GT(share, 0.94);
      EXPECT_EQ(world.node(station).counters()[Counter::frames_sent_again], 0u);
    }
    world.run_for(24h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
  }
}

// Goal:   a frame that was still on the air when an acknowledgement was formed is not counted as
//         lost.
// Method: one frame in five is damaged and both stations send, so each frame has to go 1.25 times
//         on average. A higher count means that frames went again which were not lost, or as polls.
TEST(FullDuplex, a_frame_goes_again_only_when_it_was_lost) {
  sim::World world(2, full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_},
                                  {.frame_loss = 0.2}));
  Both both(world);
  for (const std::size_t station : {0u, 1u}) both.send(station, 200);
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(both.clients[station]->received().size(), 200u);
    const Counters& counters = world.node(station).counters();
    const auto fresh = static_cast<double>(counters[Counter::frames_sent_new]);
    const auto again = static_cast<double>(counters[Counter::frames_sent_again]);
    EXPECT_LT(again / fresh, 0.32);
  }
}

// Goal:   rates also adapt in full duplex.
// Method: the stations start at 300 bit/s on a channel of 20 dB.
TEST(FullDuplex, rates_adapt) {
  auto options = full_duplex({.rate_bps = 300, .interleaver = modem::Interleaver::short_});
  options.node.dts.adaptation.emplace();
  sim::World world(3, options);
  Both both(world);
  for (int minute = 0; minute < 60; ++minute) {
    for (const std::size_t station : {0u, 1u}) both.send(station, 20);
    world.run_for(1min);
  }
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_GT(8.0 * static_cast<double>(both.received_octets(station)) / 3600, 2400.0);
  }
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
}

// Goal:   if one end is half duplex by mistake, the other does not transmit over it.
// Method: station 1 cannot receive while it sends; both stations have 100 U_PDUs to send.
TEST(FullDuplex, a_station_that_is_half_duplex_is_not_talked_over) {
  auto options = full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_});
  options.medium.half_duplex = {1};
  options.adjust = [](std::size_t station, NodeConfig& config) {
    if (station == 1) config.dts.full_duplex = false;
  };
  sim::World world(5, options);
  Both both(world);
  EXPECT_EQ(world.node(0).status().duplex, dts::Duplex::no_link);
  for (const std::size_t station : {0u, 1u}) both.send(station, 100);
  world.run_for(10min);
  EXPECT_EQ(world.node(0).status().duplex, dts::Duplex::peer_is_half);
  EXPECT_EQ(world.node(1).status().duplex, dts::Duplex::half);
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
  EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
}

// Goal:   if both stations share one frequency by mistake, they detect it and take turns. On two
//         frequencies they return to full duplex.
// Method: each station hears itself for twenty minutes with much to send, and then no more. The
//         second station gets data a minute later, when there is a link, because two calls at once
//         could collide.
TEST(FullDuplex, two_stations_on_one_frequency_take_turns) {
  auto options = full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_});
  options.medium.hears_itself = true;
  sim::World world(6, options);
  Both both(world);
  both.send(0, 200);
  world.run_for(1min);
  both.send(1, 200);
  world.run_for(19min);
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(world.node(station).status().duplex, dts::Duplex::hears_itself);
    EXPECT_GT(both.received_octets(station), 50'000u);
  }
  EXPECT_EQ(world.medium().bursts_collided(), 0u);
  options.medium.hears_itself = false;
  world.medium().set_options(options.medium);
  world.run_for(40min);
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(world.node(station).status().duplex, dts::Duplex::full);
  }
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
}

// Goal:   a call waits for the end of the other station's transmission, because that station can
//         answer only after it.
// Method: the other station sends two minutes of data without ARQ; after 20 s this one wants to
//         call.
TEST(FullDuplex, a_call_waits_for_the_end_of_a_long_transmission) {
  sim::World world(7, full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_}));
  Both both(world);
  for (int i = 0; i < 10; ++i) {
    world.send(*both.clients[1], 0, 2000, 1h,
               {.delivery = {.mode = sis::TransmissionMode::nonarq}});
  }
  world.run_for(20s);
  both.send(0, 1);
  world.run_for(80s);
  ASSERT_TRUE(world.node(1).status().transmitting);
  EXPECT_EQ(world.node(0).counters()[Counter::bursts_sent], 0u);
  world.run_for(2min);
  EXPECT_EQ(both.clients[1]->received().size(), 1u);
  EXPECT_EQ(world.node(0).counters()[Counter::links_made], 1u);
  EXPECT_EQ(world.node(0).counters()[Counter::links_rejected], 0u);
  EXPECT_EQ(both.clients[0]->sent().back().confirms, 1u);
}

// Method: station 0 restarts during a long transmission of station 1 and loses the link; station 1
//         still has the link and goes on with its transmission.
TEST(FullDuplex, a_station_restarted_in_a_long_transmission_calls_behind_it) {
  sim::World world(8, full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_}));
  Both both(world);
  both.send(1, 30);
  while (!world.node(1).status().transmitting ||
         world.node(1).status().duplex != dts::Duplex::full) {
    world.run_for(1s);
  }
  world.run_for(10s);
  while (world.node(0).status().transmitting) world.run_for(100ms);
  world.restart(0);
  both.clients[0] = &world.add_client(0, SapId{5}, sis::Confirmation::node);
  world.run_for(5s);
  both.send(0, 1);
  world.run_for(20s);
  ASSERT_TRUE(world.node(1).status().transmitting);
  EXPECT_EQ(world.node(0).counters()[Counter::bursts_sent], 0u);
  world.run_for(4min);
  EXPECT_EQ(both.clients[1]->received().size(), 1u);
  EXPECT_EQ(world.node(0).counters()[Counter::links_rejected], 0u);
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
}

/// Queues 200 U_PDUs each way, then sends one urgent U_PDU a minute for 30 minutes, and runs 5
/// minutes more.
struct UrgentBesideBulk {
  explicit UrgentBesideBulk(double frame_loss)
      : world(4, full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_},
                             {.frame_loss = frame_loss})),
        both(world) {
    for (const std::size_t station : {0u, 1u}) {
      urgent.push_back(&world.add_client(station, SapId{6}, sis::Confirmation::node));
      both.send(station, 200);
    }
    for (int i = 0; i < 35; ++i) {
      for (const std::size_t station : {0u, 1u}) {
        if (i >= 30) break;
        world.send(*urgent[station], 1 - station, 300, 24h, {.expedited = true});
        sent[urgent[station]->sent().back().number] = {world.now(), bulk_at(1 - station)};
      }
      for (int s = 0; s < 60; ++s) {
        world.run_for(1s);
        for (const std::size_t station : {0u, 1u}) note_arrivals(station);
      }
    }
  }
  std::size_t bulk_at(std::size_t station) const {
    return both.clients[station]->received().size();
  }
  void note_arrivals(std::size_t station) {
    const auto& got = urgent[station]->received();
    for (std::size_t& k = arrived[station]; k < got.size(); ++k) {
      const auto& [at, bulk] = sent.at(got[k].number);
      delay_max = std::max(delay_max, world.now() - at);
      overtaken_by_max = std::max(overtaken_by_max, bulk_at(station) - bulk);
    }
  }

  sim::World world;
  Both both;
  std::vector<sim::Client*> urgent;
  std::map<std::uint32_t, std::pair<Instant, std::size_t>> sent;  // request time; bulk by then
  std::size_t arrived[2] = {};
  Duration delay_max{};
  std::size_t overtaken_by_max = 0;  // bulk that arrived between request and arrival
};

// C.6.1.2(1), C.3.7(13)
// Goal:   expedited data arrives before all bulk data that was queued before it, in both
//         directions, except for the bulk data in the transmission under way.
// Method: no losses; a transmission holds a little more than ten U_PDUs of bulk. An urgent U_PDU
//         may have to wait for that transmission, and for the answer to the previous urgent U_PDU,
//         which may wait for the end of the other station's transmission.
TEST(FullDuplex, expedited_data_overtakes_bulk_data_that_was_queued_before) {
  UrgentBesideBulk run(0);
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(run.arrived[station], 30u);
    EXPECT_LT(run.bulk_at(station), 150u);
  }
  EXPECT_LE(run.overtaken_by_max, 11u);
  EXPECT_LE(run.delay_max, 2 * dts::kTransmissionMax + 30s);
}

// Method: as above with one frame in ten damaged, run until all data is delivered.
TEST(FullDuplex, expedited_data_goes_beside_bulk_data) {
  UrgentBesideBulk run(0.1);
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(run.arrived[station], 30u);
    EXPECT_LT(run.bulk_at(station), 150u);
  }
  run.world.run_for(24h);
  EXPECT_EQ(run.world.unreported(), 0u);
  EXPECT_EQ(run.world.delivery_faults(), "");
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(run.bulk_at(station), 200u);
    EXPECT_EQ(run.urgent[station]->received().size(), 30u);
  }
}

}  // namespace
}  // namespace s5066
