// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "modem/api/airtime.h"
#include "s5066d/dts/arq_sender.h"
#include "s5066d/dts/interval_packer.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kSender{0x01020304};
constexpr Address kReceiver{0x01020305};

// C.3.2.3(5): the EOT is rounded up, and not beyond. Six blocks are 1722 symbols. After 2088 bits
// exactly half a second of them is left, though neither is a whole number of nanoseconds.
TEST(IntervalPacker, an_end_at_an_exact_half_second_is_announced_as_that) {
  constexpr modem::Mode kMode{modem::Waveform::stanag4539, 9600, modem::Interleaver::ultra_short};
  for (const auto& [first, eot] : {std::pair{260u, 2}, {261u, 1}, {262u, 1}}) {
    BurstBuilder burst;
    burst.add(pdu::Data{.segment = Bytes(first - pdu::data_octets(0))});
    burst.add(pdu::Data{.segment = Bytes(860 - first - pdu::data_octets(0))});
    burst.encode(kMode);
    EXPECT_EQ(int{pdu::common_of(burst.dpdus()[0]).eot_half_s}, 2);
    EXPECT_EQ(int{pdu::common_of(burst.dpdus()[1]).eot_half_s}, eot) << first;
  }
}

/// A sender at 75 bit/s whose peer takes segments of any length. A header and a transmission are
/// there not much longer than a frame.
class SlowSender : public ::testing::Test {
 protected:
  SlowSender() { sender.set_any_segment_length(true); }

  void request(std::uint64_t id, std::size_t octets) {
    ASSERT_TRUE(sender.request({.id = {id}, .cpdu = Bytes(octets)}).ok());
  }
  /// Returns the lengths of the segments in the next transmission.
  std::vector<std::size_t> next_segments(modem::Interleaver interleaver) {
    BurstBuilder burst;
    IntervalBudget budget({modem::Waveform::ms110a, 75, interleaver}, kTransmissionMax);
    sender.fill({}, std::nullopt, budget, burst);
    std::vector<std::size_t> segments;
    for (const auto& dpdu : burst.dpdus()) {
      segments.push_back(std::get<pdu::Data>(dpdu).segment.size());
    }
    return segments;
  }

  Counters counters;
  ArqSender sender{{.segment_octets = 1023, .window = kWindowMax, .queue_octets_max = 100'000},
                   counters};
};

// 1170 octets leave 463, then 220. A segment of 441 octets is worth another header, one of 198 is
// not.
TEST_F(SlowSender, ends_a_transmission_before_a_segment_that_would_not_pay_for_its_header) {
  request(1, 2054);
  request(2, 2054);
  EXPECT_EQ(next_segments(modem::Interleaver::short_), (std::vector<std::size_t>{685, 441}));
  EXPECT_EQ(next_segments(modem::Interleaver::short_), (std::vector<std::size_t>{928}));
}

// Twelve frames of 92 octets leave 44 octets of the last block, and the block is sent in any case.
TEST_F(SlowSender, fills_a_block_that_is_begun_however_short_the_segment) {
  for (std::uint64_t i = 0; i < 20; ++i) request(i, 70);
  std::vector<std::size_t> expected(12, 70);
  expected.push_back(22);
  EXPECT_EQ(next_segments(modem::Interleaver::long_), expected);
}

// C.3.10(24)-(27)
TEST(IntervalPacker, reception_windows_count_down_with_eot) {
  for (const Duration extra : {Duration(0s), Duration(100s)}) {
    BurstBuilder burst;
    for (int i = 0; i < 8; ++i) {
      pdu::Nonarq nonarq{.common = {.destination = kReceiver, .source = kSender}};
      nonarq.cpdu_size = 400;
      nonarq.segment = Bytes(400);
      nonarq.window_half_s = static_cast<std::uint16_t>(extra / 500ms);
      burst.add(nonarq);
    }
    burst.encode({});
    for (const auto& dpdu : burst.dpdus()) {
      const auto& nonarq = std::get<pdu::Nonarq>(dpdu);
      EXPECT_EQ(nonarq.window_half_s, nonarq.common.eot_half_s + extra / 500ms);
    }
  }
}

TEST(IntervalPacker, the_rest_of_a_block_is_free_and_the_next_octet_is_not) {
  const modem::Mode mode;  // 2400 short: a block has 180 octets, the last one 22 less
  IntervalBudget budget(mode, 60s);
  EXPECT_EQ(budget.left_in_block(), 158u);
  budget.take(158);
  EXPECT_EQ(budget.left_in_block(), 0u);
  budget.take(1);
  EXPECT_EQ(budget.left_in_block(), 179u);
  EXPECT_EQ(modem::block_count(mode, 158), 1u);
  EXPECT_EQ(modem::block_count(mode, 159), 2u);
}

// C.3.2.3(1)(2), C.3.2.3(4)(10), C.3.2.3(5), C.3.2.3(11)
TEST(IntervalPacker, every_eot_is_the_time_left_rounded_up) {
  const modem::Mode mode;
  BurstBuilder burst;
  const pdu::Common common{.destination = kReceiver, .source = kSender};
  for (int i = 0; i < 8; ++i) {
    burst.add(pdu::Data{common, {}, FrameNumber{}, Bytes(400)});
  }
  const auto encoded = burst.encode(mode);
  ASSERT_EQ(encoded.ends.size(), 8u);
  const double total = to_seconds(modem::data_duration(mode, encoded.octets.size()));
  for (std::size_t i = 0; i < 8; ++i) {
    const double left = total - static_cast<double>(i) * 422 * 8 / 2400;
    const double eot = pdu::common_of(burst.dpdus()[i]).eot_half_s / 2.0;
    EXPECT_GE(eot, left) << i;
    EXPECT_LT(eot, left + 0.5) << i;
  }
}

}  // namespace
}  // namespace s5066::dts
