// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/packet_queue.h"

#include <gtest/gtest.h>

#include "gateways/common/handover_window.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

using gateways::HandoverWindow;

using namespace std::chrono_literals;
using gateways::HandoverWindow;
using test::Tcp;
using test::tcp;
using test::udp;

constexpr Line kLine{{0x01020301}, true};
constexpr PacketQueue::Limits kPatient{1h, 2h, 3h};

class PacketQueueTest : public testing::Test {
 protected:
  void push(const Bytes& octets, std::uint8_t priority = 0, const Line& line = kLine) {
    const Datagram datagram = test::parsed(octets);
    queue.push(line, {octets, datagram, flow_of(datagram), {.priority = priority}, now});
  }
  std::optional<Packet> pop(const PacketQueue::Limits& limits = kPatient,
                            const Line& line = kLine) {
    if (!queue.head(now, line, limits)) return std::nullopt;
    return queue.pop(line);
  }

  PacketQueue queue{PacketQueue::Config()};
  Instant now{1000s};
};

TEST_F(PacketQueueTest, higher_priority_goes_first_and_order_within_a_flow_is_kept) {
  push(udp(100, {.id = 1}));
  push(udp(100, {.id = 2}));
  push(udp(100, {.id = 3}), 10);
  for (const std::uint32_t id : {3u, 1u, 2u}) EXPECT_EQ(pop()->datagram.id, id);
  EXPECT_FALSE(pop());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.octets(), 0u);
}

TEST_F(PacketQueueTest, conversations_share_by_octets) {
  for (int i = 0; i < 60; ++i) push(udp(1200, {}, 1));
  for (int i = 0; i < 240; ++i) push(udp(300, {}, 2));
  std::size_t large = 0;
  std::size_t small = 0;
  while (large + small < 60'000) {
    const auto packet = pop();
    (packet->datagram.source_port == 1 ? large : small) += packet->octets.size();
  }
  EXPECT_NEAR(static_cast<double>(large), static_cast<double>(small), 1200);
}

TEST_F(PacketQueueTest, a_new_conversation_overtakes_a_long_one) {
  for (int i = 0; i < 50; ++i) push(udp(1000, {}, 1));
  for (int i = 0; i < 3; ++i) pop();
  push(udp(100, {}, 2));
  EXPECT_EQ(pop()->datagram.source_port, 2);
}

TEST_F(PacketQueueTest, what_is_too_old_leaves_from_the_head) {
  push(udp(100, {.id = 1}));
  now += 40s;
  push(udp(100, {.id = 2}));
  now += 30s;
  EXPECT_EQ(pop({1h, 1h, 60s})->datagram.id, 2u);
  EXPECT_EQ(queue.stats().aged, 1u);
  push(udp(100));
  now += 61s;
  queue.drop_aged(now, kLine, 60s);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.lines().empty());
}

TEST_F(PacketQueueTest, a_delay_that_lasts_costs_the_head_and_marks_ecn) {
  const PacketQueue::Limits limits{10s, 40s, 1h};
  const auto run = [&](std::uint8_t tos) {
    for (int i = 0; i < 200; ++i) {
      push(udp(500, {.tos = tos}));
      push(udp(500, {.tos = tos}));
      now += 2s;
      pop(limits);
    }
  };
  run(0);
  EXPECT_GT(queue.stats().delayed, 3u);
  EXPECT_EQ(queue.stats().marked, 0u);
  queue.take_all(kLine);
  const auto before = queue.stats().delayed;
  run(2);  // ECT(0)
  EXPECT_GT(queue.stats().marked, 3u);
  EXPECT_EQ(queue.stats().delayed, before);
}

TEST_F(PacketQueueTest, a_short_queue_is_never_dropped_for_its_delay) {
  const PacketQueue::Limits limits{10s, 40s, 1h};
  for (int i = 0; i < 100; ++i) {
    push(udp(500));
    now += 30s;
    EXPECT_TRUE(pop(limits));
  }
  EXPECT_EQ(queue.stats().delayed, 0u);
}

TEST_F(PacketQueueTest, a_newer_pure_acknowledgement_replaces_an_older_one) {
  push(tcp({.acknowledgement = 1000}));
  push(tcp({.acknowledgement = 2000}));
  push(tcp({.acknowledgement = 3000}));
  EXPECT_EQ(queue.packets(), 1u);
  EXPECT_EQ(queue.stats().acks_superseded, 2u);
  EXPECT_EQ(pop()->datagram.tcp->acknowledgement, 3000u);
  push(tcp({.acknowledgement = 0xFFFFFFF0}));
  push(tcp({.acknowledgement = 16}));  // the numbers wrap
  EXPECT_EQ(pop()->datagram.tcp->acknowledgement, 16u);
}

TEST_F(PacketQueueTest, acknowledgements_that_say_more_stay) {
  push(tcp({.acknowledgement = 1000}));
  push(tcp({.acknowledgement = 1000}));                                 // a duplicate
  push(tcp({.acknowledgement = 2000, .options = {1, 1, 5, 2}}));        // SACK
  push(tcp({.acknowledgement = 3000, .data = 10}));                     // with data
  push(tcp({.acknowledgement = 4000, .flags = TcpSegment::kAck | 1}));  // FIN
  push(tcp({.acknowledgement = 500}));                                  // older
  push(tcp({.acknowledgement = 5000, .from = 9}));                      // another connection
  EXPECT_EQ(queue.packets(), 7u);
}

TEST_F(PacketQueueTest, a_retransmitted_segment_replaces_the_copy_that_waits) {
  push(tcp({.sequence = 1, .data = 500}));
  push(tcp({.sequence = 501, .data = 500}));
  now += 5s;
  push(tcp({.sequence = 1, .acknowledgement = 77, .data = 500}));
  EXPECT_EQ(queue.packets(), 2u);
  EXPECT_EQ(queue.stats().segments_replaced, 1u);
  EXPECT_EQ(pop()->datagram.tcp->acknowledgement, 77u);
  push(tcp({.flags = TcpSegment::kSyn}));
  push(tcp({.flags = TcpSegment::kSyn}));
  EXPECT_EQ(queue.packets(), 2u);
}

TEST_F(PacketQueueTest, a_segment_that_is_sent_again_goes_before_the_later_ones) {
  const auto push_data = [&](std::uint32_t sequence) {
    push(tcp({.sequence = sequence, .data = 500}));
  };
  for (std::uint32_t i = 0; i < 4; ++i) push_data(0xFFFFFE00u + 500 * i);  // the numbers wrap
  const PacketQueue::Limits old{10s, 20s, 20s};
  now += 15s;
  push(tcp({.acknowledgement = 9000}));
  now += 10s;
  push(tcp({.sequence = 0xFFFFFE00u + 2000, .data = 500}));  // sent when the first four are too old
  EXPECT_EQ(queue.head(now, kLine, old)->octets, 40u);
  EXPECT_EQ(queue.stats().aged, 4u);
  push_data(0xFFFFFE00u + 1000);
  push_data(0xFFFFFE00u);
  EXPECT_EQ(pop(old)->datagram.tcp->acknowledgement, 9000u);
  for (const std::uint32_t after : {0u, 1000u, 2000u}) {
    EXPECT_EQ(pop(old)->datagram.tcp->sequence, 0xFFFFFE00u + after);
  }
}

TEST_F(PacketQueueTest, the_search_for_an_older_copy_has_a_limit) {
  const std::size_t limit = PacketQueue::Config().look_back_max;
  for (std::uint32_t i = 0; i <= limit; ++i) push(tcp({.sequence = 10 * i, .data = 10}));
  push(tcp({.sequence = 10, .data = 10}));
  EXPECT_EQ(queue.stats().segments_replaced, 1u);
  push(tcp({.sequence = 0, .data = 10}));
  EXPECT_EQ(queue.stats().segments_replaced, 1u);
  EXPECT_EQ(queue.packets(), limit + 2);
}

TEST_F(PacketQueueTest, a_full_line_drops_the_oldest_of_its_largest_conversation) {
  for (int i = 0; i < 400; ++i) push(udp(1000, {.id = static_cast<std::uint16_t>(i)}, 1));
  push(udp(1000, {}, 2));
  EXPECT_LE(queue.octets(), PacketQueue::Config().line_octets_max);
  EXPECT_EQ(queue.stats().overflow, 401u - queue.packets());
  std::size_t of_second = 0;
  std::uint32_t first_id = 0;
  while (const auto packet = pop()) {
    if (packet->datagram.source_port == 2) ++of_second;
    if (packet->datagram.source_port == 1 && first_id == 0) first_id = packet->datagram.id;
  }
  EXPECT_EQ(of_second, 1u);
  EXPECT_GT(first_id, 100u);
}

TEST_F(PacketQueueTest, a_full_line_does_not_drop_the_segment_that_is_sent_again) {
  std::uint32_t sequence = 0;
  for (; queue.stats().overflow == 0; sequence += 1000) {
    push(tcp({.sequence = sequence, .data = 1000}));
  }
  now += 1s;
  push(tcp({.sequence = 0, .data = 1000}));
  EXPECT_EQ(queue.stats().overflow, 2u);
  EXPECT_EQ(pop()->datagram.tcp->sequence, 0u);
  EXPECT_EQ(pop()->datagram.tcp->sequence, 2000u);
}

TEST_F(PacketQueueTest, memory_is_bounded_over_all_lines_and_conversations) {
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const auto port = static_cast<std::uint16_t>(i);
    push(udp(60, {.source = 0x0A000001 + i}, port), 0, {{1 + i % 500}, i % 2 == 0});
    ASSERT_LE(queue.packets(), PacketQueue::Config().packets_max);
  }
  EXPECT_EQ(queue.flows().size(), queue.packets());
}

// --- The window ----------------------------------------------------------------------------------

/// A link that takes `airtime` for an octet and confirms a transmission `turn` after its end.
class SlowLink {
 public:
  SlowLink(double bps, Duration turn) : bps_(bps), turn_(turn) {}
  /// Keeps the window full with datagrams of this size for so many transmissions; returns the
  /// octets in the last one.
  std::size_t run(HandoverWindow& window, std::size_t octets, int transmissions) {
    std::size_t sent = 0;
    for (int i = 0; i < transmissions; ++i) {
      std::vector<gateways::SisRequestId> ids;
      while (window.has_room(octets, 0)) {
        ids.push_back({++id_});
        window.on_handed(now_, ids.back(), octets, 0);
      }
      sent = ids.size() * octets;
      now_ += turn_ + from_seconds(8 * static_cast<double>(sent) / bps_);
      for (const auto id : ids) EXPECT_TRUE(window.on_confirmed(now_, id));
    }
    return sent;
  }
  Instant now() const { return now_; }

 private:
  double bps_;
  Duration turn_;
  Instant now_{100s};
  std::uint64_t id_ = 0;
};

TEST(HandoverWindow, grows_from_two_datagrams_to_what_a_transmission_carries) {
  for (const double bps : {300.0, 1200.0, 9600.0}) {
    HandoverWindow window{HandoverWindow::Config()};
    SlowLink link(bps, 3s);
    EXPECT_EQ(link.run(window, 500, 1), 1000u);
    const std::size_t sent = link.run(window, 500, 12);
    const double air_s = 8 * static_cast<double>(sent) / bps;
    EXPECT_GT(air_s, 10) << bps;  // turnarounds take less than a quarter
    EXPECT_LT(air_s, 30) << bps;  // something urgent waits no longer
  }
}

TEST(HandoverWindow, a_slow_turnaround_makes_longer_transmissions) {
  HandoverWindow window{HandoverWindow::Config()};
  SlowLink link(2400, 15s);
  const std::size_t sent = link.run(window, 500, 15);
  EXPECT_GT(8 * static_cast<double>(sent) / 2400, 25);
}

TEST(HandoverWindow, what_overtakes_does_not_raise_the_rate) {
  HandoverWindow window{HandoverWindow::Config()};
  window.on_handed(Instant(100s), {1}, 2000, 0);
  window.on_handed(Instant(110s), {2}, 200, 6);  // 2000 octets come with it, most of them sent
  EXPECT_TRUE(window.on_confirmed(Instant(112s), {1}));
  EXPECT_TRUE(window.on_confirmed(Instant(112s), {2}));
  EXPECT_LT(window.rate_bps(), 8 * 2200 / 12.0 + 1);
}

TEST(HandoverWindow, traffic_of_higher_priority_that_fills_the_line_does_not_shrink_the_window) {
  HandoverWindow window{HandoverWindow::Config()};
  SlowLink link(1200, 3s);
  link.run(window, 500, 12);
  Instant now = link.now();
  window.on_handed(now, {1000}, 100, 0);  // the last round is a small one
  now += 4s;
  EXPECT_TRUE(window.on_confirmed(now, {1000}));
  const std::size_t before = window.window_octets();
  EXPECT_GT(before, 2000u);
  window.on_handed(now, {1001}, 500, 0);  // waits all the time
  for (std::uint64_t id = 2000; id < 2180; ++id) {
    window.on_handed(now, {id}, 1000, 10);
    now += 10s;
    EXPECT_TRUE(window.on_confirmed(now, {id}));
  }
  EXPECT_EQ(window.window_octets(), before);
}

TEST(HandoverWindow, something_urgent_has_room_beside_a_full_window) {
  HandoverWindow window{HandoverWindow::Config()};
  SlowLink link(1200, 3s);
  link.run(window, 500, 5);
  for (std::uint64_t id = 1000; window.has_room(500, 0); ++id) {
    window.on_handed(link.now(), {id}, 500, 0);
  }
  EXPECT_TRUE(window.has_room(500, 10));
  const std::size_t outstanding = window.outstanding();
  for (std::uint64_t id = 2000; window.has_room(500, 10); ++id) {
    window.on_handed(link.now(), {id}, 500, 10);
  }
  EXPECT_LE(window.outstanding(), 2 * outstanding);  // it is bounded, too
  EXPECT_FALSE(window.has_room(500, 0));
}

TEST(HandoverWindow, two_datagrams_are_all_while_nothing_is_confirmed) {
  HandoverWindow window{HandoverWindow::Config()};
  window.on_handed(Instant{1s}, {1}, 100, 0);
  EXPECT_TRUE(window.has_room(1500, 0));
  window.on_handed(Instant{1s}, {2}, 100, 0);
  EXPECT_FALSE(window.has_room(40, 0));
  EXPECT_TRUE(window.on_failed({1}));
  EXPECT_FALSE(window.on_failed({1}));
  EXPECT_TRUE(window.has_room(40, 0));
  window.on_lost();
  EXPECT_EQ(window.outstanding(), 0u);
}

}  // namespace
}  // namespace s5066::ip_client
