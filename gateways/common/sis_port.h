// SPDX-License-Identifier: Apache-2.0
// The subnet server as a gateway core sees it: values in, values out. A shell joins it to the SIS
// client library; tests join it to a simulated subnetwork.
#pragma once

#include <cstdint>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "sis/primitives.h"

namespace s5066::gateways {

/// Names a U_PDU between its request and its one outcome. A core never uses a number twice.
struct SisRequestId {
  std::uint64_t value = 0;
  friend auto operator<=>(const SisRequestId&, const SisRequestId&) = default;
};

// --- In ------------------------------------------------------------------------------------------

/// The bind was accepted; flow is on.
struct SisBound {
  std::uint16_t mtu = sis::kMtu;
};
/// The client is no longer bound. The outcome of requests under way has been reported, or never
/// will be.
struct SisLost {};
struct SisFlow {
  bool on = true;
};
struct SisIndication {
  Address source;
  SapId source_sap;
  Bytes updu;
};
struct SisConfirmed {
  SisRequestId id;
};
struct SisRejected {
  SisRequestId id;
  sis::RejectReason reason = sis::RejectReason::destination_not_responding;
};
/// The outcome will never be known.
struct SisUnresolved {
  SisRequestId id;
};
using SisEvent = std::variant<SisBound, SisLost, SisFlow, SisIndication, SisConfirmed, SisRejected,
                              SisUnresolved>;

// --- Out -----------------------------------------------------------------------------------------

struct SisUnidata {
  SisRequestId id;
  std::uint8_t priority = 0;
  Address destination;
  SapId destination_sap;
  sis::DeliveryMode delivery;
  std::uint32_t time_to_live_s = 0;
  Bytes updu;
};

}  // namespace s5066::gateways
