// SPDX-License-Identifier: Apache-2.0
// Joins ARQ segments into C_PDUs (C.4.1(9)-(14)). Delivers each C_PDU in order or as it arrives, as
// it was flagged (C.3.3(7)(8)). Segments of a dropped C_PDU are discarded (C.3.3(9)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/dts/rx_window.h"

namespace s5066::dts {

class Reassembler {
 public:
  /// C_PDUs that grow beyond `cpdu_octets_max` are discarded and counted.
  Reassembler(std::size_t cpdu_octets_max, Counters& counters)
      : cpdu_octets_max_(cpdu_octets_max), counters_(counters) {}

  /// Discards incomplete C_PDUs.
  void restart();
  /// Takes a frame that `window` has just marked as received.
  void on_segment(const RxWindow& window, LongFrameNumber number, const pdu::DataFlags& flags,
                  Bytes segment);
  /// Call when RX LWE has passed this frame, so that everything before it has arrived.
  void on_passed(LongFrameNumber number);

  /// Returns the octets of segments beyond RX LWE that wait for others.
  std::size_t octets_held() const { return octets_held_; }
  /// Returns the next complete C_PDU, in the order of delivery.
  std::optional<Bytes> poll();

 private:
  struct Slot {
    pdu::DataFlags flags;
    Bytes segment;
    bool delivered = false;
  };

  void deliver_early(const RxWindow& window, LongFrameNumber number);

  std::size_t cpdu_octets_max_;
  Counters& counters_;
  std::map<std::uint16_t, Slot> slots_;  // received frames from RX LWE on, by frame number
  std::size_t octets_held_ = 0;

  // The C_PDU that contains RX LWE; `open_` is true from its first segment on.
  Bytes assembly_;
  bool open_ = false;
  bool discarding_ = false;
  std::deque<Bytes> complete_;
};

}  // namespace s5066::dts
