// What is known of one burst by the events of its receiver, for who tells people of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "modem/waveforms/burst_events.h"

namespace s5066::modem::tools {

/// Words for the ways in which a burst ends.
std::string_view to_string(CarrierDownReason reason);

/// Returns all that is known of a mode whose preamble was missed: "4285", "110a".
std::string waveform_name(const Mode& mode);

class BurstRecord {
 public:
  explicit BurstRecord(const BurstAcquired& acquired);
  void take(const BurstBytes& received);
  void take(const BurstEnded& ended) { ended_ = ended; }

  const BurstAcquired& acquired() const { return acquired_; }
  /// As the octets have it, if there are any.
  const Mode& mode() const { return mode_; }
  /// As of the newest octets.
  const ChannelEstimate& channel() const { return channel_; }
  /// Of the octets, on average; of a burst without any as its preamble had it, which may have been
  /// cut short.
  float snr_db() const;
  std::size_t octets() const { return octets_; }
  float newest_quality() const { return newest_quality_; }
  /// Of all octets, and of the worst of them.
  float quality() const { return octets_ > 0 ? quality_sum_ / static_cast<float>(octets_) : 0; }
  float worst_quality() const { return worst_quality_.value_or(0); }
  const std::optional<BurstEnded>& ended() const { return ended_; }
  /// No burst: the same transmission was acquired after all, as the next one.
  bool is_next() const { return ended_ && ended_->same_signal; }
  /// All of it was received.
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
