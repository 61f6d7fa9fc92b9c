// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_core.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "tests/unit/gateways/relay_stations.h"
#include "tests/unit/gateways/relay_world.h"

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RelayWorld;
using Side = RelayWorld::Side;
using Kind = RelayEvent::Kind;
using gateways::decode_rcop;
using gateways::SpoolChange;
using Files = std::map<std::string, Bytes>;

constexpr Side kLeft = RelayWorld::kLeft;
constexpr Side kRight = RelayWorld::kRight;

Bytes content_of(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  Bytes bytes(size);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

// F.10.2.2(2), F.10.2.3(3)
TEST(Relay, a_file_crosses_and_is_acknowledged) {
  for (const std::size_t size : {0u, 1u, 2030u, 2031u, 4072u, 20000u}) {
    SCOPED_TRACE(size);
    RelayWorld world(1);
    const auto id = world.send(kLeft, "MAP.BIN", content_of(size));
    EXPECT_TRUE(world.run_until_delivered(hours(1)));
    EXPECT_EQ(world.inbox(kRight), (Files{{"MAP.BIN", content_of(size)}}));
    EXPECT_EQ(world.item(kLeft, id).attempts, 1u);
  }
}

TEST(Relay, a_restart_never_sends_a_delivered_file_again) {
  RelayWorld world(1);
  world.send(kLeft, "f", content_of(100));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  const auto sent = world.updus_sent(kLeft);
  world.kill(kLeft);
  world.start(kLeft);
  world.run_for(hours(2));
  EXPECT_EQ(world.updus_sent(kLeft), sent);
}

TEST(Relay, segments_are_not_sent_one_by_one) {
  RelayWorld world(1);
  world.core_config.sender.outstanding_max = 16;
  world.kill(kLeft);
  world.start(kLeft);
  world.send(kLeft, "f", content_of(100000));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.outstanding_peak(kLeft), 12u);  // a quarter is kept for other stations
}

TEST(Relay, nothing_is_sent_while_the_flow_is_off) {
  RelayWorld world(1, {.queue_max = 8});
  world.send(kLeft, "f", content_of(100000));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(100000)}}));
  EXPECT_LE(world.sent_while_off(kLeft), 64u);  // these left before the report came
  RelayCore& core = world.core(kLeft);
  core.on_sis(world.now(), gateways::SisFlow{false});
  world.send(kLeft, "g", content_of(100));
  const auto sent = world.updus_sent(kLeft);
  world.run_for(minutes(10));
  EXPECT_EQ(world.updus_sent(kLeft), sent);
  core.on_sis(world.now(), gateways::SisFlow{true});
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
}

TEST(Relay, the_same_file_sent_twice_on_purpose_arrives_twice) {
  RelayWorld world(1);
  world.send(kLeft, "f", content_of(3000));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  world.send(kLeft, "f", content_of(3000));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(3000)}, {"f.1", content_of(3000)}}));
}

TEST(Relay, a_lost_acknowledgement_costs_a_repeat_but_not_a_second_file) {
  for (const AckMode mode : {AckMode::frap, AckMode::frap_v2}) {
    RelayWorld world(1);
    world.core_config.sender.acknowledgement = mode;
    world.core_config.receiver.acknowledgement = mode;
    for (const Side side : {kLeft, kRight}) {
      world.kill(side);
      world.start(side);
    }
    world.mute(kRight, true);
    const auto id = world.send(kLeft, "f", content_of(5000));
    world.run_for(minutes(2));
    EXPECT_EQ(world.inbox(kRight).size(), 1u);
    EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
    world.mute(kRight, false);
    EXPECT_TRUE(world.run_until_delivered(hours(2)));
    EXPECT_EQ(world.item(kLeft, id).attempts, 2u);
    EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
    EXPECT_EQ(world.events(kRight, Kind::repeat_received), 1u);
  }
}

/// The ids in the lines about files, each once.
std::set<std::string> transfers_in(const std::vector<RelayEvent>& log) {
  std::set<std::string> ids;
  for (const RelayEvent& event : log) {
    if (!event.name.empty()) ids.insert(event.transfer);
  }
  return ids;
}

TEST(Relay, every_line_about_a_file_has_one_id_at_both_stations) {
  RelayWorld world(1);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(5000));
  world.run_for(minutes(2));
  world.kill(kLeft);
  world.start(kLeft);
  world.mute(kRight, false);
  ASSERT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_GE(world.item(kLeft, id).attempts, 2u);
  EXPECT_EQ(world.events(kRight, Kind::file_received), 1u);
  EXPECT_GE(world.events(kRight, Kind::repeat_received), 1u);
  EXPECT_GE(world.events(kRight, Kind::acknowledgement_sent), 1u);
  const auto sent = transfers_in(world.log(kLeft));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(transfers_in(world.log(kRight)), sent);
  EXPECT_TRUE(sent.begin()->starts_with(std::to_string(world.item(kLeft, id).updu_id) + "-"));

  world.send(kLeft, "f", content_of(5000));
  ASSERT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(transfers_in(world.log(kLeft)).size(), 2u) << "handed over anew";
  EXPECT_EQ(transfers_in(world.log(kRight)), transfers_in(world.log(kLeft)));
}

TEST(Relay, a_file_that_cannot_be_stored_has_its_id_in_each_line) {
  RelayWorld world(1);
  world.set_inbox_errno(kRight, ENOSPC);
  world.send(kLeft, "f", content_of(5000));
  world.run_for(hours(1));
  EXPECT_GE(world.events(kRight, Kind::store_failed), 1u);
  EXPECT_GE(world.events(kRight, Kind::attempt_failed) + world.events(kLeft, Kind::attempt_failed),
            1u);
  EXPECT_EQ(transfers_in(world.log(kRight)), transfers_in(world.log(kLeft)));
}

TEST(Relay, a_file_that_is_given_up_before_its_end_is_told_with_its_name_and_the_reason) {
  RelayWorld world(1);
  const auto segment = [&](std::uint8_t updu_id, std::uint32_t size) {
    Bytes begin;
    encode(BftpHeader{"map.bin", size}, begin);
    begin.resize(100);
    Bytes updu;
    gateways::encode(gateways::RcopHeader{.updu_id = updu_id, .application_id = kBftpApplication},
                     updu);
    append(updu, begin);
    return updu;
  };
  world.inject(kRight, segment(7, 1000));
  world.run_for(hours(2) - seconds(5));
  EXPECT_EQ(world.events(kRight, Kind::file_incomplete), 0u);
  world.run_for(seconds(10));
  ASSERT_EQ(world.events(kRight, Kind::file_incomplete), 1u);
  world.inject(kRight, segment(8, 1u << 30));
  ASSERT_EQ(world.events(kRight, Kind::file_incomplete), 2u);
  world.run_for(hours(3));
  EXPECT_EQ(world.events(kRight, Kind::file_incomplete), 2u) << "once";
  std::vector<RelayEvent> told;
  for (const RelayEvent& event : world.log(kRight)) {
    if (event.kind == Kind::file_incomplete) told.push_back(event);
  }
  EXPECT_EQ(told[0].name, "map.bin");
  EXPECT_EQ(told[0].transfer, "7");
  EXPECT_EQ(told[0].octets, 1000u);
  EXPECT_EQ(told[0].detail, "the rest did not come in time; 100 octets had arrived");
  EXPECT_EQ(told[1].transfer, "8");
  EXPECT_EQ(told[1].detail, "the transfer is larger than the limit; 100 octets had arrived");
}

/// Runs until `octets` octets of the file have been confirmed.
void run_until_confirmed(RelayWorld& world, std::size_t octets) {
  for (int s = 0; s < 600; ++s) {
    world.run_for(seconds(1));
    const auto transfers = world.core(kLeft).transfers();
    if (!transfers.empty() && transfers.front().octets_confirmed >= octets) return;
  }
  FAIL() << "not confirmed";
}

TEST(Relay, a_receiver_that_died_with_confirmed_segments_gets_the_file_again_in_minutes) {
  RelayWorld world(1);
  const auto id = world.send(kLeft, "f", content_of(20000));
  world.run_for(milliseconds(5500));
  world.kill(kRight);
  world.start(kRight);
  ASSERT_NO_FATAL_FAILURE(run_until_confirmed(world, 20000));
  world.run_for(seconds(178));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  world.run_for(seconds(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  EXPECT_EQ(world.item(kLeft, id).reason, "no acknowledgement");
  world.run_for(minutes(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::delivered);
  EXPECT_EQ(world.item(kLeft, id).attempts, 2u);
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(20000)}}));
}

TEST(Relay, an_acknowledgement_has_longer_while_other_files_occupy_the_line) {
  RelayWorld world(1);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.send(kLeft, "g", content_of(100000));
  ASSERT_NO_FATAL_FAILURE(run_until_confirmed(world, 10));
  // The time covers a whole transmission of the other file each way, 127.5 s.
  world.run_for(seconds(180 + 254));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  world.run_for(seconds(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
}

TEST(Relay, without_acknowledgements_the_subnet_s_word_is_enough) {
  RelayWorld world(1);
  world.core_config.sender.acknowledgement = AckMode::none;
  world.core_config.receiver.acknowledgement = AckMode::none;
  for (const Side side : {kLeft, kRight}) {
    world.kill(side);
    world.start(side);
  }
  world.send(kLeft, "f", content_of(5000));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
  EXPECT_EQ(world.updus_sent(kRight), 0u);
}

TEST(Relay, a_missing_peer_is_tried_again_at_growing_intervals_until_the_time_is_up) {
  RelayWorld world(1);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(hours(24) - minutes(1));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  const std::uint32_t attempts = world.item(kLeft, id).attempts;
  EXPECT_GT(attempts, 20u);
  EXPECT_LT(attempts, 32u);
  world.run_for(minutes(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::expired);
  EXPECT_EQ(world.item(kLeft, id).reason, "no relay is bound at the destination");
}

// Goal:   a relay that starts before its clock is right (a machine without a battery) does not keep
//         a tried file waiting for years or for ever.
TEST(Relay, a_clock_that_is_years_behind_at_the_start_holds_nothing_up) {
  RelayWorld world(1);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(minutes(10));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  world.kill(kLeft);
  world.clock_ahead = -hours(50 * 365 * 24);
  world.start(kLeft);
  world.run_for(hours(1) + minutes(5));
  const std::uint32_t attempts = world.item(kLeft, id).attempts;
  world.run_for(hours(22));
  EXPECT_GT(world.item(kLeft, id).attempts, attempts);
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  world.run_for(hours(2));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::expired);
}

TEST(Relay, a_clock_that_is_put_right_costs_no_file_its_lifetime_over_a_restart) {
  for (const Duration step : {Duration(-std::chrono::days(3)), Duration(-hours(1)),
                              Duration(hours(1)), Duration(std::chrono::days(3))}) {
    RelayWorld world(1);
    world.kill(RelayWorld::kRight);
    const auto id = world.send(RelayWorld::kLeft, "a.txt", Bytes(100, 1));
    world.run_for(minutes(5));
    world.set_clock(RelayWorld::kLeft, step);
    EXPECT_EQ(world.events(RelayWorld::kLeft, RelayEvent::Kind::clock_set), 1u);
    world.run_for(seconds(10));
    world.kill(RelayWorld::kLeft);
    world.start(RelayWorld::kLeft);
    world.run_for(hours(2));
    world.start(RelayWorld::kRight);
    EXPECT_TRUE(world.run_until_delivered(hours(3))) << to_seconds(step);
    EXPECT_EQ(world.item(RelayWorld::kLeft, id).state, gateways::SpoolState::delivered);
  }
}

// Goal:   a file that is handed over between the step of a clock and its discovery is not taken for
//         an old one, neither now nor after a restart.
TEST(Relay, a_file_sent_just_after_the_clock_was_set_lives_as_long_as_any_other) {
  for (const Duration step : {Duration(-std::chrono::days(3)), Duration(std::chrono::days(3))}) {
    for (const bool listed_before : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_seconds(step) << listed_before);
      RelayWorld world(1);
      world.kill(kRight);
      world.run_for(minutes(5));
      world.clock_ahead += step;
      const auto notice = [&] { world.set_clock(kLeft, {}); };
      if (!listed_before) notice();
      const auto id = world.send(kLeft, "f", content_of(10));
      world.run_for(seconds(10));
      if (listed_before) notice();
      EXPECT_EQ(world.events(kLeft, Kind::clock_set), 1u);
      world.run_for(minutes(10));
      EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
      if (listed_before) continue;
      world.kill(kLeft);
      world.start(kLeft);
      world.start(kRight);
      EXPECT_TRUE(world.run_until_delivered(hours(3)));
    }
  }
}

TEST(Relay, a_node_that_is_restarted_again_and_again_uses_up_no_attempts) {
  RelayWorld world(1);
  world.core_config.sender.attempts_max = 3;
  world.kill(kLeft);
  world.start(kLeft);
  const auto id = world.send(kLeft, "f", content_of(50000));
  for (int i = 0; i < 10; ++i) {
    world.run_for(seconds(10));
    world.lose_connection(kLeft, seconds(5));
    world.run_for(seconds(10));
  }
  EXPECT_GT(world.item(kLeft, id).attempts, 3u);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
}

// Goal:   a file whose acknowledgement was lost is sent again before the receiver has forgotten it,
//         however fast others arrive, and whatever their priority is.
TEST(Relay, a_file_whose_acknowledgement_was_lost_is_not_stored_twice_behind_many_others) {
  for (const std::uint8_t priority : {std::uint8_t{4}, std::uint8_t{9}}) {
    SCOPED_TRACE(int{priority});
    RelayWorld world(1, {.per_updu = milliseconds(20)});
    world.mute(kRight, true);
    world.send(kLeft, "lost", content_of(10));
    world.run_for(seconds(1));
    world.mute(kRight, false);
    for (int i = 0; i < 300; ++i) {
      world.send(kLeft, "f" + std::to_string(i), content_of(10), priority);
    }
    EXPECT_TRUE(world.run_until_delivered(hours(2)));
    EXPECT_EQ(world.inbox(kRight).size(), 301u);
    EXPECT_EQ(world.inbox(kRight).count("lost.1"), 0u);
  }
}

TEST(Relay, the_last_allowed_attempt_is_made_and_no_other) {
  RelayWorld world(1);
  world.core_config.sender.attempts_max = 3;
  world.kill(kLeft);
  world.start(kLeft);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(hours(2));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::failed);
  EXPECT_EQ(world.updus_sent(kLeft), 3u);
}

TEST(Relay, many_files_for_a_dead_peer_keep_to_the_active_set) {
  RelayWorld world(1);
  world.kill(kRight);
  for (int i = 0; i < 40; ++i) world.send(kLeft, "f" + std::to_string(i), content_of(10));
  for (int i = 0; i < 200; ++i) {
    world.run_for(seconds(7));
    ASSERT_LE(world.core(kLeft).transfers().size(), world.core_config.sender.active_max);
  }
  world.start(kRight);
  EXPECT_TRUE(world.run_until_delivered(hours(12)));
  EXPECT_EQ(world.inbox(kRight).size(), 40u);
}

TEST(Relay, of_files_under_way_only_pieces_are_in_memory) {
  test::RelayStations world;
  constexpr unsigned kStations = 5;
  for (unsigned to = 1; to <= kStations; ++to) {
    world.send(to, "large", 1'000'000);
    world.send(to, "larger", 1'000'000 + to);
  }
  const std::size_t piece = SenderCore::Config{}.piece_octets;
  std::size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    world.run_for(seconds(20));
    most = std::max(most, world.core().sender().octets_held());
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 2 * kStations * (piece + piece / 2 + 2048));
  world.run_for(hours(10));
  for (unsigned to = 1; to <= kStations; ++to) EXPECT_EQ(world.files_at(to), 2u);
}

TEST(Relay, a_piece_that_was_damaged_meanwhile_parks_the_file) {
  test::RelayStations world;
  const auto id = world.send(1, "large", 1'000'000);
  const auto other = world.send(1, "other", 100'000);
  world.run_for(minutes(3));
  ASSERT_EQ(world.core().transfers().size(), 2u);
  world.damage(id);
  world.run_for(hours(2));
  EXPECT_EQ(world.item(id).state, SpoolState::corrupt);
  EXPECT_EQ(world.item(other).state, SpoolState::delivered);
  EXPECT_FALSE(world.arrived_at(1, "large"));
}

TEST(Relay, a_higher_priority_goes_first_and_has_places_of_its_own) {
  test::RelayStations world;
  for (int i = 0; i < 8; ++i) world.send(1, "routine" + std::to_string(i), 200'000);
  world.run_for(minutes(10));
  world.send(1, "flash", 20'000, 14);
  const auto took = world.time_until_arrival(1, "flash", hours(2));
  ASSERT_TRUE(took);
  EXPECT_LE(*took, 3 * (test::RelayStations::kTransmission + test::RelayStations::kTurn));
}

TEST(Relay, more_files_than_there_are_ids_wait_and_all_arrive) {
  test::RelayStations world({}, 1e6);
  for (int i = 0; i < 1000; ++i) world.send(1, "f" + std::to_string(i), 10);
  world.run_for(hours(8));
  EXPECT_EQ(world.files_at(1), 1000u);
}

// Goal:   the same file sent again and again arrives each time, however often.
TEST(Relay, a_thousand_identical_files_arrive_a_thousand_times) {
  RelayWorld world(1, {.per_updu = milliseconds(20)});
  for (int i = 0; i < 1000; ++i) world.send(kLeft, "f", content_of(3));
  EXPECT_TRUE(world.run_until_delivered(hours(20)));
  EXPECT_EQ(world.inbox(kRight).size(), 1000u);
}

// Goal:   a full disk at the start of a file is a fault of the store, tried again within seconds,
//         and not the lack of a U_PDU_ID, which is waited for without a word.
TEST(Relay, a_full_disk_at_the_start_of_a_file_is_said_and_tried_again_soon) {
  SenderCore::Config config;
  IdSource ids;
  UtcClock utc;
  MessageOutbox outbox({}, ids);
  SenderCore core(config, ids, utc, outbox);
  const auto answer = [&](Instant now, Result<gateways::StoreAnswer> with) {
    const auto request = core.poll_store();
    ASSERT_TRUE(request);
    core.on_store_result(now, {request->ticket, std::move(with)});
  };
  const Error full{ErrorCode::queue_full, "the disk is full"};
  gateways::SpoolItem row;
  row.id = SpoolId{1};
  row.destination = Address{1};
  row.name = "f";
  core.on_start(Instant{});
  core.on_bound(Instant{}, 2048);
  ASSERT_NO_FATAL_FAILURE(answer({}, gateways::StoreAnswer(gateways::OpenItems{{row}})));
  ASSERT_NO_FATAL_FAILURE(answer({}, gateways::StoreAnswer(gateways::Content{})));
  ASSERT_NO_FATAL_FAILURE(answer({}, full));
  const auto event = core.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::store_failed);
  const Instant again = Instant{} + config.store_retry;
  core.on_deadline(again - milliseconds(1));
  while (const auto request = core.poll_store()) {
    EXPECT_FALSE(std::holds_alternative<gateways::SaveItem>(request->operation));
  }
  core.on_deadline(again);
  const auto request = core.poll_store();
  ASSERT_TRUE(request);
  EXPECT_TRUE(std::holds_alternative<gateways::SaveItem>(request->operation));
}

TEST(Relay, acknowledgements_to_a_silent_station_leave_room_for_others) {
  ReceiverCore::Config config;
  IdSource ids;
  UtcClock utc;
  ReceiverCore core(config, ids, utc);
  const auto receive = [&](Address from, std::uint8_t updu_id) {
    gateways::RcopReassembler::Complete pdu{.key = {from, gateways::kRcopSap, 0, updu_id},
                                            .application_id = kBftpApplication};
    pdu.data = bftp_pdu({"f", 0}, {});
    core.on_file({}, pdu);
    const auto request = core.poll_store();
    core.on_store_result({}, {request->ticket, gateways::StoreAnswer(gateways::FileStored{})});
  };
  for (int i = 0; i < 200; ++i) receive(Address{1}, static_cast<std::uint8_t>(i));
  for (std::size_t i = 0; i < config.station_outstanding_max; ++i) ASSERT_TRUE(core.poll_updu());
  EXPECT_FALSE(core.poll_updu());
  EXPECT_EQ(core.counters()[RelayReceiverCounter::acknowledgements_failed],
            200 - config.station_acknowledgements_max);
  receive(Address{2}, 0);
  const auto updu = core.poll_updu();
  ASSERT_TRUE(updu);
  EXPECT_EQ(updu->destination, Address{2});
}

TEST(Relay, a_broken_inbox_holds_the_acknowledgement_back_until_it_is_mended) {
  for (const int code : {EACCES, ENOSPC}) {
    RelayWorld world(1);
    world.set_inbox_errno(kRight, code);
    const auto id = world.send(kLeft, "f", content_of(5000));
    world.run_for(hours(1));
    EXPECT_EQ(world.updus_sent(kRight), 0u);
    EXPECT_GE(world.events(kRight, Kind::store_failed), 1u);
    EXPECT_NE(world.item(kLeft, id).state, SpoolState::delivered);
    EXPECT_TRUE(world.inbox(kRight).empty());
    world.set_inbox_errno(kRight, 0);
    EXPECT_TRUE(world.run_until_delivered(hours(2)));
    EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
  }
}

TEST(Relay, a_relay_that_dies_with_an_unstored_file_gets_it_again) {
  RelayWorld world(1);
  world.set_inbox_errno(kRight, ENOSPC);
  world.send(kLeft, "f", content_of(5000));
  world.run_for(minutes(5));
  world.kill(kRight);
  world.set_inbox_errno(kRight, 0);
  world.start(kRight);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
}

TEST(Relay, a_lost_connection_starts_the_file_again_at_once) {
  RelayWorld world(1);
  const auto id = world.send(kLeft, "f", content_of(50000));
  world.run_for(seconds(20));
  world.lose_connection(kLeft, seconds(30));
  EXPECT_TRUE(world.run_until_delivered(minutes(5)));
  EXPECT_EQ(world.item(kLeft, id).attempts, 2u);
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(50000)}}));
}

TEST(Relay, an_mtu_too_small_for_acknowledgements_is_not_used) {
  RelayWorld world(1, {.mtu = 299});
  world.send(kLeft, "f", content_of(1000));
  world.run_for(hours(1));
  EXPECT_EQ(world.updus_sent(kLeft), 0u);
  EXPECT_EQ(world.events(kLeft, Kind::mtu_too_small), 1u);
  RelayWorld smallest(1, {.mtu = 300});
  smallest.send(kLeft, std::string(255, 'n'), content_of(1000));
  EXPECT_TRUE(smallest.run_until_delivered(hours(1)));
}

TEST(Relay, acknowledgements_of_other_files_are_not_believed) {
  RelayWorld world(1);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(minutes(2));
  const std::uint8_t updu_id = world.item(kLeft, id).updu_id;
  const auto other = static_cast<std::uint8_t>(updu_id + 1);
  world.inject(kLeft, frap_updu(0, other));
  world.inject(kLeft, frap_updu(1, updu_id));  // of an attempt that was never made
  world.inject(kLeft, frap_v2_updu(0, updu_id, {"g", 10}));
  world.inject(kLeft, frap_v2_updu(0, updu_id, {"f", 11}));
  world.inject(kLeft, frap_v2_updu(0, other, {"f", 10}));
  world.run_for(minutes(2));
  EXPECT_NE(world.item(kLeft, id).state, SpoolState::delivered);
  EXPECT_EQ(world.core(kLeft).sender().counters()[RelaySenderCounter::acknowledgements_unmatched],
            5u);
  world.inject(kLeft, frap_updu(0, updu_id));
  world.run_for(minutes(1));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::delivered);
}

TEST(Relay, every_attempt_has_a_connection_id_of_its_own_and_the_file_keeps_its_updu_id) {
  RelayWorld world(1);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  for (std::uint32_t attempt = 1; attempt <= 17; ++attempt) {
    while (world.item(kLeft, id).attempts < attempt) world.run_for(seconds(10));
    world.run_for(seconds(5));
    const auto header = decode_rcop(world.last_updu(kLeft))->header;
    EXPECT_EQ(header.connection_id, (attempt - 1) % 16);
    EXPECT_EQ(header.updu_id, world.item(kLeft, id).updu_id);
  }
}

TEST(Relay, a_late_acknowledgement_of_an_earlier_attempt_counts) {
  RelayWorld world(1);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(minutes(2));
  const std::uint8_t updu_id = world.item(kLeft, id).updu_id;
  world.kill(kRight);
  while (world.item(kLeft, id).attempts < 3) world.run_for(minutes(5));
  world.inject(kLeft, frap_updu(0, updu_id));
  world.run_for(minutes(1));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::delivered);
}

TEST(RelayChange, a_held_file_is_not_sent_until_it_is_released) {
  RelayWorld world(1);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  EXPECT_FALSE(world.change(kLeft, SpoolChange::hold, id)) << "the spool is being listed";
  world.run_for(minutes(10));
  EXPECT_FALSE(world.change(kLeft, SpoolChange::release, id)) << "it is not held";
  ASSERT_TRUE(world.change(kLeft, SpoolChange::hold, id));
  world.start(kRight);
  world.run_for(hours(30));
  world.kill(kLeft);
  world.start(kLeft);
  world.run_for(hours(3) + seconds(1));  // between two looks at the spool
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::held) << "neither sent nor expired";
  EXPECT_TRUE(world.inbox(kRight).empty());
  ASSERT_TRUE(world.change(kLeft, SpoolChange::release, id));
  EXPECT_TRUE(world.run_until_delivered(minutes(5)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(10)}}));
}

TEST(RelayChange, a_file_can_be_held_in_the_middle_and_arrives_once_after_its_release) {
  RelayWorld world(1);
  const auto id = world.send(kLeft, "f", content_of(500'000));
  world.run_for(seconds(20));
  ASSERT_EQ(world.core(kLeft).transfers().size(), 1u);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::hold, id));
  const auto sent = world.updus_sent(kLeft);
  EXPECT_LT(sent, 100u) << "it was over too soon";
  world.run_for(seconds(3));
  EXPECT_GT(world.core(kLeft).sender().outstanding(), 0u) << "the node has no more of it";
  ASSERT_TRUE(world.change(kLeft, SpoolChange::release, id));
  world.run_for(minutes(1));
  ASSERT_TRUE(world.change(kLeft, SpoolChange::hold, id));
  const auto sent_again = world.updus_sent(kLeft);
  world.run_for(hours(2));
  EXPECT_EQ(world.updus_sent(kLeft), sent_again);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::release, id));
  EXPECT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(world.item(kLeft, id).attempts, 3u);
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(500'000)}}));
}

TEST(RelayChange, a_file_that_had_arrived_when_it_was_held_is_not_stored_twice) {
  RelayWorld world(1);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(minutes(1));
  ASSERT_EQ(world.inbox(kRight).size(), 1u);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::hold, id));
  world.mute(kRight, false);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::release, id));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  EXPECT_EQ(world.events(kRight, Kind::repeat_received), 1u);
}

TEST(RelayChange, a_cancelled_file_is_not_sent_and_the_others_are) {
  RelayWorld world(1);
  world.kill(kRight);
  std::vector<SpoolId> ids;
  for (const char* name : {"a", "b", "c"}) ids.push_back(world.send(kLeft, name, content_of(10)));
  world.run_for(minutes(10));
  ASSERT_TRUE(world.change(kLeft, SpoolChange::cancel, ids[1]));
  EXPECT_FALSE(world.change(kLeft, SpoolChange::retry, ids[1])) << "its content is gone";
  world.start(kRight);
  world.run_for(hours(5));
  EXPECT_EQ(world.item(kLeft, ids[1]).state, SpoolState::failed);
  EXPECT_EQ(world.item(kLeft, ids[1]).reason, "cancelled by the operator");
  EXPECT_EQ(world.inbox(kRight), (Files{{"a", content_of(10)}, {"c", content_of(10)}}));
}

TEST(RelayChange, a_retry_does_not_wait_for_a_silent_station) {
  for (const bool retry : {false, true}) {
    SCOPED_TRACE(retry);
    RelayWorld world(1);
    world.kill(kRight);
    const auto id = world.send(kLeft, "f", content_of(10));
    world.run_for(hours(4));
    const auto attempts = world.item(kLeft, id).attempts;
    if (retry) {
      ASSERT_TRUE(world.change(kLeft, SpoolChange::retry, id));
    }
    world.run_for(seconds(10));
    world.start(kRight);
    world.run_for(seconds(5));
    if (retry) {
      ASSERT_TRUE(world.change(kLeft, SpoolChange::retry, id)) << "right behind a failed attempt";
    }
    world.run_for(seconds(30));
    EXPECT_EQ(world.item(kLeft, id).attempts, attempts + (retry ? 2 : 0));
    EXPECT_EQ(world.inbox(kRight).size(), std::size_t{retry});
  }
}

TEST(RelayChange, a_retry_gives_a_file_its_whole_lifetime_again) {
  RelayWorld world(1);
  world.core_config.sender.attempts_max = 1000;
  world.kill(kLeft);
  world.start(kLeft);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(10));
  world.run_for(hours(22));
  ASSERT_TRUE(world.change(kLeft, SpoolChange::retry, id));
  world.run_for(hours(23));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  world.run_for(hours(2));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::expired);
}

// Goal:   a kill at any step of either relay costs time. It never costs a file and never doubles
//         one.
// Method: one transfer is killed before its n-th step, for every n. The relay is back 45 s later.
TEST(RelayKill, at_any_step_of_either_relay_the_file_arrives_once) {
  for (const Side side : {kLeft, kRight}) {
    std::uint64_t kills = 0;
    for (std::uint64_t step = 1;; ++step) {
      SCOPED_TRACE(testing::Message() << "side " << side << " step " << step);
      RelayWorld world(step);
      world.kill_at_step(side, step);
      const auto id = world.send(kLeft, "f", content_of(5000));
      ASSERT_TRUE(world.run_until_delivered(hours(6)));
      EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
      if (HasFailure()) return;
      if (!world.was_killed(side)) break;
      if (world.item(kLeft, id).attempts > 0) ++kills;
      if (step > 60) break;  // by now it kills an idle relay
    }
    EXPECT_GE(kills, 10u);
  }
}

// Goal:   whatever the subnet, the disks and the power do, each file arrives once.
// Method: anything may fail for an hour. Then the faults stop and everything must arrive.
TEST(RelaySwarm, every_file_arrives_once_under_any_mix_of_faults) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    RelayWorld world(seed, {.rejected = 0.1 * rng.uniform(),
                            .repeated = 0.2 * rng.uniform(),
                            .reordered = rng.chance(0.5),
                            .queue_max = 4 + rng.below(20)});
    Files expected[2];
    for (int i = 0; i < 60; ++i) {
      const Side side = rng.chance(0.5) ? kLeft : kRight;
      switch (rng.below(8)) {
        case 0:
          world.kill_at_step(side, 1 + rng.below(30));
          break;
        case 1:
          world.lose_connection(side, seconds(rng.below(120)));
          break;
        case 2:
          world.set_inbox_errno(side, rng.chance(0.5) ? ENOSPC : 0);
          break;
        case 3:
          world.mute(side, rng.chance(0.5));
          break;
        default:
          if (expected[side].size() >= 6) break;
          const std::string name = "f" + std::to_string(i);
          const Bytes content = content_of(rng.below(12000), seed * 100 + i);
          expected[side][name] = content;
          world.send(side, name, content);
          break;
      }
      world.run_for(seconds(rng.below(120)));
    }
    for (const Side side : {kLeft, kRight}) {
      world.set_inbox_errno(side, 0);
      world.mute(side, false);
    }
    world.subnet.rejected = 0;
    ASSERT_TRUE(world.run_until_delivered(hours(20)));
    EXPECT_EQ(world.inbox(kRight), expected[kLeft]);
    EXPECT_EQ(world.inbox(kLeft), expected[kRight]);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace s5066::file_relay
