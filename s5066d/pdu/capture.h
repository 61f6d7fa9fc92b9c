// SPDX-License-Identifier: Apache-2.0
// Builds the octets of a pcap file (classic format, little-endian, microseconds), so that tshark
// and Wireshark can show the transmissions. It does no I/O: the caller writes the file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::pdu {

/// Type of the records of a capture.
enum class LinkType : std::uint32_t {
  raw_ip = 101,  // an IP packet
  dpdu = 237,    // one D_PDU from its sync octets on
};

inline constexpr std::size_t kCaptureRecordOctetsMax = 65535;

/// Appends the file header; call once, at the start of the file.
void append_capture_header(LinkType link_type, Bytes& out);

/// Appends one frame; `since_epoch` counts from 1970-01-01 00:00 UTC.
void append_capture_record(Duration since_epoch, ByteSpan frame, Bytes& out);

}  // namespace s5066::pdu
