// SPDX-License-Identifier: Apache-2.0
// The PDUs of CFTP on SAP 12: RCOPv1 with four octets in front of each segment and no application
// identifier (F.14.3), the BFTPv1 file (F.14.4, Figure F-25) and its acknowledgement (Figure F-26).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

inline constexpr SapId kCftpSap{12};
inline constexpr std::size_t kRcopV1HeaderOctets = 4;
inline constexpr std::size_t kCftpSegmentsMax = 65536;

struct RcopV1Header {
  std::uint8_t connection_id = 0;  // 4 bits
  std::uint8_t updu_id = 0;        // one value for each file
  std::uint16_t segment = 0;
  friend bool operator==(const RcopV1Header&, const RcopV1Header&) = default;
};

void encode(const RcopV1Header& header, Bytes& out);
/// The octets behind the header are the data. Reserved bits are ignored.
Result<RcopV1Header> decode_rcop_v1(ByteSpan updu);

/// Returns the whole file: 10 02, its name, its size, its content. The name has at most 255 octets.
Bytes bftp_v1_file(const std::string& name, ByteSpan content);
struct BftpV1Header {
  std::string name;
  std::size_t octets = 0;  // size of this header
  std::uint32_t size = 0;  // size of the content
};
/// Returns the header that the octets begin with, nothing while they are too few to tell, and an
/// error if they begin no file.
Result<std::optional<BftpV1Header>> decode_bftp_v1_header(ByteSpan begin);

std::size_t cftp_segment_count(std::size_t file_octets, std::size_t mtu);
/// Returns the U_PDU of segment `header.segment`.
Bytes cftp_segment(const RcopV1Header& header, ByteSpan file, std::size_t mtu);

/// Returns the U_PDU that acknowledges the file with these numbers.
Bytes cftp_acknowledgement(std::uint8_t connection_id, std::uint8_t updu_id);
bool is_cftp_acknowledgement(ByteSpan updu);

}  // namespace s5066::acp142
