// SPDX-License-Identifier: Apache-2.0
// The transmission that is being received, as far as its octets have come.
#pragma once

#include <optional>

#include "s5066d/base/ids.h"
#include "s5066d/dts/reception_meter.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

struct HeardBurst {
  /// A D_PDU of this type was in it.
  void add(pdu::DpduType type) {
    using enum pdu::DpduType;
    managed = managed || type == management;
    link_control = link_control || type == expedited_nonarq;
    data = data || (type != ack_only && type != long_ack && type != expedited_ack);
  }

  modem::Mode mode;
  std::optional<Instant> start;  // time of bit 0
  Instant bits_until{};          // expected time of the next bit
  std::optional<Address> source;
  ReceptionMeter meter{mode};
  std::optional<Instant> announced;  // end that the burst announced
  bool beside_own = false;           // the burst began while we sent
  bool data = false;                 // the burst carried more than acknowledgements
  bool managed = false;              // the burst carried a type 6
  bool link_control = false;         // the burst carried a type 8, mostly control of a link
};

}  // namespace s5066::dts
