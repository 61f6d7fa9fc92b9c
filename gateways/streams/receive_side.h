// SPDX-License-Identifier: Apache-2.0
// Keeps the octets of one direction of a stream at its receiver. They come from the air in any
// order and stay until the application has consumed them. The window bounds the octets held. This
// end grants it ahead as a limit on the offset. The window doubles when a peer uses it up, as far
// as the shared memory allows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "gateways/streams/stream_pdu.h"
#include "gateways/streams/stream_zstd.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::streams {

/// Octets that a sender may send on a stream before the far end has granted more.
inline constexpr std::size_t kFirstWindow = 32 * 1024;

class ReceiveSide {
 public:
  struct Config {
    std::size_t window_max = 512 * 1024;
    std::size_t early_pieces_max = 1024;  // pieces held after a gap
    /// Limit for octets that the application has got and not consumed.
    std::size_t unconsumed_max = 64 * 1024;
  };

  explicit ReceiveSide(const Config& config) : config_(&config) {}

  /// Returns the number of octets that were new. Returns an error if the frame contradicts earlier
  /// ones or goes beyond the limit granted.
  Result<std::size_t> on_data(const DataFrame& data);
  /// Returns the next octets for the application, or nothing if there are none or the application
  /// has enough. Returns an error if the octets cannot be decompressed.
  Result<std::optional<Bytes>> poll_octets();
  /// Returns true once, when the application has got all octets and the direction has ended.
  bool poll_end();
  void on_consumed(std::size_t octets);

  std::uint64_t received() const;
  /// True if all octets and the end have arrived.
  bool ended() const { return end_at_ && received_ == *end_at_; }
  /// True if the application has got all octets and the end.
  bool complete() const { return end_told_; }
  std::size_t held() const { return ready_.size() + early_octets_; }
  std::size_t window() const { return window_; }
  bool compressed() const { return decompressor_.has_value(); }

  /// Returns the limit to grant now.
  std::uint64_t limit() const { return taken_ + window_; }
  /// True if granting the limit now is urgent, because half of the window is used up.
  bool limit_due() const { return limit() >= granted_ + window_ / 2 && !end_at_; }
  /// Doubles the window if the peer has used half of it since the last grant.
  bool wants_larger_window() const;
  void enlarge_window();
  void on_granted() {
    granted_ = limit();
    granted_at_ = received_;
  }

 private:
  const Config* config_;
  std::optional<Decompressor> decompressor_;
  std::size_t window_ = kFirstWindow;
  std::uint64_t granted_ = kFirstWindow;
  std::uint64_t granted_at_ = 0;  // received() at the last grant
  std::uint64_t received_ = 0;    // octets in order, without the end
  std::uint64_t taken_ = 0;       // octets that the application or decompression has taken
  Bytes ready_;                   // octets from taken_ to received_
  std::map<std::uint64_t, Bytes> early_;
  std::size_t early_octets_ = 0;
  std::optional<std::uint64_t> end_at_;
  bool end_told_ = false;
  std::size_t unconsumed_ = 0;
};

}  // namespace s5066::streams
