// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "modem/api/airtime.h"
#include "s5066d/dts/nonarq.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kSender{0x01020304};
constexpr Address kReceiver{0x01020305};

Bytes octets(std::size_t n) {
  Bytes out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(i * 7);
  return out;
}

class Nonarq : public ::testing::Test {
 protected:
  CpduRequest request(std::uint64_t id, std::size_t size, std::uint8_t repeats = 0) {
    return {.id = {id},
            .service = Service::nonarq,
            .destination = kReceiver,
            .cpdu = octets(size),
            .repeats = repeats};
  }
  std::vector<pdu::Nonarq> fill(Duration longest = 60s) {
    IntervalBudget budget({}, longest);
    BurstBuilder burst;
    sender_.drop_expired(now_);
    sender_.begin_burst(now_, now_ + 130s);
    sender_.fill(false, kSender, {}, budget, burst);
    sender_.set_windows(500s, burst);
    burst.encode({});
    sender_.note_windows(now_ + longest);
    std::vector<pdu::Nonarq> out;
    for (const auto& dpdu : burst.dpdus()) out.push_back(std::get<pdu::Nonarq>(dpdu));
    return out;
  }
  /// Makes a C_PDU of a single segment as it would be received.
  pdu::Nonarq whole(std::uint16_t id, Bytes cpdu, bool in_order = false) {
    pdu::Nonarq dpdu;
    dpdu.common = {.destination = kReceiver, .source = kSender};
    dpdu.cpdu_id = id;
    dpdu.in_order = in_order;
    dpdu.cpdu_size = static_cast<std::uint16_t>(cpdu.size());
    dpdu.window_half_s = 20;
    dpdu.segment = std::move(cpdu);
    return dpdu;
  }
  pdu::Nonarq torn_of(std::uint16_t id) {
    auto dpdu = whole(id, {1, 2, 3, 4});
    dpdu.segment.pop_back();
    return dpdu;
  }
  std::size_t delivered() {
    std::size_t n = 0;
    while (receiver_.poll_cpdu()) ++n;
    return n;
  }

  Instant now_{};
  Rng rng_{1};
  Counters counters_;
  NonarqSender sender_{
      {.segment_octets = 200, .segment_octets_once = 200, .queue_octets_max = 5000}, rng_};
  NonarqReceiver receiver_{{.contexts_max = 4}, counters_};
};

// C.3.10(1)(2), C.3.10(3)-(6), C.3.11(2), C.3.10(20)-(23), C.4.2(2)-(7)
TEST_F(Nonarq, segments_carry_offsets_and_the_copies_follow_c_pdu_by_c_pdu) {
  ASSERT_TRUE(sender_.request(request(1, 450, 1)));
  const auto sent = fill();
  ASSERT_EQ(sent.size(), 6u);
  const std::vector<int> offsets = {0, 200, 400, 0, 200, 400};
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].offset, offsets[i]);
    EXPECT_EQ(sent[i].cpdu_size, 450);
    EXPECT_EQ(sent[i].cpdu_id, sent[0].cpdu_id);
  }
  EXPECT_FALSE(sender_.poll_outcome());  // only after it has left the antenna
  sender_.on_sent();
  EXPECT_EQ(sender_.poll_outcome()->id, CpduId{1});
  EXPECT_FALSE(sender_.has_work(false));
}

TEST_F(Nonarq, what_is_sent_once_has_segments_of_their_own_length) {
  NonarqSender sender(
      {.segment_octets = 200, .segment_octets_once = 1023, .queue_octets_max = 5000}, rng_);
  ASSERT_TRUE(sender.request(request(1, 1500)));
  ASSERT_TRUE(sender.request(request(2, 400, 1)));
  IntervalBudget budget({}, 120s);
  BurstBuilder burst;
  sender.begin_burst(now_, now_ + 130s);
  sender.fill(false, kSender, {}, budget, burst);
  std::vector<std::size_t> octets;
  for (const auto& dpdu : burst.dpdus()) {
    octets.push_back(std::get<pdu::Nonarq>(dpdu).segment.size());
  }
  EXPECT_EQ(octets, (std::vector<std::size_t>{1023, 477, 200, 200, 200, 200}));
}

// Goal:   at any rate a segment takes at most about a quarter of a minute if the other segments are
//         of use without it. If they are not, headers are not multiplied.
TEST_F(Nonarq, segments_that_are_of_use_by_themselves_are_as_short_as_the_rate_wants_it) {
  for (const auto& mode : modem::all_modes()) {
    SCOPED_TRACE(modem::to_string(mode));
    for (const bool with_errors : {false, true}) {
      for (const std::uint8_t repeats : {std::uint8_t{0}, std::uint8_t{1}}) {
        NonarqSender sender({200, 1023, 10'000}, rng_);
        CpduRequest asked = request(1, 2048, repeats);
        asked.with_errors = with_errors;
        ASSERT_TRUE(sender.request(std::move(asked)));
        std::size_t longest = 0;
        for (int i = 0; i < 20 && sender.has_work(false); ++i) {
          IntervalBudget budget(mode, kTransmissionMax);
          BurstBuilder burst;
          sender.begin_burst(now_, now_ + 130s);
          sender.fill(false, kSender, {}, budget, burst);
          for (const auto& dpdu : burst.dpdus()) {
            longest = std::max(longest, std::get<pdu::Nonarq>(dpdu).segment.size());
          }
          sender.on_sent();
        }
        EXPECT_FALSE(sender.has_work(false));
        const bool in_parts = with_errors || repeats > 0;
        const std::size_t holds = modem::capacity(mode, kTransmissionMax) - pdu::nonarq_octets(0);
        EXPECT_EQ(longest, in_parts ? std::min<std::size_t>(mode.rate_bps * 15 / 8, 200)
                                    : std::min<std::size_t>(holds, 1023));
      }
    }
  }
}

TEST_F(Nonarq, what_does_not_fit_goes_on_in_the_next_transmission) {
  ASSERT_TRUE(sender_.request(request(1, 2000)));
  const auto first = fill(3s);
  sender_.on_sent();
  EXPECT_FALSE(sender_.poll_outcome());
  const auto second = fill();
  // The last one of the first part is cut where it ends.
  EXPECT_EQ(first.size() + second.size(), 11u);
  EXPECT_LT(first.back().segment.size(), 200u);
  EXPECT_EQ(second.front().offset, 200 * (first.size() - 1) + first.back().segment.size());
}

TEST_F(Nonarq, a_transmission_that_did_not_leave_is_filled_again) {
  ASSERT_TRUE(sender_.request(request(1, 450)));
  const auto first = fill();
  sender_.on_not_sent();
  EXPECT_EQ(fill().size(), first.size());
}

TEST_F(Nonarq, what_came_during_a_lost_transmission_keeps_its_copies) {
  ASSERT_TRUE(sender_.request(request(1, 100)));
  fill();
  ASSERT_TRUE(sender_.request(request(2, 100, 3)));
  sender_.on_not_sent();
  EXPECT_EQ(fill().size(), 1u + 4u);
}

TEST_F(Nonarq, a_share_bounds_the_octets_and_the_destination) {
  ASSERT_TRUE(sender_.request(request(1, 1000)));
  IntervalBudget budget({}, 60s);
  BurstBuilder burst;
  sender_.begin_burst(now_, now_ + 130s);
  sender_.fill(false, kSender, {.only_to = kSender}, budget, burst);
  EXPECT_TRUE(burst.empty());
  sender_.fill(false, kSender, {.octets_max = 2 * pdu::nonarq_octets(200)}, budget, burst);
  EXPECT_EQ(burst.dpdus().size(), 2u);
  sender_.fill(false, kSender, {.octets_max = pdu::nonarq_octets(50) - 1}, budget, burst);
  EXPECT_EQ(burst.dpdus().size(), 2u);
  sender_.fill(false, kSender, {.octets_max = pdu::nonarq_octets(50)}, budget, burst);
  EXPECT_EQ(burst.dpdus().size(), 3u);
}

TEST_F(Nonarq, the_queue_limit_is_exact) {
  EXPECT_TRUE(sender_.request(request(1, 4000)));
  EXPECT_TRUE(sender_.request(request(2, 1000)));
  EXPECT_FALSE(sender_.request(request(3, 1)));
}

TEST_F(Nonarq, an_expired_c_pdu_is_not_sent) {
  auto late = request(1, 100);
  late.time_to_die = Instant(5s);
  ASSERT_TRUE(sender_.request(late));
  now_ = Instant(5s);
  EXPECT_TRUE(fill().empty());
  EXPECT_TRUE(sender_.poll_outcome()->expired);
}

TEST_F(Nonarq, a_c_pdu_that_expires_on_the_air_is_reported_when_the_transmission_is_over) {
  auto late = request(1, 100);
  late.time_to_die = Instant(5s);
  ASSERT_TRUE(sender_.request(late));
  ASSERT_EQ(fill().size(), 1u);
  sender_.drop_expired(Instant(5s));
  EXPECT_FALSE(sender_.poll_outcome());
  sender_.on_sent();
  sender_.drop_expired(Instant(5s));
  EXPECT_FALSE(sender_.poll_outcome()->expired);
  EXPECT_FALSE(sender_.poll_outcome());

  ASSERT_TRUE(sender_.request(late));
  ASSERT_EQ(fill().size(), 1u);
  sender_.on_not_sent();
  sender_.drop_expired(Instant(5s));
  EXPECT_TRUE(sender_.poll_outcome()->expired);
}

TEST_F(Nonarq, a_c_pdu_of_which_a_copy_has_left_does_not_expire) {
  auto late = request(1, 400, 1);
  late.time_to_die = Instant(5s);
  for (const std::size_t left : {1, 2, 3}) {  // segments that are left; each copy has two
    ASSERT_TRUE(sender_.request(late));
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    sender_.begin_burst(now_, now_ + 130s);
    sender_.fill(false, kSender, {.octets_max = left * pdu::nonarq_octets(200)}, budget, burst);
    ASSERT_EQ(burst.dpdus().size(), left);
    sender_.on_sent();
    EXPECT_FALSE(sender_.poll_outcome());
    sender_.drop_expired(Instant(5s));
    EXPECT_EQ(sender_.poll_outcome()->expired, left < 2);
    EXPECT_FALSE(sender_.has_work(false));
  }
}

// Goal:   no part of a C_PDU is sent after its reception window.
// Method: a C_PDU takes two transmissions. The second is just in time for the window, or just too
//         late.
// C.3.10(24)-(27)
TEST_F(Nonarq, what_its_window_cuts_off_is_sent_anew_whole_under_another_id) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late);
    ASSERT_TRUE(sender_.request(request(1, 2000)));
    const auto first = fill(3s);
    EXPECT_GE(first.front().window_half_s, 1000);
    sender_.on_sent();
    now_ += 503s - 130s + (late ? 1ns : 0ns);
    const auto second = fill();
    ASSERT_FALSE(second.empty());
    EXPECT_EQ(second.front().cpdu_id != first.front().cpdu_id, late);
    EXPECT_EQ(second.front().offset == 0, late);
    EXPECT_LT(second.back().window_half_s, 120);  // no more of it follows
    sender_.on_sent();
    EXPECT_FALSE(sender_.poll_outcome()->expired);
    EXPECT_FALSE(sender_.has_work(false));
  }
}

// Goal:   a C_PDU that finds no turn in time ends all the same, and is not confirmed.
// Method: each time the next turn comes just after the window, which is twice as long each time.
TEST_F(Nonarq, what_its_windows_cut_off_three_times_has_failed) {
  ASSERT_TRUE(sender_.request(request(1, 2000)));
  std::set<std::uint16_t> ids;
  for (const Duration window : {500s, 1000s, 2000s}) {
    const auto sent = fill(3s);
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.front().offset, 0);
    EXPECT_EQ(sent.back().window_half_s - sent.back().common.eot_half_s, window / 500ms);
    EXPECT_TRUE(ids.insert(sent.front().cpdu_id).second);
    sender_.on_sent();
    EXPECT_FALSE(sender_.poll_outcome());
    now_ += 3s + window - 130s + 1ns;
  }
  EXPECT_TRUE(fill().empty());
  const auto outcome = sender_.poll_outcome();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->expired);
  EXPECT_FALSE(sender_.has_work(false));
}

// Goal:   a C_PDU that the modem aborts goes anew under another ID, as often as it takes, because a
//         station that heard part of it delivers that part when its announced window ends. The same
//         holds if an earlier part had a longer window.
TEST_F(Nonarq, what_was_aborted_goes_anew_under_another_id) {
  ASSERT_TRUE(sender_.request(request(1, 1500)));
  std::set<std::uint16_t> ids;
  for (const bool second_part : {false, true, false, true, false, false}) {
    if (second_part) {
      const auto first = fill(3s);
      ASSERT_FALSE(first.empty());
      EXPECT_TRUE(ids.insert(first.front().cpdu_id).second);
      sender_.on_sent();
      now_ += 10s;
      EXPECT_EQ(fill().front().cpdu_id, first.front().cpdu_id);
    } else {
      const auto whole = fill();
      ASSERT_FALSE(whole.empty());
      EXPECT_EQ(whole.front().offset, 0);
      EXPECT_TRUE(ids.insert(whole.front().cpdu_id).second);
    }
    sender_.on_not_sent();
    EXPECT_FALSE(sender_.poll_outcome());
    now_ += 10s;
  }
  const auto again = fill(3s);  // two of the renewals count as missed turns as well
  EXPECT_EQ(again.back().window_half_s - again.back().common.eot_half_s, 2000s / 500ms);
  sender_.on_sent();
  fill();
  sender_.on_sent();
  EXPECT_FALSE(sender_.poll_outcome()->expired);
}

// Goal:   a C_PDU of which a whole copy left before an abort is not sent anew, because a receiver
//         that has it would take it for another one. A C_PDU of which less has left is sent anew.
TEST_F(Nonarq, a_copy_that_left_before_an_abort_counts_as_sent) {
  for (std::size_t left = 0; left <= 6; ++left) {
    SCOPED_TRACE(left);
    NonarqSender sender(
        {.segment_octets = 200, .segment_octets_once = 200, .queue_octets_max = 5000}, rng_);
    ASSERT_TRUE(sender.request(request(1, 400, 1)));  // D_PDUs 1 and 2, 3 and 4
    ASSERT_TRUE(sender.request(request(2, 400)));     // D_PDUs 5 and 6
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    sender.begin_burst(now_, now_ + 60s);
    sender.fill(false, kSender, {}, budget, burst);
    ASSERT_EQ(burst.dpdus().size(), 6u);
    sender.set_windows(500s, burst);
    sender.note_windows(now_ + 60s);
    sender.on_not_sent(left);
    now_ += 10min;
    sender.drop_expired(now_);
    sender.begin_burst(now_, now_ + 60s);
    BurstBuilder again;
    IntervalBudget anew({}, 60s);
    sender.fill(false, kSender, {}, anew, again);
    std::size_t confirmed = 0;
    while (const auto outcome = sender.poll_outcome()) confirmed += outcome->expired ? 0 : 1;
    EXPECT_EQ(confirmed, left >= 6 ? 2u : left >= 2 ? 1u : 0u);
    EXPECT_EQ(again.dpdus().size(), left >= 6 ? 0u : left >= 2 ? 2u : 6u);
  }
}

// Goal:   between turns of others a C_PDU is not spread over two transmissions if one could hold
//         it. It is put off only once.
TEST_F(Nonarq, what_fits_whole_into_the_next_transmission_is_put_off_once) {
  for (const std::size_t whole : {0u, 3 * 228u - 1, 3 * 228u}) {
    SCOPED_TRACE(whole);
    NonarqSender sender({200, 200, 1 << 20}, rng_);
    for (std::uint64_t id = 1; id < 4; ++id) ASSERT_TRUE(sender.request(request(id, 600)));
    const auto sent = [&] {
      IntervalBudget budget({}, 60s);
      BurstBuilder burst;
      sender.begin_burst(now_, now_ + 130s);
      for (int fills = 0; fills < 2; ++fills) {
        sender.fill(false, kSender, {.octets_max = 5 * 228, .whole_octets = whole}, budget, burst);
      }
      sender.on_sent();
      return burst.dpdus().size();
    };
    EXPECT_EQ(sent(), whole == 3 * 228 ? 6u : 9u);
  }
  NonarqSender sender({200, 200, 1 << 20}, rng_);
  for (std::uint64_t id = 1; id < 4; ++id) ASSERT_TRUE(sender.request(request(id, 600)));
  std::vector<std::size_t> dpdus;
  for (int i = 0; i < 5; ++i) {
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    sender.begin_burst(now_, now_ + 130s);
    const std::size_t room = i == 0 ? 5 : 2;  // the turn that it waited for is short, too
    sender.fill(false, kSender, {.octets_max = room * 228, .whole_octets = 3 * 228}, budget, burst);
    sender.on_sent();
    dpdus.push_back(burst.dpdus().size());
  }
  EXPECT_EQ(dpdus, (std::vector<std::size_t>{3, 2, 1, 2, 1}));
}

TEST_F(Nonarq, copies_that_their_window_cuts_off_are_not_sent) {
  ASSERT_TRUE(sender_.request(request(1, 600, 3)));
  fill(3s);
  sender_.on_sent();
  EXPECT_FALSE(sender_.poll_outcome());
  now_ += 503s - 130s + 1ns;
  EXPECT_TRUE(fill().empty());
  EXPECT_FALSE(sender_.poll_outcome()->expired);
  EXPECT_FALSE(sender_.has_work(false));
}

// Goal:   an ID stands for one C_PDU until the window of that C_PDU has ended.
// Method: one C_PDU is not finished, and then so many short ones come that the IDs run out.
// C.3.10(3)-(6)
TEST_F(Nonarq, no_id_is_given_again_within_its_window) {
  NonarqSender sender({200, 200, 1 << 20}, rng_);
  const modem::Mode mode{modem::Waveform::stanag4539, 12800, modem::Interleaver::short_};
  ASSERT_TRUE(sender.request(request(1, 200, 40)));
  const auto sent = [&](std::size_t octets_max) {
    IntervalBudget budget(mode, kTransmissionMax);
    BurstBuilder burst;
    sender.begin_burst(now_, now_ + 130s);
    sender.fill(false, kSender, {.octets_max = octets_max}, budget, burst);
    sender.set_windows(9h, burst);
    sender.note_windows(now_ + 127s);
    sender.on_sent();
    now_ += 130s;
    std::vector<std::uint16_t> ids;
    for (const auto& dpdu : burst.dpdus()) ids.push_back(std::get<pdu::Nonarq>(dpdu).cpdu_id);
    return ids;
  };
  const auto held = sent(1000);
  ASSERT_FALSE(held.empty());
  for (std::uint64_t id = 2; id < 12'000; ++id) ASSERT_TRUE(sender.request(request(id, 1)));
  static_cast<void>(sent(SIZE_MAX));
  for (int i = 0; i < 2; ++i) {
    const auto ids = sent(SIZE_MAX);
    EXPECT_LE(ids.size(), 4095u);
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_EQ(std::count(ids.begin(), ids.end(), held.front()), 0);
  }
}

// Goal:   a sender without a free ID waits only until one is free.
TEST_F(Nonarq, the_first_id_that_is_free_again_is_a_deadline) {
  NonarqSender sender({200, 200, 1 << 20}, rng_);
  const modem::Mode mode{modem::Waveform::stanag4539, 12800, modem::Interleaver::short_};
  for (std::uint64_t id = 0; id < 4096; ++id) ASSERT_TRUE(sender.request(request(id, 1)));
  const auto fill = [&] {
    IntervalBudget budget(mode, kTransmissionMax);
    BurstBuilder burst;
    sender.begin_burst(now_, now_ + 130s);
    sender.fill(false, kSender, {}, budget, burst);
    sender.set_windows(500s, burst);
    sender.note_windows(now_ + 120s);
    return burst.dpdus().size();
  };
  ASSERT_EQ(fill(), 4096u);
  EXPECT_EQ(sender.next_deadline(), std::nullopt);
  sender.on_not_sent();
  EXPECT_EQ(fill(), 0u);
  const auto free_at = sender.next_deadline();
  ASSERT_TRUE(free_at);
  EXPECT_GE(*free_at, now_ + 120s);
  EXPECT_LE(*free_at, now_ + 121s);
  now_ = *free_at;
  EXPECT_EQ(fill(), 4096u);
  EXPECT_EQ(sender.next_deadline(), std::nullopt);
}

// C.4.2(8)(9)
TEST_F(Nonarq, segments_in_any_order_and_twice_make_one_c_pdu) {
  ASSERT_TRUE(sender_.request(request(1, 900, 1)));
  auto sent = fill();
  std::swap(sent[0], sent[3]);
  std::swap(sent[1], sent[6]);
  for (auto& dpdu : sent) receiver_.on_nonarq(Instant(1s), dpdu, true);
  const auto cpdu = receiver_.poll_cpdu();
  ASSERT_TRUE(cpdu);
  EXPECT_EQ(cpdu->cpdu, octets(900));
  EXPECT_FALSE(receiver_.poll_cpdu());
}

TEST_F(Nonarq, a_repetition_is_known_for_a_minute_past_its_window) {
  receiver_.on_nonarq(Instant(0s), whole(7, {1, 2, 3}), true);
  EXPECT_EQ(delivered(), 1u);
  EXPECT_EQ(receiver_.next_deadline(), std::nullopt);
  receiver_.on_deadline(Instant(70s) - 1ns);
  receiver_.on_nonarq(Instant(10s), whole(7, {1, 2, 3}), true);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_nonarq(Instant(80s) - 1ns, torn_of(8), true);
  receiver_.on_nonarq(Instant(80s), whole(7, {1, 2, 3}), true);
  EXPECT_EQ(delivered(), 1u);
}

// C.3.10(12), C.4.2(11)-(14)
TEST_F(Nonarq, what_is_damaged_or_missing_is_told_once_when_the_window_ends) {
  auto part = whole(7, octets(12));
  part.segment = {1, 2, 3, 4};
  part.offset = 0;
  receiver_.on_nonarq(Instant(0s), part, true);
  part.offset = 4;
  receiver_.on_nonarq(Instant(0s), part, false);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_deadline(Instant(10s) - 1ns);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_deadline(Instant(10s));
  const auto cpdu = receiver_.poll_cpdu();
  ASSERT_TRUE(cpdu);
  EXPECT_EQ(cpdu->cpdu, (Bytes{1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(cpdu->errored, (std::vector<OctetRange>{{4, 4}}));
  EXPECT_EQ(cpdu->missing, (std::vector<OctetRange>{{8, 4}}));
  part.offset = 8;
  receiver_.on_nonarq(Instant(11s), part, true);  // too late
  receiver_.on_deadline(Instant(1h));
  EXPECT_FALSE(receiver_.poll_cpdu());
}

// C.1.1(1)(2), C.4.2(10)
TEST_F(Nonarq, copies_heal_each_other_and_a_damaged_one_spoils_nothing) {
  auto first = whole(7, octets(12));
  auto half = first;
  half.segment.resize(8);
  receiver_.on_nonarq(Instant(0s), half, true);
  auto spoilt = first;
  for (auto& octet : spoilt.segment) octet ^= 0x55;
  receiver_.on_nonarq(Instant(0s), spoilt, false);
  EXPECT_EQ(delivered(), 0u);
  half.segment = {first.segment.begin() + 6, first.segment.begin() + 12};
  half.offset = 6;
  receiver_.on_nonarq(Instant(1s), half, true);
  const auto cpdu = receiver_.poll_cpdu();
  ASSERT_TRUE(cpdu);
  EXPECT_EQ(cpdu->cpdu, octets(12));
  EXPECT_TRUE(cpdu->intact());
}

TEST_F(Nonarq, an_incomplete_one_pushed_out_by_others_is_delivered_as_it_is) {
  auto torn = whole(1, {1, 2, 3, 4}, true);
  torn.segment.pop_back();
  receiver_.on_nonarq(Instant(0s), torn, true);
  receiver_.on_nonarq(Instant(0s), whole(2, {5}, true), true);
  for (std::uint16_t id = 3; id < 5; ++id) receiver_.on_nonarq(Instant(0s), torn_of(id), true);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_nonarq(Instant(0s), torn_of(5), true);  // the fifth C_PDU where four have room
  ASSERT_EQ(receiver_.poll_cpdu()->missing, (std::vector<OctetRange>{{3, 1}}));
  EXPECT_EQ(receiver_.poll_cpdu()->cpdu, Bytes{5});  // this one waited for the torn one
  EXPECT_EQ(delivered(), 0u);
}

// C.4.2(15)-(17)
TEST_F(Nonarq, in_order_goes_by_number_across_the_wrap) {
  auto torn = [this](std::uint16_t id) {
    auto dpdu = whole(id, {static_cast<std::uint8_t>(id), 9}, true);
    dpdu.segment.pop_back();
    return dpdu;
  };
  for (const int id : {0, 4094, 1, 4095}) {
    receiver_.on_nonarq(Instant(0s), torn(static_cast<std::uint16_t>(id)), true);
  }
  receiver_.on_deadline(Instant(10s));
  for (const int id : {4094, 4095, 0, 1}) {
    const auto cpdu = receiver_.poll_cpdu();
    ASSERT_TRUE(cpdu);
    EXPECT_EQ(cpdu->cpdu[0], static_cast<std::uint8_t>(id));
  }
}

TEST_F(Nonarq, a_number_with_other_octets_is_a_new_c_pdu) {
  receiver_.on_nonarq(Instant(0s), whole(7, {1, 2, 3}), true);
  receiver_.on_nonarq(Instant(1s), whole(7, {1, 2, 4}), true);
  receiver_.on_nonarq(Instant(1s), whole(7, {1, 2}), true);
  EXPECT_EQ(delivered(), 3u);
}

// C.3.10(11)
TEST_F(Nonarq, in_order_waits_for_an_older_one_until_its_window_has_passed) {
  auto torn = whole(1, {1, 2, 3, 4}, true);
  torn.segment.pop_back();
  receiver_.on_nonarq(Instant(0s), torn, true);
  receiver_.on_nonarq(Instant(1s), whole(2, {5}, true), true);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_nonarq(Instant(2s), whole(3, {6}, false), true);
  EXPECT_EQ(delivered(), 1u);
  receiver_.on_deadline(Instant(10s));
  EXPECT_EQ(delivered(), 2u);  // the torn one as it is, then the waiting one
}

TEST_F(Nonarq, lying_offsets_are_counted_and_memory_stays_bounded) {
  auto bad = whole(1, {1, 2, 3});
  bad.offset = 1;
  receiver_.on_nonarq(Instant(0s), bad, true);
  bad.cpdu_size = 0;
  receiver_.on_nonarq(Instant(0s), bad, true);
  EXPECT_EQ(counters_[Counter::dpdus_malformed], 2u);
  for (std::uint16_t id = 0; id < 100; ++id) receiver_.on_nonarq(Instant(0s), whole(id, {1}), true);
  EXPECT_EQ(delivered(), 100u);
}

TEST_F(Nonarq, each_type_counts_its_c_pdus_by_itself) {
  for (const Service service : {Service::nonarq, Service::expedited_nonarq, Service::nonarq,
                                Service::expedited_nonarq, Service::expedited_nonarq}) {
    auto one = request(1, 10);
    one.service = service;
    ASSERT_TRUE(sender_.request(one));
  }
  IntervalBudget budget({}, 60s);
  BurstBuilder burst;
  std::vector<int> ids[2];
  for (const bool expedited : {false, true}) sender_.fill(expedited, kSender, {}, budget, burst);
  for (const auto& dpdu : burst.dpdus()) {
    const auto& nonarq = std::get<pdu::Nonarq>(dpdu);
    ids[nonarq.expedited].push_back(nonarq.cpdu_id);
  }
  ASSERT_EQ(ids[0].size(), 2u);
  ASSERT_EQ(ids[1].size(), 3u);
  for (const auto& list : ids) {
    for (std::size_t i = 1; i < list.size(); ++i) EXPECT_EQ(list[i], (list[i - 1] + 1) & 0xFFF);
  }
}

// Goal:   a station that begins one C_PDU after another displaces no half-received C_PDU of another
//         station, and makes no old one come twice.
TEST_F(Nonarq, who_crowds_the_receiver_loses_its_own) {
  const auto from_other = [&](std::uint16_t id) {
    auto dpdu = torn_of(id);
    dpdu.common.source = Address{0x01020399};
    return dpdu;
  };
  receiver_.on_nonarq(now_, whole(1, {1, 2}), true);
  EXPECT_EQ(delivered(), 1u);
  receiver_.on_nonarq(now_, torn_of(2), true);
  for (std::uint16_t id = 0; id < 20; ++id) receiver_.on_nonarq(now_, from_other(id), true);
  while (const auto cpdu = receiver_.poll_cpdu()) EXPECT_NE(cpdu->source, kSender);
  receiver_.on_nonarq(now_, whole(1, {1, 2}), true);
  EXPECT_EQ(delivered(), 0u);
  receiver_.on_nonarq(now_, whole(2, {1, 2, 3, 4}), true);
  EXPECT_EQ(delivered(), 1u);
}

}  // namespace
}  // namespace s5066::dts
