// SPDX-License-Identifier: Apache-2.0
// Encodes requests of gateway cores as their SIS clients do.
#pragma once

#include <utility>

#include "gateways/common/sis_port.h"
#include "sis/codec.h"

namespace s5066::sim {

/// Appends the S_UNIDATA_REQUEST of a U_PDU.
inline void encode_to(Bytes& octets, gateways::SisUnidata updu) {
  sis::encode(sis::UnidataRequest{.priority = updu.priority,
                                  .destination_sap = updu.destination_sap,
                                  .destination = updu.destination,
                                  .delivery = updu.delivery,
                                  .time_to_live = updu.time_to_live_s / 2,
                                  .updu = std::move(updu.updu)},
              octets);
}

}  // namespace s5066::sim
