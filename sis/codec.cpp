// SPDX-License-Identifier: Apache-2.0
#include "sis/codec.h"

#include <array>
#include <string>
#include <utility>

namespace s5066::sis {

namespace {

constexpr unsigned kAddressSizeAll = 7;  // half-octets: all 28 bits count

// --- Writing -------------------------------------------------------------------------------------

/// Starts a frame whose size field finish() fills in, and writes its type octet.
std::size_t begin(Bytes& out, Type type) {
  const std::size_t start = out.size();
  out.insert(out.end(), {kPreamble0, kPreamble1, kVersion, 0, 0});
  out.push_back(static_cast<std::uint8_t>(type));
  return start;
}

void finish(Bytes& out, std::size_t start) {
  const std::size_t size = out.size() - start - kHeaderOctets;
  S5066_ASSERT(size <= kBodyOctetsMax);
  out[start + 3] = static_cast<std::uint8_t>(size >> 8);
  out[start + 4] = static_cast<std::uint8_t>(size);
}

void put_nibbles(Bytes& out, unsigned high, unsigned low) {
  S5066_ASSERT(high < 16 && low < 16);
  out.push_back(static_cast<std::uint8_t>(high << 4 | low));
}

void put_address(Bytes& out, Address address) {
  S5066_ASSERT(address.value <= Address::kMax);
  const std::uint32_t group = address.group ? 1u : 0u;
  put_u32(out, kAddressSizeAll << 29 | group << 28 | address.value);
}

/// Writes SERVICE TYPE (A.2.2.3) or DELIVERY MODE (A.2.2.28.2): 12 bits, then the primitive's value
/// in the low nibble of the second octet.
void put_delivery_mode(Bytes& out, const DeliveryMode& mode, unsigned low_nibble) {
  const unsigned confirmation = static_cast<unsigned>(mode.confirmation);
  S5066_ASSERT(confirmation < 4);
  const unsigned flags =
      confirmation << 2 | (mode.as_they_arrive ? 2u : 0u) | (mode.extended ? 1u : 0u);
  put_nibbles(out, static_cast<unsigned>(mode.mode), flags);
  put_nibbles(out, mode.retransmissions, low_nibble);
}

/// Writes SIZE OF U_PDU and the U_PDU or its part.
void put_updu(Bytes& out, ByteSpan updu) {
  S5066_ASSERT(updu.size() <= kBodyOctetsMax);
  put_u16(out, static_cast<std::uint16_t>(updu.size()));
  append(out, updu);
}

void put_hard_link(Bytes& out, const HardLink& link) {
  S5066_ASSERT(static_cast<unsigned>(link.type) < 4 && link.priority < 4);
  put_nibbles(out, static_cast<unsigned>(link.type) << 2 | link.priority, link.remote_sap.value);
  put_address(out, link.remote);
}

void put_blocks(Bytes& out, const std::vector<OctetRange>& blocks) {
  S5066_ASSERT(blocks.size() <= kBodyOctetsMax);
  put_u16(out, static_cast<std::uint16_t>(blocks.size()));
  for (const OctetRange& block : blocks) {
    put_u16(out, block.offset);
    put_u16(out, block.octets);
  }
}

/// Writes types 20 and 24 (A.2.2.20, A.2.2.24).
template <typename Request>
void put_request(Bytes& out, unsigned priority, const Request& p) {
  S5066_ASSERT(p.time_to_live < 1u << 20);
  put_nibbles(out, priority, p.destination_sap.value);
  put_address(out, p.destination);
  put_delivery_mode(out, p.delivery, p.time_to_live >> 16);
  put_u16(out, static_cast<std::uint16_t>(p.time_to_live));
  put_updu(out, p.updu);
}

/// Writes types 21 and 25 (A.2.2.21, A.2.2.25). The lists of blocks are between the size and the
/// U_PDU, and only with nonarq_with_errors.
template <typename Indication>
void put_indication(Bytes& out, unsigned priority, const Indication& p) {
  put_nibbles(out, priority, p.destination_sap.value);
  put_address(out, p.destination);
  put_nibbles(out, static_cast<unsigned>(p.mode), p.source_sap.value);
  put_address(out, p.source);
  S5066_ASSERT(p.updu.size() <= kBodyOctetsMax);
  put_u16(out, static_cast<std::uint16_t>(p.updu.size()));
  if (p.mode == TransmissionMode::nonarq_with_errors) {
    put_blocks(out, p.errored);
    put_blocks(out, p.missing);
  } else {
    S5066_ASSERT(p.errored.empty() && p.missing.empty());
  }
  append(out, p.updu);
}

/// Writes types 22, 23, 26 and 27 (A.2.2.22, A.2.2.23, A.2.2.26, A.2.2.27).
template <typename Answer>
void put_answer(Bytes& out, unsigned reason, const Answer& p) {
  put_nibbles(out, reason, p.destination_sap.value);
  put_address(out, p.destination);
  put_updu(out, p.updu_part);
}

void put_fields(Bytes& out, const BindRequest& p) {
  put_nibbles(out, p.sap.value, p.rank);
  put_delivery_mode(out, p.service, 0);
}
void put_fields(Bytes&, const UnbindRequest&) {}
void put_fields(Bytes& out, const BindAccepted& p) {
  put_nibbles(out, p.sap.value, 0);
  put_u16(out, p.mtu);
}
void put_fields(Bytes& out, const BindRejected& p) {
  out.push_back(static_cast<std::uint8_t>(p.reason));
}
void put_fields(Bytes& out, const UnbindIndication& p) {
  out.push_back(static_cast<std::uint8_t>(p.reason));
}

void put_fields(Bytes& out, const HardLinkEstablish& p) {
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkTerminate& p) {
  put_address(out, p.remote);
}
void put_fields(Bytes& out, const HardLinkEstablished& p) {
  out.push_back(p.status);
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkRejected& p) {
  out.push_back(static_cast<std::uint8_t>(p.reason));
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkTerminated& p) {
  out.push_back(static_cast<std::uint8_t>(p.reason));
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkIndication& p) {
  out.push_back(p.status);
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkAccept& p) {
  put_hard_link(out, p.link);
}
void put_fields(Bytes& out, const HardLinkReject& p) {
  out.push_back(p.reason);
  put_hard_link(out, p.link);
}

void put_fields(Bytes& out, const SubnetAvailability& p) {
  out.push_back(static_cast<std::uint8_t>(p.status));
  out.push_back(static_cast<std::uint8_t>(p.reason));
}
void put_fields(Bytes&, const DataFlowOn&) {}
void put_fields(Bytes&, const DataFlowOff&) {}
void put_fields(Bytes&, const KeepAlive&) {}
void put_fields(Bytes& out, const ManagementRequest& p) {
  out.push_back(p.message_type);
  append(out, p.body);
}
void put_fields(Bytes& out, const ManagementIndication& p) {
  out.push_back(p.message_type);
  append(out, p.body);
}

void put_fields(Bytes& out, const UnidataRequest& p) {
  put_request(out, p.priority, p);
}
void put_fields(Bytes& out, const UnidataIndication& p) {
  put_indication(out, p.priority, p);
}
void put_fields(Bytes& out, const UnidataRequestConfirm& p) {
  put_answer(out, 0, p);
}
void put_fields(Bytes& out, const UnidataRequestRejected& p) {
  put_answer(out, static_cast<unsigned>(p.reason), p);
}
void put_fields(Bytes& out, const ExpeditedUnidataRequest& p) {
  put_request(out, 0, p);
}
void put_fields(Bytes& out, const ExpeditedUnidataIndication& p) {
  put_indication(out, 0, p);
}
void put_fields(Bytes& out, const ExpeditedUnidataRequestConfirm& p) {
  put_answer(out, 0, p);
}
void put_fields(Bytes& out, const ExpeditedUnidataRequestRejected& p) {
  put_answer(out, static_cast<unsigned>(p.reason), p);
}

// --- Reading -------------------------------------------------------------------------------------

std::uint8_t high(std::uint8_t octet) {
  return octet >> 4;
}
std::uint8_t low(std::uint8_t octet) {
  return octet & 0x0F;
}

/// Checks a size of the table of fixed sizes (A.2.2.3 to A.2.2.19).
std::optional<Error> check_size(ByteSpan body, std::size_t expected) {
  if (body.size() < expected) return Error{ErrorCode::truncated, "primitive"};
  if (body.size() > expected) return Error{ErrorCode::bad_field, "size of the primitive"};
  return std::nullopt;
}

/// Checks that SIZE OF U_PDU, in the last two of the fixed octets, equals the rest.
std::optional<Error> check_updu_size(ByteSpan body, std::size_t fixed) {
  if (body.size() < fixed) return Error{ErrorCode::truncated, "primitive"};
  if (get_u16(body, fixed - 2) != body.size() - fixed) {
    return Error{ErrorCode::bad_field, "size of the U_PDU"};
  }
  return std::nullopt;
}

// STANDARD: for sizes below 7, Fig. A-28 aligns the address left and A.2.2.1(4) right. We read it
// aligned right. Bits beyond the claimed size can only be part of an address that was written in
// full, so they count as well. Together this means: all 28 bits, whatever the size.
Result<Address> read_address(ByteSpan body, std::size_t at) {
  const std::uint32_t word = get_u32(body, at);
  if (word >> 29 == 0) return Error{ErrorCode::bad_field, "address size 0"};
  return Address{word & Address::kMax, (word >> 28 & 1) != 0};
}

DeliveryMode read_delivery_mode(std::uint8_t first, std::uint8_t second) {
  return {.mode = static_cast<TransmissionMode>(high(first)),
          .confirmation = static_cast<Confirmation>(first >> 2 & 3),
          .as_they_arrive = (first & 2) != 0,
          .extended = (first & 1) != 0,
          .retransmissions = high(second)};
}

Bytes tail(ByteSpan body, std::size_t from) {
  const ByteSpan rest = body.subspan(from);
  return {rest.begin(), rest.end()};
}

template <typename T>
Result<Primitive> read_empty(ByteSpan body) {
  if (auto error = check_size(body, 1)) return *std::move(error);
  return Primitive{T{}};
}

Result<Primitive> read_bind_request(ByteSpan body) {
  if (auto error = check_size(body, 4)) return *std::move(error);
  return Primitive{BindRequest{.sap = {high(body[1])},
                               .rank = low(body[1]),
                               .service = read_delivery_mode(body[2], body[3])}};
}

Result<Primitive> read_bind_accepted(ByteSpan body) {
  if (auto error = check_size(body, 4)) return *std::move(error);
  return Primitive{BindAccepted{.sap = {high(body[1])}, .mtu = get_u16(body, 2)}};
}

template <typename T, typename Reason>
Result<Primitive> read_reason(ByteSpan body) {
  if (auto error = check_size(body, 2)) return *std::move(error);
  return Primitive{T{.reason = static_cast<Reason>(body[1])}};
}

Result<HardLink> read_hard_link(ByteSpan body, std::size_t at) {
  const auto remote = read_address(body, at + 1);
  if (!remote) return remote.error();
  return HardLink{.type = static_cast<HardLinkType>(body[at] >> 6),
                  .priority = static_cast<std::uint8_t>(body[at] >> 4 & 3),
                  .remote_sap = {low(body[at])},
                  .remote = *remote};
}

/// Reads types 6 and 12: only the link.
template <typename T>
Result<Primitive> read_link(ByteSpan body) {
  if (auto error = check_size(body, 6)) return *std::move(error);
  const auto link = read_hard_link(body, 1);
  if (!link) return link.error();
  return Primitive{T{*link}};
}

/// Reads types 8 to 11 and 13: a status or a reason, then the link.
template <typename T, typename Octet>
Result<Primitive> read_octet_and_link(ByteSpan body) {
  if (auto error = check_size(body, 7)) return *std::move(error);
  const auto link = read_hard_link(body, 2);
  if (!link) return link.error();
  return Primitive{T{static_cast<Octet>(body[1]), *link}};
}

Result<Primitive> read_terminate(ByteSpan body) {
  if (auto error = check_size(body, 5)) return *std::move(error);
  const auto remote = read_address(body, 1);
  if (!remote) return remote.error();
  return Primitive{HardLinkTerminate{*remote}};
}

Result<Primitive> read_availability(ByteSpan body) {
  if (auto error = check_size(body, 3)) return *std::move(error);
  return Primitive{SubnetAvailability{static_cast<NodeStatus>(body[1]),
                                      static_cast<AvailabilityReason>(body[2])}};
}

template <typename T>
Result<Primitive> read_management(ByteSpan body) {
  if (body.size() < kManagementFixed) return Error{ErrorCode::truncated, "primitive"};
  return Primitive{T{.message_type = body[1], .body = tail(body, kManagementFixed)}};
}

template <typename Request>
Result<Request> read_request(ByteSpan body) {
  if (auto error = check_updu_size(body, kUnidataRequestFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  Request p;
  p.destination_sap = {low(body[1])};
  p.destination = *destination;
  p.delivery = read_delivery_mode(body[6], body[7]);
  p.time_to_live = std::uint32_t{low(body[7])} << 16 | get_u16(body, 8);
  p.updu = tail(body, kUnidataRequestFixed);
  return p;
}

/// Reads a count and that many blocks, and moves `at` past them. The count is checked: its blocks
/// must exist.
Result<std::vector<OctetRange>> read_blocks(ByteSpan body, std::size_t& at) {
  if (body.size() - at < 2) return Error{ErrorCode::truncated, "number of blocks"};
  const std::size_t count = get_u16(body, at);
  at += 2;
  if (body.size() - at < count * 4) return Error{ErrorCode::truncated, "blocks"};
  std::vector<OctetRange> blocks(count);
  for (OctetRange& block : blocks) {
    block = {get_u16(body, at), get_u16(body, at + 2)};
    at += 4;
  }
  return blocks;
}

template <typename Indication>
Result<Indication> read_indication(ByteSpan body) {
  if (body.size() < kUnidataIndicationFixed) return Error{ErrorCode::truncated, "primitive"};
  Indication p;
  p.destination_sap = {low(body[1])};
  p.mode = static_cast<TransmissionMode>(high(body[6]));
  p.source_sap = {low(body[6])};
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  p.destination = *destination;
  const auto source = read_address(body, 7);
  if (!source) return source.error();
  p.source = *source;
  std::size_t at = kUnidataIndicationFixed;
  if (p.mode == TransmissionMode::nonarq_with_errors) {
    auto errored = read_blocks(body, at);
    if (!errored) return errored.error();
    p.errored = *std::move(errored);
    auto missing = read_blocks(body, at);
    if (!missing) return missing.error();
    p.missing = *std::move(missing);
  }
  if (get_u16(body, kUnidataIndicationFixed - 2) != body.size() - at) {
    return Error{ErrorCode::bad_field, "size of the U_PDU"};
  }
  p.updu = tail(body, at);
  return p;
}

template <typename Answer>
Result<Answer> read_answer(ByteSpan body) {
  if (auto error = check_updu_size(body, kAnswerFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  Answer p;
  p.destination_sap = {low(body[1])};
  p.destination = *destination;
  p.updu_part = tail(body, kAnswerFixed);
  return p;
}

/// Returns the high nibble of the octet after the type. Only normal requests and indications have a
/// priority there, and only rejections a reason.
template <typename T>
Result<Primitive> with_priority(Result<T> p, ByteSpan body) {
  if (!p) return p.error();
  p->priority = high(body[1]);
  return Primitive{*std::move(p)};
}
template <typename T>
Result<Primitive> with_reason(Result<T> p, ByteSpan body) {
  if (!p) return p.error();
  p->reason = static_cast<RejectReason>(high(body[1]));
  return Primitive{*std::move(p)};
}
template <typename T>
Result<Primitive> with_neither(Result<T> p) {
  if (!p) return p.error();
  return Primitive{*std::move(p)};
}

using Decoder = Result<Primitive> (*)(ByteSpan body);

/// The decoder of each type, from type 1 on.
constexpr std::array<Decoder, kTypeMax> kDecoders = {
    read_bind_request,
    read_empty<UnbindRequest>,
    read_bind_accepted,
    read_reason<BindRejected, BindRejectReason>,
    read_reason<UnbindIndication, UnbindReason>,
    read_link<HardLinkEstablish>,
    read_terminate,
    read_octet_and_link<HardLinkEstablished, std::uint8_t>,
    read_octet_and_link<HardLinkRejected, HardLinkRejectReason>,
    read_octet_and_link<HardLinkTerminated, HardLinkEndReason>,
    read_octet_and_link<HardLinkIndication, std::uint8_t>,
    read_link<HardLinkAccept>,
    read_octet_and_link<HardLinkReject, std::uint8_t>,
    read_availability,
    read_empty<DataFlowOn>,
    read_empty<DataFlowOff>,
    read_empty<KeepAlive>,
    read_management<ManagementRequest>,
    read_management<ManagementIndication>,
    [](ByteSpan body) { return with_priority(read_request<UnidataRequest>(body), body); },
    [](ByteSpan body) { return with_priority(read_indication<UnidataIndication>(body), body); },
    [](ByteSpan body) { return with_neither(read_answer<UnidataRequestConfirm>(body)); },
    [](ByteSpan body) { return with_reason(read_answer<UnidataRequestRejected>(body), body); },
    [](ByteSpan body) { return with_neither(read_request<ExpeditedUnidataRequest>(body)); },
    [](ByteSpan body) { return with_neither(read_indication<ExpeditedUnidataIndication>(body)); },
    [](ByteSpan body) { return with_neither(read_answer<ExpeditedUnidataRequestConfirm>(body)); },
    [](ByteSpan body) {
      return with_reason(read_answer<ExpeditedUnidataRequestRejected>(body), body);
    },
};

}  // namespace

Type type_of(const Primitive& primitive) {
  static_assert(std::variant_size_v<Primitive> == kTypeMax);
  return static_cast<Type>(primitive.index() + 1);
}

void encode(const Primitive& primitive, Bytes& out) {
  const std::size_t start = begin(out, type_of(primitive));
  std::visit([&out](const auto& p) { put_fields(out, p); }, primitive);
  finish(out, start);
}

Result<Primitive> decode(ByteSpan body) {
  if (body.empty()) return Error{ErrorCode::truncated, "type"};
  const std::uint8_t type = body[0];
  if (type < 1 || type > kTypeMax) {
    return Error{ErrorCode::unsupported, "type " + std::to_string(type)};
  }
  return kDecoders[type - 1](body);
}

std::optional<Direction> direction(std::uint8_t type) {
  if (type < 1 || type > kTypeMax) return std::nullopt;
  return direction(static_cast<Type>(type));
}

Direction direction(Type type) {
  switch (type) {
    case Type::bind_request:
    case Type::unbind_request:
    case Type::hard_link_establish:
    case Type::hard_link_terminate:
    case Type::hard_link_accept:
    case Type::hard_link_reject:
    case Type::management_request:
    case Type::unidata_request:
    case Type::expedited_request:
      return Direction::to_server;
    case Type::keep_alive:
      return Direction::both;
    default:
      return Direction::to_client;
  }
}

}  // namespace s5066::sis
