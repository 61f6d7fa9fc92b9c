#include "modem/tools/burst_record.h"

#include <algorithm>

namespace s5066::modem::tools {

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

BurstRecord::BurstRecord(const BurstAcquired& acquired)
    : acquired_(acquired),
      mode_(acquired.mode),
      channel_{.snr_db = acquired.snr_db, .offset_hz = acquired.offset_hz} {}

void BurstRecord::take(const BurstBytes& received) {
  mode_ = received.mode;
  channel_ = received.channel;
  octets_ += received.bytes.size();
  newest_quality_ = received.soft_quality;
  quality_sum_ += received.soft_quality * static_cast<float>(received.bytes.size());
  worst_quality_ = std::min(worst_quality_.value_or(received.soft_quality), received.soft_quality);
}

}  // namespace s5066::modem::tools
