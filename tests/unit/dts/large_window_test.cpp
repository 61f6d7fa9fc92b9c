// SPDX-License-Identifier: Apache-2.0
// These tests use windows of more than 128 frames, types 9 and 10 (docs/protocol/large_window.md).
#include <gtest/gtest.h>

#include "s5066d/dts/arq_receiver.h"
#include "s5066d/dts/arq_sender.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr modem::Mode k9600{modem::Waveform::stanag4539, 9600, modem::Interleaver::short_};
constexpr Address kPeer{0x01020304};
constexpr std::uint8_t kLongData = 9;
constexpr std::uint8_t kLongAck = 10;

LongFrameNumber number(int n) {
  return {static_cast<std::uint16_t>(n)};
}

// --- Windows -------------------------------------------------------------------------------------

TEST(LargeWindow, the_receiver_decides_as_by_counting_in_whole_numbers) {
  constexpr int kW = kLargeWindowMax;
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    const int lwe = 60000 + static_cast<int>(rng.below(10000));
    RxWindow window(number(lwe));
    int uwe = lwe - 1;
    if (rng.chance(0.7)) {
      uwe = lwe + 1 + static_cast<int>(rng.below(kW - 2));
      window.on_received(number(uwe));
    }
    const int n = lwe - 2 * kW + static_cast<int>(rng.below(4 * kW));
    pdu::DataFlags flags;
    flags.uwe = rng.chance(0.5);
    flags.lwe = rng.chance(0.5);
    const bool in_sync =
        uwe - kW + 1 <= n && n < lwe + kW && (!flags.uwe || uwe <= n) && (!flags.lwe || n <= lwe);
    const auto place = window.place(number(n), flags, kLargeWindowMax);
    if (!in_sync) {
      ASSERT_EQ(place, RxWindow::Place::out_of_window) << lwe << ' ' << uwe << ' ' << n;
    } else if (n < lwe || n == uwe) {
      ASSERT_EQ(place, RxWindow::Place::duplicate) << lwe << ' ' << uwe << ' ' << n;
    } else {
      ASSERT_EQ(place, RxWindow::Place::fresh) << lwe << ' ' << uwe << ' ' << n;
    }
  }
}

TEST(LargeWindow, the_4096th_frame_is_fresh_and_the_next_is_outside) {
  RxWindow window(number(65000));
  EXPECT_EQ(window.place(number(65000 + 4095), {}, kLargeWindowMax), RxWindow::Place::fresh);
  EXPECT_EQ(window.place(number(65000 + 4096), {}, kLargeWindowMax),
            RxWindow::Place::out_of_window);
  window.on_received(number(65000 + 4095));
  EXPECT_EQ(window.long_ack(512).selective.size(), 512u);
  EXPECT_EQ(window.long_ack(100).selective.size(), 100u);
  EXPECT_EQ(window.ack().selective.size(), 16u);
}

TEST(LargeWindow, one_octet_means_the_nearest_of_the_frames_it_can_mean) {
  for (const int lwe : {0, 100, 255, 256, 1000, 65535}) {
    const RxWindow window(number(lwe));
    for (int n = lwe - 128; n < lwe + 128; ++n) {
      EXPECT_EQ(window.lengthened(short_number(number(n))), number(n));
    }
  }
}

TEST(LargeWindow, the_sender_takes_any_acknowledgement_of_what_is_out_and_no_other) {
  TxWindow window(kLargeWindowMax, number(64000));
  for (unsigned i = 0; i < kLargeWindowMax; ++i) {
    EXPECT_EQ(window.needs_long_numbers(), i > 128);
    window.push({.segment = Bytes(1)});
  }
  EXPECT_TRUE(window.full());
  EXPECT_TRUE(window.in_sync({.rx_lwe = number(64000), .selective = Bytes(512, 0x7F)}));
  EXPECT_TRUE(window.in_sync({.rx_lwe = number(64000 + 4096), .selective = {}}));
  EXPECT_FALSE(window.in_sync({.rx_lwe = number(64000 + 4097), .selective = {}}));
  EXPECT_FALSE(window.in_sync({.rx_lwe = number(63999), .selective = {}}));
  EXPECT_FALSE(window.in_sync({.rx_lwe = number(64001), .selective = Bytes(512, 0xFF)}));
  // An acknowledgement of type 1 cannot be more than 128 frames ahead, whoever sent it.
  EXPECT_TRUE(window.lengthened({.rx_lwe = short_number(number(64128)), .selective = {}}));
  EXPECT_FALSE(window.lengthened({.rx_lwe = short_number(number(64129)), .selective = {}}));
  EXPECT_EQ(window.acknowledge({.rx_lwe = number(64000 + 3968), .selective = {}}).size(), 3968u);
  EXPECT_FALSE(window.needs_long_numbers());
}

// Goal:   numbers wrap, windows open and close beyond 128 frames, and every C_PDU comes once and in
//         order, whatever is lost. Long numbers are used only when one octet is not enough.
// Method: sender and receiver run alone with 140,000 C_PDUs of one frame or of six. Each D_PDU is
//         lost with a probability that changes now and then.
TEST(LargeWindow, under_loss_all_arrives_once_and_in_order_over_two_wraps) {
  constexpr std::uint64_t kCpdus = 40'000;
  Rng rng(3);
  Counters counters;
  ArqSender sender({.segment_octets = 150,
                    .window = kWindowMax,
                    .queue_octets_max = 1'000'000,
                    .large_window = kLargeWindowMax},
                   counters);
  ArqReceiver receiver(1000, 1'000'000, counters);
  sender.set_large_window(true);
  std::uint64_t requested = 0;
  std::uint64_t confirmed = 0;
  std::uint64_t received = 0;
  std::size_t longs = 0;
  std::size_t shorts = 0;
  double loss = 0;
  bool ack_owed = false;
  std::uint64_t queue = 1500;
  while (confirmed < kCpdus) {
    if (rng.chance(0.1)) loss = rng.chance(0.3) ? 0 : 0.8 * rng.uniform();
    if (rng.chance(0.05)) queue = rng.chance(0.5) ? 30 : 1500;  // lets the window close again
    while (requested < std::min(kCpdus, confirmed + queue)) {
      Bytes cpdu;
      put_u32(cpdu, static_cast<std::uint32_t>(requested));
      cpdu.resize(requested % 2 == 0 ? 150 : 900);
      ASSERT_TRUE(sender.request({.id = {requested++}, .cpdu = cpdu}));
    }
    IntervalBudget budget(k9600, 120s);
    BurstBuilder burst;
    sender.fill({}, std::nullopt, budget, burst);
    sender.on_sent();
    const bool is_long = sender.uses_long_numbers();
    for (const auto& dpdu : burst.dpdus()) {
      ASSERT_EQ(std::holds_alternative<pdu::LongData>(dpdu), is_long);
      (is_long ? longs : shorts) += 1;
      if (rng.chance(loss)) continue;
      const bool ok = !rng.chance(loss / 4);
      ack_owed = true;
      if (const auto* data = std::get_if<pdu::Data>(&dpdu)) {
        ASSERT_TRUE(receiver.on_data(data->number, data->flags, data->segment, ok));
      } else {
        const auto& data9 = std::get<pdu::LongData>(dpdu);
        ASSERT_TRUE(receiver.on_data(data9.number, data9.flags, data9.segment, ok));
      }
    }
    while (const auto cpdu = receiver.poll_cpdu()) {
      ASSERT_EQ(get_u32(*cpdu, 0), received);
      ++received;
    }
    if (!ack_owed || rng.chance(loss)) continue;
    ack_owed = false;
    ASSERT_TRUE(receiver.wants_long_ack() ? sender.on_ack(receiver.long_ack(512)).fits
                                          : sender.on_ack(receiver.ack()).fits);
    while (const auto outcome = sender.poll_outcome()) {
      ASSERT_EQ(std::get<CpduConfirm>(*outcome).id.value, confirmed);
      ++confirmed;
    }
  }
  EXPECT_EQ(received, kCpdus);
  EXPECT_GT(longs, 50'000u);
  EXPECT_GT(shorts, 1000u);
}

TEST(LargeWindow, no_more_c_pdus_are_out_than_the_receiver_knows_again) {
  Counters counters;
  ArqSender sender({.segment_octets = 1000,
                    .window = kWindowMax,
                    .queue_octets_max = 100'000,
                    .large_window = kLargeWindowMax},
                   counters);
  sender.set_large_window(true);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(sender.request({.id = {i}, .destination = kPeer, .cpdu = {1}}));
  }
  IntervalBudget budget(k9600, 127s);
  BurstBuilder burst;
  sender.fill({}, std::nullopt, budget, burst);
  EXPECT_EQ(burst.dpdus().size(), kCpdusOutMax);
  EXPECT_TRUE(sender.on_ack(pdu::LongAck{.rx_lwe = {10}, .selective = {}}).fits);
  IntervalBudget next(k9600, 127s);
  BurstBuilder again;
  sender.fill({}, std::nullopt, next, again);
  EXPECT_EQ(again.dpdus().size(), kCpdusOutMax);
}

TEST(LargeWindow, what_waits_for_older_frames_is_bounded_and_the_oldest_is_always_taken) {
  Counters counters;
  ArqReceiver receiver(4000, 1000, counters);
  const pdu::DataFlags whole{.start = true, .end = true, .in_order = true};
  for (int n = 1; n <= 10; ++n) EXPECT_TRUE(receiver.on_data(number(n), whole, Bytes(100), true));
  EXPECT_EQ(counters[Counter::frames_not_held], 0u);
  EXPECT_TRUE(receiver.on_data(number(11), whole, Bytes(1), true));
  EXPECT_EQ(counters[Counter::frames_not_held], 1u);
  EXPECT_EQ(receiver.long_ack(512).selective, (Bytes{0xFF, 0x03}));  // 11 was heard but not taken
  EXPECT_TRUE(receiver.on_data(number(0), whole, Bytes(1023), true));
  int delivered = 0;
  while (receiver.poll_cpdu()) ++delivered;
  EXPECT_EQ(delivered, 11);
  EXPECT_TRUE(receiver.on_data(number(11), whole, Bytes(1), true));
  EXPECT_TRUE(receiver.poll_cpdu());
}

// --- Agreement about the large window ------------------------------------------------------------

/// Sends 600 frames in either direction.
void exchange_600_frames(DtsWorld& world) {
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 600; ++i) {
    world.send(0, 1, i, pattern(100, i));
    world.send(1, 0, 1000 + i, pattern(100, 1000 + i));
  }
  world.run_for(1h);
  for (const std::size_t at : {0, 1}) {
    ASSERT_EQ(world[at].received.size(), 600u);
    const std::uint64_t first = at == 0 ? 1000 : 0;
    for (std::uint64_t i = 0; i < 600; ++i) {
      ASSERT_EQ(world[at].received[i].cpdu, pattern(100, first + i));
    }
    EXPECT_EQ(world[at].confirmed.size(), 600u);
    EXPECT_EQ(world[at].counters[Counter::windows_resynced], 0u);
    EXPECT_TRUE(world[at].warnings.empty());
  }
  expect_clean_air(world);
}

TEST(LargeWindow, where_both_offer_it_more_than_128_frames_go_out_at_a_time) {
  DtsWorld world(2, {}, 1, {.mode = k9600, .segment_octets = 100});
  exchange_600_frames(world);
  for (const std::size_t at : {0, 1}) {
    EXPECT_GT(world[at].dpdus_sent[kLongData], 200u);
    EXPECT_GT(world[at].dpdus_sent[kLongAck], 0u);
  }
}

TEST(LargeWindow, where_one_or_none_offers_it_the_air_carries_nothing_of_it) {
  for (const std::size_t plain : {1u, 2u}) {
    SCOPED_TRACE(plain);
    DtsWorld world(2, {}, 1, {.mode = k9600, .segment_octets = 100}, plain);
    exchange_600_frames(world);
    for (const std::size_t at : {0, 1}) {
      EXPECT_EQ(world[at].dpdus_sent[kLongData], 0u);
      EXPECT_EQ(world[at].dpdus_sent[kLongAck], 0u);
    }
  }
}

TEST(LargeWindow, with_128_frames_out_the_air_carries_nothing_of_it) {
  DtsWorld world(2, {}, 1, {.mode = k9600, .segment_octets = 100, .large_window = 128});
  exchange_600_frames(world);
  for (const std::size_t at : {0, 1}) {
    EXPECT_EQ(world[at].dpdus_sent[kLongData], 0u);
    EXPECT_EQ(world[at].dpdus_sent[kLongAck], 0u);
  }
}

// --- Losses and lost agreement -------------------------------------------------------------------

/// Expects all of `count` C_PDUs in each direction, once and in order.
void expect_all(DtsWorld& world, std::uint64_t count) {
  for (const std::size_t at : {0, 1}) {
    const std::uint64_t first = at == 0 ? 10'000 : 0;
    EXPECT_EQ(world[at].confirmed.size(), count);
    EXPECT_TRUE(world[at].rejected.empty());
    ASSERT_EQ(world[at].received.size(), count);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(world[at].received[i].cpdu, pattern(150, first + i));
    }
  }
  expect_clean_air(world);
}

void offer_both_ways(DtsWorld& world, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    world.send(0, 1, i, pattern(150, i));
    world.send(1, 0, 10'000 + i, pattern(150, 10'000 + i));
  }
}

// Method: a C_PDU has three frames, so that numbers wrap their lower octet many times.
TEST(LargeWindow, under_any_losses_all_arrives_once_and_in_order) {
  std::size_t longs = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng draw(seed);
    const sim::MediumOptions medium{.frame_loss = 0.5 * draw.uniform(),
                                    .loss_run = 1 + 5 * draw.uniform(),
                                    .loss_factor_first = 2 * draw.uniform(),
                                    .missed_sync = 0.2 * draw.uniform(),
                                    .fades_per_burst = 0.3 * draw.uniform()};
    Config config{.mode = k9600, .segment_octets = 50};
    config.replies_missed_max = 100;
    DtsWorld world(2, medium, seed, config);
    world.connect(0, 1);
    offer_both_ways(world, 1000);
    world.run_for(6h);
    expect_all(world, 1000);
    longs += world[0].dpdus_sent[kLongData] + world[1].dpdus_sent[kLongData];
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(longs, 20'000u);  // with some seeds every offer is lost
}

// Goal:   if only short frames get through, no acknowledgement grows too long to get through.
// Method: bit errors begin at the start, or when the window is wide open. Without the large window
//         the link lives.
TEST(LargeWindow, bit_errors_that_a_window_of_128_frames_survives_cost_no_link) {
  for (const double octet_loss : {0.004, 0.008, 0.012}) {
    for (const bool from_the_start : {true, false}) {
      for (const unsigned large_window : {128u, kLargeWindowMax}) {
        SCOPED_TRACE(std::to_string(octet_loss) + (from_the_start ? " at once, " : " later, ") +
                     std::to_string(large_window));
        sim::MediumOptions medium{.octet_loss = from_the_start ? octet_loss : 0};
        DtsWorld world(2, medium, 7, {.mode = k9600, .large_window = large_window});
        world.connect(0, 1);
        for (std::uint64_t i = 0; i < 3000; ++i) world.send(0, 1, i, pattern(150, i));
        world.run_for(100s);
        medium.octet_loss = octet_loss;
        world.medium().set_options(medium);
        world.run_for(6h);
        EXPECT_TRUE(world[0].lost.empty());
        EXPECT_EQ(world[0].confirmed.size(), 3000u);
      }
    }
  }
}

// Goal:   a station that forgets windows and agreement while hundreds of frames are out does not
//         stop the other, and nothing is lost.
TEST(LargeWindow, a_station_that_forgets_everything_is_brought_back_by_resets) {
  for (int seconds = 15; seconds < 60; seconds += 5) {
    for (const std::size_t forgets : {0u, 1u}) {
      SCOPED_TRACE(std::to_string(seconds) + " s, station " + std::to_string(forgets));
      DtsWorld world(2, {.frame_loss = 0.1}, 5, {.mode = k9600, .segment_octets = 50});
      world.connect(0, 1);
      const std::size_t stays = 1 - forgets;
      const std::uint64_t first = stays == 0 ? 0 : 10'000;
      for (std::uint64_t i = 0; i < 1000; ++i) {
        world.send(stays, forgets, first + i, pattern(150, first + i));
      }
      world.run_for(std::chrono::seconds(seconds));
      world[forgets].dts->on_connection_terminated(world.now(), DtsWorld::address(stays));
      world.made(forgets, stays);
      world.run_for(2h);
      EXPECT_EQ(world[stays].confirmed.size(), 1000u);
      EXPECT_TRUE(world[stays].lost.empty());
      std::map<Bytes, std::size_t> times;
      for (const auto& indication : world[forgets].received) ++times[indication.cpdu];
      EXPECT_EQ(times.size(), 1000u);
      EXPECT_GT(world[stays].dpdus_sent[kLongData], 300u);
    }
  }
}

// Goal:   type 3 holds only the lower octet of a number, and both sides agree on the upper one.
// Method: the numbers are above 256 when one side forgets. A single exchange must be enough.
TEST(LargeWindow, one_exchange_is_enough_where_numbers_have_two_octets) {
  DtsWorld world(2, {}, 5, {.mode = k9600, .segment_octets = 100});
  exchange_600_frames(world);
  world[1].received.clear();
  world[1].dts->on_connection_terminated(world.now(), DtsWorld::address(0));
  world.made(1, 0);
  for (std::uint64_t i = 0; i < 600; ++i) world.send(0, 1, i, pattern(100, i));
  world.run_for(1h);
  EXPECT_EQ(world[0].confirmed.size(), 1200u);
  EXPECT_EQ(world[1].received.size(), 600u);
  EXPECT_EQ(
      world[0].counters[Counter::windows_resynced] + world[1].counters[Counter::windows_resynced],
      1u);
}

}  // namespace
}  // namespace s5066::dts
