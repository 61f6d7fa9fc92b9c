// The transmit side of one selective-ARQ connection: which frames are out, which are acknowledged
// (C.6.2, C.6.3.2).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

/// Largest window the standard knows (C.6.2(7)): half the frame number space.
inline constexpr unsigned kWindowMax = 128;

/// A segment bound to its frame number until it is acknowledged (C.6.2(2)(3)).
struct TxFrame {
  FrameNumber number;
  CpduId cpdu;
  pdu::DataFlags flags;  // start, end, in_order, drop; the window edges are set when it is sent
  Bytes segment;
  bool acknowledged = false;
  bool due = true;  // to be sent in the next transmission
  std::uint32_t transmissions = 0;
};

class TxWindow {
 public:
  explicit TxWindow(unsigned frames_max, FrameNumber lwe = {0});

  bool empty() const { return frames_.empty(); }
  bool full() const { return frames_.size() >= frames_max_; }
  FrameNumber lwe() const { return lwe_; }
  FrameNumber uwe() const { return lwe_ + static_cast<int>(frames_.size()) - 1; }

  /// Outstanding frames from TX LWE to TX UWE; acknowledged ones stay until TX LWE passes them.
  std::deque<TxFrame>& frames() { return frames_; }
  const std::deque<TxFrame>& frames() const { return frames_; }

  /// Gives the frame the next number. The window must not be full.
  TxFrame& push(TxFrame frame);

  /// Tests 4 and 5 of C.6.3.2: whether the acknowledgement can belong to this window.
  bool in_sync(const pdu::Ack& ack) const;

  struct Acknowledged {
    CpduId cpdu;
    std::size_t octets = 0;
  };
  /// Marks frames, advances TX LWE, returns what was not acknowledged before. Needs in_sync().
  std::vector<Acknowledged> acknowledge(const pdu::Ack& ack);

 private:
  std::size_t frames_max_;
  FrameNumber lwe_;
  std::deque<TxFrame> frames_;
};

}  // namespace s5066::dts
