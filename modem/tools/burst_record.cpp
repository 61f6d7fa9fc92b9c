// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/burst_record.h"

#include <algorithm>

namespace s5066::modem::tools {
namespace {
/// At 75 bit/s the signal has sets of symbols and no known ones, so ratios above about 17 dB cannot
/// be told apart.
constexpr std::uint32_t kSetsRateBps = 75;
constexpr float kSetsTellDb = 14;
}  // namespace

std::string_view to_string(CarrierDownReason reason) {
  switch (reason) {
    case CarrierDownReason::end_of_message:
      return "end_of_message";
    case CarrierDownReason::lost:
      return "lost";
    case CarrierDownReason::replaced:
      return "replaced";
  }
  return "unknown";
}

std::string waveform_name(const Mode& mode) {
  const std::string name = modem::to_string(mode);
  return name.substr(0, name.find('-'));
}

BurstRecord::BurstRecord(const BurstAcquired& acquired)
    : acquired_(acquired),
      mode_(acquired.mode),
      channel_{.snr_db = acquired.snr_db, .offset_hz = acquired.offset_hz} {}

float BurstRecord::snr_db() const {
  if (octets_ == 0) return acquired_.snr_db;
  const float mean = snr_sum_db_ / static_cast<float>(octets_);
  const bool more = mode_.rate_bps == kSetsRateBps && mean > kSetsTellDb;
  return more ? std::max(mean, acquired_.snr_db) : mean;
}

void BurstRecord::take(const BurstBytes& received) {
  mode_ = received.mode;
  channel_ = received.channel;
  octets_ += received.bytes.size();
  snr_sum_db_ += received.channel.snr_db * static_cast<float>(received.bytes.size());
  newest_quality_ = received.soft_quality;
  quality_sum_ += received.soft_quality * static_cast<float>(received.bytes.size());
  worst_quality_ = std::min(worst_quality_.value_or(received.soft_quality), received.soft_quality);
}

}  // namespace s5066::modem::tools
