#include <gtest/gtest.h>

#include "s5066d/dts/arq_sender.h"
#include "s5066d/dts/interval_packer.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

// C.3.2.3(5): rounded up, and not beyond. Six blocks are 1722 symbols; behind 2088 bits exactly
// half a second of them is left, though neither is a whole number of nanoseconds.
TEST(IntervalPacker, an_end_at_an_exact_half_second_is_announced_as_that) {
  constexpr modem::Mode kMode{modem::Waveform::stanag4539, 9600, modem::Interleaver::ultra_short};
  for (const auto& [first, eot] : {std::pair{260u, 2}, {261u, 1}, {262u, 1}}) {
    BurstBuilder burst;
    burst.add(pdu::Data{.segment = Bytes(first - pdu::data_octets(0))});
    burst.add(pdu::Data{.segment = Bytes(860 - first - pdu::data_octets(0))});
    burst.encode(kMode, {});
    EXPECT_EQ(int{pdu::common_of(burst.dpdus()[0]).eot_half_s}, 2);
    EXPECT_EQ(int{pdu::common_of(burst.dpdus()[1]).eot_half_s}, eot) << first;
  }
}

/// A sender whose peer takes segments of any length, at 75 bit/s: header and transmission are not
/// much longer than a frame there.
class SlowSender : public ::testing::Test {
 protected:
  SlowSender() { sender.set_any_segment_length(true); }

  void request(std::uint64_t id, std::size_t octets) {
    ASSERT_TRUE(sender.request({.id = {id}, .cpdu = Bytes(octets)}).ok());
  }
  /// The lengths of the segments in the next transmission.
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

// Of 1170 octets 463 are left, then 220: 441 octets are worth another header, 198 are not.
TEST_F(SlowSender, ends_a_transmission_before_a_segment_that_would_not_pay_for_its_header) {
  request(1, 2054);
  request(2, 2054);
  EXPECT_EQ(next_segments(modem::Interleaver::short_), (std::vector<std::size_t>{685, 441}));
  EXPECT_EQ(next_segments(modem::Interleaver::short_), (std::vector<std::size_t>{928}));
}

// Twelve frames of 92 octets leave 44 of the last block, and that is sent in any case.
TEST_F(SlowSender, fills_a_block_that_is_begun_however_short_the_segment) {
  for (std::uint64_t i = 0; i < 20; ++i) request(i, 70);
  std::vector<std::size_t> expected(12, 70);
  expected.push_back(22);
  EXPECT_EQ(next_segments(modem::Interleaver::long_), expected);
}

}  // namespace
}  // namespace s5066::dts
