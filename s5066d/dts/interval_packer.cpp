// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/interval_packer.h"

#include <algorithm>

#include "modem/api/airtime.h"

namespace s5066::dts {
namespace {

// Returns the half seconds until the end, rounded up, so that no station keys before the last bit
// is out (C.3.2.3(5)). It computes in whole numbers: most symbols and bits are no whole number of
// nanoseconds, and one nanosecond too many would move an end at an exact half second by another
// half second. The result is at least 1, because 0 means an unknown end: if the rate includes
// pauses, bits run a little behind the burst.
std::uint64_t half_seconds_left(const modem::Mode& mode, std::uint64_t symbols,
                                std::uint64_t bits_sent) {
  const std::uint64_t whole = symbols * mode.rate_bps;
  const std::uint64_t gone = bits_sent * modem::symbol_rate(mode);
  const std::uint64_t half_second = modem::symbol_rate(mode) * mode.rate_bps / 2;
  return gone < whole ? (whole - gone + half_second - 1) / half_second : 1;
}

}  // namespace

IntervalBudget::IntervalBudget(const modem::Mode& mode, Duration data_time_max)
    : mode_(mode), left_(modem::capacity(mode, data_time_max)) {
  S5066_ASSERT(data_time_max <= kTransmissionMax);
}

void IntervalBudget::take(std::size_t octets) {
  S5066_ASSERT(fits(octets));
  left_ -= octets;
  taken_ += octets;
}

std::size_t IntervalBudget::left_in_block() const {
  const std::size_t held = modem::block_capacity(mode_, modem::block_count(mode_, taken_));
  return std::min(left_, held - std::min(held, taken_));
}

BurstBuilder::Encoded BurstBuilder::encode(const modem::Mode& mode, bool tells_end) {
  std::size_t total = 0;
  for (const auto& dpdu : dpdus_) total += pdu::encoded_size(dpdu);
  S5066_ASSERT(modem::data_duration(mode, total) <= kTransmissionMax);
  const std::uint64_t symbols = modem::data_symbols(mode, modem::block_count(mode, total));

  Encoded out;
  out.octets.reserve(total);
  for (auto& dpdu : dpdus_) {
    const std::uint64_t left = half_seconds_left(mode, symbols, 8 * out.octets.size());
    const auto eot = static_cast<std::uint8_t>(tells_end ? std::min<std::uint64_t>(255, left) : 0);
    std::visit([&](auto& d) { d.common.eot_half_s = eot; }, dpdu);
    if (auto* nonarq = std::get_if<pdu::Nonarq>(&dpdu)) {
      nonarq->window_half_s =
          static_cast<std::uint16_t>(std::min<std::uint64_t>(65535, left + nonarq->window_half_s));
    }
    pdu::encode(dpdu, out.octets);
    out.ends.push_back(out.octets.size());
  }
  return out;
}

}  // namespace s5066::dts
