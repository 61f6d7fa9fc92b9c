// SPDX-License-Identifier: Apache-2.0
// Tests relaying over several stations: each message is delivered once, or its sender gets a
// report.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/mail_relay/mail_world.h"
#include "tests/support/sim_world.h"

namespace s5066::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 72h;

/// Lets each station of the list hear all others of the list.
void all_hear(MailWorld& world, const std::vector<std::size_t>& stations) {
  for (const std::size_t one : stations) {
    for (const std::size_t other : stations) {
      if (one != other) world.hears(one, other);
    }
  }
}

/// Makes a chain 0 - 1 - … of stations that hear only the stations before and behind them.
void make_chain(MailWorld& world, std::size_t stations) {
  for (std::size_t i = 0; i < stations; ++i) {
    if (i > 0) all_hear(world, {i - 1, i});
    for (std::size_t to = 0; to < stations; ++to) {
      if (to != i) world.route(i, MailWorld::domain(to), {to < i ? i - 1 : i + 1});
    }
  }
}

/// Makes a diamond: relays 1 and 2 between 0 and 3. Station 0 reaches 1 and 2 with one
/// transmission.
void make_diamond(MailWorld& world, const std::vector<std::size_t>& ways_to_3) {
  all_hear(world, {0, 1, 2});
  all_hear(world, {1, 2, 3});
  for (const std::size_t relay : {1u, 2u}) {
    world.route(relay, MailWorld::domain(0), {0});
    world.route(relay, MailWorld::domain(3 - relay), {3 - relay});
    world.route(relay, MailWorld::domain(3), {3});
    world.route(0, MailWorld::domain(relay), {relay});
    world.route(3, MailWorld::domain(relay), {relay});
  }
  world.route(0, MailWorld::domain(3), ways_to_3);
  world.route(3, MailWorld::domain(0), {1});
  world.group(0, {1, 2});
}

TEST(Relays, along_a_chain) {
  MailWorld world(1, {.stations = 5});
  make_chain(world, 5);
  world.start();
  world.send(0, {"a@s4.example", "b@s2.example"});
  world.send(4, {"c@s0.example"}, " MT-PRIORITY=2");
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "a@s4.example", 4), 1u);
  EXPECT_EQ(world.copies(1, "b@s2.example", 2), 1u);
  EXPECT_EQ(world.copies(2, "c@s0.example", 0), 1u);
  EXPECT_EQ(world.counts().reported, 0u);
  EXPECT_EQ(world.counts().suppressed, 0u);
}

// The hub (0) hears all stations and relays. It does not relay to 2 what 1 sent to both of them.
TEST(Relays, by_a_hub_that_hears_what_is_for_others_too) {
  MailWorld world(1, {.stations = 4});
  all_hear(world, {0, 1, 2});
  all_hear(world, {0, 3});
  for (const std::size_t spoke : {1u, 2u, 3u}) {
    world.route(0, MailWorld::domain(spoke), {spoke});
    for (std::size_t to = 0; to < 4; ++to) {
      const bool far = spoke == 3 || to == 3;
      if (to != spoke) world.route(spoke, MailWorld::domain(to), {far ? 0 : to}, false);
    }
  }
  world.group(1, {0, 2});
  world.start();
  // Station 2 hears station 1 directly, station 3 does not.
  world.send(1, {"h@s0.example", "a@s2.example", "b@s3.example"});
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "a@s2.example", 2), 1u);
  EXPECT_EQ(world.copies(1, "b@s3.example", 3), 1u);
  EXPECT_EQ(world.counts().reported, 0u);
  EXPECT_EQ(world.counts().suppressed, 0u);  // the hub did not send the mail for a@s2 to 2 again
}

// Method: 2 is a destination of the transmission because of another recipient and never receives
//         it. Station 1 must not assume that 2 already has the mail that 1 has to relay to 2.
TEST(Relays, a_station_of_the_same_transmission_that_never_has_it) {
  MailWorld world(1, {.stations = 4});
  make_diamond(world, {1});
  world.route(0, "back.example", {1});
  world.route(1, "back.example", {2});
  world.own(2, "back.example");
  world.lose = [](std::size_t listener, std::size_t speaker, const p_mul::OutgoingPdu&) {
    return listener == 2 && speaker == 0;
  };
  world.start();
  world.send(0, {"y@back.example", "z@s2.example"});
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "y@back.example", 2), 1u);
  EXPECT_FALSE(world.reported(1, "y@back.example"));
  EXPECT_TRUE(world.reported(1, "z@s2.example"));
}

// Method: as before, but 2 receives the mail and nobody hears its acknowledgements.
TEST(Relays, a_station_of_the_same_transmission_that_never_acknowledges) {
  MailWorld world(1, {.stations = 4});
  make_diamond(world, {1});
  world.route(0, "back.example", {1});
  world.route(1, "back.example", {2});
  world.own(2, "back.example");
  world.lose = [](std::size_t, std::size_t speaker, const p_mul::OutgoingPdu&) {
    return speaker == 2;
  };
  world.start();
  world.send(0, {"y@back.example", "z@s2.example"});
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "y@back.example", 2), 1u);
  EXPECT_EQ(world.copies(1, "z@s2.example", 2), 1u);
  EXPECT_TRUE(world.reported(1, "y@back.example"));  // 1 reports: it cannot know that 2 has it
  EXPECT_TRUE(world.reported(1, "z@s2.example"));    // 0 reports
}

// Method: 1 hears nothing until 2 has acknowledged, and then an address list without 2.
TEST(Relays, a_relay_that_hears_only_the_shrunk_list) {
  for (const bool foreign : {false, true}) {
    SCOPED_TRACE(foreign);
    MailWorld world(1, {.stations = 4});
    make_diamond(world, {2});
    if (foreign) world.make_foreign(0);
    bool acknowledged = false;
    world.lose = [&](std::size_t listener, std::size_t speaker, const p_mul::OutgoingPdu& pdu) {
      acknowledged |= speaker == 2 && listener == 0 && pdu.use == p_mul::Use::ack;
      return speaker == 0 && listener == 1 && !acknowledged;
    };
    world.start();
    // Station 2 is to relay the mail for 3; station 1 has a route to 3 as well.
    world.send(0, {"x@s1.example", "y@s3.example", "z@s2.example"});
    EXPECT_TRUE(world.run_until_idle(kPatience));
    EXPECT_TRUE(acknowledged);
    EXPECT_EQ(world.faults(), "");
    EXPECT_EQ(world.copies(1, "y@s3.example", 3), 1u);
    EXPECT_EQ(world.copies(1, "z@s2.example", 2), 1u);
    EXPECT_EQ(world.counts().reported, 0u);
    EXPECT_EQ(world.counts().suppressed > 0, foreign);
  }
}

TEST(Relays, two_ways_at_once_to_one_station_are_one_message_there) {
  MailWorld world(1, {.stations = 4});
  make_diamond(world, {1, 2});
  world.start();
  world.send(0, {"y@s3.example"});
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "y@s3.example", 3), 1u);
  EXPECT_EQ(world.counts().suppressed, 1u);
}

TEST(Relays, one_of_two_ways_is_enough) {
  MailWorld world(1, {.stations = 4});
  make_diamond(world, {1, 2});
  world.lose = [](std::size_t listener, std::size_t speaker, const p_mul::OutgoingPdu&) {
    return listener == 2 || speaker == 2;
  };
  world.start();
  world.send(0, {"y@s3.example"});
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  EXPECT_EQ(world.copies(1, "y@s3.example", 3), 1u);
  EXPECT_TRUE(world.reported(1, "y@s3.example"));  // 2 has not answered
}

// Station 1 routes by 2, and 2 routes by 1.
TEST(Relays, two_that_take_each_other_for_the_way_report_it) {
  for (const bool both : {false, true}) {
    SCOPED_TRACE(both);
    MailWorld world(1, {.stations = 4});
    make_diamond(world, {1});
    std::vector<std::size_t> ways = {1};
    if (both) ways.push_back(2);
    world.route(0, "odd.example", ways);
    world.route(1, "odd.example", {2});
    world.route(2, "odd.example", {1});
    world.start();
    world.send(0, {"y@odd.example"});
    EXPECT_TRUE(world.run_until_idle(kPatience));
    EXPECT_EQ(world.faults(), "");
    EXPECT_TRUE(world.reported(1, "y@odd.example"));
  }
}

struct Net {
  std::vector<std::set<std::size_t>> near;  // stations that hear each other, by station
  std::optional<std::size_t> mute;          // a station that nobody hears
};

Net random_net(Rng& rng, std::size_t stations) {
  Net net;
  net.near.resize(stations);
  const auto join = [&](std::size_t one, std::size_t other) {
    net.near[one].insert(other);
    net.near[other].insert(one);
  };
  for (std::size_t i = 1; i < stations; ++i) join(i, rng.below(static_cast<std::uint32_t>(i)));
  for (std::size_t i = 0; i < stations; ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (rng.chance(0.3)) join(i, other);
    }
  }
  for (std::size_t i = 0; i < stations && rng.chance(0.7); ++i) {
    if (net.near[i].size() == 1) net.mute = i;  // an end station, which no route needs as a relay
  }
  return net;
}

std::vector<std::size_t> distances(const Net& net, std::size_t to) {
  std::vector<std::size_t> far(net.near.size(), net.near.size());
  std::vector<std::size_t> line = {to};
  far[to] = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (const std::size_t next : net.near[line[i]]) {
      if (far[next] < net.near.size()) continue;
      far[next] = far[line[i]] + 1;
      line.push_back(next);
    }
  }
  return far;
}

/// Returns the next hops of a station on a shortest route: one of them, or all with a chance of 30
/// %.
std::vector<std::size_t> some_ways(Rng& rng, const Net& net, std::size_t at,
                                   const std::vector<std::size_t>& far) {
  std::vector<std::size_t> ways;
  for (const std::size_t next : net.near[at]) {
    if (far[next] < far[at]) ways.push_back(next);
  }
  if (rng.chance(0.3)) return ways;
  return {ways[rng.below(static_cast<std::uint32_t>(ways.size()))]};
}

void make_tables(MailWorld& world, const Net& net) {
  Rng& rng = world.rng();
  const std::size_t stations = net.near.size();
  for (std::size_t i = 0; i < stations; ++i) {
    for (const std::size_t speaker : net.near[i]) {
      if (speaker != net.mute) world.hears(i, speaker);
    }
    const std::vector<std::size_t> near(net.near[i].begin(), net.near[i].end());
    if (rng.chance(0.7)) world.group(i, near);
    if (rng.chance(0.3)) world.group(i, {near.front(), near.back()});
  }
  for (std::size_t to = 0; to < stations; ++to) {
    const auto far = distances(net, to);
    for (std::size_t i = 0; i < stations; ++i) {
      if (i == to) continue;
      world.route(i, MailWorld::domain(to), some_ways(rng, net, i, far));
      if (rng.chance(0.5)) {  // one mailbox of the domain may take another route
        world.route(i, "captain@" + MailWorld::domain(to), some_ways(rng, net, i, far));
      }
    }
  }
  // Routes of a careless operator: in circles, to nowhere, not relayed.
  for (const char* odd : {"odd0.example", "odd1.example", "odd2.example"}) {
    for (std::size_t i = 0; i < stations; ++i) {
      const std::uint32_t what = rng.below(10);
      if (what < 2) continue;
      if (what < 4) {
        world.own(i, odd);
        continue;
      }
      const std::vector<std::size_t> near(net.near[i].begin(), net.near[i].end());
      const std::size_t next = near[rng.below(static_cast<std::uint32_t>(near.size()))];
      world.route(i, odd, {next}, rng.chance(0.8));
    }
  }
}

void send_something(MailWorld& world, std::size_t stations) {
  Rng& rng = world.rng();
  const std::size_t from = rng.below(static_cast<std::uint32_t>(stations));
  std::set<std::string> recipients;
  for (std::uint32_t n = 1 + rng.below(5); n > 0; --n) {
    const std::string domain =
        rng.chance(0.25) ? "odd" + std::to_string(rng.below(3)) + ".example"
                         : MailWorld::domain(rng.below(static_cast<std::uint32_t>(stations)));
    const std::string user = rng.chance(0.3) ? "captain" : "u" + std::to_string(rng.below(3));
    if (world.has_route(from, user + "@" + domain)) recipients.insert(user + "@" + domain);
  }
  if (recipients.empty()) return;
  world.send(from, {recipients.begin(), recipients.end()},
             rng.chance(0.3) ? " MT-PRIORITY=-2" : "");
}

// PM-107, PM-115.
// Goal:   in any net and with any tables, each message is delivered once at each station that is
//         the end of a route, or its sender gets a report.
// Method: 3 to 7 stations that hear some of the others, one of them perhaps never heard itself;
//         shortest routes, some of them double, some groups, and domains with tables drawn by lot.
//         PDUs are lost, commits fail, the power fails. Reports have valid routes.
TEST(RandomRelays, every_message_is_delivered_once_or_reported) {
  MailWorld::Counts all;
  for (const Seed seed : seeds(100)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Rng lots(seed);
    const std::size_t stations = 3 + lots.below(5);
    MailWorld world(seed, {.stations = stations,
                           .loss = lots.chance(0.5) ? 0.3 * lots.uniform() : 0,
                           .commit_failures = lots.chance(0.5) ? 0.1 : 0,
                           .cuts = lots.chance(0.5) ? 0.05 : 0});
    const Net net = random_net(lots, stations);
    make_tables(world, net);
    world.start();
    for (int i = 0; i < 12; ++i) {
      world.at(from_seconds(7200 * lots.uniform()), [&] { send_something(world, stations); });
    }
    for (int i = 0; i < 12; ++i) {
      const std::size_t victim = lots.below(static_cast<std::uint32_t>(stations));
      world.at(from_seconds(10800 * lots.uniform()), [&world, victim] { world.restart(victim); });
    }
    EXPECT_TRUE(world.run_until_idle(10 * 24h));
    ASSERT_EQ(world.faults(), "");
    all.delivered += world.counts().delivered;
    all.reported += world.counts().reported;
    all.suppressed += world.counts().suppressed;
    all.restarts += world.counts().restarts;
    all.pdus += world.counts().pdus;
  }
  std::printf(
      "delivered %llu, reported %llu, suppressed %llu, restarts %llu, PDUs %llu\n",
      static_cast<unsigned long long>(all.delivered), static_cast<unsigned long long>(all.reported),
      static_cast<unsigned long long>(all.suppressed),
      static_cast<unsigned long long>(all.restarts), static_cast<unsigned long long>(all.pdus));
}

// Station 2 is switched off for 20 hours. Lifetimes are 1 h for flash and 48 h for routine.
TEST(AbsentStation, holds_up_no_mail_for_the_others_and_all_that_expires_is_reported_in_time) {
  MailWorld world(1, {.stations = 3});
  all_hear(world, {0, 1, 2});
  for (const std::size_t other : {1u, 2u}) {
    world.route(0, MailWorld::domain(other), {other}, false);
    world.route(other, MailWorld::domain(0), {0}, false);
  }
  world.group(0, {1, 2});
  bool off = true;
  world.lose = [&](std::size_t listener, std::size_t speaker, const p_mul::OutgoingPdu&) {
    return off && (listener == 2 || speaker == 2);
  };
  world.start();
  std::map<int, std::vector<int>> absent;  // message numbers, by MT-PRIORITY
  for (int i = 0; i < 15; ++i) {
    for (const int priority : {-4, -2, 0, 2, 4}) {
      const std::string parameters = " MT-PRIORITY=" + std::to_string(priority);
      absent[priority].push_back(world.send(0, {"a@s2.example"}, parameters));
    }
  }
  std::vector<int> direct, both;
  for (const int priority : {-4, -2, 0, 2, 4}) {
    const std::string parameters = " MT-PRIORITY=" + std::to_string(priority);
    direct.push_back(world.send(0, {"b@s1.example"}, parameters));
    both.push_back(world.send(0, {"c@s1.example", "c@s2.example"}, parameters));
  }
  world.at(30min, [&] {
    for (const int one : direct) EXPECT_EQ(world.copies(one, "b@s1.example", 1), 1u) << one;
    for (const int one : both) EXPECT_EQ(world.copies(one, "c@s1.example", 1), 1u) << one;
    EXPECT_EQ(world.counts().reported, 0u);
  });
  world.at(1h + 10min, [&] {
    for (const int one : absent[4]) EXPECT_TRUE(world.reported(one, "a@s2.example")) << one;
  });
  world.at(20h, [&] { off = false; });
  EXPECT_TRUE(world.run_until_idle(kPatience));
  EXPECT_EQ(world.faults(), "");
  for (const int priority : {-4, -2}) {
    for (const int one : absent[priority]) {
      EXPECT_EQ(world.copies(one, "a@s2.example", 2), 1u) << one;
      EXPECT_FALSE(world.reported(one, "a@s2.example")) << one;
    }
  }
  for (const int one : both) EXPECT_FALSE(world.reported(one, "c@s1.example")) << one;
}

}  // namespace
}  // namespace s5066::sim
