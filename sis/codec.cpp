#include "sis/codec.h"

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

/// SERVICE TYPE (A.2.2.3) and DELIVERY MODE (A.2.2.28.2): 12 bits, then what the primitive puts in
/// the low nibble of the second octet.
void put_delivery_mode(Bytes& out, const DeliveryMode& mode, unsigned low_nibble) {
  const unsigned confirmation = static_cast<unsigned>(mode.confirmation);
  S5066_ASSERT(confirmation < 4);
  const unsigned flags =
      confirmation << 2 | (mode.as_they_arrive ? 2u : 0u) | (mode.extended ? 1u : 0u);
  put_nibbles(out, static_cast<unsigned>(mode.mode), flags);
  put_nibbles(out, mode.retransmissions, low_nibble);
}

/// SIZE OF U_PDU and the U_PDU or the part of it.
void put_updu(Bytes& out, ByteSpan updu) {
  S5066_ASSERT(updu.size() <= kBodyOctetsMax);
  put_u16(out, static_cast<std::uint16_t>(updu.size()));
  append(out, updu);
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

void put_fields(Bytes&, const DataFlowOn&) {}
void put_fields(Bytes&, const DataFlowOff&) {}
void put_fields(Bytes&, const KeepAlive&) {}

void put_fields(Bytes& out, const UnidataRequest& p) {
  S5066_ASSERT(p.time_to_live < 1u << 20);
  put_nibbles(out, p.priority, p.destination_sap.value);
  put_address(out, p.destination);
  put_delivery_mode(out, p.delivery, p.time_to_live >> 16);
  put_u16(out, static_cast<std::uint16_t>(p.time_to_live));
  put_updu(out, p.updu);
}

void put_fields(Bytes& out, const UnidataIndication& p) {
  S5066_ASSERT(p.mode != TransmissionMode::nonarq_with_errors);
  put_nibbles(out, p.priority, p.destination_sap.value);
  put_address(out, p.destination);
  put_nibbles(out, static_cast<unsigned>(p.mode), p.source_sap.value);
  put_address(out, p.source);
  put_updu(out, p.updu);
}

void put_fields(Bytes& out, const UnidataRequestConfirm& p) {
  put_nibbles(out, 0, p.destination_sap.value);
  put_address(out, p.destination);
  put_updu(out, p.updu_part);
}

void put_fields(Bytes& out, const UnidataRequestRejected& p) {
  put_nibbles(out, static_cast<unsigned>(p.reason), p.destination_sap.value);
  put_address(out, p.destination);
  put_updu(out, p.updu_part);
}

// --- Reading -------------------------------------------------------------------------------------

std::uint8_t high(std::uint8_t octet) {
  return octet >> 4;
}
std::uint8_t low(std::uint8_t octet) {
  return octet & 0x0F;
}

/// The table of fixed sizes (A.2.2.3 to A.2.2.19).
std::optional<Error> check_size(ByteSpan body, std::size_t expected) {
  if (body.size() < expected) return Error{ErrorCode::truncated, "primitive"};
  if (body.size() > expected) return Error{ErrorCode::bad_field, "size of the primitive"};
  return std::nullopt;
}

/// SIZE OF U_PDU, in the last two of the fixed octets, must name exactly the rest.
std::optional<Error> check_updu_size(ByteSpan body, std::size_t fixed) {
  if (body.size() < fixed) return Error{ErrorCode::truncated, "primitive"};
  if (get_u16(body, fixed - 2) != body.size() - fixed) {
    return Error{ErrorCode::bad_field, "size of the U_PDU"};
  }
  return std::nullopt;
}

// STANDARD: for sizes below 7, Fig. A-28 justifies the address left and A.2.2.1(4) right. We read
// it right-justified; bits beyond the size it claims can only be part of an address that was
// written in full, so they count as well. Both together are: all 28 bits, whatever the size.
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

Result<Primitive> read_unidata_request(ByteSpan body) {
  if (auto error = check_updu_size(body, kUnidataRequestFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  return Primitive{UnidataRequest{
      .priority = high(body[1]),
      .destination_sap = {low(body[1])},
      .destination = *destination,
      .delivery = read_delivery_mode(body[6], body[7]),
      .time_to_live = std::uint32_t{low(body[7])} << 16 | get_u16(body, 8),
      .updu = tail(body, kUnidataRequestFixed),
  }};
}

Result<Primitive> read_unidata_indication(ByteSpan body) {
  if (body.size() < kUnidataIndicationFixed) return Error{ErrorCode::truncated, "primitive"};
  const auto mode = static_cast<TransmissionMode>(high(body[6]));
  if (mode == TransmissionMode::nonarq_with_errors) {
    return Error{ErrorCode::unsupported, "indication with errors"};
  }
  if (auto error = check_updu_size(body, kUnidataIndicationFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  const auto source = read_address(body, 7);
  if (!source) return source.error();
  return Primitive{UnidataIndication{
      .priority = high(body[1]),
      .destination_sap = {low(body[1])},
      .destination = *destination,
      .mode = mode,
      .source_sap = {low(body[6])},
      .source = *source,
      .updu = tail(body, kUnidataIndicationFixed),
  }};
}

Result<Primitive> read_confirm(ByteSpan body) {
  if (auto error = check_updu_size(body, kAnswerFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  return Primitive{UnidataRequestConfirm{.destination_sap = {low(body[1])},
                                         .destination = *destination,
                                         .updu_part = tail(body, kAnswerFixed)}};
}

Result<Primitive> read_rejected(ByteSpan body) {
  if (auto error = check_updu_size(body, kAnswerFixed)) return *std::move(error);
  const auto destination = read_address(body, 2);
  if (!destination) return destination.error();
  return Primitive{UnidataRequestRejected{.reason = static_cast<RejectReason>(high(body[1])),
                                          .destination_sap = {low(body[1])},
                                          .destination = *destination,
                                          .updu_part = tail(body, kAnswerFixed)}};
}

// --- Type numbers --------------------------------------------------------------------------------

Type number(const BindRequest&) {
  return Type::bind_request;
}
Type number(const UnbindRequest&) {
  return Type::unbind_request;
}
Type number(const BindAccepted&) {
  return Type::bind_accepted;
}
Type number(const BindRejected&) {
  return Type::bind_rejected;
}
Type number(const UnbindIndication&) {
  return Type::unbind_indication;
}
Type number(const DataFlowOn&) {
  return Type::data_flow_on;
}
Type number(const DataFlowOff&) {
  return Type::data_flow_off;
}
Type number(const KeepAlive&) {
  return Type::keep_alive;
}
Type number(const UnidataRequest&) {
  return Type::unidata_request;
}
Type number(const UnidataIndication&) {
  return Type::unidata_indication;
}
Type number(const UnidataRequestConfirm&) {
  return Type::unidata_request_confirm;
}
Type number(const UnidataRequestRejected&) {
  return Type::unidata_request_rejected;
}

}  // namespace

Type type_of(const Primitive& primitive) {
  return std::visit([](const auto& p) { return number(p); }, primitive);
}

void encode(const Primitive& primitive, Bytes& out) {
  const std::size_t start = begin(out, type_of(primitive));
  std::visit([&out](const auto& p) { put_fields(out, p); }, primitive);
  finish(out, start);
}

Result<Primitive> decode(ByteSpan body) {
  if (body.empty()) return Error{ErrorCode::truncated, "type"};
  switch (static_cast<Type>(body[0])) {
    case Type::bind_request:
      return read_bind_request(body);
    case Type::unbind_request:
      return read_empty<UnbindRequest>(body);
    case Type::bind_accepted:
      return read_bind_accepted(body);
    case Type::bind_rejected:
      return read_reason<BindRejected, BindRejectReason>(body);
    case Type::unbind_indication:
      return read_reason<UnbindIndication, UnbindReason>(body);
    case Type::data_flow_on:
      return read_empty<DataFlowOn>(body);
    case Type::data_flow_off:
      return read_empty<DataFlowOff>(body);
    case Type::keep_alive:
      return read_empty<KeepAlive>(body);
    case Type::unidata_request:
      return read_unidata_request(body);
    case Type::unidata_indication:
      return read_unidata_indication(body);
    case Type::unidata_request_confirm:
      return read_confirm(body);
    case Type::unidata_request_rejected:
      return read_rejected(body);
    default:
      return Error{ErrorCode::unsupported, "type " + std::to_string(body[0])};
  }
}

std::optional<Direction> direction(std::uint8_t type) {
  if (type < 1 || type > 27) return std::nullopt;
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
