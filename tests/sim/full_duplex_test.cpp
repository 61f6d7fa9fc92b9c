// Two whole nodes that hear each other while they send (C.3.2.3(9)).
#include <gtest/gtest.h>

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
// Goal:   both directions are used at once, which half duplex cannot.
// Method: more to send than an hour holds at both ends; counted is what was delivered meanwhile.
TEST(FullDuplex, both_stations_fill_their_frequencies_at_the_same_time) {
  for (const std::uint32_t rate : {300u, 2400u, 9600u}) {
    SCOPED_TRACE(rate);
    const auto waveform = rate > 2400 ? modem::Waveform::stanag4539 : modem::Waveform::ms110a;
    sim::World world(1, full_duplex({waveform, rate, modem::Interleaver::short_}));
    Both both(world);
    const double line_octets = 3600.0 * rate / 8;
    const auto updus = static_cast<int>(line_octets / 2000) + 1;
    // In portions that the queues take.
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

// Goal:   what was still on its way when an answer was formed is not taken for lost.
// Method: one frame in five is damaged, both send; each has to go 1.25 times, and whatever is sent
//         more often was not lost, or fell to a poll.
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

// Goal:   rates follow the channel in full duplex, too.
// Method: from 300 bit/s on a channel of 20 dB.
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

// C.6.1.2(1), C.3.7(13)
// Goal:   expedited data goes beside regular data in both directions.
// Method: bulk both ways, and an urgent message every half minute.
TEST(FullDuplex, expedited_data_goes_beside_bulk_data) {
  sim::World world(4, full_duplex({.rate_bps = 1200, .interleaver = modem::Interleaver::short_},
                                  {.frame_loss = 0.1}));
  Both both(world);
  std::vector<sim::Client*> urgent;
  for (const std::size_t station : {0u, 1u}) {
    urgent.push_back(&world.add_client(station, SapId{6}, sis::Confirmation::node));
    both.send(station, 100);
  }
  for (int i = 0; i < 40; ++i) {
    for (const std::size_t station : {0u, 1u}) {
      world.send(*urgent[station], 1 - station, 300, 24h, {.expedited = true});
    }
    world.run_for(30s);
  }
  world.run_for(24h);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_EQ(both.clients[station]->received().size(), 100u);
    EXPECT_EQ(urgent[station]->received().size(), 40u);
  }
}

}  // namespace
}  // namespace s5066
