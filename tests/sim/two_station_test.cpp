// SPDX-License-Identifier: Apache-2.0
// Tests two whole nodes with clients on a simulated channel.
#include <gtest/gtest.h>

#include "modem/api/airtime.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

void expect_rules_of_the_air(sim::World& world) {
  EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
  EXPECT_EQ(world.medium().faults().eot_increased, 0u);
  EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
}

// Goal:   the ordinary case costs five transmissions.
// Method: one U_PDU with client confirmation over a link that must be made first, clean channel.
TEST(TwoStations, a_first_u_pdu_needs_five_bursts) {
  sim::World world(1, {});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::client);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::client);
  world.run_for(10s);
  world.send(alpha, 1, 200, 10min);
  world.run_for(20s);
  EXPECT_EQ(bravo.received().size(), 1u);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(alpha.sent()[0].confirms, 1u);
  // REQUEST, ACCEPTED, DATA, DATA-ACK with the delivery confirmation, ACK.
  EXPECT_EQ(world.medium().bursts(), 5u);
  expect_rules_of_the_air(world);
}

// Goal:   a station that hears its peer and is not heard by it rejects its requests, and all data
//         goes again when it is heard.
// Method: the second station does not hear the first for half an hour; clocks drift.
TEST(TwoStations, a_station_that_is_not_heard_reports_it_and_delivers_when_it_is_heard_again) {
  sim::World world(1,
                   {.medium = {.deaf = {{.listener = 1, .sender = 0}}}, .clocks_ppm = {100, -100}});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::client);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::client);
  world.run_for(10s);
  world.send(alpha, 1, 200, 20min);
  world.send(bravo, 0, 200, 20min);
  world.run_for(30min);
  EXPECT_EQ(alpha.received().size() + bravo.received().size(), 0u);
  EXPECT_EQ(world.unreported(), 0u);
  world.medium().set_options({});
  world.send(alpha, 1, 200, 20min);
  world.send(bravo, 0, 200, 20min);
  world.run_for(10min);
  EXPECT_EQ(alpha.received().size(), 1u);
  EXPECT_EQ(bravo.received().size(), 1u);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  expect_rules_of_the_air(world);
}

// Goal:   a client that obeys flow control fills the longest transmission with small U_PDUs.
// Method: U_PDUs of 64 octets at 9600 bit/s, more of them whenever the flow is on; with ARQ and
//         without. The longest time on the air is that of 127.5 s of data.
TEST(TwoStations, u_pdus_of_64_octets_fill_a_transmission) {
  const modem::Mode mode{modem::Waveform::stanag4539, 9600, modem::Interleaver::short_};
  const Duration full = modem::airtime(mode, modem::capacity(mode, dts::kTransmissionMax));
  for (const auto delivery : {sis::TransmissionMode::arq, sis::TransmissionMode::nonarq}) {
    sim::World world(1, {.mode = mode});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10s);
    Duration longest{};
    Instant since = world.now();
    while (world.now() < Instant(20min)) {
      while (!alpha.flow_off()) {
        world.send(alpha, 1, 64, 1h, {.delivery = {.mode = delivery}});
      }
      world.run_for(100ms);
      if (!world.node(0).status().transmitting) since = world.now();
      longest = std::max(longest, world.now() - since);
    }
    EXPECT_GE(longest, full - 1s);
  }
}

// Goal:   if a client disconnects, its queued data without ARQ is dropped, except for two
//         transmissions and one U_PDU.
// Method: 200 kB of such data at each of several rates. The client disconnects during the first
//         transmission, which must be full, as all later ones are.
TEST(TwoStations, a_client_that_leaves_takes_what_it_has_queued_without_arq_along) {
  for (const unsigned rate : {75u, 300u, 2400u}) {
    SCOPED_TRACE(rate);
    const modem::Mode mode{.rate_bps = rate, .interleaver = modem::Interleaver::short_};
    const std::size_t octets = modem::capacity(mode, dts::kTransmissionMax);
    sim::World world(1, {.mode = mode});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::none);
    world.run_for(10s);
    for (int i = 0; i < 100; ++i) {
      world.send(alpha, 1, 2000, 24h, {.delivery = {.mode = sis::TransmissionMode::nonarq}});
    }
    world.run_for(60s);
    EXPECT_TRUE(world.node(0).status().transmitting);
    world.disconnect(alpha);
    Duration on_air{};
    for (const Instant end = world.now() + 24h; world.now() < end; world.run_for(1s)) {
      on_air += world.node(0).status().transmitting ? 1s : 0s;
    }
    EXPECT_GE(on_air, 2 * dts::kTransmissionMax - 70s);
    EXPECT_LE(on_air, modem::airtime(mode, 2 * octets + 2500));
  }
}

// Goal:   ARQ uses the line: a file of 20 kB on a clean 2400 bit/s channel, link set-up included.
TEST(TwoStations, twenty_kilobytes_take_at_most_four_thirds_of_their_line_time) {
  sim::World world(1, {});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  for (int i = 0; i < 10; ++i) world.send(alpha, 1, 2000, 2h);
  const Duration line_time = from_seconds(20000 * 8 / 2400.0);
  world.run_for(line_time);
  EXPECT_GT(world.unreported(), 0u);
  world.run_for(line_time / 3);
  EXPECT_EQ(world.unreported(), 0u);
}

// Goal:   every accepted U_PDU is delivered once, in order, or reported failed.
// Method: clients at both ends send U_PDUs at random times; one D_PDU in five is damaged for the
//         listener. After an hour the channel is clean and every U_PDU must come to an end.
TEST(TwoStations, with_20_percent_frame_loss_every_u_pdu_is_delivered_once_or_reported) {
  std::uint64_t confirmed = 0;
  std::uint64_t rejected = 0;
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.2}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::client);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    for (sim::Client* client : {&alpha, &bravo}) {
      const std::size_t to = client == &alpha ? 1 : 0;
      const unsigned updus = 1 + world.rng().below(20);
      Instant when = world.now();
      for (unsigned i = 0; i < updus; ++i) {
        when += std::chrono::seconds(world.rng().below(120));
        const std::size_t octets = 12 + world.rng().below(2037);
        world.at(when, [&world, client, to, octets] { world.send(*client, to, octets, 2h); });
      }
    }
    world.run_for(1h);
    world.medium().set_options({});
    world.run_for(3h);
    ASSERT_EQ(world.unreported(), 0u);
    ASSERT_EQ(world.delivery_faults(), "");
    expect_rules_of_the_air(world);
    for (const sim::Client* client : {&alpha, &bravo}) {
      for (const auto& sent : client->sent()) {
        confirmed += sent.confirms;
        rejected += sent.rejects;
      }
    }
    if (HasFailure()) return;
  }
  RecordProperty("confirmed", std::to_string(confirmed));
  RecordProperty("rejected", std::to_string(rejected));
  EXPECT_GT(confirmed, 100 * rejected);  // the channel is bad and still usable
}

// Goal:   no mix of faults makes a station transmit over another, lose confirmed data, or hang.
// Method: loss, missed preambles, fades and false carriers drawn from the seed for two hours, then
//         a clean channel on which every U_PDU must be reported.
TEST(TwoStations, a_mix_of_faults_leaves_nothing_unreported) {
  for (const sim::Seed seed : sim::seeds(200)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Rng draw(seed);
    sim::WorldOptions options;
    options.medium = {.frame_loss = 0.4 * draw.uniform(),
                      .missed_sync = 0.3 * draw.uniform(),
                      .fades_per_burst = 0.4 * draw.uniform(),
                      .flickers_per_hour = 30 * draw.uniform()};
    const auto modes = modem::all_modes();
    options.mode = modes[draw.below(static_cast<std::uint32_t>(modes.size()))];
    sim::World world(seed, options);
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::client);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::client);
    for (int i = 0; i < 15; ++i) {
      world.at(world.now() + std::chrono::seconds(world.rng().below(3600)),
               [&world, &alpha] { world.send(alpha, 1, 12 + world.rng().below(1500), 24h); });
      world.at(world.now() + std::chrono::seconds(world.rng().below(3600)),
               [&world, &bravo] { world.send(bravo, 0, 12 + world.rng().below(1500), 24h); });
    }
    world.run_for(2h);
    world.medium().set_options({});
    world.run_for(30h);
    ASSERT_EQ(world.unreported(), 0u);
    ASSERT_EQ(world.delivery_faults(), "");
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
    EXPECT_EQ(world.medium().faults().eot_increased, 0u);
    if (HasFailure()) return;
  }
}

// Goal:   a link in use is not treated as idle.
// Method: 300 bit/s with the long interleaver; the ten U_PDUs take nine minutes, and the idle
//         timeout of a link is two.
TEST(TwoStations, a_slow_transfer_keeps_its_link) {
  sim::World world(1, {.mode = {modem::Waveform::ms110a, 300, modem::Interleaver::long_}});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  for (int i = 0; i < 10; ++i) world.send(alpha, 1, 2000, 2h);
  world.run_for(30min);
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.node(0).counters()[Counter::links_made], 1u);
  EXPECT_EQ(world.node(1).counters()[Counter::links_made], 1u);
}

// Goal:   two stations that call each other at the same moment both get through by that call.
// Method: in every mode, both get a U_PDU for the other at one instant, so that their REQUESTs
//         collide; neither may use up its REQUESTs.
TEST(TwoStations, calls_at_the_same_moment_both_get_through_in_every_mode) {
  for (const modem::Mode& mode : modem::all_modes()) {
    for (const sim::Seed seed : sim::seeds(20)) {
      SCOPED_TRACE("S5066_SEED=" + std::to_string(seed) + " " + to_string(mode));
      sim::World world(seed, {.mode = mode});
      auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
      auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
      world.run_for(10s);
      world.send(alpha, 1, 100, 12h);
      world.send(bravo, 0, 100, 12h);
      world.run_for(1h);
      EXPECT_EQ(alpha.sent()[0].confirms, 1u);
      EXPECT_EQ(bravo.sent()[0].confirms, 1u);
      EXPECT_EQ(world.node(0).counters()[Counter::links_rejected], 0u);
      EXPECT_EQ(world.node(1).counters()[Counter::links_rejected], 0u);
      if (HasFailure()) return;
    }
  }
}

// Goal:   a client that disconnects with data in the queue leaves no link behind.
TEST(TwoStations, a_client_that_vanishes_leaves_no_link) {
  for (const sim::Seed seed : sim::seeds(100)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.1}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::client);
    world.add_client(1, SapId{5}, sis::Confirmation::client);
    for (int i = 0; i < 10; ++i) world.send(alpha, 1, 1000, 1h);
    world.run_for(std::chrono::seconds(world.rng().below(100)));
    world.disconnect(alpha);
    world.run_for(30min);
    for (const std::size_t station : {0u, 1u}) {
      const NodeStatus status = world.node(station).status();
      EXPECT_FALSE(status.transmitting);
      for (const LinkStatus& link : status.links) {
        EXPECT_EQ(link.state, cas::LinkState::idle);
        EXPECT_EQ(link.queued_octets, 0u);
        EXPECT_EQ(link.outstanding_octets, 0u);
      }
    }
  }
}

// Goal:   a station's data is delivered while its peer has much to send, also if the peer has
//         called a station that does not answer, or if the station hears a third one that the peer
//         does not hear.
// Method: the peer has data for a quarter of an hour or more; the station gets a little data while
//         the peer's data is under way.
// Accept: the little data is acknowledged after at most three of the peer's transmissions.
TEST(TwoStations, data_against_a_long_stream_goes_although_others_were_called_or_heard) {
  for (const bool hidden : {false, true}) {
    for (const std::uint32_t rate_bps : {600u, 2400u}) {
      for (const sim::Seed seed : sim::seeds(20)) {
        SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
        SCOPED_TRACE(std::to_string(rate_bps) + (hidden ? " hidden" : " absent"));
        sim::WorldOptions options{.stations = hidden ? 4u : 2u};
        if (hidden) {
          options.medium.deaf = {{0, 2}, {2, 0}, {0, 3}, {3, 0}};
        }
        options.mode.rate_bps = rate_bps;
        sim::World world(seed, options);
        auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
        auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
        world.run_for(10s);
        if (hidden) {
          auto& charlie = world.add_client(2, SapId{5}, sis::Confirmation::node);
          world.add_client(3, SapId{5}, sis::Confirmation::node);
          world.send(charlie, 3, 200, 1h);
        } else {
          world.send(alpha, 2, 200, 1h);
        }
        world.run_for(10min);
        for (std::size_t sent = 0; sent < 270'000; sent += 2000) {
          world.send(alpha, 1, 2000, 24h);
        }
        world.run_for(5min);
        world.send(bravo, 0, 500, 24h);
        world.run_for(3 * (dts::kTransmissionMax + 10s));
        EXPECT_EQ(bravo.sent()[0].confirms, 1u);
        world.run_for(3h);
        EXPECT_EQ(world.unreported(), 0u);
        EXPECT_EQ(world.delivery_faults(), "");
        expect_rules_of_the_air(world);
      }
    }
  }
}

}  // namespace
}  // namespace s5066
