// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/streams_core.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "tests/unit/streams/virtual_link.h"

namespace s5066::streams {
namespace {

using namespace std::chrono_literals;
using test::address;
using test::VirtualLink;

/// U_PDU of a far end with this epoch.
Bytes updu_of(std::uint32_t epoch, const std::vector<Frame>& frames, std::uint32_t to = 0) {
  Bytes updu;
  encode(StreamsHeader{.from_epoch = epoch, .to_epoch = to}, updu);
  for (const Frame& frame : frames) encode(frame, updu);
  return updu;
}

// --- Opening, order, closing ---------------------------------------------------------------------

TEST(Streams, the_first_data_goes_with_the_opening) {
  VirtualLink link(1);
  link.open(0, 1, {.to_server = 200, .to_client = 0});
  ASSERT_EQ(link.sent(0).size(), 1u);
  const auto pdu = decode_streams(link.sent(0)[0].updu);
  ASSERT_TRUE(pdu.ok());
  ASSERT_EQ(pdu->frames.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<OpenFrame>(pdu->frames[0]));
  const auto& data = std::get<DataFrame>(pdu->frames[1]);
  EXPECT_EQ(data.offset, 0u);
  EXPECT_TRUE(data.end);
  EXPECT_TRUE(pdu->header.answer_wanted);
  link.run_for(9s);
  EXPECT_TRUE(link.has_server(0) && link.server(0).ended);
}

TEST(Streams, a_direction_may_end_long_before_the_other) {
  VirtualLink link(2);
  const auto stream = link.open(0, 1, {.to_server = 10, .to_client = 200'000});
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(stream));
  EXPECT_LT(link.server(stream).ended_at, link.client(stream).ended_at);
  EXPECT_EQ(link.wrong_octets, 0u);
  link.run_for(1min);
  EXPECT_EQ(link.core(0).counters()[StreamCounter::completed], 1u);
  EXPECT_EQ(link.core(1).counters()[StreamCounter::completed], 1u);
  EXPECT_TRUE(link.core(0).streams(link.now()).empty());
  EXPECT_TRUE(link.core(1).streams(link.now()).empty());
}

TEST(Streams, small_data_goes_ahead_of_a_bulk_stream) {
  VirtualLink link(3);
  link.open(0, 1, {.to_server = 10'000'000, .to_client = 0});
  link.run_for(1min);
  const std::size_t before = link.sent(0).size();
  link.open(0, 1, {.to_server = 200, .to_client = 200});
  ASSERT_GT(link.sent(0).size(), before);
  EXPECT_EQ(link.sent(0)[before].priority, 6);
  EXPECT_LT(link.sent(0)[before].updu.size(), 300u);
  link.run_for(20s);
  EXPECT_TRUE(link.done(1));
  EXPECT_FALSE(link.done(0));
}

TEST(Streams, bulk_data_with_the_node_is_short_while_there_is_a_conversation) {
  StreamsCore core({}, 1);
  Instant now(1s);
  core.on_sis(now, gateways::SisBound{2048});
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
  now += 1s;
  const auto talk = core.request_open(now, address(1), {"host", 23}, false);
  const auto bulk = core.request_open(now, address(1), {"host", 80}, false);
  ASSERT_TRUE(talk.ok() && bulk.ok());
  core.request_write(now, *bulk, Bytes(60'000, 'x'));
  for (int round = 0; round < 4; ++round) {
    core.request_write(now, *talk, Bytes(100, 'x'));
    std::size_t updus = 0;
    std::vector<gateways::SisRequestId> ids;
    while (auto action = core.poll_action()) {
      const auto* const sent = std::get_if<gateways::SisUnidata>(&*action);
      if (sent == nullptr) continue;
      ids.push_back(sent->id);
      updus += sent->priority == 4;
    }
    EXPECT_LE(updus, 1u) << round;
    now += 30s;  // of which the turnaround is most
    for (const auto id : ids) core.on_sis(now, gateways::SisConfirmed{id});
  }
}

/// Counts the U_PDUs that a core hands over, by priority.
std::map<int, std::vector<gateways::SisUnidata>> handed_over(StreamsCore& core) {
  std::map<int, std::vector<gateways::SisUnidata>> sent;
  while (auto action = core.poll_action()) {
    auto* const updu = std::get_if<gateways::SisUnidata>(&*action);
    if (updu != nullptr) sent[updu->priority].push_back(std::move(*updu));
  }
  return sent;
}

/// Returns the acknowledgement by which the peer takes all data of the U_PDUs.
Bytes taken(const std::map<int, std::vector<gateways::SisUnidata>>& sent) {
  std::map<std::uint32_t, std::uint64_t> received;
  for (const auto& [priority, updus] : sent) {
    for (const auto& updu : updus) {
      const auto pdu = decode_streams(updu.updu);
      if (!pdu) continue;
      for (const Frame& frame : pdu->frames) {
        const auto* const data = std::get_if<DataFrame>(&frame);
        if (data == nullptr) continue;
        std::uint64_t& end = received[data->stream.number];
        end = std::max(end, data->offset + data->octets.size());
      }
    }
  }
  std::vector<Frame> frames;
  for (const auto& [number, end] : received) {
    frames.emplace_back(AckFrame{{false, number}, false, end, end + 65'536});
  }
  return updu_of(5, frames);
}

TEST(Streams, bulk_data_waits_for_the_answer_to_small_data_but_not_for_ever) {
  StreamsCore core({}, 1);
  Instant now(100s);
  core.on_sis(now, gateways::SisBound{2048});
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
  now += 1s;
  const auto talk = core.request_open(now, address(1), {"host", 23}, false);
  const auto bulk = core.request_open(now, address(1), {"host", 80}, false);
  ASSERT_TRUE(talk.ok() && bulk.ok());
  core.request_write(now, *talk, Bytes(100, 'x'));
  core.request_write(now, *bulk, Bytes(60'000, 'x'));
  for (const auto& [priority, updus] : handed_over(core)) {
    for (const auto& updu : updus) core.on_sis(now + 4s, gateways::SisConfirmed{updu.id});
  }
  now += 4s;
  auto sent = handed_over(core);
  core.request_write(now, *talk, Bytes(100, 'x'));
  auto small = handed_over(core);
  ASSERT_EQ(small[6].size(), 1u);
  for (const auto& updu : sent[4]) core.on_sis(now + 4s, gateways::SisConfirmed{updu.id});
  now += 4s;
  EXPECT_TRUE(handed_over(core)[4].empty());  // the small data is with the node
  core.on_sis(now, gateways::SisConfirmed{small[6][0].id});
  EXPECT_TRUE(handed_over(core)[4].empty());  // its answer has not come
  ASSERT_TRUE(core.next_deadline().has_value());
  now = *core.next_deadline();
  EXPECT_LE(now, Instant(120s));
  core.on_deadline(now);
  sent = handed_over(core);
  EXPECT_FALSE(sent[4].empty());
  for (const auto& updu : sent[4]) core.on_sis(now, gateways::SisConfirmed{updu.id});

  // Small data that is never confirmed does not stop the bulk stream.
  core.request_write(now, *talk, Bytes(100, 'x'));
  EXPECT_EQ(handed_over(core)[6].size(), 1u);
  std::size_t went = 0;
  for (const Instant end = now + 10min; now < end; now += 10s) {
    core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
    core.on_deadline(now + 1s);
    sent = handed_over(core);
    for (const auto& updu : sent[4]) {
      core.on_sis(now + 1s, gateways::SisConfirmed{updu.id});
      ++went;
    }
  }
  EXPECT_GT(went, 4u);
}

TEST(Streams, bulk_data_with_the_node_takes_a_short_time_while_a_small_stream_is_open) {
  constexpr double kOctetsPerSecond = 150;
  StreamsCore core({}, 1);
  Instant now(100s);
  core.on_sis(now, gateways::SisBound{2048});
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
  now += 1s;
  const auto talk = core.request_open(now, address(1), {"host", 23}, false);
  const auto bulk = core.request_open(now, address(1), {"host", 80}, false);
  ASSERT_TRUE(talk.ok() && bulk.ok());
  core.request_write(now, *talk, Bytes(100, 'x'));
  core.request_write(now, *bulk, Bytes(60'000, 'x'));
  // All that is handed over is confirmed after one transmission and 3 s for the turn of the link.
  const auto transmit = [&] {
    std::size_t octets = 0;
    std::vector<gateways::SisRequestId> ids;
    core.request_write(now, *bulk, Bytes(10'000, 'x'));
    const auto sent = handed_over(core);
    for (const auto& [priority, updus] : sent) {
      for (const auto& updu : updus) {
        octets += updu.updu.size();
        ids.push_back(updu.id);
      }
    }
    now += 3s + from_seconds(static_cast<double>(octets) / kOctetsPerSecond);
    core.on_deadline(now);
    for (const auto id : ids) core.on_sis(now, gateways::SisConfirmed{id});
    core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, taken(sent)});
    now += 1s;
    return octets;
  };
  transmit();
  now += 3min;  // the conversation is over, and the small stream is open
  std::size_t longest = 0;
  for (int i = 0; i < 8; ++i) longest = std::max(longest, transmit());
  EXPECT_LE(longest, 20 * kOctetsPerSecond);
  EXPECT_GE(longest, 10 * kOctetsPerSecond);
  now += 10min;
  for (int i = 0; i < 8; ++i) longest = std::max(longest, transmit());
  EXPECT_GT(longest, 25 * kOctetsPerSecond);
}

// A limit by a rate that counts the turnaround would shrink from turn to turn.
TEST(Streams, bulk_data_has_its_part_where_the_turnaround_is_longer_than_the_time_for_it) {
  constexpr double kOctetsPerSecond = 150;
  StreamsCore core({}, 1);
  Instant now(100s);
  core.on_sis(now, gateways::SisBound{2048});
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
  now += 1s;
  const auto talk = core.request_open(now, address(1), {"host", 23}, false);
  const auto bulk = core.request_open(now, address(1), {"host", 80}, false);
  ASSERT_TRUE(talk.ok() && bulk.ok());
  core.request_write(now, *talk, Bytes(100, 'x'));
  core.request_write(now, *bulk, Bytes(400'000, 'x'));
  const Instant begin = now;
  Instant written = now;
  std::size_t octets_of_bulk = 0;
  while (now < begin + 30min) {
    if (now >= written + 9min) {
      core.request_write(now, *talk, Bytes(100, 'x'));
      written = now;
    }
    std::size_t octets = 0;
    std::vector<gateways::SisRequestId> ids;
    core.request_write(now, *bulk, Bytes(10'000, 'x'));
    const auto sent = handed_over(core);
    for (const auto& [priority, updus] : sent) {
      for (const auto& updu : updus) {
        octets += updu.updu.size();
        if (priority == 4) octets_of_bulk += updu.updu.size();
        ids.push_back(updu.id);
      }
    }
    now += 25s + from_seconds(static_cast<double>(octets) / kOctetsPerSecond);
    core.on_deadline(now);
    for (const auto id : ids) core.on_sis(now, gateways::SisConfirmed{id});
    core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, taken(sent)});
    now += 1s;
  }
  const double share =
      static_cast<double>(octets_of_bulk) / kOctetsPerSecond / to_seconds(now - begin);
  EXPECT_GE(share, 0.3);
  EXPECT_LE(share, 0.6);  // small data is expected all the time
}

TEST(Streams, the_opening_of_a_bulk_stream_is_short) {
  StreamsCore core({}, 1);
  core.on_sis(Instant(1s), gateways::SisBound{2048});
  const auto bulk = core.request_open(Instant(1s), address(1), {"host", 80}, false);
  ASSERT_TRUE(bulk.ok());
  core.request_write(Instant(1s), *bulk, Bytes(30'000, 'x'));
  auto sent = handed_over(core);
  ASSERT_EQ(sent[6].size(), 1u);
  EXPECT_LT(sent[6][0].updu.size(), 600u);
}

TEST(Streams, small_writes_are_sent_together) {
  VirtualLink link(4);
  const auto stream = link.open(0, 1, {.manual = true});
  link.run_for(10s);
  const std::size_t before = link.sent(0).size();
  for (int i = 0; i < 20; ++i) {
    link.write_more(0, stream, 1);
    link.run_for(5ms);
  }
  link.run_for(500ms);
  EXPECT_LE(link.sent(0).size() - before, 2u);
}

// --- Credit --------------------------------------------------------------------------------------

TEST(Streams, the_pieces_of_an_answer_go_together_and_with_the_answer_to_the_opening) {
  StreamsCore core({}, 1);
  const Instant now(1000s);
  core.on_sis(now, gateways::SisBound{2048});
  Bytes opening;
  encode(StreamsHeader{.answer_wanted = true, .lost = true, .from_epoch = 5}, opening);
  encode(OpenFrame{1, {"host", 25}}, opening);
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, opening});
  std::optional<StreamId> stream;
  while (const auto action = core.poll_action()) {
    if (const auto* opened = std::get_if<Opened>(&*action)) stream = opened->id;
    EXPECT_FALSE(std::holds_alternative<gateways::SisUnidata>(*action));
  }
  ASSERT_TRUE(stream.has_value());
  for (const auto after : {5ms, 20ms}) {
    core.request_write(now + after, *stream, Bytes(50, 'x'));
    EXPECT_TRUE(handed_over(core).empty());
  }
  ASSERT_TRUE(core.next_deadline().has_value());
  EXPECT_LE(*core.next_deadline(), now + 50ms);  // nodes turn around in 200 ms
  core.on_deadline(*core.next_deadline());
  const auto sent = handed_over(core)[6];
  ASSERT_EQ(sent.size(), 1u);
  const auto pdu = decode_streams(sent[0].updu);
  ASSERT_TRUE(pdu.ok());
  EXPECT_EQ(pdu->header.to_epoch, 5u);
  EXPECT_FALSE(pdu->header.lost);  // the peer need not open the stream again
  // The text of the two pieces is compressed together.
  EXPECT_EQ(
      std::count_if(pdu->frames.begin(), pdu->frames.end(),
                    [](const Frame& frame) { return std::holds_alternative<DataFrame>(frame); }),
      1);
}

TEST(Streams, a_peer_that_sends_without_end_does_not_stop_what_goes_to_it) {
  StreamsCore core({}, 1);
  Instant now(100s);
  core.on_sis(now, gateways::SisBound{2048});
  core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
  const auto stream = core.request_open(now, address(1), {"host", 23}, false);
  ASSERT_TRUE(stream.ok());
  core.request_write(now, *stream, Bytes(100, 'x'));
  std::size_t updus = 0;
  for (const Instant end = now + 250ms; now < end; now += 10ms) {
    core.on_sis(now, gateways::SisIndication{address(1), SapId{9}, updu_of(5, {})});
    updus += handed_over(core)[6].size();
  }
  EXPECT_GE(updus, 1u);
}

TEST(Streams, an_application_that_does_not_read_blocks_its_own_stream_only) {
  VirtualLink link(5);
  const auto slow = link.open(0, 1, {.to_server = 300'000, .to_client = 0});
  link.run_for(1s);
  link.run_for(10s);
  link.server(slow).consumes = false;
  link.run_for(10min);
  const auto read = link.server(slow).received;
  EXPECT_LT(read, 200'000u);
  const auto fast = link.open(0, 1, {.to_server = 300'000, .to_client = 0});
  link.run_for(20min);
  EXPECT_TRUE(link.done(fast));
  EXPECT_EQ(link.server(slow).received, read);
  EXPECT_LE(link.held_max(1), 1024u * 1024);
  link.consume(1, slow, false);
  link.run_for(20min);
  EXPECT_TRUE(link.done(slow));
  EXPECT_EQ(link.wrong_octets, 0u);
}

TEST(Streams, data_beyond_the_credit_resets_the_stream) {
  VirtualLink link(6);
  Bytes updu;
  encode(StreamsHeader{.from_epoch = 5}, updu);
  encode(Frame(OpenFrame{1, {"host0", 80}}), updu);
  link.open(1, 0, {});  // script 0 exists
  encode(Frame(DataFrame{{true, 1}, false, false, kFirstWindow - 1, Bytes(1, 'x')}), updu);
  link.inject(0, 1, updu);
  EXPECT_EQ(link.core(0).counters()[StreamCounter::reset_here], 0u);
  Bytes over;
  encode(StreamsHeader{.from_epoch = 5}, over);
  encode(Frame(DataFrame{{true, 1}, false, false, kFirstWindow, Bytes(1, 'x')}), over);
  link.inject(0, 1, over);
  EXPECT_EQ(link.core(0).counters()[StreamCounter::reset_here], 1u);
}

TEST(Streams, two_hundred_streams_with_loss_are_complete_and_memory_is_bounded) {
  VirtualLink link(7);
  link.faults = {.delay_min = 1s, .delay_max = 40s, .reject = 0.2, .deliver_rejected = 0.3};
  for (int i = 0; i < 200; ++i) {
    link.open(i % 2, 1 - i % 2, {.to_server = 20'000, .to_client = 20'000});
  }
  ASSERT_TRUE(link.run_until_settled(48h));
  for (std::size_t s = 0; s < 200; ++s) EXPECT_TRUE(link.done(s)) << s;
  EXPECT_EQ(link.wrong_octets, 0u);
  EXPECT_LE(link.held_max(0), 200u * 2 * kFirstWindow);
}

TEST(Streams, a_stream_above_the_limit_is_refused_at_either_end) {
  StreamsConfig config;
  config.streams_max = 3;
  VirtualLink link(8, 3, config);
  link.open(0, 1, {.to_server = 10, .to_client = 20'000'000});
  link.run_for(1min);  // the station has answered
  for (int i = 0; i < 2; ++i) link.open(0, 1, {.to_server = 10, .to_client = 20'000'000});
  EXPECT_FALSE(link.core(0).request_open(link.now(), address(1), {"host", 80}).ok());
  link.run_for(1min);
  EXPECT_EQ(link.opened(1), 3u);
  const auto more = link.open(2, 1, {});
  link.run_for(1min);
  EXPECT_EQ(link.client(more).reset, ResetCode::limit);
}

TEST(Streams, data_is_acknowledged_only_after_its_opening) {
  StreamsCore core({}, 1);
  const auto acks = [&] {
    std::size_t count = 0;
    while (auto action = core.poll_action()) {
      const auto* const sent = std::get_if<gateways::SisUnidata>(&*action);
      if (sent == nullptr) continue;
      const auto pdu = decode_streams(sent->updu);
      for (const Frame& frame : pdu->frames) count += std::holds_alternative<AckFrame>(frame);
    }
    return count;
  };
  const auto hear = [&](Instant now, const Frame& frame) {
    core.on_sis(now, gateways::SisIndication{address(2), SapId{9}, updu_of(5, {frame})});
  };
  const Bytes octet(1, 'x');
  core.on_sis(Instant(1s), gateways::SisBound{2048});
  hear(Instant(1s), DataFrame{{true, 1}, true, false, 0, octet});
  core.on_deadline(Instant(400s));
  EXPECT_EQ(acks(), 0u);
  hear(Instant(401s), OpenFrame{1, {"host", 80}});
  core.on_deadline(Instant(430s));
  EXPECT_EQ(acks(), 1u);
}

TEST(Streams, data_of_a_stream_that_was_reset_is_answered_by_a_reset_again) {
  VirtualLink link(22, 3);
  link.open(1, 2, {});  // script 0 exists
  link.plain.insert(2);
  const auto resets = [&] {
    std::size_t count = 0;
    for (const gateways::SisUnidata& unidata : link.sent(0)) {
      const auto pdu = decode_streams(unidata.updu);
      for (const Frame& frame : pdu->frames) count += std::holds_alternative<ResetFrame>(frame);
    }
    return count;
  };
  const Bytes octet(1, 'x');
  const DataFrame over{{true, 1}, false, false, kFirstWindow, octet};
  link.inject(0, 2, updu_of(5, {OpenFrame{1, {"host0", 80}}, over}));
  link.run_for(1s);
  EXPECT_EQ(resets(), 1u);
  link.run_for(1min);
  link.inject(0, 2, updu_of(5, {over}));
  link.run_for(1s);
  EXPECT_EQ(resets(), 2u);
}

TEST(Streams, a_peer_opens_half_of_the_streams_and_few_without_an_opening) {
  StreamsConfig config;
  config.streams_max = 100;
  StreamsCore core(config, 1);
  const Instant now(1s);
  const Bytes octet(1, 'x');
  const auto hear = [&](const Frame& frame) {
    core.on_sis(now, gateways::SisIndication{address(2), SapId{9}, updu_of(5, {frame})});
  };
  for (std::uint32_t i = 1; i <= 20; ++i) hear(DataFrame{{true, i}, false, false, 0, octet});
  EXPECT_EQ(core.streams(now).size(), 16u);
  for (std::uint32_t i = 1; i <= 55; ++i) hear(OpenFrame{i, {"host", 80}});
  EXPECT_EQ(core.streams(now).size(), 50u);
  EXPECT_EQ(core.counters()[StreamCounter::refused_limit], 4u + 5u);
}

TEST(Streams, peers_that_open_without_end_leave_a_part_to_this_end) {
  StreamsConfig config;
  config.streams_max = 100;
  StreamsCore core(config, 1);
  const Instant now(1s);
  for (std::uint32_t station = 2; station <= 5; ++station) {
    for (std::uint32_t i = 1; i <= 200; ++i) {
      const Bytes updu = updu_of(5, {OpenFrame{i, {"host", 80}}});
      core.on_sis(now, gateways::SisIndication{address(station), SapId{9}, updu});
    }
  }
  EXPECT_EQ(core.streams(now).size(), 75u);
  for (int i = 0; i < 25; ++i) {
    EXPECT_TRUE(core.request_open(now, address(2 + i % 4), {"host", 80}).ok()) << i;
  }
  EXPECT_FALSE(core.request_open(now, address(2), {"host", 80}).ok());
  // A stream of a peer that ends is one that a peer may open.
  core.on_sis(
      now, gateways::SisIndication{address(2), SapId{9},
                                   updu_of(5, {ResetFrame{{true, 1}, ResetCode::by_application}})});
  EXPECT_EQ(core.streams(now).size(), 99u);
  core.on_sis(now, gateways::SisIndication{address(5), SapId{9},
                                           updu_of(5, {OpenFrame{900, {"host", 80}}})});
  EXPECT_EQ(core.streams(now).size(), 100u);
}

TEST(Streams, a_station_that_never_answers_holds_half_of_the_streams_at_most) {
  StreamsConfig config;
  config.streams_max = 100;
  StreamsCore core(config, 1);
  const Instant now(1s);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(core.request_open(now, address(2), {"host", 80}).ok()) << i;
  }
  EXPECT_FALSE(core.request_open(now, address(2), {"host", 80}).ok());
  EXPECT_TRUE(core.request_open(now, address(3), {"host", 80}).ok());
}

TEST(Streams, stations_that_never_answer_leave_streams_to_others) {
  StreamsConfig config;
  config.streams_max = 100;
  StreamsCore core(config, 1);
  const Instant now(1s);
  const auto open_all = [&](unsigned station) {
    std::size_t count = 0;
    while (core.request_open(now, address(station), {"host", 80}).ok()) ++count;
    return count;
  };
  EXPECT_EQ(open_all(2), 50u);
  EXPECT_EQ(open_all(3), 25u);
  EXPECT_EQ(open_all(4), 12u);
  EXPECT_EQ(open_all(2), 0u);
  EXPECT_TRUE(core.request_open(now, address(5), {"host", 80}).ok());
}

TEST(Streams, a_station_that_was_heard_and_vanishes_leaves_streams_to_others) {
  StreamsConfig config;
  config.streams_max = 100;
  StreamsCore core(config, 1);
  const Instant now(1s);
  core.on_sis(now, gateways::SisIndication{address(2), SapId{9}, updu_of(5, {})});
  std::size_t count = 0;
  // The station confirms and rejects nothing any more.
  while (core.request_open(now, address(2), {"host", 80}).ok()) ++count;
  EXPECT_EQ(count, 75u);
  EXPECT_TRUE(core.request_open(now, address(3), {"host", 80}).ok());
}

// --- Faults of the link --------------------------------------------------------------------------

TEST(Streams, survive_a_fade_of_ten_minutes) {
  VirtualLink link(9);
  const auto stream = link.open(0, 1, {.to_server = 2'000'000, .to_client = 1'000'000});
  link.run_for(30s);
  EXPECT_FALSE(link.done(stream));
  link.broken = true;
  link.run_for(10min);
  link.broken = false;
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(stream));
  EXPECT_EQ(link.wrong_octets, 0u);
}

TEST(Streams, a_link_that_stays_away_resets_both_ends) {
  VirtualLink link(10);
  const auto stream = link.open(0, 1, {.to_server = 5'000'000, .to_client = 5'000'000});
  link.run_for(60s);
  link.broken = true;
  link.run_for(50min);
  EXPECT_EQ(link.client(stream).reset, ResetCode::peer_silent);
  EXPECT_EQ(link.server(stream).reset, ResetCode::peer_silent);
  link.broken = false;
  const auto next = link.open(0, 1, {.to_server = 5000, .to_client = 5000});
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(next));
  EXPECT_EQ(link.wrong_octets, 0u);
}

TEST(Streams, a_node_that_loses_what_it_confirmed_costs_no_stream) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    VirtualLink link(seed);
    for (int i = 0; i < 6; ++i) {
      link.open(i % 2, 1 - i % 2, {.to_server = 60'000, .to_client = 60'000});
    }
    for (int crash = 0; crash < 5; ++crash) {
      link.run_for(7s);
      link.crash_node((seed + crash) % 2);
    }
    ASSERT_TRUE(link.run_until_settled(6h)) << seed;
    for (std::size_t s = 0; s < 6; ++s) EXPECT_TRUE(link.done(s)) << seed << " " << s;
    EXPECT_EQ(link.wrong_octets, 0u);
  }
}

TEST(Streams, a_station_that_never_answers_does_not_delay_another) {
  VirtualLink alone(11, 3);
  const auto only = alone.open(0, 2, {.to_server = 100'000, .to_client = 0});
  ASSERT_TRUE(alone.run_until_settled(3h));
  VirtualLink link(11, 3);
  link.mute.insert(1);
  for (int i = 0; i < 50; ++i) link.open(0, 1, {.to_server = 100'000, .to_client = 0});
  const auto stream = link.open(0, 2, {.to_server = 100'000, .to_client = 0});
  link.run_for(3h);
  ASSERT_TRUE(link.done(stream));
  EXPECT_LE(link.server(stream).ended_at - Instant(1000s),
            2 * (alone.server(only).ended_at - Instant(1000s)));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(link.client(i).reset.has_value());
}

TEST(Streams, a_node_that_does_not_say_what_became_of_a_updu_is_not_asked_again_at_once) {
  StreamsCore core({}, 1);
  const Instant now(1000s);
  const auto updus = [&] {
    std::vector<gateways::SisRequestId> ids;
    while (auto action = core.poll_action()) {
      if (auto* const sent = std::get_if<gateways::SisUnidata>(&*action)) ids.push_back(sent->id);
    }
    return ids;
  };
  core.on_sis(now, gateways::SisBound{2048});
  ASSERT_TRUE(core.request_open(now, address(1), {"host", 80}).ok());
  const auto first = updus();
  ASSERT_EQ(first.size(), 1u);
  core.on_sis(now, gateways::SisUnresolved{first[0]});
  EXPECT_TRUE(updus().empty());
  ASSERT_TRUE(core.next_deadline());
  EXPECT_GT(*core.next_deadline(), now);
  core.on_deadline(*core.next_deadline());
  EXPECT_EQ(updus().size(), 1u);
}

// --- Stations without streams --------------------------------------------------------------------

TEST(Streams, a_station_whose_sap_is_not_bound_has_no_streams) {
  VirtualLink link(12);
  link.absent.insert(1);
  const auto stream = link.open(0, 1, {});
  link.run_for(1min);
  EXPECT_EQ(link.client(stream).reset, ResetCode::unsupported);
  EXPECT_EQ(link.core(0).capability(link.now(), address(1)), Capability::incapable);
  EXPECT_FALSE(link.core(0).request_open(link.now(), address(1), {"host", 80}).ok());
  link.absent.clear();
  link.run_for(30min);
  EXPECT_EQ(link.core(0).capability(link.now(), address(1)), Capability::unknown);
  const auto later = link.open(0, 1, {});
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(later));
}

TEST(Streams, a_station_that_takes_updus_and_says_nothing_has_no_streams) {
  VirtualLink link(13);
  link.plain.insert(1);
  const auto stream = link.open(0, 1, {});
  link.run_for(4min);
  EXPECT_FALSE(link.client(stream).reset.has_value());
  link.run_for(3min);
  EXPECT_EQ(link.client(stream).reset, ResetCode::unsupported);
}

TEST(Streams, a_station_that_had_streams_and_says_nothing_more_has_none) {
  VirtualLink link(23);
  const auto first = link.open(0, 1, {});
  ASSERT_TRUE(link.run_until_settled(1h));
  ASSERT_TRUE(link.done(first));
  link.plain.insert(1);  // its node still confirms
  const auto stream = link.open(0, 1, {});
  link.run_for(15min);
  EXPECT_EQ(link.client(stream).reset, ResetCode::unsupported);
  EXPECT_EQ(link.core(0).capability(link.now(), address(1)), Capability::incapable);
}

TEST(Streams, a_station_whose_application_says_nothing_keeps_its_stream) {
  VirtualLink link(24);
  const auto stream = link.open(0, 1, {.to_client = 0, .manual = true});
  link.run_for(2h);
  EXPECT_FALSE(link.client(stream).reset.has_value());
}

TEST(Streams, discovery_costs_one_small_updu_each_way) {
  VirtualLink link(14);
  link.discover(0, 1);
  link.discover(0, 1);
  link.run_for(1min);
  EXPECT_EQ(link.core(0).capability(link.now(), address(1)), Capability::capable);
  ASSERT_EQ(link.sent(0).size(), 1u);
  ASSERT_EQ(link.sent(1).size(), 1u);
  EXPECT_EQ(link.sent(0)[0].updu.size(), kStreamsHeaderOctets);
}

TEST(Streams, a_question_that_the_node_lost_is_asked_again) {
  VirtualLink link(15);
  link.discover(0, 1);
  link.crash_node(0);
  link.discover(0, 1);
  link.run_for(1min);
  EXPECT_EQ(link.core(0).capability(link.now(), address(1)), Capability::capable);
}

// --- Processes that are killed -------------------------------------------------------------------

TEST(Streams, a_peer_that_restarts_resets_the_streams_and_new_ones_work) {
  VirtualLink link(15);
  const auto stream = link.open(0, 1, {.to_server = 5'000'000, .to_client = 5'000'000});
  link.run_for(30s);
  link.kill(1);
  link.run_for(10min);
  EXPECT_EQ(link.client(stream).reset, ResetCode::peer_restarted);
  const auto next = link.open(0, 1, {.to_server = 5000, .to_client = 5000});
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(next));
}

TEST(Streams, an_unproven_peer_is_replaced_only_by_one_that_shows_our_epoch) {
  StreamsCore core({}, 1);
  Instant now(1s);
  const auto hear = [&](const Bytes& updu) {
    core.on_sis(now, gateways::SisIndication{address(2), SapId{9}, updu});
    now += 1s;
    core.on_deadline(now);
    std::vector<StreamsHeader> headers;
    while (auto action = core.poll_action()) {
      const auto* const sent = std::get_if<gateways::SisUnidata>(&*action);
      if (sent != nullptr) headers.push_back(decode_streams(sent->updu)->header);
    }
    return headers;
  };
  core.on_sis(now, gateways::SisBound{2048});
  hear(updu_of(5, {OpenFrame{1, {"host", 80}}}));
  const auto challenge = hear(updu_of(6, {}));
  EXPECT_EQ(core.streams(now).size(), 1u);
  ASSERT_EQ(challenge.size(), 1u);
  EXPECT_EQ(challenge[0].to_epoch, 6u);
  hear(updu_of(6, {}, challenge[0].from_epoch));
  EXPECT_TRUE(core.streams(now).empty());
}

TEST(Streams, acknowledgements_that_wait_end_with_their_session) {
  VirtualLink link(21);
  const auto stream = link.open(1, 0, {.to_server = 100, .to_client = 100});
  ASSERT_TRUE(link.run_until_settled(10min));
  ASSERT_TRUE(link.done(stream));
  link.run_for(1min);
  const std::uint32_t epoch = decode_streams(link.sent(1)[0].updu)->header.from_epoch;
  const std::uint32_t own = decode_streams(link.sent(0)[0].updu)->header.from_epoch;
  const auto tell = [&](const Bytes& updu) {
    link.core(0).on_sis(link.now(), gateways::SisIndication{address(1), SapId{9}, updu});
  };
  tell(updu_of(epoch, {ProbeFrame{{true, 1}}}, own));
  tell(updu_of(epoch + 1, {}, own));  // a new life, before the answer has gone
  const std::size_t before = link.sent(0).size();
  link.discover(0, 1);  // drains
  link.run_for(1min);
  for (std::size_t i = before; i < link.sent(0).size(); ++i) {
    const auto pdu = decode_streams(link.sent(0)[i].updu);
    for (const Frame& frame : pdu->frames) EXPECT_FALSE(std::holds_alternative<AckFrame>(frame));
  }
}

// Late U_PDUs of the killed process and rejected ones that arrive are part of this.
TEST(Streams, after_random_kills_no_octet_is_wrong_and_later_streams_work) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    VirtualLink link(seed);
    link.faults = {.delay_min = 1s, .delay_max = 30s, .reject = 0.1, .deliver_rejected = 0.5};
    Rng rng(seed);
    for (int round = 0; round < 8; ++round) {
      for (int i = 0; i < 3; ++i) {
        const std::size_t from = rng.below(2);
        link.open(from, 1 - from, {.to_server = rng.below(40'000), .to_client = rng.below(40'000)});
      }
      link.run_for(from_seconds(5 + 60 * rng.uniform()));
      const std::size_t end = rng.below(2);
      rng.below(3) == 0 ? link.crash_node(end) : link.kill(end);
    }
    link.faults.reject = 0;
    link.run_for(2h);
    EXPECT_EQ(link.wrong_octets, 0u) << seed;
    link.open(0, 1, {});  // a peer that was killed last may tell so only now
    link.run_for(20min);
    const auto last = link.open(0, 1, {.to_server = 1000, .to_client = 1000});
    link.run_for(20min);
    EXPECT_TRUE(link.done(last)) << seed;
  }
}

TEST(Streams, a_repeated_opening_opens_nothing) {
  VirtualLink link(16);
  const auto stream = link.open(0, 1, {.to_server = 100, .to_client = 100});
  ASSERT_TRUE(link.run_until_settled(10min));
  link.run_for(1h);
  EXPECT_TRUE(link.done(stream));
  const Bytes opening = link.sent(0)[0].updu;
  link.inject(1, 0, opening);
  link.run_for(1min);
  EXPECT_EQ(link.opened(1), 1u);
}

// --- Nonsense ------------------------------------------------------------------------------------

TEST(Streams, nonsense_of_a_peer_is_counted_and_harms_no_other) {
  VirtualLink link(17, 3);
  Rng rng(17);
  const auto stream = link.open(0, 1, {.to_server = 100'000, .to_client = 100'000});
  link.run_for(5s);
  for (int i = 0; i < 20'000; ++i) {
    Bytes updu;
    encode(StreamsHeader{.from_epoch = 1 + rng.below(3)}, updu);
    const std::size_t octets = rng.below(60);
    for (std::size_t k = 0; k < octets; ++k) {
      const auto random = static_cast<std::uint8_t>(rng.next());
      updu.push_back(k % 7 == 0 ? static_cast<std::uint8_t>((1 + random % 5) << 4 | random % 8)
                                : static_cast<std::uint8_t>(random % 4));
    }
    link.core(0).on_sis(link.now(), gateways::SisIndication{address(2), SapId{9}, updu});
    while (auto action = link.core(0).poll_action()) {
      if (std::holds_alternative<gateways::SisUnidata>(*action)) break;
    }
  }
  EXPECT_GT(link.core(0).counters()[StreamCounter::malformed], 100u);
  EXPECT_LE(link.core(0).streams(link.now()).size(), 512u);
  EXPECT_LE(link.core(0).octets_held(), 64u << 20);
  EXPECT_FALSE(link.client(stream).reset.has_value());
}

TEST(Streams, damaged_compressed_data_resets_the_stream) {
  VirtualLink link(18);
  link.open(1, 0, {});
  Bytes updu;
  encode(StreamsHeader{.from_epoch = 5}, updu);
  encode(Frame(OpenFrame{1, {"host0", 80}}), updu);
  encode(Frame(DataFrame{{true, 1}, false, true, 0, Bytes(100, 'x')}), updu);
  link.inject(0, 1, updu);
  EXPECT_EQ(link.core(0).counters()[StreamCounter::reset_here], 1u);
}

// --- Compression ---------------------------------------------------------------------------------

TEST(Streams, text_is_compressed) {
  VirtualLink link(19);
  const auto stream = link.open(0, 1, {.to_server = 100'000, .to_client = 0, .text = true});
  ASSERT_TRUE(link.run_until_settled(1h));
  EXPECT_TRUE(link.done(stream));
  EXPECT_LT(link.core(0).counters()[StreamCounter::octets_sent], 10'000u);
}

TEST(Streams, compression_that_does_not_help_is_given_up) {
  VirtualLink link(20);
  const auto stream = link.open(0, 1, {.to_server = 100'000, .to_client = 0});
  ASSERT_TRUE(link.run_until_settled(2h));
  EXPECT_TRUE(link.done(stream));
  EXPECT_EQ(link.core(0).counters()[StreamCounter::compressions_given_up], 1u);
  EXPECT_LT(link.core(0).counters()[StreamCounter::octets_sent], 102'000u);
}

}  // namespace
}  // namespace s5066::streams
