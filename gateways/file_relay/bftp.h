// SPDX-License-Identifier: Apache-2.0
// BFTP, FRAP and FRAPv2 (F.10.2.2 to F.10.2.4): a file with its name and size in front, and the
// two acknowledgements that say the other side has it. Carried by RCOP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/common/rcop.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

inline constexpr std::uint16_t kBftpApplication = 0x1002;
inline constexpr std::uint16_t kFrapApplication = 0x100B;
inline constexpr std::uint16_t kFrapV2Application = 0x100C;

inline constexpr std::size_t kNameBytesMax = 255;

struct BftpHeader {
  std::string name;  // octets as they are on the air; no encoding is defined
  std::uint32_t size = 0;
  friend bool operator==(const BftpHeader&, const BftpHeader&) = default;
};

/// Returns the octets of the header alone: length of the name, name, SIZE_OF_FILE.
std::size_t encoded_bytes(const BftpHeader& header);
void encode(const BftpHeader& header, Bytes& out);
/// The input may be longer than the header; `truncated` when it is shorter.
Result<BftpHeader> decode_bftp_header(ByteSpan from);

/// Returns a whole BFTP_PDU. The content must be as long as the header says.
Bytes bftp_pdu(const BftpHeader& header, ByteSpan content);

/// U_PDUs that acknowledge the file whose segments had these IDs.
Bytes frap_updu(std::uint8_t connection_id, std::uint8_t updu_id);
Bytes frap_v2_updu(std::uint8_t connection_id, std::uint8_t updu_id, const BftpHeader& header);

/// Returns the length of an application PDU of this family, for the reassembler.
Result<std::optional<std::uint64_t>> application_length(std::uint16_t application_id,
                                                        ByteSpan prefix);

}  // namespace s5066::file_relay
