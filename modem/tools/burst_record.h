// SPDX-License-Identifier: Apache-2.0
// A record of one burst from the events of its receiver, for the displays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "modem/waveforms/burst_events.h"

namespace s5066::modem::tools {

/// Returns a name for the way in which a burst ended.
std::string_view to_string(CarrierDownReason reason);

/// Returns all that is known of a mode whose preamble was missed: "4285", "110a".
std::string waveform_name(const Mode& mode);

class BurstRecord {
 public:
  explicit BurstRecord(const BurstAcquired& acquired);
  void take(const BurstBytes& received);
  void take(const BurstEnded& ended) { ended_ = ended; }

  const BurstAcquired& acquired() const { return acquired_; }
  /// Returns the mode of the octets, if there are any.
  const Mode& mode() const { return mode_; }
  /// Returns the channel at the newest octets.
  const ChannelEstimate& channel() const { return channel_; }
  /// Returns the mean ratio of the octets. For a burst without octets it is that of the preamble,
  /// which may have been cut off.
  float snr_db() const;
  std::size_t octets() const { return octets_; }
  float newest_quality() const { return newest_quality_; }
  /// Returns the mean quality of all octets, and below it that of the worst ones.
  float quality() const { return octets_ > 0 ? quality_sum_ / static_cast<float>(octets_) : 0; }
  float worst_quality() const { return worst_quality_.value_or(0); }
  const std::optional<BurstEnded>& ended() const { return ended_; }
  /// Returns true if this was no burst, because the same transmission was acquired again as the
  /// next one.
  bool is_next() const { return ended_ && ended_->same_signal; }
  /// Returns true if all of the burst was received.
  bool whole() const {
    return ended_ && ended_->reason == CarrierDownReason::end_of_message && !acquired_.joined &&
           !acquired_.late;
  }

 private:
  BurstAcquired acquired_;
  Mode mode_;
  ChannelEstimate channel_;
  std::size_t octets_ = 0;
  float newest_quality_ = 0;
  float quality_sum_ = 0;
  float snr_sum_db_ = 0;
  std::optional<float> worst_quality_;
  std::optional<BurstEnded> ended_;
};

}  // namespace s5066::modem::tools
