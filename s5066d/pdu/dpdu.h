// SPDX-License-Identifier: Apache-2.0
// D_PDUs as values, and their octets on the air (C.3.2 to C.3.12). The encoder always uses 28-bit
// addresses (m = 7); the decoder reads every legal address size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"

namespace s5066::pdu {

/// Largest SIZE OF SEGMENTED C_PDU: ten bits (C.3.2.10).
inline constexpr std::size_t kSegmentOctetsMax = 1023;
/// Longest SELECTIVE ACKS field: a bit for each frame of the window after RX LWE (C.3.4).
inline constexpr std::size_t kSelectiveOctetsMax = 16;
/// Longest selective field of a LONG ACK.
inline constexpr std::size_t kLongSelectiveOctetsMax = 512;
/// Longest legal D_PDU: a DATA-ACK with both of these full.
inline constexpr std::size_t kDpduOctetsMax = 1062;

/// D_PDU types of Table C-2, which reserves 9 to 14. Types 9 and 10 are our extension and go only
/// to stations that have offered them (see extension::kLargeWindow);
/// docs/protocol/large_window.md defines them.
enum class DpduType : std::uint8_t {
  data_only = 0,
  ack_only = 1,
  data_ack = 2,
  reset = 3,
  expedited_data = 4,
  expedited_ack = 5,
  management = 6,
  nonarq = 7,
  expedited_nonarq = 8,
  long_data = 9,
  long_ack = 10,
  warning = 15,
};

/// Engineering order wire message (C.3.2.2, C.5); type 0 is "none".
struct Eow {
  std::uint8_t type = 0;  // 4 bits
  std::uint8_t contents = 0;
  friend bool operator==(const Eow&, const Eow&) = default;
};

/// Fields with which every D_PDU begins.
struct Common {
  Eow eow;
  std::uint8_t eot_half_s = 0;  // time left of this transmission, from our first sync bit (C.3.2.3)
  Address destination;          // a group only for types 7 and 8
  Address source;
  friend bool operator==(const Common&, const Common&) = default;
};

/// The flags of DATA-ONLY and DATA-ACK (C.3.3).
struct DataFlags {
  bool start = false;     // first segment of its C_PDU
  bool end = false;       // the segment is the last of its C_PDU
  bool in_order = false;  // DELIVER IN ORDER
  bool drop = false;      // DROP C_PDU: this and its other segments are void
  bool uwe = false;       // the number is the sender's TX UWE
  bool lwe = false;       // the number is the sender's TX LWE
  friend bool operator==(const DataFlags&, const DataFlags&) = default;
};

/// RX LWE and the bits for the frames after it (C.3.4).
struct Ack {
  FrameNumber rx_lwe;  // number of the oldest frame not yet received
  Bytes selective;     // 0..16 octets; bit k of octet j stands for rx_lwe + 1 + 8j + k
  friend bool operator==(const Ack&, const Ack&) = default;
};

/// Returns the octets of SELECTIVE ACKS from RX LWE + 1 up to RX UWE; 0 if nothing is beyond RX
/// LWE.
constexpr std::size_t selective_octets(FrameNumber rx_lwe, FrameNumber rx_uwe) {
  const unsigned frames = distance(rx_lwe, rx_uwe);
  return frames > 8 * kSelectiveOctetsMax ? 0 : (frames + 7) / 8;
}
/// Returns an acknowledgement for that window in which all frames are still missing.
Ack make_ack(FrameNumber rx_lwe, FrameNumber rx_uwe);
/// Sets the bit of a frame that is 1..128 after `rx_lwe`; the field grows if necessary.
void set_acknowledged(Ack& ack, FrameNumber number);
/// True if there is a bit for this frame and it is 1. Frames below `rx_lwe` have none.
bool is_acknowledged(const Ack& ack, FrameNumber number);

/// An acknowledgement with a long frame number; `selective` has 0..kLongSelectiveOctetsMax octets.
struct LongAck {
  LongFrameNumber rx_lwe;
  Bytes selective;
  friend bool operator==(const LongAck&, const LongAck&) = default;
};
bool is_acknowledged(const LongAck& ack, LongFrameNumber number);

struct Data {  // type 0, DATA-ONLY (C.3.3)
  Common common;
  DataFlags flags;
  FrameNumber number;
  Bytes segment;
  friend bool operator==(const Data&, const Data&) = default;
};

struct AckOnly {  // type 1 (C.3.4)
  Common common;
  Ack ack;
  friend bool operator==(const AckOnly&, const AckOnly&) = default;
};

struct DataAck {  // type 2 (C.3.5)
  Common common;
  DataFlags flags;
  FrameNumber number;
  Ack ack;
  Bytes segment;
  friend bool operator==(const DataAck&, const DataAck&) = default;
};

struct Reset {  // type 3, RESET/WIN RESYNC (C.3.6)
  Common common;
  bool full_reset = false;         // FULL RESET CMD
  bool tx_window_request = false;  // RESET TX WIN RQST
  bool rx_window_command = false;  // RESET RX WIN CMND
  bool ack = false;                // RESET ACK
  FrameNumber new_rx_lwe{};        // valid only with rx_window_command
  std::uint8_t frame_id = 0;
  friend bool operator==(const Reset&, const Reset&) = default;
};

struct ExpeditedData {  // type 4, EXPEDITED DATA-ONLY (C.3.7)
  Common common;
  bool start = false;        // first segment of its C_PDU
  bool end = false;          // the segment is the last of its C_PDU
  std::uint8_t cpdu_id = 0;  // 4 bits
  FrameNumber number;
  Bytes segment;
  friend bool operator==(const ExpeditedData&, const ExpeditedData&) = default;
};

struct ExpeditedAck {  // type 5, EXPEDITED ACK-ONLY (C.3.8)
  Common common;
  Ack ack;
  friend bool operator==(const ExpeditedAck&, const ExpeditedAck&) = default;
};

/// Longest extended message: SIZE OF HEADER has five bits.
inline constexpr std::size_t kExtensionOctetsMax = 23;

struct Management {  // type 6 (C.3.9); the first twelve bits of its message are `common.eow`
  Common common;
  bool valid = false;  // there is a message; without one the D_PDU only acknowledges
  bool ack = false;    // the peer's last type 6 was received
  std::uint8_t frame_id = 0;
  Bytes extension;  // 0..kExtensionOctetsMax octets; the EXTENDED flag says whether there are any
  friend bool operator==(const Management&, const Management&) = default;
};

struct Nonarq {  // types 7 and 8 (C.3.10, C.3.11)
  Common common;
  bool expedited = false;
  std::uint16_t cpdu_id = 0;  // 12 bits
  bool in_order = false;
  std::uint16_t cpdu_size = 0;  // octets of the whole C_PDU
  std::uint16_t offset = 0;     // octets of it before this segment
  // Time until its last copy has been sent, from our first sync bit.
  std::uint16_t window_half_s = 0;
  Bytes segment;
  friend bool operator==(const Nonarq&, const Nonarq&) = default;
};

struct Warning {  // type 15 (C.3.12)
  Common common;
  std::uint8_t received_type = 0;  // 4 bits: type of the frame that drew the warning
  std::uint8_t reason = 0;  // 4 bits: 0 unrecognised, 1 not connected, 2 invalid, 3 wrong state
  friend bool operator==(const Warning&, const Warning&) = default;
};

struct LongData {  // type 9: as type 0, with a long frame number
  Common common;
  DataFlags flags;
  LongFrameNumber number;
  Bytes segment;
  friend bool operator==(const LongData&, const LongData&) = default;
};

struct LongAckOnly {  // type 10: as type 1, with the selective part in place of the segment
  Common common;
  LongAck ack;
  friend bool operator==(const LongAckOnly&, const LongAckOnly&) = default;
};

/// A D_PDU with a good header CRC and a reserved type (9 to 14, unless it is ours).
struct Unsupported {
  Common common;
  std::uint8_t type = 0;
  friend bool operator==(const Unsupported&, const Unsupported&) = default;
};

using Dpdu = std::variant<Data, AckOnly, DataAck, Reset, ExpeditedData, ExpeditedAck, Management,
                          Nonarq, LongData, LongAckOnly, Warning, Unsupported>;

const Common& common_of(const Dpdu& dpdu);
std::uint8_t type_of(const Dpdu& dpdu);

/// Appends the frame: sync, header, CRC-16 and, if the type has one, the segment and CRC-32. Fields
/// out of range and an Unsupported are bugs of ours.
void encode(const Dpdu& dpdu, Bytes& out);

/// Returns the number of octets that `encode` would append.
std::size_t encoded_size(const Dpdu& dpdu);

// Sizes for packing a transmission, before a frame exists.
constexpr std::size_t data_octets(std::size_t segment) {
  return 22 + segment;
}
constexpr std::size_t ack_only_octets(std::size_t selective) {
  return 16 + selective;
}
constexpr std::size_t data_ack_octets(std::size_t segment, std::size_t selective) {
  return 23 + selective + segment;
}
constexpr std::size_t long_data_octets(std::size_t segment) {
  return 23 + segment;
}
constexpr std::size_t long_ack_octets(std::size_t selective) {
  return 23 + selective;
}
constexpr std::size_t expedited_data_octets(std::size_t segment) {
  return 22 + segment;
}
constexpr std::size_t management_octets(std::size_t extension) {
  return 17 + extension;
}
constexpr std::size_t nonarq_octets(std::size_t segment) {
  return 28 + segment;
}
inline constexpr std::size_t kResetOctets = 18;
inline constexpr std::size_t kWarningOctets = 16;
static_assert(data_ack_octets(kSegmentOctetsMax, kSelectiveOctetsMax) == kDpduOctetsMax);

struct Received {
  Dpdu dpdu;                    // contains a damaged segment as it was received
  bool segment_ok = true;       // CRC-32; true if there is no segment
  std::uint64_t first_bit = 0;  // index in the stream of the first sync bit
  std::size_t octets = 0;       // whole frame, sync included
};

/// Reads one frame that starts at the sync octets and ignores what follows it. Any input is safe. A
/// good header is reported even if the segment's CRC is wrong (C.3.2.8).
Result<Received> decode(ByteSpan frame);

}  // namespace s5066::pdu
