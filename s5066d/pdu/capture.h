// The octets of a pcap file (classic format, little-endian, microseconds), so that tshark and
// Wireshark can show what was on the air. No I/O: the caller writes them to a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::pdu {

/// What each record of a capture holds.
enum class LinkType : std::uint32_t {
  raw_ip = 101,  // an IP packet
  dpdu = 237,    // one D_PDU from its sync octets on
};

inline constexpr std::size_t kCaptureRecordOctetsMax = 65535;

/// Once, at the start of the file.
void append_capture_header(LinkType link_type, Bytes& out);

/// Then for each frame; `since_epoch` counts from 1970-01-01 00:00 UTC.
void append_capture_record(Duration since_epoch, ByteSpan frame, Bytes& out);

}  // namespace s5066::pdu
