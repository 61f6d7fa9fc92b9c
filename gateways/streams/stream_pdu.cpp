// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/stream_pdu.h"

#include <limits>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/overloaded.h"

namespace s5066::streams {
namespace {

enum class FrameType : std::uint8_t { open = 1, data = 2, ack = 3, reset = 4, probe = 5 };

// Flags in the lower half of the first octet of a frame.
constexpr std::uint8_t kOpenedByReceiver = 0x1;
constexpr std::uint8_t kEnd = 0x2;         // DATA
constexpr std::uint8_t kCompressed = 0x4;  // DATA
constexpr std::uint8_t kAnswer = 0x2;      // ACK

// Flags in the lower half of the first octet after the header of RCOP.
constexpr std::uint8_t kAnswerWanted = 0x1;
constexpr std::uint8_t kLost = 0x2;

constexpr int kVariableOctetsMax = 9;

void put_variable(Bytes& out, std::uint64_t value) {
  S5066_ASSERT(value <= kOffsetMax);
  while (value > 0x7F) {
    out.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_first(Bytes& out, FrameType type, StreamName stream, unsigned flags = 0) {
  const unsigned side = stream.ours ? 0U : kOpenedByReceiver;
  out.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(type) << 4 | side | flags));
  put_variable(out, stream.number);
}

/// Reads from the front of a U_PDU. After a failure, numbers read as 0 and octets as empty.
class Reader {
 public:
  explicit Reader(ByteSpan octets) : rest_(octets) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  std::uint8_t octet() { return has(1) ? take(1)[0] : std::uint8_t{0}; }
  std::uint16_t u16() { return has(2) ? get_u16(take(2), 0) : std::uint16_t{0}; }
  std::uint64_t variable() {
    std::uint64_t value = 0;
    for (int i = 0; i < kVariableOctetsMax; ++i) {
      const std::uint8_t next = octet();
      value |= std::uint64_t{next & 0x7FU} << (7 * i);
      if ((next & 0x80) == 0) {
        ok_ = ok_ && value <= kOffsetMax;
        return ok_ ? value : 0;
      }
    }
    ok_ = false;
    return 0;
  }
  StreamName stream(unsigned flags) {
    const std::uint64_t number = variable();
    ok_ = ok_ && number > 0 && number <= std::numeric_limits<std::uint32_t>::max();
    return {(flags & kOpenedByReceiver) == 0, static_cast<std::uint32_t>(number)};
  }
  ByteSpan octets(std::size_t count) { return has(count) ? take(count) : ByteSpan(); }
  void fail() { ok_ = false; }

 private:
  bool has(std::size_t count) {
    ok_ = ok_ && rest_.size() >= count;
    return ok_;
  }
  ByteSpan take(std::size_t count) {
    const ByteSpan taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  ByteSpan rest_;
  bool ok_ = true;
};

OpenFrame read_open(Reader& reader, unsigned flags) {
  OpenFrame frame;
  const StreamName stream = reader.stream(flags);
  frame.number = stream.number;
  frame.target.port = reader.u16();
  const ByteSpan host = reader.octets(reader.octet());
  frame.target.host.assign(host.begin(), host.end());
  if (!stream.ours || host.empty() || frame.target.port == 0) reader.fail();
  for (const char c : frame.target.host) {
    if (c <= ' ' || c > '~') reader.fail();
  }
  return frame;
}

DataFrame read_data(Reader& reader, unsigned flags) {
  DataFrame frame{.stream = reader.stream(flags),
                  .end = (flags & kEnd) != 0,
                  .compressed = (flags & kCompressed) != 0,
                  .offset = reader.variable()};
  frame.octets = reader.octets(reader.u16());
  return frame;
}

Frame read_frame(Reader& reader) {
  const std::uint8_t first = reader.octet();
  const unsigned flags = first & 0xFU;
  switch (static_cast<FrameType>(first >> 4)) {
    case FrameType::open:
      return read_open(reader, flags);
    case FrameType::data:
      return read_data(reader, flags);
    case FrameType::ack: {
      AckFrame ack{.stream = reader.stream(flags), .answer = (flags & kAnswer) != 0};
      ack.received = reader.variable();
      ack.limit = reader.variable();
      return ack;
    }
    case FrameType::reset: {
      ResetFrame reset{.stream = reader.stream(flags)};
      const std::uint8_t code = reader.octet();
      const bool known = code >= static_cast<std::uint8_t>(ResetCode::by_application) &&
                         code <= static_cast<std::uint8_t>(ResetCode::idle);
      reset.code = known ? static_cast<ResetCode>(code) : ResetCode::by_application;
      return reset;
    }
    case FrameType::probe:
      return ProbeFrame{reader.stream(flags)};
  }
  reader.fail();
  return ProbeFrame{};
}

}  // namespace

bool is_streams_updu(ByteSpan updu) {
  const auto pdu = gateways::decode_rcop(updu);
  return pdu.ok() && pdu->header.connection_id == kStreamsConnection &&
         pdu->header.application_id == kStreamsApplication;
}

void encode(const StreamsHeader& header, Bytes& out) {
  gateways::encode(gateways::RcopHeader{.connection_id = kStreamsConnection,
                                        .updu_id = header.updu_id,
                                        .application_id = kStreamsApplication},
                   out);
  const unsigned flags = (header.answer_wanted ? kAnswerWanted : 0U) | (header.lost ? kLost : 0U);
  out.push_back(static_cast<std::uint8_t>(unsigned{kStreamsVersion} << 4 | flags));
  put_u32(out, header.from_epoch);
  put_u32(out, header.to_epoch);
}

void encode(const Frame& frame, Bytes& out) {
  std::visit(
      Overloaded{[&](const OpenFrame& open) {
                   S5066_ASSERT(!open.target.host.empty());
                   S5066_ASSERT(open.target.host.size() <= kHostOctetsMax);
                   put_first(out, FrameType::open, {true, open.number});
                   put_u16(out, open.target.port);
                   out.push_back(static_cast<std::uint8_t>(open.target.host.size()));
                   out.insert(out.end(), open.target.host.begin(), open.target.host.end());
                 },
                 [&](const DataFrame& data) {
                   put_first(out, FrameType::data, data.stream,
                             (data.end ? kEnd : 0U) | (data.compressed ? kCompressed : 0U));
                   put_variable(out, data.offset);
                   put_u16(out, static_cast<std::uint16_t>(data.octets.size()));
                   append(out, data.octets);
                 },
                 [&](const AckFrame& ack) {
                   put_first(out, FrameType::ack, ack.stream, ack.answer ? kAnswer : 0U);
                   put_variable(out, ack.received);
                   put_variable(out, ack.limit);
                 },
                 [&](const ResetFrame& reset) {
                   put_first(out, FrameType::reset, reset.stream);
                   out.push_back(static_cast<std::uint8_t>(reset.code));
                 },
                 [&](const ProbeFrame& probe) { put_first(out, FrameType::probe, probe.stream); }},
      frame);
}

std::size_t encoded_octets(const OpenFrame& open) {
  Bytes out;
  encode(Frame(open), out);
  return out.size();
}

Result<StreamsPdu> decode_streams(ByteSpan updu) {
  const auto rcop = gateways::decode_rcop(updu);
  if (!rcop) return rcop.error();
  if (rcop->header.connection_id != kStreamsConnection ||
      rcop->header.application_id != kStreamsApplication) {
    return Error{ErrorCode::bad_field, "application identifier"};
  }
  if (updu.size() < kStreamsHeaderOctets) return Error{ErrorCode::truncated, "session"};
  if (rcop->header.segment != 0) return Error{ErrorCode::bad_field, "segment number"};
  const ByteSpan data = rcop->data;
  if (data[0] >> 4 != kStreamsVersion) return Error{ErrorCode::unsupported, "version"};
  StreamsPdu pdu;
  pdu.header = {.updu_id = rcop->header.updu_id,
                .answer_wanted = (data[0] & kAnswerWanted) != 0,
                .lost = (data[0] & kLost) != 0,
                .from_epoch = get_u32(data, 1),
                .to_epoch = get_u32(data, 5)};
  if (pdu.header.from_epoch == 0) return Error{ErrorCode::bad_field, "epoch"};
  Reader reader(data.subspan(kStreamsHeaderOctets - gateways::kRcopHeaderBytes));
  while (!reader.empty()) {
    Frame frame = read_frame(reader);
    if (!reader.ok()) return Error{ErrorCode::bad_field, "frame"};
    pdu.frames.push_back(std::move(frame));
  }
  return pdu;
}

}  // namespace s5066::streams
