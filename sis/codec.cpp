// SPDX-License-Identifier: Apache-2.0
#include "sis/codec.h"

#include <array>
#include <string>
#include <type_traits>
#include <utility>

namespace s5066::sis {

namespace {

constexpr unsigned kAddressSizeAll = 7;  // half-octets: all 28 bits count

/// Appends the fields of a primitive.
class Writer {
 public:
  static constexpr bool kReads = false;
  explicit Writer(Bytes& out) : out_(out) {}

  template <typename T>
  void octet(const T& value) {
    out_.push_back(static_cast<std::uint8_t>(value));
  }
  template <typename High, typename Low>
  void nibbles(const High& high, const Low& low) {
    S5066_ASSERT(static_cast<unsigned>(high) < 16 && static_cast<unsigned>(low) < 16);
    octet(static_cast<unsigned>(high) << 4 | static_cast<unsigned>(low));
  }
  void u16(std::uint16_t value) { put_u16(out_, value); }
  void address(Address address) {
    S5066_ASSERT(address.value <= Address::kMax);
    const std::uint32_t group = address.group ? 1u : 0u;
    put_u32(out_, kAddressSizeAll << 29 | group << 28 | address.value);
  }
  void blocks(const std::vector<OctetRange>& blocks) {
    S5066_ASSERT(blocks.size() <= kBodyOctetsMax);
    u16(static_cast<std::uint16_t>(blocks.size()));
    for (const OctetRange& block : blocks) {
      u16(block.offset);
      u16(block.octets);
    }
  }
  void rest(const Bytes& octets) { append(out_, octets); }
  void rest(const Bytes& octets, std::size_t) { rest(octets); }

 private:
  Bytes& out_;
};

/// Reads the fields of a primitive from its body, behind the type. After an error all fields that
/// follow keep their values.
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(ByteSpan body) : body_(body) {}

  template <typename T>
  void octet(T& value) {
    if (has(1)) value = static_cast<T>(body_[at_++]);
  }
  template <typename High, typename Low>
  void nibbles(High& high, Low& low) {
    std::uint8_t both = 0;
    octet(both);
    high = static_cast<High>(both >> 4);
    low = static_cast<Low>(both & 0x0F);
  }
  void u16(std::uint16_t& value) {
    if (!has(2)) return;
    value = get_u16(body_, at_);
    at_ += 2;
  }
  // STANDARD: for sizes below 7, Fig. A-28 aligns the address left and A.2.2.1(4) right. We read it
  // aligned right. Bits beyond the claimed size can only be part of an address that was written in
  // full, so they count as well. Together this means: all 28 bits, whatever the size.
  void address(Address& address) {
    if (!has(4)) return;
    const std::uint32_t word = get_u32(body_, at_);
    at_ += 4;
    if (word >> 29 == 0) fail({ErrorCode::bad_field, "address size 0"});
    address = {word & Address::kMax, (word >> 28 & 1) != 0};
  }
  /// The count is checked before there is room for so many: its blocks must exist.
  void blocks(std::vector<OctetRange>& blocks) {
    std::uint16_t count = 0;
    u16(count);
    if (!has(count * std::size_t{4})) return;
    blocks.resize(count);
    for (OctetRange& block : blocks) {
      u16(block.offset);
      u16(block.octets);
    }
  }
  /// Takes all that is left, which must be `size` octets if that is given.
  void rest(Bytes& octets) {
    octets.assign(body_.begin() + static_cast<std::ptrdiff_t>(at_), body_.end());
    at_ = body_.size();
  }
  void rest(Bytes& octets, std::size_t size) {
    if (body_.size() - at_ != size) fail({ErrorCode::bad_field, "size of the U_PDU"});
    rest(octets);
  }
  /// Call when all fields were read.
  std::optional<Error> error() {
    if (at_ < body_.size()) fail({ErrorCode::bad_field, "size of the primitive"});
    return std::move(error_);
  }

 private:
  bool has(std::size_t octets) {
    if (body_.size() - at_ >= octets) return true;
    error_ = Error{ErrorCode::truncated, "primitive"};
    at_ = body_.size();
    return false;
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  ByteSpan body_;
  std::size_t at_ = 1;
  std::optional<Error> error_;
};

// --- The layout, for both directions -------------------------------------------------------------

/// SERVICE TYPE (A.2.2.3) or DELIVERY MODE (A.2.2.28.2): 12 bits, then the primitive's value in the
/// low nibble of the second octet.
template <typename Io, typename Mode, typename Low>
void delivery_mode(Io& io, Mode& mode, Low& low_nibble) {
  auto flags =
      static_cast<std::uint8_t>(static_cast<unsigned>(mode.confirmation) << 2 |
                                (mode.as_they_arrive ? 2u : 0u) | (mode.extended ? 1u : 0u));
  io.nibbles(mode.mode, flags);
  io.nibbles(mode.retransmissions, low_nibble);
  if constexpr (Io::kReads) {
    mode.confirmation = static_cast<Confirmation>(flags >> 2);
    mode.as_they_arrive = (flags & 2) != 0;
    mode.extended = (flags & 1) != 0;
  }
}

/// SIZE OF U_PDU and the U_PDU or its part.
template <typename Io, typename Octets>
void sized_updu(Io& io, Octets& updu) {
  S5066_ASSERT(updu.size() <= kBodyOctetsMax);
  auto size = static_cast<std::uint16_t>(updu.size());
  io.u16(size);
  io.rest(updu, size);
}

template <typename Io, typename Link>
void hard_link(Io& io, Link& link) {
  S5066_ASSERT(static_cast<unsigned>(link.type) < 4 && link.priority < 4);
  auto kind = static_cast<std::uint8_t>(static_cast<unsigned>(link.type) << 2 | link.priority);
  io.nibbles(kind, link.remote_sap.value);
  io.address(link.remote);
  if constexpr (Io::kReads) {
    link.type = static_cast<HardLinkType>(kind >> 2);
    link.priority = kind & 3;
  }
}

/// Types 20 and 24 (A.2.2.20, A.2.2.24), behind the first octet.
template <typename Io, typename Request>
void request(Io& io, Request& p) {
  S5066_ASSERT(p.time_to_live < 1u << 20);
  auto high = static_cast<std::uint8_t>(p.time_to_live >> 16);
  auto low = static_cast<std::uint16_t>(p.time_to_live);
  io.address(p.destination);
  delivery_mode(io, p.delivery, high);
  io.u16(low);
  sized_updu(io, p.updu);
  if constexpr (Io::kReads) p.time_to_live = std::uint32_t{high} << 16 | low;
}

/// Types 21 and 25 (A.2.2.21, A.2.2.25), behind the first octet. The lists of blocks are between
/// the size and the U_PDU, and only with nonarq_with_errors.
template <typename Io, typename Indication>
void indication(Io& io, Indication& p) {
  io.address(p.destination);
  io.nibbles(p.mode, p.source_sap.value);
  io.address(p.source);
  S5066_ASSERT(p.updu.size() <= kBodyOctetsMax);
  auto size = static_cast<std::uint16_t>(p.updu.size());
  io.u16(size);
  if (p.mode == TransmissionMode::nonarq_with_errors) {
    io.blocks(p.errored);
    io.blocks(p.missing);
  } else {
    S5066_ASSERT(p.errored.empty() && p.missing.empty());
  }
  io.rest(p.updu, size);
}

/// The fields of a primitive in their order, behind the type. Only normal requests and indications
/// have a priority before the destination SAP, and only rejections a reason.
template <typename Io, typename P>
void fields(Io& io, P& p) {
  using T = std::remove_const_t<P>;
  std::uint8_t unused = 0;
  if constexpr (std::is_same_v<T, BindRequest>) {
    io.nibbles(p.sap.value, p.rank);
    delivery_mode(io, p.service, unused);
  } else if constexpr (std::is_same_v<T, BindAccepted>) {
    io.nibbles(p.sap.value, unused);
    io.u16(p.mtu);
  } else if constexpr (std::is_same_v<T, HardLinkTerminate>) {
    io.address(p.remote);
  } else if constexpr (std::is_same_v<T, SubnetAvailability>) {
    io.octet(p.status);
    io.octet(p.reason);
  } else if constexpr (requires { p.message_type; }) {
    io.octet(p.message_type);
    io.rest(p.body);
  } else if constexpr (requires { p.destination_sap; }) {
    if constexpr (requires { p.priority; }) {
      io.nibbles(p.priority, p.destination_sap.value);
    } else if constexpr (requires { p.reason; }) {
      io.nibbles(p.reason, p.destination_sap.value);
    } else {
      io.nibbles(unused, p.destination_sap.value);
    }
    if constexpr (requires { p.delivery; }) {
      request(io, p);
    } else if constexpr (requires { p.mode; }) {
      indication(io, p);
    } else {  // types 22, 23, 26 and 27
      io.address(p.destination);
      sized_updu(io, p.updu_part);
    }
  } else {
    if constexpr (requires { p.status; }) io.octet(p.status);
    if constexpr (requires { p.reason; }) io.octet(p.reason);
    if constexpr (requires { p.link; }) hard_link(io, p.link);
  }
}

template <typename T>
Result<Primitive> read(ByteSpan body) {
  T p{};
  Reader in(body);
  fields(in, p);
  if (auto error = in.error()) return *std::move(error);
  return Primitive{std::move(p)};
}

using Decoder = Result<Primitive> (*)(ByteSpan body);

/// The decoder of each type, from type 1 on.
constexpr auto kDecoders = []<std::size_t... kAt>(std::index_sequence<kAt...>) {
  return std::array<Decoder, kTypeMax>{read<std::variant_alternative_t<kAt, Primitive>>...};
}
(std::make_index_sequence<kTypeMax>{});

}  // namespace

Type type_of(const Primitive& primitive) {
  static_assert(std::variant_size_v<Primitive> == kTypeMax);
  return static_cast<Type>(primitive.index() + 1);
}

void encode(const Primitive& primitive, Bytes& out) {
  const std::size_t start = out.size();
  out.insert(out.end(), {kPreamble0, kPreamble1, kVersion, 0, 0});
  out.push_back(static_cast<std::uint8_t>(type_of(primitive)));
  Writer writer(out);
  std::visit([&writer](const auto& p) { fields(writer, p); }, primitive);
  const std::size_t size = out.size() - start - kHeaderOctets;
  S5066_ASSERT(size <= kBodyOctetsMax);
  out[start + 3] = static_cast<std::uint8_t>(size >> 8);
  out[start + 4] = static_cast<std::uint8_t>(size);
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
