// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "s5066d/base/rng.h"
#include "s5066d/dts/arq_receiver.h"
#include "s5066d/dts/arq_sender.h"
#include "s5066d/dts/rx_window.h"
#include "s5066d/dts/tx_window.h"

namespace s5066::dts {
namespace {

LongFrameNumber number(int n) {
  return {static_cast<std::uint16_t>(n)};
}

pdu::LongAck ack_of(int lwe, std::initializer_list<int> received) {
  pdu::LongAck ack{.rx_lwe = number(lwe), .selective = {}};
  for (const int n : received) {
    const auto bit = static_cast<unsigned>(n - lwe - 1);
    if (ack.selective.size() <= bit / 8) ack.selective.resize(bit / 8 + 1);
    ack.selective[bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
  }
  return ack;
}

/// Returns the place of a frame of type 0.
RxWindow::Place place(const RxWindow& window, int n, const pdu::DataFlags& flags = {}) {
  const FrameNumber heard{static_cast<std::uint8_t>(n)};
  return window.place(window.lengthened(heard), flags, kWindowMax);
}

TxWindow window_with(unsigned frames, unsigned frames_max = kWindowMax) {
  TxWindow window(frames_max);
  for (unsigned i = 0; i < frames; ++i) window.push({.segment = Bytes(10)});
  return window;
}

// C.6.2(6)-(10)
TEST(TxWindow, holds_128_frames_and_not_one_more) {
  TxWindow window = window_with(127);
  EXPECT_FALSE(window.full());
  window.push({});
  EXPECT_TRUE(window.full());
  EXPECT_EQ(window.lwe(), LongFrameNumber{0});
  EXPECT_EQ(window.uwe(), LongFrameNumber{127});
}

// C.6.2(18)
TEST(TxWindow, starts_with_pointers_0_and_255) {
  const TxWindow window(kWindowMax);
  EXPECT_EQ(window.lwe(), LongFrameNumber{0});
  EXPECT_EQ(short_number(window.uwe()), FrameNumber{255});
}

// C.6.3.2(6)
TEST(TxWindow, test_4_accepts_tx_lwe_to_tx_uwe_plus_1) {
  const TxWindow window = window_with(5);
  EXPECT_TRUE(window.in_sync(ack_of(0, {})));
  EXPECT_TRUE(window.in_sync(ack_of(5, {})));
  EXPECT_FALSE(window.in_sync(ack_of(6, {})));
  EXPECT_FALSE(window.in_sync(ack_of(65535, {})));
  EXPECT_EQ(window.lengthened({.rx_lwe = {5}, .selective = {}}), ack_of(5, {}));
  EXPECT_EQ(window.lengthened({.rx_lwe = {255}, .selective = {}}), std::nullopt);
}

// C.6.3.2(7)
TEST(TxWindow, test_5_refuses_a_bit_for_a_frame_that_was_never_sent) {
  const TxWindow window = window_with(5);
  EXPECT_TRUE(window.in_sync(ack_of(0, {4})));
  EXPECT_FALSE(window.in_sync(ack_of(0, {5})));
  EXPECT_TRUE(window.in_sync(ack_of(2, {4})));
  const TxWindow empty(kWindowMax);
  EXPECT_FALSE(empty.in_sync(ack_of(0, {1})));
}

// C.6.2(4)(5), C.6.2(16)(17)
TEST(TxWindow, acknowledged_frames_leave_once_the_lower_edge_passes_them) {
  TxWindow window = window_with(5);
  EXPECT_EQ(window.acknowledge(ack_of(1, {3})).size(), 2u);  // frames 0 and 3
  EXPECT_EQ(window.lwe(), LongFrameNumber{1});
  EXPECT_EQ(window.frames().size(), 4u);
  EXPECT_TRUE(window.acknowledge(ack_of(1, {3})).empty());  // nothing new
  EXPECT_EQ(window.acknowledge(ack_of(3, {})).size(), 2u);  // frames 1 and 2
  EXPECT_EQ(window.lwe(), LongFrameNumber{4});              // 3 was acknowledged before
}

// C.3.4(3), C.6.2(12)-(14)
TEST(RxWindow, acknowledges_as_in_the_worked_example) {
  RxWindow window;  // first at RX LWE 254, then with {255, 1, 2, 9}
  LongFrameNumber passed;
  for (int n = 0; n < 254; ++n) {
    window.on_received(number(n));
    ASSERT_TRUE(window.advance(passed));
  }
  for (const int n : {255, 257, 258, 265}) window.on_received(number(n));
  EXPECT_FALSE(window.advance(passed));
  EXPECT_EQ(window.ack().rx_lwe, FrameNumber{254});
  EXPECT_EQ(window.ack().selective, (Bytes{0x0D, 0x04}));
}

// C.3.4(4)(5)(8)
TEST(RxWindow, a_lost_segment_shows_as_an_explicit_0) {
  RxWindow window;
  window.on_received(number(1));
  window.on_heard(number(3));
  EXPECT_EQ(window.ack().rx_lwe, FrameNumber{0});
  EXPECT_EQ(window.ack().selective, (Bytes{0x01}));
}

// C.6.3.2(5)
TEST(RxWindow, the_128th_frame_is_fresh_and_the_next_is_outside) {
  RxWindow window;
  EXPECT_EQ(place(window, 127), RxWindow::Place::fresh);
  window.on_received(number(127));  // leaves a gap, so that some numbers are outside
  EXPECT_EQ(place(window, 127), RxWindow::Place::duplicate);
  EXPECT_EQ(place(window, 128), RxWindow::Place::out_of_window);
  EXPECT_EQ(place(window, 255), RxWindow::Place::out_of_window);
  EXPECT_EQ(place(window, 0), RxWindow::Place::fresh);
}

TEST(RxWindow, without_a_hole_the_128_frames_behind_are_duplicates) {
  RxWindow window;
  window.on_received(number(0));
  LongFrameNumber passed;
  ASSERT_TRUE(window.advance(passed));
  EXPECT_EQ(place(window, 0), RxWindow::Place::duplicate);
  EXPECT_EQ(place(window, 128), RxWindow::Place::fresh);
  EXPECT_EQ(place(window, 129), RxWindow::Place::duplicate);
}

// C.6.3.2(2)(3), C.6.3.2(4)
TEST(RxWindow, tests_1_and_2_agree_with_counting_in_whole_numbers) {
  // The numbers are unbounded around a random state, and the modular decision must be the same.
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    RxWindow window;
    LongFrameNumber passed;
    const int lwe = static_cast<int>(rng.below(300));
    for (int n = 0; n < lwe; ++n) {
      window.on_received(number(n));
      ASSERT_TRUE(window.advance(passed));
    }
    int uwe = lwe - 1;
    if (rng.chance(0.7)) {
      uwe = lwe + 1 + static_cast<int>(rng.below(126));
      window.on_received(number(uwe));
    }
    const int n = uwe - 127 + static_cast<int>(rng.below(static_cast<unsigned>(lwe - uwe + 255)));
    pdu::DataFlags flags;
    flags.uwe = rng.chance(0.5);
    flags.lwe = rng.chance(0.5);
    const bool in_sync = (!flags.uwe || (uwe <= n && n <= lwe + 127)) &&
                         (!flags.lwe || (uwe - 127 <= n && n <= lwe));
    const auto found = place(window, n, flags);
    if (!in_sync) {
      EXPECT_EQ(found, RxWindow::Place::out_of_window) << lwe << ' ' << uwe << ' ' << n;
    } else if (n < lwe || n == uwe) {
      EXPECT_EQ(found, RxWindow::Place::duplicate) << lwe << ' ' << uwe << ' ' << n;
    } else {
      EXPECT_EQ(found, RxWindow::Place::fresh) << lwe << ' ' << uwe << ' ' << n;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

class Sending : public ::testing::Test {
 protected:
  void request(std::uint64_t id, bool in_order) {
    ASSERT_TRUE(sender_.request({.id = {id}, .cpdu = Bytes(10), .in_order = in_order}));
  }
  void send() {
    IntervalBudget budget({}, std::chrono::seconds(60));
    BurstBuilder burst;
    sender_.fill({}, std::nullopt, budget, burst);
    sender_.on_sent();
  }
  std::vector<std::uint64_t> confirmed() {
    std::vector<std::uint64_t> ids;
    while (auto outcome = sender_.poll_outcome())
      ids.push_back(std::get<CpduConfirm>(*outcome).id.value);
    return ids;
  }
  Counters counters_;
  ArqSender sender_{{.segment_octets = 100, .window = 128, .queue_octets_max = 1000}, counters_};
};

TEST_F(Sending, an_in_order_c_pdu_is_confirmed_only_when_all_before_it_has_arrived) {
  request(1, true);
  request(2, true);
  send();
  EXPECT_TRUE(sender_.on_ack(ack_of(0, {1})).fits);  // the receiver holds 2 back
  EXPECT_TRUE(confirmed().empty());
  EXPECT_TRUE(sender_.on_ack(ack_of(2, {})).fits);
  EXPECT_EQ(confirmed(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(Sending, an_as_they_arrive_c_pdu_is_confirmed_with_its_last_frame) {
  request(1, true);
  request(2, false);
  send();
  EXPECT_TRUE(sender_.on_ack(ack_of(0, {1})).fits);
  EXPECT_EQ(confirmed(), (std::vector<std::uint64_t>{2}));
}

TEST_F(Sending, an_acknowledgement_is_news_once_and_one_outside_the_window_does_not_fit) {
  request(1, true);
  request(2, true);
  send();
  for (const bool news : {true, false}) {
    const ArqSender::AckEffect effect = sender_.on_ack(ack_of(0, {1}));
    EXPECT_TRUE(effect.fits);
    EXPECT_EQ(effect.news, news);
  }
  const ArqSender::AckEffect outside = sender_.on_ack(ack_of(100, {}));
  EXPECT_FALSE(outside.fits);
  EXPECT_FALSE(outside.news);
  EXPECT_TRUE(sender_.has_frames_out());
}

// Goal:   the sublayer above knows which C_PDUs need not be sent again, though they are not
//         confirmed yet.
TEST_F(Sending, what_the_receiver_holds_back_is_told_once) {
  request(1, true);
  request(2, true);
  request(3, false);
  send();
  EXPECT_TRUE(sender_.on_ack(ack_of(0, {1, 2})).fits);
  EXPECT_TRUE(sender_.on_ack(ack_of(0, {1, 2})).fits);
  EXPECT_EQ(sender_.poll_arrived().value().id, CpduId{2});  // 3 is already confirmed
  EXPECT_FALSE(sender_.poll_arrived());
}

// --- The order in which waiting C_PDUs are begun ---

class Order : public ::testing::Test {
 protected:
  void request(int number, std::uint8_t priority, std::uint64_t flow,
               std::optional<Instant> time_to_die = {}) {
    const auto id = static_cast<std::uint8_t>(number);
    ASSERT_TRUE(sender_.request({.id = {id},
                                 .cpdu = Bytes(10, id),
                                 .priority = priority,
                                 .flow = flow,
                                 .time_to_die = time_to_die}));
  }
  /// Returns the C_PDUs of a transmission by their ids. Each has one segment.
  std::vector<unsigned> sent() {
    IntervalBudget budget({}, std::chrono::seconds(60));
    BurstBuilder burst;
    sender_.fill({}, std::nullopt, budget, burst);
    sender_.on_sent();
    std::vector<unsigned> ids;
    for (const auto& dpdu : burst.dpdus()) ids.push_back(std::get<pdu::Data>(dpdu).segment.at(0));
    return ids;
  }
  Counters counters_;
  ArqSender sender_{
      {.segment_octets = 100, .window = 128, .queue_octets_max = 1000, .fair_turn = 3}, counters_};
};

// Accept: the flows are served in turn, and the more urgent C_PDU of the last flow goes first.
TEST_F(Order, one_c_pdu_in_so_many_is_of_the_flow_served_longest_ago) {
  for (const int id : {1, 2, 3, 4, 5, 6, 7, 8}) request(id, 15, 7);
  for (const int id : {11, 12}) request(id, 0, 8);
  request(21, 3, 9);
  request(22, 9, 9);
  EXPECT_EQ(sent(), (std::vector<unsigned>{1, 2, 11, 3, 4, 22, 5, 6, 12, 7, 8, 21}));
}

TEST_F(Order, of_a_single_flow_priority_and_age_decide) {
  request(1, 0, 7);
  request(2, 5, 7);
  request(3, 5, 7);
  request(4, 0, 7);
  EXPECT_EQ(sent(), (std::vector<unsigned>{2, 3, 1, 4}));
}

TEST_F(Order, what_had_begun_goes_first_after_a_restart) {
  request(1, 0, 8);
  request(2, 0, 8);
  EXPECT_EQ(sent(), (std::vector<unsigned>{1, 2}));
  request(3, 15, 7);
  request(4, 0, 8);
  sender_.restart({0});
  EXPECT_EQ(sent(), (std::vector<unsigned>{1, 2, 3, 4}));
}

TEST_F(Order, what_has_expired_has_no_turn) {
  const Instant soon(std::chrono::seconds(1));
  request(1, 0, 8, soon);
  for (const int id : {2, 3, 4, 5}) request(id, 15, 7);
  sender_.on_deadline(soon);
  EXPECT_EQ(sent(), (std::vector<unsigned>{2, 3, 4, 5}));
}

// --- Full duplex: an answer may have been formed before all of the data had arrived ---

class SendingInFullDuplex : public Sending {
 protected:
  static Instant t(int seconds) { return Instant(std::chrono::seconds(seconds)); }
  std::size_t send_until(Instant end) {
    IntervalBudget budget({}, std::chrono::seconds(60));
    BurstBuilder burst;
    sender_.fill({}, std::nullopt, budget, burst);
    sender_.on_sent(end);
    return burst.dpdus().size();
  }
};

TEST_F(SendingInFullDuplex, what_was_on_its_way_when_an_answer_was_formed_is_not_sent_again) {
  request(1, false);
  request(2, false);
  EXPECT_EQ(send_until(t(10)), 2u);
  request(3, false);
  EXPECT_EQ(send_until(t(20)), 1u);
  // The second C_PDU was lost, and its time was over.
  EXPECT_TRUE(sender_.on_ack(ack_of(1, {}), t(12)).fits);
  EXPECT_EQ(confirmed(), (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(sender_.awaits_answer());
  EXPECT_EQ(send_until(t(30)), 1u);  // the second C_PDU, not the third
  EXPECT_TRUE(sender_.on_ack(ack_of(3, {}), t(32)).fits);
  EXPECT_EQ(confirmed(), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_FALSE(sender_.awaits_answer());
}

TEST_F(SendingInFullDuplex, more_is_sent_without_waiting_and_only_a_missing_answer_is_asked_for) {
  request(1, false);
  EXPECT_EQ(send_until(t(10)), 1u);
  EXPECT_FALSE(sender_.has_work());
  request(2, false);
  EXPECT_TRUE(sender_.has_work());
  EXPECT_EQ(send_until(t(20)), 1u);
  sender_.doubt();
  EXPECT_GE(send_until(t(30)), 1u);
  request(3, false);
  EXPECT_FALSE(sender_.has_work());  // no new data to a peer that may be gone
  EXPECT_TRUE(sender_.on_ack(ack_of(2, {}), t(31)).fits);
  EXPECT_TRUE(sender_.has_work());
}

class Receiving : public ::testing::Test {
 protected:
  bool data(int n, std::string_view text, pdu::DataFlags flags, bool ok = true) {
    return receiver_.on_data(FrameNumber{static_cast<std::uint8_t>(n)}, flags,
                             Bytes(text.begin(), text.end()), ok);
  }
  std::string next() {
    const auto cpdu = receiver_.poll_cpdu();
    return cpdu ? std::string(cpdu->begin(), cpdu->end()) : "(none)";
  }
  static pdu::DataFlags flags(std::string_view text) {
    pdu::DataFlags f;
    f.in_order = true;
    for (const char c : text) {
      if (c == 'S') f.start = true;
      if (c == 'E') f.end = true;
      if (c == 'a') f.in_order = false;
      if (c == 'D') f.drop = true;
    }
    return f;
  }
  Counters counters_;
  ArqReceiver receiver_{100, 1000, counters_};
};

// C.4.1(9)-(14)
TEST_F(Receiving, segments_in_any_order_make_the_c_pdu) {
  data(2, "ghi", flags("E"));
  data(0, "abc", flags("S"));
  EXPECT_EQ(next(), "(none)");
  data(1, "def", flags(""));
  EXPECT_EQ(next(), "abcdefghi");
  EXPECT_EQ(next(), "(none)");
}

// C.3.3(7)
TEST_F(Receiving, an_in_order_c_pdu_waits_for_older_frames) {
  data(1, "two", flags("SE"));
  EXPECT_EQ(next(), "(none)");
  data(0, "one", flags("SE"));
  EXPECT_EQ(next(), "one");
  EXPECT_EQ(next(), "two");
}

// C.3.3(8)
TEST_F(Receiving, an_as_they_arrive_c_pdu_does_not_wait_and_comes_once) {
  data(2, "B", flags("Ea"));
  data(1, "A", flags("Sa"));
  EXPECT_EQ(next(), "AB");
  data(0, "one", flags("SE"));
  EXPECT_EQ(next(), "one");
  EXPECT_EQ(next(), "(none)");
}

TEST_F(Receiving, a_dropped_c_pdu_is_skipped_and_acknowledged) {
  data(0, "abc", flags("S"));
  data(1, "", flags("D"), false);  // DROP counts whatever the segment's CRC says
  data(2, "", flags("DE"));
  data(3, "next", flags("SE"));
  EXPECT_EQ(next(), "next");
  EXPECT_EQ(receiver_.ack().rx_lwe, FrameNumber{4});
}

// C.3.4(7)
TEST_F(Receiving, a_drop_frame_needs_no_room_for_its_segment) {
  data(1, std::string(1000, 'x'), flags("SE"));  // fills all that may be held
  data(2, "y", flags("S"));
  EXPECT_EQ(counters_[Counter::frames_not_held], 1u);
  data(2, "y", flags("SDE"));
  EXPECT_EQ(counters_[Counter::frames_not_held], 1u);
  data(0, "abc", flags("SE"));
  EXPECT_EQ(receiver_.ack().rx_lwe, FrameNumber{3});
}

// C.3.4(6)(7)
TEST_F(Receiving, a_damaged_segment_is_not_acknowledged) {
  data(0, "abc", flags("SE"), false);
  EXPECT_EQ(receiver_.ack().rx_lwe, FrameNumber{0});
  EXPECT_EQ(next(), "(none)");
  data(0, "abc", flags("SE"));
  EXPECT_EQ(next(), "abc");
}

TEST_F(Receiving, a_duplicate_is_acknowledged_again_and_not_delivered_again) {
  data(0, "abc", flags("SE"));
  EXPECT_EQ(next(), "abc");
  EXPECT_TRUE(data(0, "abc", flags("SE")));
  EXPECT_EQ(next(), "(none)");
  EXPECT_EQ(counters_[Counter::frames_duplicate], 1u);
}

TEST_F(Receiving, a_c_pdu_at_the_size_limit_passes_and_one_octet_more_does_not) {
  data(0, std::string(60, 'x'), flags("S"));
  data(1, std::string(40, 'y'), flags("E"));
  EXPECT_EQ(next().size(), 100u);
  data(2, std::string(60, 'x'), flags("S"));
  data(3, std::string(41, 'y'), flags("E"));
  EXPECT_EQ(next(), "(none)");
  EXPECT_EQ(counters_[Counter::cpdus_malformed], 1u);
  data(4, "fine", flags("SE"));
  EXPECT_EQ(next(), "fine");
}

TEST_F(Receiving, a_tail_without_a_start_is_counted_and_skipped) {
  data(0, "tail", flags("E"));
  data(1, "fine", flags("SE"));
  EXPECT_EQ(next(), "fine");
  EXPECT_EQ(counters_[Counter::cpdus_malformed], 1u);
}

}  // namespace
}  // namespace s5066::dts
