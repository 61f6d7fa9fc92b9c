// SPDX-License-Identifier: Apache-2.0
// Receives the data frames of one connection (C.6.2, C.6.3): window, reassembly and
// acknowledgement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/dts/reassembler.h"
#include "s5066d/dts/rx_window.h"

namespace s5066::dts {

class ArqReceiver {
 public:
  /// Segments that wait for older ones hold at most `held_octets_max`. If that is full, only the
  /// oldest missing frame is accepted.
  ArqReceiver(std::size_t cpdu_octets_max, std::size_t held_octets_max, Counters& counters)
      : held_octets_max_(held_octets_max),
        reassembler_(cpdu_octets_max, counters),
        counters_(counters) {}

  /// Sets RX LWE to `lwe` with no frame received; incomplete C_PDUs are discarded.
  void restart(LongFrameNumber lwe);

  /// Takes a D_PDU of type 0, 2 or 4, or of type 9, with a good header. Returns false if it does
  /// not fit our window: then nothing is accepted, and nothing may be acknowledged because of it.
  bool on_data(FrameNumber number, const pdu::DataFlags& flags, Bytes segment, bool segment_ok);
  bool on_data(LongFrameNumber number, const pdu::DataFlags& flags, Bytes segment, bool segment_ok);

  pdu::Ack ack() const { return window_.ack(); }
  pdu::LongAck long_ack(std::size_t selective_octets_max) const {
    return window_.long_ack(selective_octets_max);
  }
  /// True if the last frame had a long number. Its acknowledgement must have one too, because its
  /// sender may be more than 128 frames ahead of us.
  bool wants_long_ack() const { return wants_long_ack_; }
  /// Returns the number of frames that were new and intact.
  std::uint64_t frames_taken() const { return frames_taken_; }
  std::optional<Bytes> poll_cpdu() { return reassembler_.poll(); }

 private:
  bool take(LongFrameNumber number, RxWindow::Place place, const pdu::DataFlags& flags,
            Bytes segment, bool segment_ok);

  std::size_t held_octets_max_;
  RxWindow window_;
  bool wants_long_ack_ = false;
  std::uint64_t frames_taken_ = 0;
  Reassembler reassembler_;
  Counters& counters_;
};

}  // namespace s5066::dts
