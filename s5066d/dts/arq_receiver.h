// Receives the data frames of one connection (C.6.2, C.6.3): window, reassembly and what to
// acknowledge.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/metrics.h"
#include "s5066d/dts/reassembler.h"
#include "s5066d/dts/rx_window.h"

namespace s5066::dts {

class ArqReceiver {
 public:
  ArqReceiver(std::size_t cpdu_octets_max, Counters& counters)
      : reassembler_(cpdu_octets_max, counters), counters_(counters) {}

  /// RX LWE is `lwe` and nothing was received; what was begun is discarded.
  void restart(FrameNumber lwe);

  /// A type 0 or 2 D_PDU with a good header. False when it does not fit our window: then nothing is
  /// accepted and nothing may be acknowledged for its sake.
  bool on_data(FrameNumber number, const pdu::DataFlags& flags, Bytes segment, bool segment_ok);

  pdu::Ack ack() const { return window_.ack(); }
  /// A C_PDU has come in part.
  bool in_cpdu() const { return reassembler_.in_cpdu() || !window_.ack().selective.empty(); }
  std::optional<Bytes> poll_cpdu() { return reassembler_.poll(); }

 private:
  RxWindow window_;
  Reassembler reassembler_;
  Counters& counters_;
};

}  // namespace s5066::dts
