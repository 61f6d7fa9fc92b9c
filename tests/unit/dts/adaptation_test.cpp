// SPDX-License-Identifier: Apache-2.0
// In these tests the rates of stations follow their measurements (C.6.4.2).
#include <cmath>

#include "tests/support/seeds.h"
#include "tests/unit/dts/advised_station.h"

namespace s5066::dts {
namespace {

constexpr std::size_t kManagement = 6;

void send_much(DtsWorld& world) {
  for (std::uint64_t i = 0; i < 40; ++i) world.send(0, 1, i, pattern(2000, i));
}

TEST(Adaptation, where_both_offer_it_rates_change_without_a_message) {
  DtsWorld world(2, {}, 1, adapting());
  world.connect(0, 1);
  send_much(world);
  world.run_for(10min);
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  EXPECT_EQ(world[0].dpdus_sent[kManagement] + world[1].dpdus_sent[kManagement], 0u);
  EXPECT_EQ(world[1].received.size(), 40u);
  expect_clean_air(world);
}

// C.6.4.2(2)
// C.6.4.2(12)
TEST(Adaptation, a_peer_that_offers_nothing_is_asked_by_the_procedure) {
  DtsWorld world(2, {}, 1, adapting(), 1);
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 80; ++i) world.send(0, 1, i, pattern(2000, i));
  world.run_for(20min);  // in steps; the first one only shows that the peer asks
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  EXPECT_GT(world[0].dpdus_sent[kManagement], 0u);
  EXPECT_EQ(world[1].received.size(), 80u);
  expect_clean_air(world);
}

TEST(Adaptation, a_peer_without_data_rate_change_is_served_as_the_link_began) {
  Config config = adapting();
  config.rate_change = false;
  DtsWorld world(2, {}, 1, config, 2);
  world.connect(0, 1);
  send_much(world);
  world.run_for(1h);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)), kSlow);
  EXPECT_EQ(world[1].received.size(), 40u);
  EXPECT_LE(world[0].dpdus_sent[kManagement], 20u);  // the station stops asking
}

TEST(Adaptation, the_limits_hold_for_what_is_sent_and_for_what_is_asked) {
  Config config = adapting();
  config.adaptation->rate_max_bps = 1200;
  DtsWorld world(2, {}, 1, config);
  world.connect(0, 1);
  send_much(world);
  world.run_for(20min);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 1200u);
  EXPECT_LE(world[1].dts->mode_to(DtsWorld::address(0)).rate_bps, 1200u);
}

// Goal:   a sender becomes slow while nothing comes through the channel, and fast again when the
//         channel returns.
TEST(Adaptation, a_missing_answer_makes_a_sender_slower_and_the_next_one_fast_again) {
  Config config = adapting();
  config.replies_missed_max = 1000;
  DtsWorld world(2, {}, 1, config);
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 400; ++i) world.send(0, 1, i, pattern(2000, i));
  world.run_for(3min);
  ASSERT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  world.medium().set_options({.missed_sync = 1});
  world.run_for(10min);
  EXPECT_LE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 150u);
  EXPECT_GE(world[0].counters[Counter::fallbacks], 4u);
  world.medium().set_options({});
  world.run_for(15min);
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  world.run_for(1h);
  EXPECT_EQ(world[1].received.size(), 400u);
  expect_clean_air(world);
}

// Goal:   a turn that begins at the moment when an answer is found missing already counts that
//         miss. It goes slower, or not at all if the miss lost the link.
// Method: the peer has the higher address, so that our slot is the first one after a missing
//         answer.
TEST(Adaptation, a_turn_that_begins_with_a_missing_answer_is_one_after_it) {
  constexpr Address kHigher{9};
  for (const unsigned misses_max : {1u, 8u}) {
    Config config = adapting();
    config.replies_missed_max = misses_max;
    auto station = with_adapting_peer(config, kHigher);
    station.request({.id = {1}, .destination = kHigher, .cpdu = pattern(100, 1)});
    while (station.counters()[Counter::reply_timeouts] == 0) station.run_for(1ms);
    const auto modes = station.take_modes();
    ASSERT_EQ(modes.size(), misses_max > 1 ? 2u : 1u);
    EXPECT_EQ(modes[0], kSlow);
    EXPECT_LT(modes.back().rate_bps, misses_max > 1 ? kSlow.rate_bps : kSlow.rate_bps + 1);
    EXPECT_EQ(station.dts().connection_status(kHigher).has_value(), misses_max > 1);
  }
}

// Goal:   whatever is lost, the two stations never end in modes in which they cannot hear each
//         other.
// Method: many seeds with heavy losses and missed transmissions, for both ways of changing.
TEST(Adaptation, under_heavy_loss_all_arrives) {
  for (const std::size_t plain : {0u, 1u}) {
    for (const sim::Seed seed : sim::seeds(60)) {
      SCOPED_TRACE(seed);
      Config config = adapting();
      config.replies_missed_max = config.management_repeats_max = 1000;
      DtsWorld world(2, {.frame_loss = 0.3, .missed_sync = 0.1}, seed, config, plain);
      world.connect(0, 1);
      for (std::uint64_t i = 0; i < 10; ++i) {
        world.send(0, 1, 100 + i, pattern(1500, i));
        world.send(1, 0, 200 + i, pattern(300, 50 + i));
      }
      world.run_for(6h);
      EXPECT_EQ(world[1].received.size(), 10u);
      EXPECT_EQ(world[0].received.size(), 10u);
      EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    }
  }
}

pdu::AckOnly advising(Address from, Address to, const modem::Mode& mode, std::uint8_t lwe = 0) {
  pdu::AckOnly ack{{.eot_half_s = 1, .destination = to, .source = from}, {{lwe}, {}}};
  pdu::DrcRequest advice = *drc_request(mode);
  advice.advisory = true;
  ack.common.eow = pdu::make_eow(pdu::EowType::drc_request, advice);
  return ack;
}

TEST(Adaptation, few_octets_go_in_no_long_interleaver) {
  constexpr modem::Mode kAdvised{.rate_bps = 1200, .interleaver = Interleaver::long_};
  constexpr modem::Mode kQuick{.rate_bps = 600, .interleaver = Interleaver::short_};
  for (const std::size_t octets : {60u, 400u, 2500u}) {
    auto station = with_adapting_peer(adapting());
    station.hear({advising(kPeer, kUs, kAdvised)});
    ASSERT_EQ(station.dts().mode_to(kPeer), kAdvised);
    station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(octets, 1)});
    station.run_for(5s);
    const auto modes = station.take_modes();
    ASSERT_FALSE(modes.empty());
    EXPECT_EQ(modes.front(), octets < 1000 ? kQuick : kAdvised);
  }
}

// Goal:   the first transmission of a connection in a fast mode is a short trial, and the second
//         one is longer, so that the time in a mode chosen with a margin is short.
TEST(Adaptation, the_first_trial_in_a_fast_mode_is_short) {
  constexpr modem::Mode kAdvised{modem::Waveform::stanag4539, 3200, Interleaver::short_};
  auto station = with_adapting_peer(adapting());
  station.hear({advising(kPeer, kUs, kAdvised)});
  for (std::uint64_t i = 0; i < 10; ++i) {
    station.request({.id = {i}, .destination = kPeer, .cpdu = pattern(2000, i)});
  }
  station.run_for(5s);
  std::size_t octets = 0;
  for (const auto& dpdu : station.take_sent()) octets += pdu::encoded_size(dpdu);
  EXPECT_GE(octets, 1500u);
  EXPECT_LE(octets, 2700u);
}

TEST(Adaptation, the_most_robust_mode_is_taken_where_it_is_advised_and_kept_in_silence) {
  for (const std::uint32_t rate_min : {75u, 300u}) {
    Config config = adapting();
    config.adaptation->rate_min_bps = rate_min;
    config.replies_missed_max = 6;
    auto station = with_adapting_peer(config);
    const modem::Mode slowest{.rate_bps = rate_min, .interleaver = Interleaver::long_};
    for (const std::uint32_t advised : {rate_min, 75u}) {
      station.hear(
          {advising(kPeer, kUs, {.rate_bps = advised, .interleaver = Interleaver::long_})});
      EXPECT_EQ(station.dts().mode_to(kPeer), slowest);
    }
    station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
    station.run_for(10min);
    const auto modes = station.take_modes();
    ASSERT_GE(modes.size(), 3u);
    for (const auto& mode : modes) EXPECT_EQ(mode, slowest);
  }
}

// Goal:   a transmission is never longer than its limit, whatever mode its frames were cut for.
// Method: frames are cut at 9600 bit/s and then have to go at the slowest rate, while one link has
//         work and while two have.
TEST(Adaptation, a_limit_of_transmissions_holds_at_every_rate) {
  for (const bool second : {false, true}) {
    Config config = adapting();
    config.transmission_max = 30s;
    auto station = with_adapting_peer(config);
    for (std::uint64_t i = 0; i < 20; ++i) {
      station.request({.id = {i}, .destination = kPeer, .cpdu = pattern(2000, i)});
    }
    station.run_for(1min);  // a link begins with a short transmission
    station.hear({advising(kPeer, kUs, {modem::Waveform::stanag4539, 9600, Interleaver::short_})});
    ASSERT_EQ(station.dts().mode_to(kPeer).rate_bps, 9600u);
    while (!station.dts().transmitting()) station.run_for(100ms);
    if (second) {
      station.made({77});
      station.request({.id = {99}, .destination = {77}, .cpdu = pattern(2000, 99)});
    }
    const modem::Mode slowest{.rate_bps = 75, .interleaver = Interleaver::long_};
    station.hear({advising(kPeer, kUs, slowest)});
    ASSERT_EQ(station.dts().mode_to(kPeer), slowest);
    station.take_modes();
    station.take_sent();
    Instant since = station.now();
    Duration longest{};
    for (int i = 0; i < 6000; ++i) {
      station.run_for(100ms);
      if (!station.dts().transmitting()) since = station.now();
      longest = std::max(longest, station.now() - since);
    }
    const auto modes = station.take_modes();
    EXPECT_GT(std::count(modes.begin(), modes.end(), slowest), 3);
    std::size_t frames = 0;
    for (const auto& dpdu : station.take_sent()) {
      frames += std::holds_alternative<pdu::Data>(dpdu);
    }
    EXPECT_GT(frames, 3u);
    EXPECT_LE(longest, 30s + modem::preamble_duration(slowest) + 100ms);
  }
}

// C.6.1: the state MANAGEMENT takes nothing else, so a request begins after the answer that caused
// it.
TEST(Adaptation, the_answer_that_brings_advice_is_taken_before_the_change_begins) {
  Config config = adapting();
  config.address = kUs;
  config.offer_extensions = false;
  test::LoneStation station(config);
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
  station.run_for(3s);
  station.take_sent();
  station.hear({advising(kPeer, kUs, {.rate_bps = 1200, .interleaver = Interleaver::short_}, 1)});
  EXPECT_EQ(station.counters()[Counter::reply_timeouts], 0u);
  const auto actions = station.take_actions();
  EXPECT_TRUE(std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    return std::holds_alternative<CpduConfirm>(action);
  }));
  station.run_for(3s);
  const auto sent = station.take_sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_TRUE(std::holds_alternative<pdu::Management>(sent.front()));
}

TEST(Adaptation, a_mode_that_was_refused_is_not_asked_for_while_the_advice_is_the_same) {
  Config config = adapting();
  config.address = kUs;
  config.offer_extensions = false;
  config.adaptation->rate_max_bps = 600;  // our request then differs from the advice
  test::LoneStation station(config);
  station.made(kPeer);
  const auto advice = advising(kPeer, kUs, {.rate_bps = 1200, .interleaver = Interleaver::short_});
  const auto asked = [&] {
    const auto sent = station.take_sent();
    return std::count_if(sent.begin(), sent.end(), [](const pdu::Dpdu& dpdu) {
      return std::holds_alternative<pdu::Management>(dpdu);
    });
  };
  station.hear({advice});
  station.run_for(3s);
  ASSERT_GT(asked(), 0);
  pdu::Management refusal{.common = advice.common, .valid = true, .ack = true};
  refusal.common.eow = pdu::make_eow(
      pdu::EowType::drc_response,
      pdu::DrcResponse{pdu::DrcAnswer::refuse, pdu::DrcReason::not_consistent_with_conditions});
  station.hear({refusal});
  station.run_for(3s);
  EXPECT_GT(asked(), 0);  // we withdraw the request
  station.hear({pdu::Management{.common = {.eot_half_s = 1, .destination = kUs, .source = kPeer},
                                .ack = true}});
  for (int i = 0; i < 3; ++i) {
    station.hear({advice});
    station.run_for(1min);
    EXPECT_EQ(asked(), 0) << i;
  }
  EXPECT_TRUE(station.dts().connection_status(kPeer).has_value());
}

// A station that adapts advises every peer. A peer that only follows must not be led to a mode in
// which nobody hears it.
TEST(Adaptation, a_station_that_only_follows_advice_goes_back_when_it_is_not_answered) {
  Config config{.address = kUs, .mode = kSlow};
  config.replies_missed_max = 1000;
  test::LoneStation station(config);
  station.made(kPeer);
  station.hear({advising(kPeer, kUs, {.rate_bps = 2400, .interleaver = Interleaver::short_})});
  ASSERT_EQ(station.dts().mode_to(kPeer).rate_bps, 2400u);
  station.take_modes();
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
  station.run_for(5min);
  const auto modes = station.take_modes();
  ASSERT_GE(modes.size(), 4u);
  EXPECT_EQ(modes[2].rate_bps, 2400u);
  EXPECT_EQ(modes[3], kSlow);
  EXPECT_EQ(modes.back(), kSlow);
  // Repeated advice shows that the peer hears us.
  station.hear({advising(kPeer, kUs, {.rate_bps = 2400, .interleaver = Interleaver::short_})});
  EXPECT_EQ(station.dts().mode_to(kPeer).rate_bps, 2400u);
}

/// Makes a station that follows advice. Only the test answers it.
test::LoneStation that_follows() {
  Config config{.address = kUs, .mode = kSlow};
  config.replies_missed_max = 1000;
  test::LoneStation station(config);
  station.made(kPeer);
  return station;
}

constexpr modem::Mode kFast{.rate_bps = 2400, .interleaver = Interleaver::short_};
constexpr modem::Mode kMiddle{.rate_bps = 1200, .interleaver = Interleaver::short_};

/// The peer advises `mode` and then answers nothing until we have gone back to kSlow.
void advise_in_vain(test::LoneStation& station, const modem::Mode& mode, std::uint8_t lwe = 0) {
  station.hear({advising(kPeer, kUs, mode, lwe)});
  ASSERT_EQ(station.dts().mode_to(kPeer), mode);
  station.run_for(2min);
  ASSERT_EQ(station.dts().mode_to(kPeer), kSlow);
}

// Goal:   the failure of another mode is no reason to try the first one again.
TEST(Adaptation, each_mode_that_was_not_answered_waits_by_itself) {
  auto station = that_follows();
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
  advise_in_vain(station, kFast);
  advise_in_vain(station, kFast);  // from now on this mode waits
  station.hear({advising(kPeer, kUs, kMiddle)});
  station.run_for(2min);
  station.hear({advising(kPeer, kUs, kFast)});
  EXPECT_NE(station.dts().mode_to(kPeer), kFast);
}

// Goal:   an answer in a mode, or in a less robust one, ends the wait of that mode. Time ends it,
//         too.
TEST(Adaptation, what_was_not_answered_is_forgotten) {
  for (const bool answered : {true, false}) {
    auto station = that_follows();
    station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
    advise_in_vain(station, kMiddle);
    if (answered) {
      station.hear({advising(kPeer, kUs, kFast)});
      while (!station.dts().transmitting()) station.run_for(100ms);
      while (station.dts().transmitting()) station.run_for(100ms);
      station.hear({advising(kPeer, kUs, kFast, 1)});
      EXPECT_EQ(station.dts().queued_octets(kPeer), 0u);
      station.made(kPeer);
      station.request({.id = {2}, .destination = kPeer, .cpdu = pattern(100, 1)});
    } else {
      station.run_for(2h);
    }
    advise_in_vain(station, kMiddle);
    station.hear({advising(kPeer, kUs, kMiddle)});
    EXPECT_EQ(station.dts().mode_to(kPeer), kMiddle) << answered;
  }
}

// Goal:   a mode that was answered earlier on the connection does not wait when it is no longer
//         answered.
TEST(Adaptation, a_mode_that_was_answered_before_is_not_left_alone) {
  auto station = that_follows();
  station.hear({advising(kPeer, kUs, kMiddle)});
  for (std::uint8_t i = 1; i <= 2; ++i) {
    station.request({.id = {i}, .destination = kPeer, .cpdu = pattern(100, i)});
    while (!station.dts().transmitting()) station.run_for(100ms);
    while (station.dts().transmitting()) station.run_for(100ms);
    // The first answer comes in that mode, the second in another.
    station.hear({advising(kPeer, kUs, i == 1 ? kSlowLong : kMiddle, i)});
  }
  station.request({.id = {3}, .destination = kPeer, .cpdu = pattern(100, 3)});
  station.run_for(2min);
  ASSERT_EQ(station.dts().mode_to(kPeer), kSlow);
  advise_in_vain(station, kMiddle, 2);
  station.hear({advising(kPeer, kUs, kMiddle, 2)});
  EXPECT_EQ(station.dts().mode_to(kPeer), kMiddle);
}

// Advice costs nothing: it is in the first header of each transmission of the connection.
TEST(Adaptation, advice_goes_with_data_only_to_those_who_look_there) {
  for (const bool adapts : {true, false}) {
    Config config = adapting();
    config.address = kUs;
    test::LoneStation station(config);
    station.made(kPeer);
    const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
    pdu::AckOnly ack{common, {}};
    ack.common.eow = pdu::make_extensions(adapts ? pdu::extension::kAdapts : std::uint8_t{0});
    station.hear({ack});
    station.run_for(3s);
    station.take_sent();
    station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(900, 1)});
    station.run_for(100ms);
    const auto sent = station.take_sent();
    ASSERT_FALSE(sent.empty());
    const auto eow = pdu::common_of(sent.front()).eow;
    EXPECT_EQ(eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request), adapts);
  }
}

// --- Peers that offer nothing beyond the standard ------------------------------------------------

// C.6.4.2: a station that gets advice may change without an announcement, and then it has no way
// back.
TEST(Adaptation, a_peer_of_edition_3_is_told_what_it_may_just_follow_until_it_asks) {
  auto station = with_plain_peer();
  std::uint8_t number = 0;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  pdu::Management request{.common = {.eot_half_s = 1, .destination = kUs, .source = kPeer},
                          .valid = true};
  request.common.eow = pdu::make_eow(pdu::EowType::drc_request, *drc_request(kSlowLong));
  station.hear({request});
  station.run_for(3s);
  station.hear({pdu::Management{.common = {.eot_half_s = 1, .destination = kUs, .source = kPeer},
                                .ack = true}});
  station.run_for(3s);
  station.take_sent();
  const auto wish = advised_after_data(station, number);
  ASSERT_TRUE(wish.has_value());
  EXPECT_GT(wish->rate_bps, 300u);
  EXPECT_LE(wish->rate_bps, 1200u);  // four times the rate that was heard
}

// Goal:   a peer that begins learns our offer and its rate from one answer.
// Method: the first data of the connection comes, and its sender offers all that we do.
TEST(Adaptation, the_first_answer_says_what_we_offer_and_how_fast_the_peer_may_be) {
  auto station = with_plain_peer();
  pdu::Data first = data_from(kPeer, 0);
  first.common.eow = pdu::make_extensions(pdu::extension::kAnySegmentLength |
                                          pdu::extension::kLargeWindow | pdu::extension::kAdapts);
  station.hear({first});
  station.run_for(20s);
  bool offered = false;
  bool advised_too = false;
  for (const auto& dpdu : station.take_sent()) {
    const std::uint8_t type = pdu::common_of(dpdu).eow.type;
    offered = offered || type == static_cast<std::uint8_t>(pdu::EowType::extensions);
    advised_too = advised_too || type == static_cast<std::uint8_t>(pdu::EowType::drc_request);
  }
  EXPECT_TRUE(offered);
  EXPECT_TRUE(advised_too);
}

// Goal:   a modem that gives a ratio which is not a number does no harm. That is not taken for a
//         bad channel.
// Method: one reception has only such ratios, among good ones. The advice must stay as it was.
TEST(Adaptation, a_ratio_that_is_no_number_counts_for_nothing) {
  for (const float ratio : {std::nanf(""), INFINITY, -INFINITY}) {
    auto station = with_adapting_peer(adapting());
    std::uint8_t number = 0;
    station.set_heard(kSlow, 25);
    const auto before = advised_after_data(station, number);
    ASSERT_TRUE(before);
    ASSERT_GE(before->rate_bps, 2400u);
    station.set_heard(kSlow, ratio);
    advised_after_data(station, number);
    station.set_heard(kSlow, 25);
    EXPECT_EQ(advised_after_data(station, number), before);
  }
}

// Goal:   wrong advice costs only seconds, also at 300 bit/s.
TEST(Adaptation, a_link_begins_with_a_short_transmission_at_any_rate) {
  DtsWorld world(2, {}, 1, adapting());
  world.connect(0, 1);
  send_much(world);
  const Instant begin = world.now();
  while (!world[0].dts->transmitting()) world.run_for(100ms);
  while (world[0].dts->transmitting()) world.run_for(100ms);
  EXPECT_LE(world.now() - begin, 16s);
}

// Goal:   an acknowledgement that is always owed does not use up the short transmissions that data
//         needs.
// Method: both stations have much to send, and the peer takes only segments of one length.
TEST(Adaptation, who_is_sent_to_all_the_time_gets_its_own_data_off_at_low_rates) {
  for (const std::uint32_t rate : {75u, 150u}) {
    Config config = adapting();
    config.mode = {.rate_bps = rate, .interleaver = modem::Interleaver::short_};
    config.adaptation->rate_max_bps = rate;
    DtsWorld world(2, {}, 1, config, 1);
    world.connect(0, 1);
    for (std::uint64_t i = 0; i < 20; ++i) {
      world.send(0, 1, i, pattern(2000, i));
      world.send(1, 0, 100 + i, pattern(2000, i));
    }
    world.run_for(30min);
    EXPECT_GT(world[0].received.size(), 1u) << rate;
    EXPECT_GT(world[1].received.size(), 1u) << rate;
  }
}

TEST(Adaptation, a_peer_of_edition_3_that_follows_without_asking_is_told_to_go_back) {
  auto station = with_plain_peer();
  std::uint8_t number = 0;
  EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  station.set_heard(kSlowLong, 25);
  EXPECT_EQ(advised_after_data(station, number), kSlow);
  station.set_heard(kSlow, 25);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(advised_after_data(station, number), kSlow);
}

// Goal:   a peer that follows without asking is not sent back to a mode that we cannot hear.
// Method: the channel is bad from the beginning, and we want a slower mode.
TEST(Adaptation, a_peer_of_edition_3_is_never_told_a_mode_less_robust_than_we_wish) {
  auto station = with_plain_peer();
  std::uint8_t number = 0;
  station.set_heard(kSlow, -8);
  EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  std::optional<modem::Mode> told;
  for (int i = 0; i < 8; ++i) {
    station.set_heard(told.value_or(kSlowLong), -8);
    for (int k = 0; k < 3; ++k) station.hear(Bytes(2000, 0x55));  // no octet of it can be read
    told = advised_after_data(station, number);
    ASSERT_TRUE(told.has_value());
    EXPECT_FALSE(less_robust(*told, kSlowLong)) << i << " " << told->rate_bps;
  }
  EXPECT_LT(told->rate_bps, 300u);
  for (int i = 0; i < 12; ++i) {  // the way back ends in the mode where it began
    station.set_heard(*told, 30);
    told = advised_after_data(station, number);
    ASSERT_TRUE(told.has_value());
    EXPECT_FALSE(less_robust(*told, kSlow)) << i;
  }
  EXPECT_EQ(told, kSlow);
}

// Knowledge about a peer at one rate is not used for advice at another.
TEST(Adaptation, what_a_peer_of_edition_3_is_told_goes_by_the_rate_it_has) {
  constexpr modem::Mode kFaster{.rate_bps = 600, .interleaver = Interleaver::short_};
  constexpr modem::Mode kFasterLong{.rate_bps = 600, .interleaver = Interleaver::long_};
  for (const bool followed : {false, true}) {
    auto station = with_plain_peer();
    std::uint8_t number = 0;
    EXPECT_EQ(advised_after_data(station, number), kSlowLong);
    if (followed) {
      station.set_heard(kSlowLong, 25);
      EXPECT_EQ(advised_after_data(station, number), kSlow);
      number = 0;
      station.made(kPeer);
    }
    station.set_heard(kFaster, 25);
    EXPECT_EQ(advised_after_data(station, number), kFasterLong) << followed;
  }
}

// The peer goes back by itself if it is not answered.
TEST(Adaptation, a_station_of_ours_that_does_not_adapt_is_told_what_we_wish) {
  auto station = with_plain_peer();
  pdu::AckOnly ack{{.eot_half_s = 1, .destination = kUs, .source = kPeer}, {}};
  ack.common.eow = pdu::make_extensions(pdu::extension::kLargeWindow);
  station.hear({ack});
  station.run_for(3s);
  station.take_sent();
  std::uint8_t number = 0;
  const auto wish = advised_after_data(station, number);
  ASSERT_TRUE(wish.has_value());
  EXPECT_GT(wish->rate_bps, 300u);
}

// Goal:   an answer in the advised mode does not count as missing while its preamble lasts.
// Method: the peer is told the long interleaver, while we want a short one.
TEST(Adaptation, the_answer_is_awaited_with_the_preamble_of_what_the_peer_is_told) {
  auto station = with_plain_peer();
  std::uint8_t number = 0;
  ASSERT_EQ(advised_after_data(station, number), kSlowLong);
  ASSERT_LT(modem::preamble_duration(kSlow) + 2s, modem::preamble_duration(kSlowLong));
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(100, 1)});
  while (!station.dts().transmitting()) station.run_for(100ms);
  while (station.dts().transmitting()) station.run_for(100ms);
  station.run_for(modem::preamble_duration(kSlowLong));
  EXPECT_EQ(station.counters()[Counter::reply_timeouts], 0u);
}

TEST(Adaptation, a_peer_that_says_it_has_no_data_rate_change_is_advised_nothing) {
  auto station = with_plain_peer();
  for (std::uint8_t i = 0; i < 10; ++i) {
    pdu::Data data = data_from(kPeer, i);
    data.common.eow = pdu::make_capability(0);
    station.hear({data});
    station.run_for(20s);
    EXPECT_EQ(advised(station), std::nullopt);
  }
}

}  // namespace
}  // namespace s5066::dts
