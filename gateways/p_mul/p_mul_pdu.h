// SPDX-License-Identifier: Apache-2.0
// P_MUL PDUs (ACP 142 and 142A): their values, their encoding, their checksums, and the lists of
// missing blocks in acknowledgements. All integers are big-endian. One PDU is one datagram of its
// bearer.
//
// Parity_PDU is our extension (docs/decisions/0005). Its type is unused in the standard, and a node
// ignores PDUs of unknown types.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gateways/p_mul/message_port.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::p_mul {

enum class PduType : std::uint8_t {
  data = 0x00,
  ack = 0x01,
  address = 0x02,
  discard = 0x03,
  announce = 0x04,
  request = 0x05,
  reject = 0x06,
  release = 0x07,
  fec_address = 0x08,
  extra_address = 0x12,
  extra_fec_address = 0x18,
  parity = 0x3D,  // our extension
};

inline constexpr std::size_t kPduOctetsMax = 65535;
inline constexpr std::size_t kDataHeaderOctets = 16;
inline constexpr std::size_t kParityHeaderOctets = 22;
inline constexpr std::size_t kAddressHeaderOctets = 24;
inline constexpr std::size_t kAddressEntryOctets = 8;
inline constexpr std::size_t kAckHeaderOctets = 14;
inline constexpr std::size_t kAckEntryOctets = 10;
inline constexpr std::uint16_t kBlocksMax = 65535;

/// Tells which part of a divided list of destinations a PDU has (MAP). On the air bit 7 means "not
/// the first" and bit 6 "not the last".
enum class ListPart : std::uint8_t { only = 0x00, first = 0x40, middle = 0xC0, last = 0x80 };

/// A range of Data_PDU numbers. Both ends are included.
struct BlockRange {
  std::uint16_t first = 1;
  std::uint16_t last = 1;
  friend auto operator<=>(const BlockRange&, const BlockRange&) = default;
};

struct DataPdu {
  std::uint8_t priority = 0;
  MessageName name;
  std::uint16_t number = 1;  // 1..Total
  Bytes fragment{};
  friend bool operator==(const DataPdu&, const DataPdu&) = default;
};

/// Address_PDU, FEC_Address_PDU and the Extra forms of both. A PDU without destinations tells that
/// all destinations have acknowledged the message ("Ack-Ack").
struct AddressPdu {
  std::uint8_t priority = 0;
  MessageName name;
  std::uint16_t total = 1;  // number of Data_PDUs of the message
  UtcSeconds expiry{};      // 32 bits on the air
  ListPart part = ListPart::only;
  bool extra = false;
  std::optional<std::uint8_t> fec_id{};     // present: the PDU has a FEC form
  Bytes fec_parameters{};                   // at most 255 octets
  std::vector<Destination> destinations{};  // reserved octets of an entry are skipped
  friend bool operator==(const AddressPdu&, const AddressPdu&) = default;
};

/// The blocks of one message that one receiver has not got.
struct AckEntry {
  MessageName name;
  std::vector<BlockRange> missing{};  // ascending and disjoint; empty: the message is complete
  bool truncated = false;  // true: the state of the blocks above the last number is unknown
  friend bool operator==(const AckEntry&, const AckEntry&) = default;
};

struct AckPdu {
  std::uint8_t priority = 0;
  NodeId sender;
  std::vector<AckEntry> entries{};
  std::optional<std::uint64_t> delay_100ms{};  // from the Address_PDU to this PDU (142A)
  friend bool operator==(const AckPdu&, const AckPdu&) = default;
};

struct DiscardPdu {
  std::uint8_t priority = 0;
  MessageName name;
  friend bool operator==(const DiscardPdu&, const DiscardPdu&) = default;
};

struct AnnouncePdu {
  MessageName name;
  UtcSeconds expiry{};
  std::uint32_t group_address = 0;  // IPv4
  ListPart part = ListPart::only;
  std::vector<NodeId> destinations{};
  friend bool operator==(const AnnouncePdu&, const AnnouncePdu&) = default;
};

/// Request_PDU, Reject_PDU and Release_PDU. The source of a Reject_PDU is the node that rejects.
struct GroupPdu {
  PduType type = PduType::request;
  MessageName name;
  std::uint32_t group_address = 0;
  friend bool operator==(const GroupPdu&, const GroupPdu&) = default;
};

/// One row of parity over the blocks of a message. erasure_code.h explains `number`.
struct ParityPdu {
  std::uint8_t priority = 0;
  MessageName name;
  std::uint16_t number = 0;             // 0-based
  std::uint16_t total = 1;              // as in the Address_PDU
  std::uint16_t last_block_octets = 0;  // size of Data_PDU number `total`
  Bytes parity{};                       // has the length of each block except the last
  friend bool operator==(const ParityPdu&, const ParityPdu&) = default;
};

using Pdu = std::variant<DataPdu, AckPdu, AddressPdu, DiscardPdu, AnnouncePdu, GroupPdu, ParityPdu>;

enum class Checksum : std::uint8_t { fletcher, internet };

/// Computes the checksum over a whole PDU of at least 8 octets; the two octets of the checksum
/// itself count as 0.
std::uint16_t fletcher_checksum(ByteSpan pdu);
std::uint16_t internet_checksum(ByteSpan pdu);

struct EncodeOptions {
  Checksum checksum = Checksum::fletcher;
  bool ranges = false;  // lists of missing blocks use ranges where they are shorter (142A)
};
/// Call only if the PDU fits kPduOctetsMax.
Bytes encode(const Pdu& pdu, const EncodeOptions& options = {});

struct DecodeOptions {
  bool fletcher = true;  // this checksum is accepted
  bool internet = true;  // this checksum is accepted
};
/// Decodes a PDU. Octets behind Length_of_PDU are ignored, and so are MAP bits in PDUs that have no
/// list of destinations. A count in the PDU that exceeds its octets is an error.
Result<Pdu> decode(ByteSpan octets, const DecodeOptions& options = {});

/// Returns the number of destinations that fit a PDU of this size.
constexpr std::size_t destinations_max(std::size_t pdu_octets) {
  return (pdu_octets - kAddressHeaderOctets) / kAddressEntryOctets;
}

/// Returns the number of 16-bit values that `missing` takes in an Ack entry.
std::size_t list_values(const std::vector<BlockRange>& missing, bool ranges);
/// Returns the number of blocks in all ranges.
std::size_t block_count(const std::vector<BlockRange>& ranges);

}  // namespace s5066::p_mul
