// The receive side of one selective-ARQ connection: which frames have come, what to acknowledge
// (C.3.4, C.6.2, C.6.3.2). What the frames hold is the reassembler's business.
#pragma once

#include <array>

#include "s5066d/base/ids.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

class RxWindow {
 public:
  explicit RxWindow(FrameNumber lwe = {0}) : lwe_(lwe), uwe_(lwe - 1) {}

  enum class Place {
    fresh,          // inside the window and not received before
    duplicate,      // received before; to be acknowledged again
    out_of_window,  // neither accepted nor acknowledged (C.6.2(15)); the peers disagree
  };

  FrameNumber lwe() const { return lwe_; }
  FrameNumber uwe() const { return uwe_; }

  /// Where a frame falls; applies the synchronisation tests 1 to 3 of C.6.3.2 before anything
  /// moves.
  Place place(FrameNumber number, const pdu::DataFlags& flags) const;

  /// A fresh frame's header was heard: RX UWE may advance, so that an acknowledgement shows a lost
  /// segment as an explicit 0.
  void on_heard(FrameNumber number);

  /// A fresh frame was received in full. RX LWE stays until advance().
  void on_received(FrameNumber number);

  bool is_received(FrameNumber number) const { return received_[number.value]; }

  /// Steps RX LWE over one received frame and tells which; nothing when it is missing.
  bool advance(FrameNumber& passed);

  /// RX LWE and the bits up to RX UWE (C.3.4(3)-(14)).
  pdu::Ack ack() const;

 private:
  FrameNumber lwe_;
  FrameNumber uwe_;
  std::array<bool, 256> received_{};  // true only inside [RX LWE, RX LWE + 127]
};

}  // namespace s5066::dts
