// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/dpdu.h"

#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/crc.h"
#include "s5066d/base/overloaded.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {
namespace {

[[noreturn]] void cannot_send_unsupported() {
  assert_failed("an unsupported D_PDU is only ever received", __FILE__, __LINE__);
}

}  // namespace

const Common& common_of(const Dpdu& dpdu) {
  return std::visit([](const auto& d) -> const Common& { return d.common; }, dpdu);
}

std::uint8_t type_of(const Dpdu& dpdu) {
  const auto type = [](DpduType t) { return static_cast<std::uint8_t>(t); };
  return std::visit(Overloaded{
                        [&](const Data&) { return type(DpduType::data_only); },
                        [&](const AckOnly&) { return type(DpduType::ack_only); },
                        [&](const DataAck&) { return type(DpduType::data_ack); },
                        [&](const Reset&) { return type(DpduType::reset); },
                        [&](const ExpeditedData&) { return type(DpduType::expedited_data); },
                        [&](const ExpeditedAck&) { return type(DpduType::expedited_ack); },
                        [&](const Management&) { return type(DpduType::management); },
                        [&](const Nonarq& d) {
                          return type(d.expedited ? DpduType::expedited_nonarq : DpduType::nonarq);
                        },
                        [&](const LongData&) { return type(DpduType::long_data); },
                        [&](const LongAckOnly&) { return type(DpduType::long_ack); },
                        [&](const Warning&) { return type(DpduType::warning); },
                        [&](const Unsupported& d) { return d.type; },
                    },
                    dpdu);
}

void encode(const Dpdu& dpdu, Bytes& out) {
  std::visit(Overloaded{
                 [&](const Data& d) { write_data(d, out); },
                 [&](const AckOnly& d) { write_ack_only(d, out); },
                 [&](const DataAck& d) { write_data_ack(d, out); },
                 [&](const Reset& d) { write_reset(d, out); },
                 [&](const ExpeditedData& d) { write_expedited_data(d, out); },
                 [&](const ExpeditedAck& d) { write_expedited_ack(d, out); },
                 [&](const Management& d) { write_management(d, out); },
                 [&](const Nonarq& d) { write_nonarq(d, out); },
                 [&](const LongData& d) { write_long_data(d, out); },
                 [&](const LongAckOnly& d) { write_long_ack(d, out); },
                 [&](const Warning& d) { write_warning(d, out); },
                 [](const Unsupported&) { cannot_send_unsupported(); },
             },
             dpdu);
}

std::size_t encoded_size(const Dpdu& dpdu) {
  return std::visit(
      Overloaded{
          [](const Data& d) { return data_octets(d.segment.size()); },
          [](const AckOnly& d) { return ack_only_octets(d.ack.selective.size()); },
          [](const DataAck& d) {
            return data_ack_octets(d.segment.size(), d.ack.selective.size());
          },
          [](const Reset&) { return kResetOctets; },
          [](const ExpeditedData& d) { return expedited_data_octets(d.segment.size()); },
          [](const ExpeditedAck& d) { return ack_only_octets(d.ack.selective.size()); },
          [](const Management& d) { return management_octets(d.extension.size()); },
          [](const Nonarq& d) { return nonarq_octets(d.segment.size()); },
          [](const LongData& d) { return long_data_octets(d.segment.size()); },
          [](const LongAckOnly& d) { return long_ack_octets(d.ack.selective.size()); },
          [](const Warning&) { return kWarningOctets; },
          [](const Unsupported&) -> std::size_t { cannot_send_unsupported(); },
      },
      dpdu);
}

Result<Dpdu> read_dpdu(const Header& header) {
  if (header.is_long() && header.type == static_cast<std::uint8_t>(DpduType::long_data)) {
    return Dpdu{read_long_data(header)};
  }
  if (header.is_long()) return read_long_ack(header);
  switch (header.type) {
    case static_cast<std::uint8_t>(DpduType::data_only):
      return Dpdu{read_data(header)};
    case static_cast<std::uint8_t>(DpduType::ack_only):
      return Dpdu{read_ack_only(header)};
    case static_cast<std::uint8_t>(DpduType::data_ack):
      return Dpdu{read_data_ack(header)};
    case static_cast<std::uint8_t>(DpduType::reset):
      return Dpdu{read_reset(header)};
    case static_cast<std::uint8_t>(DpduType::expedited_data):
      return Dpdu{read_expedited_data(header)};
    case static_cast<std::uint8_t>(DpduType::expedited_ack):
      return Dpdu{read_expedited_ack(header)};
    case static_cast<std::uint8_t>(DpduType::management):
      return Dpdu{read_management(header)};
    case static_cast<std::uint8_t>(DpduType::nonarq):
    case static_cast<std::uint8_t>(DpduType::expedited_nonarq):
      return read_nonarq(header);
    case static_cast<std::uint8_t>(DpduType::warning):
      return Dpdu{read_warning(header)};
    default:
      return Dpdu{Unsupported{.common = header.common, .type = header.type}};
  }
}

bool attach_segment(Bytes segment_and_crc, Dpdu& dpdu) {
  S5066_ASSERT(segment_and_crc.size() >= kSegmentCrcOctets);
  // The CRC over data and CRC gives 0, as in the header.
  const bool good = segment_crc(segment_and_crc) == 0;
  segment_and_crc.resize(segment_and_crc.size() - kSegmentCrcOctets);
  std::visit(Overloaded{
                 [&](Data& d) { d.segment = std::move(segment_and_crc); },
                 [&](DataAck& d) { d.segment = std::move(segment_and_crc); },
                 [&](ExpeditedData& d) { d.segment = std::move(segment_and_crc); },
                 [&](Nonarq& d) { d.segment = std::move(segment_and_crc); },
                 [&](LongData& d) { d.segment = std::move(segment_and_crc); },
                 [&](LongAckOnly& d) { d.ack.selective = std::move(segment_and_crc); },
                 [](auto&) {},
             },
             dpdu);
  return good;
}

Result<Received> decode(ByteSpan frame) {
  const Result<Header> header = read_header(frame);
  if (!header) return header.error();
  Result<Dpdu> dpdu = read_dpdu(*header);
  if (!dpdu) return dpdu.error();
  const std::size_t octets = header->frame_octets();
  if (frame.size() < octets) return Error{ErrorCode::truncated, "segment"};

  Received received{.dpdu = std::move(*dpdu), .octets = octets};
  if (header->has_segment()) {
    const ByteSpan tail = frame.subspan(header->octets, octets - header->octets);
    received.segment_ok = attach_segment(Bytes(tail.begin(), tail.end()), received.dpdu);
  }
  return received;
}

}  // namespace s5066::pdu
