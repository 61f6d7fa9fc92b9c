// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/cpdu.h"

namespace s5066::cas {
namespace {

constexpr std::uint8_t kExclusiveBit = 0x01;

std::uint8_t low_half(const Cpdu& cpdu) {
  if (const auto* request = std::get_if<PhysicalLinkRequest>(&cpdu)) {
    return request->type == LinkType::exclusive ? kExclusiveBit : 0;
  }
  if (const auto* rejected = std::get_if<PhysicalLinkRejected>(&cpdu)) {
    return static_cast<std::uint8_t>(rejected->reason);
  }
  if (const auto* broken = std::get_if<PhysicalLinkBreak>(&cpdu)) {
    return static_cast<std::uint8_t>(broken->reason);
  }
  return 0;
}

}  // namespace

std::uint8_t type_of(const Cpdu& cpdu) {
  return static_cast<std::uint8_t>(cpdu.index());
}

Bytes encode(const Cpdu& cpdu) {
  const std::uint8_t low = low_half(cpdu);
  S5066_ASSERT(low < 16);
  Bytes out;
  if (const auto* data = std::get_if<DataCpdu>(&cpdu)) {
    S5066_ASSERT(!data->spdu.empty());
    out.reserve(1 + data->spdu.size());
    out.push_back(0);
    append(out, data->spdu);
    return out;
  }
  out.push_back(static_cast<std::uint8_t>(type_of(cpdu) << 4 | low));
  return out;
}

Result<Cpdu> decode(ByteSpan octets) {
  if (octets.empty()) return Error{ErrorCode::truncated, "empty C_PDU"};
  const auto low = static_cast<std::uint8_t>(octets[0] & 0x0F);
  switch (octets[0] >> 4) {
    case 0:
      if (octets.size() < 2) return Error{ErrorCode::truncated, "DATA C_PDU without S_PDU"};
      return Cpdu{DataCpdu{Bytes(octets.begin() + 1, octets.end())}};
    case 1:
      return Cpdu{PhysicalLinkRequest{(low & kExclusiveBit) ? LinkType::exclusive
                                                            : LinkType::nonexclusive}};
    case 2:
      return Cpdu{PhysicalLinkAccepted{}};
    case 3:
      return Cpdu{PhysicalLinkRejected{static_cast<RejectReason>(low)}};
    case 4:
      return Cpdu{PhysicalLinkBreak{static_cast<BreakReason>(low)}};
    case 5:
      return Cpdu{PhysicalLinkBreakConfirm{}};
    default:
      return Error{ErrorCode::unsupported, "C_PDU type"};
  }
}

bool is_data_cpdu(ByteSpan octets) {
  return octets.size() >= 2 && octets[0] >> 4 == 0;
}

Bytes data_cpdu(Bytes spdu) {
  S5066_ASSERT(!spdu.empty());
  spdu.insert(spdu.begin(), 0);
  return spdu;
}

Bytes take_spdu(Bytes cpdu) {
  S5066_ASSERT(is_data_cpdu(cpdu));
  cpdu.erase(cpdu.begin());
  return cpdu;
}

std::string_view to_string(RejectReason reason) {
  switch (reason) {
    case RejectReason::unknown:
      return "unknown";
    case RejectReason::broadcast_only_node:
      return "broadcast_only_node";
    case RejectReason::higher_priority_pending:
      return "higher_priority_pending";
    case RejectReason::supporting_exclusive_link:
      return "supporting_exclusive_link";
  }
  return "unspecified";
}

std::string_view to_string(BreakReason reason) {
  switch (reason) {
    case BreakReason::unknown:
      return "unknown";
    case BreakReason::higher_layer_request:
      return "higher_layer_request";
    case BreakReason::switching_to_broadcast:
      return "switching_to_broadcast";
    case BreakReason::higher_priority_pending:
      return "higher_priority_pending";
    case BreakReason::no_more_data:
      return "no_more_data";
  }
  return "unspecified";
}

}  // namespace s5066::cas
