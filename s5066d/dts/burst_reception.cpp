// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/burst_reception.h"

#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::dts {
namespace {

/// Largest deviation between the expected and the reported time of a bit within one burst.
constexpr Duration kBitSlack = std::chrono::milliseconds(2);

}  // namespace

void BurstReception::begin(const modem::Mode& mode, bool beside_own) {
  scanner_.reset();
  burst_ = HeardBurst{.mode = mode, .beside_own = beside_own};
}

// Received octets count even if the SNR is not a number.
void BurstReception::on_bytes(const modem::ReceivedBytes& event) {
  if (!burst_) return;
  if (!burst_->start) begin_bits(event);
  burst_->bits_until =
      event.first_bit_at +
      from_seconds(8.0 * static_cast<double>(event.bytes.size()) / event.mode.rate_bps);
  const double snr_db = event.channel.snr_db;
  burst_->meter.on_bytes(event.bytes.size(),
                         std::isfinite(snr_db) ? std::optional(snr_db) : std::nullopt);
  scanner_.push(event.bytes);
}

// A modem may mistake user bits for the end of a burst and report the rest as another burst. If the
// new bits follow those before without a gap, they continue the same burst.
void BurstReception::begin_bits(const modem::ReceivedBytes& event) {
  burst_->start = event.first_bit_at;
  if (!left_off_ || left_off_->mode != event.mode) return;
  const Duration gap = event.first_bit_at - left_off_->bits_until;
  if (gap > kBitSlack || gap < -kBitSlack) return;
  burst_->start = left_off_->start;
  scanner_.resume();
}

void BurstReception::on_last_bytes() {
  if (!burst_ || !burst_->start) return;
  left_off_ = LeftOff{burst_->mode, *burst_->start, burst_->bits_until};
  scanner_.finish();
}

Instant BurstReception::first_bit_at(const pdu::Received& received) const {
  S5066_ASSERT(burst_ && burst_->start);
  const auto bit_time =
      static_cast<Duration::rep>(received.first_bit) * 1'000'000'000 / burst_->mode.rate_bps;
  return *burst_->start + Duration(bit_time);
}

}  // namespace s5066::dts
