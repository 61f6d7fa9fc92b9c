// SPDX-License-Identifier: Apache-2.0
// Tests that the data rates of whole nodes follow a fading channel.
#include <gtest/gtest.h>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

/// Returns a channel that is good (26 dB) for 20 minutes, then poor (4 dB) for 20 minutes, in turn.
std::shared_ptr<sim::FadingChannel> changing(std::uint64_t seed) {
  const std::vector<sim::FadingPart> parts = {
      {.lasting = 20min, .snr_db = 26, .spread_hz = 0.1, .delay_ms = 0.5},
      {.lasting = 20min, .snr_db = 4, .spread_hz = 1, .delay_ms = 2}};
  return std::make_shared<sim::FadingChannel>(parts, 0.5, Rng(seed));
}

sim::WorldOptions options(std::uint64_t seed) {
  sim::WorldOptions options;
  options.medium.fading = changing(seed);
  options.mode = {.rate_bps = 300, .interleaver = modem::Interleaver::short_};
  options.node.dts.adaptation.emplace();
  return options;
}

/// Shares of fast and slow modes among all looks at the rate.
struct Shares {
  double fast = 0;
  double slow = 0;
};

/// Returns the transmit mode of the first station's link, or nothing while it has no link.
std::optional<modem::Mode> mode_of(sim::World& world) {
  for (const auto& link : world.node(0).status().links) {
    if (link.transmit_mode) return link.transmit_mode;
  }
  return std::nullopt;
}

// Goal:   two nodes are fast while the channel is good, slow while it is poor, and fast again.
// Method: bulk data for an hour; the rate is sampled in the second half of each part. Modes up to
//         2400 bit/s are slow, because 110D carries that in the poor part: 39 to 51 U_PDUs come in
//         11 minutes, and 16 to 23 with 110A and STANAG 4539 alone.
TEST(Adaptation, two_nodes_follow_a_channel_that_gets_poor_and_good_again) {
  for (const sim::Seed seed : sim::seeds(3)) {
    SCOPED_TRACE(seed);
    sim::World world(seed, options(seed));
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    const auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    const auto busy_until = [&](Instant end) {
      double fast = 0;
      double slow = 0;
      double looks = 0;
      for (; world.now() < end; ++looks) {
        while (!alpha.flow_off()) world.send(alpha, 1, 2000, 24h);
        world.run_for(5s);
        const auto mode = mode_of(world);
        fast += mode && mode->rate_bps >= 4800 ? 1 : 0;
        slow += mode && mode->rate_bps <= 2400 ? 1 : 0;
      }
      return Shares{fast / looks, slow / looks};
    };
    const Instant begin{};
    busy_until(begin + 10min);
    EXPECT_GE(busy_until(begin + 19min).fast, 0.8);
    busy_until(begin + 28min);
    const std::size_t came = bravo.received().size();
    EXPECT_GE(busy_until(begin + 39min).slow, 0.8);
    EXPECT_GE(bravo.received().size() - came, 30u);
    busy_until(begin + 50min);
    EXPECT_GE(busy_until(begin + 59min).fast, 0.8);
    world.run_for(24h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    EXPECT_GT(world.node(0).counters()[Counter::rates_changed], 2u);
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
    EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
  }
}

// Goal:   changes of rate lose no data, and no station keys over an announced transmission because
//         of them.
TEST(Adaptation, third_stations_share_a_frequency_on_which_rates_change) {
  for (const sim::Seed seed : sim::seeds(3)) {
    SCOPED_TRACE(seed);
    sim::WorldOptions setup = options(seed);
    setup.stations = 3;
    sim::World world(seed, setup);
    std::vector<sim::Client*> clients;
    for (std::size_t i = 0; i < 3; ++i) {
      clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
    }
    for (int i = 0; i < 60; ++i) {
      for (std::size_t from = 0; from < 3; ++from) {
        world.send(*clients[from], (from + 1) % 3, 1000, 24h);
      }
      world.run_for(30s);
    }
    world.run_for(24h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
  }
}

// --- Modes that no receiver decodes --------------------------------------------------------------

struct Kind {
  const char* name;
  bool extensions[2];  // one for each station
  bool adapts[2];
};
constexpr Kind kKinds[] = {
    {"without a word", {true, true}, {true, true}},
    {"by agreement", {false, false}, {true, true}},
    {"the sender offers nothing", {false, true}, {true, true}},
    {"the receiver offers nothing", {true, false}, {true, true}},
    {"the sender only follows", {true, true}, {false, true}},
    {"the sender only follows, and offers nothing", {false, true}, {false, true}},
    {"the receiver does not adapt", {true, true}, {true, false}},
};

/// Returns all modes for which `holds` is true.
template <typename Predicate>
std::vector<modem::Mode> modes_with(Predicate holds) {
  std::vector<modem::Mode> out;
  for (const modem::Mode& mode : modem::all_modes()) {
    if (holds(mode)) out.push_back(mode);
  }
  return out;
}

// Goal:   if the ratio promises modes that the receiver does not decode at all, the two stations
//         return to modes that work each time, and do not spend their time on repeated trials.
// Method: 20 dB; the receivers decode nothing in STANAG 4539, or nothing with a medium or longer
//         interleaver, or nothing above 600 bit/s. The 120,000 octets take 53 minutes at 300 bit/s.
TEST(Adaptation, a_link_comes_back_from_modes_that_are_not_heard_however_it_changes_them) {
  const std::vector<std::vector<modem::Mode>> unheard = {
      modes_with([](const auto& m) { return m.waveform == modem::Waveform::stanag4539; }),
      modes_with([](const auto& m) { return m.interleaver >= modem::Interleaver::medium; }),
      modes_with([](const auto& m) { return m.rate_bps > 600; }),
  };
  for (const Kind& kind : kKinds) {
    for (std::size_t which = 0; which < unheard.size(); ++which) {
      SCOPED_TRACE(std::string(kind.name) + ", unheard modes " + std::to_string(which));
      sim::WorldOptions setup;
      setup.mode = {.rate_bps = 300, .interleaver = modem::Interleaver::short_};
      setup.medium.unheard_modes = unheard[which];
      setup.adjust = [&](std::size_t station, NodeConfig& config) {
        config.dts.offer_extensions = kind.extensions[station];
        if (kind.adapts[station]) config.dts.adaptation.emplace();
      };
      sim::World world(1, setup);
      auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
      world.add_client(1, SapId{5}, sis::Confirmation::node);
      world.run_for(10s);
      for (int i = 0; i < 60; ++i) world.send(alpha, 1, 2000, 24h);
      int minutes = 0;
      for (; world.unreported() > 0 && minutes < 300; ++minutes) world.run_for(1min);
      EXPECT_LE(minutes, 180);
      EXPECT_EQ(world.unreported(), 0u);
      EXPECT_EQ(world.delivery_faults(), "");
      std::size_t confirmed = 0;
      for (const auto& sent : alpha.sent()) confirmed += sent.confirms;
      EXPECT_EQ(confirmed, 60u);
    }
  }
}
}  // namespace
}  // namespace s5066
