// SPDX-License-Identifier: Apache-2.0
// Rules for sending a message. A group can have rules of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "gateways/p_mul/p_mul_pdu.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

struct RoundRules {
  std::size_t pdu_octets_max = 2042;
  // The largest allowed value is pdu_octets_max less the header of a Data_PDU, or of a Parity_PDU
  // if `coded` is set. With the default, a Parity_PDU and the headers of UDOP and the subnetwork
  // fill two frames of 1023 octets.
  std::uint16_t block_octets = 2012;
  Checksum checksum = Checksum::fletcher;

  // The time from the last octet on the air to the next round if answers are missing. A slot is
  // added for each destination that should answer. The time grows by `back_off` with each round
  // that was not answered.
  Duration ack_wait = std::chrono::seconds(30);
  double back_off = 1.5;
  Duration emcon_interval = std::chrono::minutes(10);
  unsigned emcon_repeats_max = 4;

  bool extra_address = true;  // true: an Extra_Address_PDU ends a round of several PDUs
  bool coded = false;         // true: parity is sent if one row replaces more than one block
  double parity_ahead = 0;    // rows of parity for each block if no receiver can ask again
  /// True: a node that has never answered gets all blocks again. False: it is asked for its list.
  bool resend_all = false;
};

}  // namespace s5066::p_mul
