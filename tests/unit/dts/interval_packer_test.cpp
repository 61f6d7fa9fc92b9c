#include <gtest/gtest.h>

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

}  // namespace
}  // namespace s5066::dts
