// SPDX-License-Identifier: Apache-2.0
// Service of the data transfer sublayer to the channel access sublayer (C.2, Table C-1): requests
// down, indications and confirmations up, values only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {

/// Longest data part of a transmission, because EOT counts half seconds in one octet (C.3.2.3).
inline constexpr Duration kTransmissionMax = std::chrono::milliseconds(127'500);

/// How a C_PDU travels (C.1.1, C.1.2) and by which D_PDU types.
enum class Service : std::uint8_t {
  arq,               // types 0, 1, 2
  expedited_arq,     // types 4, 5
  nonarq,            // type 7
  expedited_nonarq,  // type 8; carries every CAS-1 control C_PDU (B.3.2)
};

constexpr bool is_arq(Service service) {
  return service == Service::arq || service == Service::expedited_arq;
}
constexpr bool is_expedited(Service service) {
  return service == Service::expedited_arq || service == Service::expedited_nonarq;
}

/// Mode of an expedited non-ARQ C_PDU that goes to a single station.
enum class ControlMode : std::uint8_t {
  usual,     // Config::mode, or that of the connection if it is more robust
  robust,    // the most robust one in use, because an earlier transmission was not answered
  as_heard,  // an answer: the more robust one of the usual mode and that of the last question
};

/// D_UNIDATA_REQUEST and its expedited variant. ARQ needs a connection to the destination. Exactly
/// one CpduConfirm or CpduRejected answers each accepted request.
struct CpduRequest {
  CpduId id;
  Service service = Service::arq;
  Address destination;
  Bytes cpdu;                 // 1..kCpduOctetsMax octets
  bool in_order = true;       // DELIVER IN ORDER
  bool with_errors = false;   // non-ARQ only: the client can use damaged data, too
  std::uint8_t priority = 0;  // 0..15, larger first among C_PDUs that have not been segmented
  std::uint64_t flow = 0;     // the client; its C_PDUs of one priority and service keep their order
  std::uint8_t repeats = 0;   // non-ARQ only: transmissions after the first
  std::optional<Instant> time_to_die;             // unsent parts are dropped at this time
  ControlMode control_mode = ControlMode::usual;  // expedited non-ARQ only
};

/// ARQ: every segment was acknowledged. Non-ARQ: the last copy has left the antenna, or at least
/// one copy has left and the rest expired.
struct CpduConfirm {
  CpduId id;
};

/// ARQ, before the CpduConfirm: every segment was acknowledged, and the receiver holds the C_PDU
/// until older ones have come. No part of it has to be sent again, unless the windows are reset.
struct CpduArrived {
  CpduId id;
};

enum class CpduFailure : std::uint8_t {
  not_connected,  // there is no ARQ connection to the destination, or it was terminated
  expired,        // time to die has passed; no copy of non-ARQ data has left
  queue_full,
  unsupported,  // the service is not offered
};

struct CpduRejected {
  CpduId id;
  CpduFailure reason = CpduFailure::not_connected;
};

/// D_UNIDATA_INDICATION and its expedited variant: a C_PDU from a peer. A non-ARQ C_PDU that is
/// still damaged or incomplete when its reception window ends is indicated at that time, once
/// (C.4.2).
struct CpduIndication {
  Service service = Service::arq;
  Address source;
  Address destination;  // own address, or a group
  Bytes cpdu;
  // Received only in segments with a wrong CRC; octets as received.
  std::vector<OctetRange> errored = {};
  std::vector<OctetRange> missing = {};  // never received; 0 in `cpdu`

  bool intact() const { return errored.empty() && missing.empty(); }
};

/// D_CONNECTION_LOST: the peer no longer answers. Its ARQ state is deleted and its C_PDUs have been
/// rejected.
struct ConnectionLost {
  Address peer;
};

/// The ARQ windows of the connection were reset (C.6.5, C.3.6). No accepted C_PDU is lost; C_PDUs
/// of the peer that were delivered before may come again.
struct ConnectionReset {
  Address peer;
};

/// Frames of the connection, or signals that may be such, are being received: the peer is active
/// although no C_PDU is complete yet. Reported at most once for each piece that the modem delivers
/// and each D_PDU in it.
struct PeerActive {
  Address peer;
  bool frame = false;  // an ARQ D_PDU of the connection was among them
};

/// D_WARNING_RECEIVED (C.3.12).
struct WarningReceived {
  Address peer;
  std::uint8_t received_type = 0;  // D_PDU type that drew the warning
  std::uint8_t reason = 0;  // 0 unrecognised, 1 not connected, 2 invalid, 3 invalid for state
};

/// D_WARNING_TRANSMITTED: one of our warnings is on its way to the antenna.
struct WarningTransmitted {
  Address peer;
  std::uint8_t received_type = 0;
  std::uint8_t reason = 0;
};

/// The receiver of our data advises the mode that it wants (C.6.4.2). Reported once for each change
/// of the advice.
struct DataRateAdvised {
  Address peer;
  modem::Mode mode;
  bool equal = false;  // the peer's own transmissions will then use the same mode
};

/// Our transmissions to the peer use this mode from now on.
struct TransmitModeChanged {
  Address peer;
  modem::Mode mode;
};

/// The peer will not make the change of mode that we asked for. `reason` is the peer's (Table C-8),
/// or `none` if a request of the peer's own was in the way.
struct DataRateRefused {
  Address peer;
  pdu::DrcReason reason = pdu::DrcReason::none;
};

/// Longest C_PDU of a general node: C_PCI 1 + S_PCI 5 + U_PDU 4096 of a broadcast-only node (7.8 of
/// Annex A.2.1.3 and B.3.1.1).
inline constexpr std::size_t kCpduOctetsMax = 1 + 5 + 4096;

}  // namespace s5066::dts
