// SPDX-License-Identifier: Apache-2.0
// The U_PDU of the streams, our own extension (docs/protocol/streams.md): a header of RCOP (F.8.1),
// the session, and frames. A number of variable length has seven bits in each octet, least
// significant first. Bit 7 is set if more octets follow.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "gateways/streams/stream_types.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::streams {

inline constexpr std::uint16_t kStreamsApplication = 0xA066;  // user-defined range of Table F-5
inline constexpr std::uint8_t kStreamsConnection = 1;         // not 4 or 6, the versions of IP
inline constexpr std::uint8_t kStreamsVersion = 1;
/// Octets before the first frame.
inline constexpr std::size_t kStreamsHeaderOctets = 15;
/// Octets of the largest DATA frame without its data.
inline constexpr std::size_t kDataOverheadMax = 1 + 5 + 9 + 2;
inline constexpr std::size_t kSmallFrameMax = 1 + 5 + 9 + 9;  // ACK, RESET, PROBE
inline constexpr std::uint64_t kOffsetMax = std::uint64_t{1} << 62;

/// A stream within a session. Each end numbers the streams that it opens, from 1.
struct StreamName {
  bool ours = false;  // true if this end opened it; on the air, if the sender did
  std::uint32_t number = 0;
  friend auto operator<=>(const StreamName&, const StreamName&) = default;
};

/// Header of a U_PDU. An epoch identifies one run of one end of a session. The value 0 stands for
/// an epoch that is not known.
struct StreamsHeader {
  std::uint8_t updu_id = 0;
  bool answer_wanted = false;
  bool lost = false;  // the sender may have lost U_PDUs that were confirmed
  std::uint32_t from_epoch = 0;
  std::uint32_t to_epoch = 0;
  friend bool operator==(const StreamsHeader&, const StreamsHeader&) = default;
};

/// Opens a stream. The octets from offset 0 follow in a DATA frame.
struct OpenFrame {
  std::uint32_t number = 0;
  Target target;
  friend bool operator==(const OpenFrame&, const OpenFrame&) = default;
};
struct DataFrame {
  StreamName stream;
  bool end = false;         // these octets are the last; the end itself counts as one octet
  bool compressed = false;  // the octets from offset 0 are a zstd frame, then plain
  std::uint64_t offset = 0;
  ByteSpan octets;  // part of the U_PDU
};
struct AckFrame {
  StreamName stream;
  bool answer = false;         // true if the ACK answers a PROBE
  std::uint64_t received = 0;  // octets in order, and one for the end
  std::uint64_t limit = 0;     // first octet that must not be sent
  friend bool operator==(const AckFrame&, const AckFrame&) = default;
};
struct ResetFrame {
  StreamName stream;
  ResetCode code = ResetCode::by_application;
  friend bool operator==(const ResetFrame&, const ResetFrame&) = default;
};
/// Asks for an ACK.
struct ProbeFrame {
  StreamName stream;
  friend bool operator==(const ProbeFrame&, const ProbeFrame&) = default;
};
using Frame = std::variant<OpenFrame, DataFrame, AckFrame, ResetFrame, ProbeFrame>;

struct StreamsPdu {
  StreamsHeader header;
  std::vector<Frame> frames;
};

/// True if a U_PDU of SAP 9 belongs to the streams and not to IP.
bool is_streams_updu(ByteSpan updu);

void encode(const StreamsHeader& header, Bytes& out);
void encode(const Frame& frame, Bytes& out);
std::size_t encoded_octets(const OpenFrame& open);

/// Decodes a U_PDU. Any input is safe. Returns an error for the whole U_PDU if one frame is wrong.
Result<StreamsPdu> decode_streams(ByteSpan updu);

}  // namespace s5066::streams
