// What the data transfer sublayer offers to the channel access sublayer (C.2, Table C-1): requests
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

/// The data part of a transmission lasts no longer: EOT counts half seconds in one octet (C.3.2.3).
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

/// D_UNIDATA_REQUEST and its expedited twin. ARQ needs a connection to the destination. Each
/// accepted request is answered by exactly one CpduConfirm or CpduRejected.
struct CpduRequest {
  CpduId id;
  Service service = Service::arq;
  Address destination;
  Bytes cpdu;                 // 1..kCpduOctetsMax octets
  bool in_order = true;       // DELIVER IN ORDER
  bool with_errors = false;   // non-ARQ only: what is damaged is of use, too
  std::uint8_t priority = 0;  // 0..15, larger first among what has not been segmented
  std::uint64_t flow = 0;     // the sender; its C_PDUs of one priority and service keep their order
  std::uint8_t repeats = 0;   // non-ARQ only: transmissions after the first
  std::optional<Instant> time_to_die;  // unsent parts are dropped then
};

/// ARQ: every segment was acknowledged. Non-ARQ: the last copy has left the antenna, or one has and
/// the rest died.
struct CpduConfirm {
  CpduId id;
};

/// ARQ, before the CpduConfirm: every segment was acknowledged, and the receiver holds the C_PDU
/// back until older ones have come. None of it has to be sent again, unless the windows begin anew.
struct CpduArrived {
  CpduId id;
};

enum class CpduFailure : std::uint8_t {
  not_connected,  // no ARQ connection to the destination, or it was terminated
  expired,        // time to die; of non-ARQ data no copy has left
  queue_full,
  unsupported,  // the service is not offered
};

struct CpduRejected {
  CpduId id;
  CpduFailure reason = CpduFailure::not_connected;
};

/// D_UNIDATA_INDICATION and its expedited twin: a C_PDU from a peer. One that came by non-ARQ and
/// is still damaged or incomplete when its reception window ends is indicated then, once (C.4.2).
struct CpduIndication {
  Service service = Service::arq;
  Address source;
  Address destination;  // own address, or a group
  Bytes cpdu;
  std::vector<OctetRange> errored = {};  // came only in segments with a wrong CRC; as received
  std::vector<OctetRange> missing = {};  // never came; 0 in `cpdu`

  bool intact() const { return errored.empty() && missing.empty(); }
};

/// D_CONNECTION_LOST: the peer no longer answers; ARQ state for it is gone and its C_PDUs have
/// been rejected.
struct ConnectionLost {
  Address peer;
};

/// The ARQ windows of the connection began anew (C.6.5, C.3.6). Nothing that was accepted is lost;
/// C_PDUs of the peer that were delivered before may come again.
struct ConnectionReset {
  Address peer;
};

/// Frames of the connection are coming in, or what may be such: the peer is at it, although no
/// C_PDU is complete yet. At most one for each piece the modem delivers and D_PDU in it.
struct PeerActive {
  Address peer;
  bool frame = false;  // an ARQ D_PDU of the connection is among it
};

/// D_WARNING_RECEIVED (C.3.12).
struct WarningReceived {
  Address peer;
  std::uint8_t received_type = 0;  // D_PDU type that drew the warning
  std::uint8_t reason = 0;  // 0 unrecognised, 1 not connected, 2 invalid, 3 invalid for state
};

/// D_WARNING_TRANSMITTED: one of ours is on its way to the antenna.
struct WarningTransmitted {
  Address peer;
  std::uint8_t received_type = 0;
  std::uint8_t reason = 0;
};

/// The receiver of our data says in which mode it would like to have it (C.6.4.2). Told once for
/// each change of its mind.
struct DataRateAdvised {
  Address peer;
  modem::Mode mode;
  bool equal = false;  // its own transmissions will then be in the same mode
};

/// From now on our transmissions to the peer are in this mode.
struct TransmitModeChanged {
  Address peer;
  modem::Mode mode;
};

/// The change of mode that was asked of the peer will not happen; its reason (Table C-8), or none
/// when a request of the peer's own was in the way.
struct DataRateRefused {
  Address peer;
  pdu::DrcReason reason = pdu::DrcReason::none;
};

/// Longest C_PDU of a general node: C_PCI 1 + S_PCI 5 + U_PDU 4096 of a broadcast-only node (7.8 of
/// Annex A.2.1.3 and B.3.1.1).
inline constexpr std::size_t kCpduOctetsMax = 1 + 5 + 4096;

}  // namespace s5066::dts
