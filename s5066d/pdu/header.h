// SPDX-License-Identifier: Apache-2.0
// The header that all D_PDUs share (C.3.2): sync, fixed part, addresses, the position of the
// type-specific part, and CRC-16. Only the codecs of this folder use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::pdu {

/// Sync octets in memory; the word 0xEB90 is sent least significant bit first.
inline constexpr std::uint8_t kSyncFirst = 0x90;
inline constexpr std::uint8_t kSyncSecond = 0xEB;
inline constexpr std::size_t kSyncOctets = 2;
/// Sync and the four octets that give the length of the header.
inline constexpr std::size_t kFixedOctets = kSyncOctets + 4;
/// SIZE OF HEADER has five bits and does not count the sync and up to 7 octets of addresses.
inline constexpr std::size_t kHeaderOctetsMax = kSyncOctets + 31 + 7;
inline constexpr std::size_t kSegmentCrcOctets = 4;

/// Type-specific octets of types 9 and 10. With a header of another size they belong to another
/// extension, and are reserved for us.
inline constexpr std::size_t kLongSpecificOctets = 4;

/// A header with a good CRC. `specific` points into the octets from which it was read.
struct Header {
  Common common;
  std::uint8_t type = 0;
  ByteSpan specific;               // type-specific part (C.3.2.7)
  std::size_t octets = 0;          // length from sync to the end of the CRC-16
  std::size_t segment_octets = 0;  // SIZE OF SEGMENTED C_PDU, if there is a segment

  /// I and I+C frames (C.3.1): a segment and its CRC-32 follow the header.
  bool has_segment() const {
    return type == 0 || type == 2 || type == 4 || type == 7 || type == 8 || is_long();
  }
  bool is_long() const {
    return (type == 9 || type == 10) && specific.size() == kLongSpecificOctets;
  }
  std::size_t frame_octets() const {
    return octets + (has_segment() ? segment_octets + kSegmentCrcOctets : 0);
  }
};

/// Returns the header's length by its fixed part, sync included; 0 if the address size is illegal
/// or the header size does not fit the type. Zeros pass a CRC but fail this check.
std::size_t header_octets(ByteSpan fixed);

/// Reads the header at the start of `frame`.
Result<Header> read_header(ByteSpan frame);

/// Writes sync, fixed part and addresses, and returns the start. The caller appends
/// `specific_octets` more and then calls `end_header` with that start.
std::size_t begin_header(DpduType type, const Common& common, std::size_t specific_octets,
                         Bytes& out);
void end_header(std::size_t start, Bytes& out);

/// Appends a segment and its CRC-32 (C.3.2.9, C.3.2.11).
void append_segment(ByteSpan segment, Bytes& out);

/// Reads the fields of a header, without its segment. The error names a field that the standard
/// forbids.
Result<Dpdu> read_dpdu(const Header& header);

/// Takes a segment with its four octets of CRC-32 into the D_PDU; returns false if the CRC is
/// wrong.
bool attach_segment(Bytes segment_and_crc, Dpdu& dpdu);

// Each family has a file of its own.
void write_data(const Data& data, Bytes& out);
void write_ack_only(const AckOnly& ack_only, Bytes& out);
void write_data_ack(const DataAck& data_ack, Bytes& out);
void write_reset(const Reset& reset, Bytes& out);
void write_expedited_data(const ExpeditedData& data, Bytes& out);
void write_expedited_ack(const ExpeditedAck& ack, Bytes& out);
void write_management(const Management& management, Bytes& out);
void write_nonarq(const Nonarq& nonarq, Bytes& out);
void write_warning(const Warning& warning, Bytes& out);
void write_long_data(const LongData& data, Bytes& out);
void write_long_ack(const LongAckOnly& ack_only, Bytes& out);
Data read_data(const Header& header);
AckOnly read_ack_only(const Header& header);
DataAck read_data_ack(const Header& header);
Reset read_reset(const Header& header);
ExpeditedData read_expedited_data(const Header& header);
ExpeditedAck read_expedited_ack(const Header& header);
Management read_management(const Header& header);
Result<Dpdu> read_nonarq(const Header& header);
LongData read_long_data(const Header& header);
Result<Dpdu> read_long_ack(const Header& header);
Warning read_warning(const Header& header);

// The flags of types 0, 2 and 9, with the size of the following segment.
void write_flags(DataFlags flags, std::size_t segment_octets, Bytes& out);
DataFlags read_flags(std::uint8_t octet);

// The acknowledgement part of types 1 and 2.
void write_ack(const Ack& ack, Bytes& out);
Ack read_ack(ByteSpan part);

}  // namespace s5066::pdu
