#include "s5066d/dts/interval_packer.h"

#include <algorithm>

#include "modem/api/airtime.h"

namespace s5066::dts {
namespace {

// Rounded up, so that nobody keys before the last bit is out (C.3.2.3(5)).
std::uint64_t half_seconds(Duration d) {
  constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
  return static_cast<std::uint64_t>((d + kHalfSecond - Duration(1)) / kHalfSecond);
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

BurstBuilder::Encoded BurstBuilder::encode(const modem::Mode& mode, Duration extra_window) {
  std::size_t total = 0;
  for (const auto& dpdu : dpdus_) total += pdu::encoded_size(dpdu);
  const Duration data_time = modem::data_duration(mode, total);
  S5066_ASSERT(data_time <= kTransmissionMax);

  Encoded out;
  out.octets.reserve(total);
  for (auto& dpdu : dpdus_) {
    const auto sent_bits = static_cast<Duration::rep>(8 * out.octets.size());
    // Where the rate counts pauses in, bits run a little behind the burst;
    // an end that is not known would be 0.
    const Duration left =
        std::max(data_time - Duration(sent_bits * 1'000'000'000 / mode.rate_bps), Duration(1));
    const auto eot = static_cast<std::uint8_t>(std::min<std::uint64_t>(255, half_seconds(left)));
    std::visit([&](auto& d) { d.common.eot_half_s = eot; }, dpdu);
    if (auto* nonarq = std::get_if<pdu::Nonarq>(&dpdu)) {
      nonarq->window_half_s = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(65535, half_seconds(left + extra_window)));
    }
    pdu::encode(dpdu, out.octets);
    out.ends.push_back(out.octets.size());
  }
  return out;
}

}  // namespace s5066::dts
