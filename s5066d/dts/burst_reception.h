// SPDX-License-Identifier: Apache-2.0
// Turns the octets of the transmission being received into D_PDUs with the time of their first bit.
#pragma once

#include <optional>

#include "modem/api/port.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/dts/heard_burst.h"
#include "s5066d/pdu/scanner.h"

namespace s5066::dts {

class BurstReception {
 public:
  explicit BurstReception(Counters& counters) : scanner_(counters) {}

  /// A transmission begins. `beside_own`: we are sending.
  void begin(const modem::Mode& mode, bool beside_own);
  /// Takes octets of the present transmission; without one they are ignored, because they are the
  /// tail of a burst that ended for us when we keyed.
  void on_bytes(const modem::ReceivedBytes& event);
  /// No further octets come, so D_PDUs that wait for more octets are decided.
  void on_last_bytes();
  std::optional<pdu::Received> poll() { return scanner_.poll(); }
  /// The transmission is over.
  void end() { burst_.reset(); }

  HeardBurst* burst() { return burst_ ? &*burst_ : nullptr; }
  const HeardBurst* burst() const { return burst_ ? &*burst_ : nullptr; }
  /// Returns when the first bit of a D_PDU of the present transmission was on the air.
  Instant first_bit_at(const pdu::Received& received) const;

 private:
  /// Timing of the transmission heard last.
  struct LeftOff {
    modem::Mode mode;
    Instant start{};
    Instant bits_until{};
  };
  void begin_bits(const modem::ReceivedBytes& event);

  pdu::Scanner scanner_;
  std::optional<HeardBurst> burst_;
  std::optional<LeftOff> left_off_;
};

}  // namespace s5066::dts
