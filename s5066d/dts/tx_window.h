// SPDX-License-Identifier: Apache-2.0
// The transmit side of one selective-ARQ connection: which frames are out, and which are
// acknowledged (C.6.2, C.6.3.2). Frames have long numbers here; types 0 to 5 carry their lower
// octet.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

/// Largest window of the standard (C.6.2(7)): half the frame number space.
inline constexpr unsigned kWindowMax = 128;
/// Largest window with types 9 and 10: RX LWE, and a bit for each frame after it.
inline constexpr unsigned kLargeWindowMax = 8 * pdu::kLongSelectiveOctetsMax;

/// A segment bound to its frame number until it is acknowledged (C.6.2(2)(3)).
struct TxFrame {
  LongFrameNumber number;
  CpduId cpdu;
  pdu::DataFlags flags;  // start, end, in_order, drop; the window edges are set when it is sent
  Bytes segment;
  bool acknowledged = false;
  bool due = true;  // the frame goes in the next transmission
  /// Full duplex: end of its transmission; an answer formed later covers the frame.
  std::optional<Instant> sent_until;
  std::uint32_t transmissions = 0;
};

class TxWindow {
 public:
  explicit TxWindow(unsigned frames_max, LongFrameNumber lwe = {0});

  bool empty() const { return frames_.empty(); }
  bool full() const { return frames_.size() >= frames_max_; }
  /// Sets the limit for new frames; frames that are out stay.
  void set_frames_max(unsigned frames_max);
  /// True if the frames that are out are too many for a number of one octet.
  bool needs_long_numbers() const { return frames_.size() > kWindowMax; }
  LongFrameNumber lwe() const { return lwe_; }
  LongFrameNumber uwe() const { return lwe_ + static_cast<int>(frames_.size()) - 1; }

  /// Outstanding frames from TX LWE to TX UWE; acknowledged ones stay until TX LWE passes them.
  std::deque<TxFrame>& frames() { return frames_; }
  const std::deque<TxFrame>& frames() const { return frames_; }

  /// Gives the frame the next number. The window must not be full.
  TxFrame& push(TxFrame frame);

  /// Returns the same acknowledgement with the long number that it means. The sender of type 1 or 2
  /// is at most 128 frames ahead of TX LWE; if it is further, returns nothing.
  std::optional<pdu::LongAck> lengthened(const pdu::Ack& ack) const;

  /// True if the acknowledgement can belong to this window (tests 4 and 5 of C.6.3.2).
  bool in_sync(const pdu::LongAck& ack) const;

  struct Acknowledged {
    CpduId cpdu;
    std::size_t octets = 0;
  };
  /// Marks frames, advances TX LWE, and returns frames not acknowledged before. Requires in_sync().
  std::vector<Acknowledged> acknowledge(const pdu::LongAck& ack);

 private:
  std::size_t frames_max_;
  LongFrameNumber lwe_;
  std::deque<TxFrame> frames_;
};

}  // namespace s5066::dts
