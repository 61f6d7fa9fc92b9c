// SPDX-License-Identifier: Apache-2.0
// The receive side of one selective-ARQ connection: which frames have come, and what to acknowledge
// (C.3.4, C.6.2, C.6.3.2). The reassembler handles their contents. Frames have long numbers here;
// types 0 to 5 carry their lower octet.
#pragma once

#include <cstddef>
#include <deque>

#include "s5066d/base/ids.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

class RxWindow {
 public:
  explicit RxWindow(LongFrameNumber lwe = {0}) : lwe_(lwe), uwe_(lwe - 1) {}

  enum class Place {
    fresh,          // inside the window and not received before
    duplicate,      // the frame was received before, and is acknowledged again
    out_of_window,  // neither accepted nor acknowledged (C.6.2(15)); the peers disagree
  };

  LongFrameNumber lwe() const { return lwe_; }
  LongFrameNumber uwe() const { return uwe_; }

  /// Returns the long number for one octet: of the 128 frames from RX LWE on or of the 128 before.
  LongFrameNumber lengthened(FrameNumber number) const;

  /// Returns the place of a frame. Applies the synchronisation tests 1 to 3 of C.6.3.2 before
  /// anything moves. `frames_max` is the largest window that its sender may have.
  Place place(LongFrameNumber number, const pdu::DataFlags& flags, unsigned frames_max) const;

  /// Call when the header of a fresh frame was heard: RX UWE may advance, so that an
  /// acknowledgement shows a lost segment as an explicit 0.
  void on_heard(LongFrameNumber number);

  /// Call when a fresh frame was received in full. RX LWE stays until advance().
  void on_received(LongFrameNumber number);

  bool is_received(LongFrameNumber number) const;

  /// Moves RX LWE over one received frame and tells which; returns false if that frame is missing.
  bool advance(LongFrameNumber& passed);

  /// Returns RX LWE and the bits up to RX UWE (C.3.4(3)-(14)), or as many bits as there is room
  /// for.
  pdu::Ack ack() const;
  pdu::LongAck long_ack(std::size_t selective_octets_max) const;

 private:
  LongFrameNumber lwe_;
  LongFrameNumber uwe_;
  std::deque<bool> received_;  // from RX LWE up to the last received frame
};

}  // namespace s5066::dts
