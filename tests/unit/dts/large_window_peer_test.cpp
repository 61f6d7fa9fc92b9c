// SPDX-License-Identifier: Apache-2.0
// These tests use windows of more than 128 frames with peers that break the rules
// (docs/protocol/large_window.md).
#include <gtest/gtest.h>

#include <set>

#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr modem::Mode k9600{modem::Waveform::stanag4539, 9600, modem::Interleaver::short_};
constexpr Address kUs{0x01020305};
constexpr Address kPeer{0x01020304};
constexpr std::uint8_t kLongData = 9;
constexpr std::uint8_t kLongAck = 10;

pdu::Common from_peer(std::uint8_t offers = 0) {
  pdu::Common common{.eow = {}, .eot_half_s = 1, .destination = kUs, .source = kPeer};
  if (offers != 0) common.eow = pdu::make_extensions(offers);
  return common;
}

constexpr std::uint8_t kOffers = pdu::extension::kAnySegmentLength | pdu::extension::kLargeWindow;
constexpr pdu::DataFlags kWhole{.start = true, .end = true, .in_order = true};

template <typename T>
std::vector<T> sent(test::LoneStation& station) {
  std::vector<T> out;
  for (auto& dpdu : station.take_sent()) {
    if (auto* one = std::get_if<T>(&dpdu)) out.push_back(std::move(*one));
  }
  return out;
}

std::size_t delivered(test::LoneStation& station) {
  std::size_t count = 0;
  for (const auto& action : station.take_actions()) {
    count += std::holds_alternative<CpduIndication>(action);
  }
  return count;
}

TEST(LargeWindowPeer, a_station_that_offers_nothing_does_not_recognise_types_9_and_10) {
  test::LoneStation station({.address = kUs, .offer_extensions = false});
  station.made(kPeer);
  station.hear(
      {pdu::LongData{from_peer(), kWhole, {0}, {1}}, pdu::LongAckOnly{from_peer(), {{0}, {0xFF}}}});
  station.run_for(10s);
  const auto warnings = sent<pdu::Warning>(station);
  ASSERT_EQ(warnings.size(), 2u);
  for (const auto& warning : warnings) EXPECT_EQ(warning.reason, 0);
  EXPECT_EQ(warnings[0].received_type, kLongData);
  EXPECT_EQ(warnings[1].received_type, kLongAck);
  EXPECT_EQ(delivered(station), 0u);
}

TEST(LargeWindowPeer, replayed_frames_are_acknowledged_again_and_delivered_once) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  for (int round = 0; round < 20; ++round) {
    std::vector<pdu::Dpdu> all;
    for (std::uint16_t n = 0; n < 200; ++n) {
      all.push_back(pdu::LongData{from_peer(), kWhole, {n}, {1}});
    }
    station.hear(all);
    station.run_for(10s);
    EXPECT_EQ(delivered(station), round == 0 ? 200u : 0u);
    const auto acks = sent<pdu::LongAckOnly>(station);
    ASSERT_FALSE(acks.empty());
    EXPECT_EQ(acks[0].ack, (pdu::LongAck{{200}, {}}));
  }
  EXPECT_EQ(station.counters()[Counter::frames_duplicate], 19u * 200);
}

TEST(LargeWindowPeer, the_form_of_an_acknowledgement_is_that_of_the_frames) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  for (std::uint16_t n = 0; n < 600; ++n) {
    SCOPED_TRACE(n);
    const bool is_long = n / 3 % 2 == 1;
    if (is_long) {
      station.hear({pdu::LongData{from_peer(), kWhole, {n}, {1}}});
    } else {
      station.hear({pdu::Data{from_peer(), kWhole, short_number({n}), {1}}});
    }
    station.run_for(2s);
    ASSERT_EQ(delivered(station), 1u);
    const auto all = station.take_sent();
    ASSERT_FALSE(all.empty());
    const LongFrameNumber next{static_cast<std::uint16_t>(n + 1)};
    if (is_long) {
      ASSERT_EQ(std::get<pdu::LongAckOnly>(all[0]).ack.rx_lwe, next);
    } else {
      ASSERT_EQ(std::get<pdu::AckOnly>(all[0]).ack.rx_lwe, short_number(next));
    }
  }
}

TEST(LargeWindowPeer, frames_and_acknowledgements_outside_are_neither_taken_nor_answered) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  Rng rng(1);
  for (int round = 0; round < 3; ++round) {
    const auto wild = static_cast<std::uint16_t>(4096 + rng.below(57000));
    station.hear({pdu::LongData{from_peer(), kWhole, {wild}, {1}},
                  pdu::LongAckOnly{from_peer(), {{wild}, Bytes(512, 0xFF)}}});
    station.run_for(4s);
    EXPECT_TRUE(sent<pdu::LongAckOnly>(station).empty());
  }
  EXPECT_EQ(station.counters()[Counter::frames_out_of_window], 3u);
  EXPECT_EQ(station.counters()[Counter::windows_resynced], 1u);
  EXPECT_EQ(delivered(station), 0u);
}

TEST(LargeWindowPeer, a_damaged_long_acknowledgement_acknowledges_nothing) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = {1}});
  station.run_for(4s);
  ASSERT_EQ(sent<pdu::Data>(station).size(), 1u);
  Bytes frame;
  pdu::encode(pdu::LongAckOnly{from_peer(), {{1}, {0}}}, frame);
  frame.back() ^= 1;
  station.hear(frame);
  for (const auto& action : station.take_actions()) {
    EXPECT_FALSE(std::holds_alternative<CpduConfirm>(action));
  }
  frame.back() ^= 1;
  station.hear(frame);
  std::size_t confirmed = 0;
  for (const auto& action : station.take_actions()) {
    confirmed += std::holds_alternative<CpduConfirm>(action);
  }
  EXPECT_EQ(confirmed, 1u);
}

// Goal:   a peer that uses EOW 14 for something else, or has forgotten its offer, still gets all
//         data.
// Method: the peer offers, and warns of the first type 9.
TEST(LargeWindowPeer, who_warns_of_type_9_is_sent_128_frames_at_most_after_a_full_reset) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  station.made(kPeer);
  station.hear({pdu::Data{from_peer(kOffers), kWhole, {0}, {1}}});
  for (std::uint64_t i = 0; i < 300; ++i) {
    station.request({.id = {i}, .destination = kPeer, .cpdu = Bytes(100)});
  }
  station.run_for(40s);
  EXPECT_GT(sent<pdu::LongData>(station).size(), 128u);
  station.hear({pdu::Warning{from_peer(), kLongData, 0}});
  std::vector<pdu::Reset> resets;
  for (int s = 0; s < 20 && resets.empty(); ++s) {
    station.run_for(1s);
    resets = sent<pdu::Reset>(station);
  }
  ASSERT_FALSE(resets.empty());
  EXPECT_TRUE(resets[0].full_reset);
  station.hear({pdu::Reset{.common = from_peer(kOffers), .ack = true}});
  std::uint16_t next = 0;
  std::size_t confirmed = 0;
  for (int turn = 0; turn < 10 && confirmed < 300; ++turn) {
    station.run_for(20s);
    const auto all = station.take_sent();
    std::set<std::uint8_t> frames;  // polls repeat some frames
    for (const auto& dpdu : all) {
      EXPECT_FALSE(std::holds_alternative<pdu::LongData>(dpdu));
      if (const auto* data = std::get_if<pdu::Data>(&dpdu)) frames.insert(data->number.value);
      if (const auto* data = std::get_if<pdu::DataAck>(&dpdu)) frames.insert(data->number.value);
    }
    EXPECT_LE(frames.size(), 128u);
    next = static_cast<std::uint16_t>(next + frames.size());
    station.hear({pdu::AckOnly{from_peer(kOffers), {short_number({next}), {}}}});
    for (const auto& action : station.take_actions()) {
      confirmed += std::holds_alternative<CpduConfirm>(action);
    }
  }
  EXPECT_EQ(confirmed, 300u);
}

/// The peer has offered everything, and 300 frames wait for it.
void fill_window(test::LoneStation& station) {
  station.hear({pdu::Data{from_peer(kOffers), kWhole, {0}, {1}}});
  for (std::uint64_t i = 0; i < 300; ++i) {
    station.request({.id = {i}, .destination = kPeer, .cpdu = Bytes(100)});
  }
}

// Goal:   a peer that becomes silent when type 9 comes is sent no type 9 on a third link. Until
//         then one lost link alone does not count against it.
// Method: the peer offers, answers nothing, and the link is made again. At last it sends a type 9
//         itself.
TEST(LargeWindowPeer, who_is_silent_after_type_9_on_two_links_is_sent_no_more_of_it) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  for (const std::size_t link : {0u, 1u, 2u, 3u, 4u, 5u}) {
    SCOPED_TRACE(link);
    station.made(kPeer);
    if (link == 4) station.hear({pdu::LongData{from_peer(kOffers), kWhole, {0}, {1}}});
    if (link == 4) station.terminated(kPeer);
    if (link == 4) continue;
    fill_window(station);
    station.run_for(20min);
    EXPECT_FALSE(station.dts().connection_status(kPeer).has_value());
    const bool is_sent = !sent<pdu::LongData>(station).empty();
    EXPECT_EQ(is_sent, link < 2 || link == 5);
  }
}

// Goal:   two links that were lost by chance cost the large window for an hour and not for ever. A
//         peer that does not know type 9 pays with one link an hour.
TEST(LargeWindowPeer, silence_after_type_9_counts_for_an_hour) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  const auto is_sent_type_9 = [&station] {
    station.made(kPeer);
    fill_window(station);
    station.run_for(20min);
    EXPECT_FALSE(station.dts().connection_status(kPeer).has_value());
    return !sent<pdu::LongData>(station).empty();
  };
  EXPECT_TRUE(is_sent_type_9());
  EXPECT_TRUE(is_sent_type_9());
  const Instant lost_by = station.now();
  EXPECT_FALSE(is_sent_type_9());
  EXPECT_FALSE(is_sent_type_9());
  EXPECT_LT(station.now(), lost_by + kLongUnansweredWait - 15min);
  station.run_for(lost_by + kLongUnansweredWait - station.now());
  EXPECT_TRUE(is_sent_type_9());
  EXPECT_FALSE(is_sent_type_9());
}

// Goal:   a warning is not chance, so it counts as long as the peer is known.
TEST(LargeWindowPeer, who_warned_of_type_9_is_sent_none_after_an_hour_either) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  for (const bool warned : {false, true}) {
    station.made(kPeer);
    fill_window(station);
    station.run_for(40s);
    EXPECT_EQ(sent<pdu::LongData>(station).empty(), warned);
    if (!warned) station.hear({pdu::Warning{from_peer(), kLongData, 0}});
    station.terminated(kPeer);
    station.run_for(kLongUnansweredWait + 1h);
    station.take_sent();
  }
}

TEST(LargeWindowPeer, who_warns_of_type_9_is_sent_none_on_the_next_link_either) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  for (const bool warned : {false, true}) {
    station.made(kPeer);
    fill_window(station);
    station.run_for(40s);
    EXPECT_EQ(sent<pdu::LongData>(station).empty(), warned);
    if (!warned) station.hear({pdu::Warning{from_peer(), kLongData, 0}});
    station.terminated(kPeer);
    station.run_for(10s);
    station.take_sent();
  }
}

// Goal:   a withdrawn offer counts at once, whatever is outstanding.
TEST(LargeWindowPeer, an_offer_taken_back_ends_type_9_by_a_full_reset) {
  test::LoneStation station({.address = kUs, .mode = k9600, .segment_octets = 100});
  station.made(kPeer);
  fill_window(station);
  station.run_for(40s);
  ASSERT_GT(sent<pdu::LongData>(station).size(), 128u);
  pdu::LongAckOnly ack{from_peer(), {{0}, {}}};
  ack.common.eow = pdu::make_extensions(pdu::extension::kAnySegmentLength);
  station.hear({ack});
  station.run_for(20s);
  const auto all = station.take_sent();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const pdu::Dpdu& dpdu) {
    const auto* reset = std::get_if<pdu::Reset>(&dpdu);
    return reset && reset->full_reset;
  }));
  EXPECT_FALSE(std::any_of(all.begin(), all.end(), [](const pdu::Dpdu& dpdu) {
    return std::holds_alternative<pdu::LongData>(dpdu);
  }));
}

}  // namespace
}  // namespace s5066::dts
