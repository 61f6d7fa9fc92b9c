// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/p_mul_pdu.h"

#include <algorithm>
#include <array>

#include "s5066d/base/assert.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kChecksumAt = 6;
constexpr std::size_t kHeaderOctets = 12;
constexpr std::size_t kNamedOctets = 16;  // header and Message_ID
constexpr std::size_t kGroupOctets = 20;
constexpr std::size_t kAnnounceOctets = 24;
constexpr std::size_t kTimestampOctets = 8;
constexpr std::uint8_t kTypeMask = 0x3F;

struct Header {
  std::uint8_t priority = 0;
  PduType type = PduType::data;
  ListPart part = ListPart::only;
  std::uint16_t field = 0;  // octets 4 and 5
  NodeId source;
};

// The sums of the longest PDU do not overflow, so one division at the end is enough.
struct FletcherSums {
  std::uint64_t c0 = 0;
  std::uint64_t c1 = 0;
};

FletcherSums fletcher_sums(ByteSpan pdu) {
  FletcherSums sums;
  for (const std::uint8_t octet : pdu) {
    sums.c0 += octet;
    sums.c1 += sums.c0;
  }
  return {sums.c0 % 255, sums.c1 % 255};
}

std::int64_t modulo_255(std::int64_t value) {
  const std::int64_t rest = value % 255;
  return rest < 0 ? rest + 255 : rest;
}

void begin(Bytes& out, const Header& header) {
  put_u16(out, 0);  // the length, known at the end
  out.push_back(header.priority);
  out.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(header.part) |
                                          static_cast<unsigned>(header.type)));
  put_u16(out, header.field);
  put_u16(out, 0);  // the checksum
  put_u32(out, header.source.value);
}

void set_u16(Bytes& out, std::size_t at, std::uint16_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

std::uint16_t count16(std::size_t count) {
  S5066_ASSERT(count <= 0xFFFF);
  return static_cast<std::uint16_t>(count);
}

std::uint32_t date32(UtcSeconds date) {
  S5066_ASSERT(date.value >= 0 && date.value <= 0xFFFFFFFF);
  return static_cast<std::uint32_t>(date.value);
}

// A range takes three values, so a range of up to three blocks is not shorter than a plain list.
bool worth_a_range(const BlockRange& range) {
  return range.last - range.first >= 3;
}

void put_list(Bytes& out, const AckEntry& entry, bool ranges) {
  for (const BlockRange& range : entry.missing) {
    if (ranges && worth_a_range(range)) {
      put_u16(out, range.first);
      put_u16(out, 0);
      put_u16(out, range.last);
    } else {
      for (std::uint32_t number = range.first; number <= range.last; ++number) {
        put_u16(out, static_cast<std::uint16_t>(number));
      }
    }
  }
  if (!entry.truncated) return;
  S5066_ASSERT(!entry.missing.empty());  // an empty list has no last value to repeat
  put_u16(out, entry.missing.back().last);
}

void put(Bytes& out, const DataPdu& pdu, const EncodeOptions&) {
  S5066_ASSERT(pdu.number != 0);
  begin(out, {.priority = pdu.priority,
              .type = PduType::data,
              .field = pdu.number,
              .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
  append(out, pdu.fragment);
}

void put(Bytes& out, const AckPdu& pdu, const EncodeOptions& options) {
  begin(out, {.priority = pdu.priority, .type = PduType::ack, .source = pdu.sender});
  put_u16(out, count16(pdu.entries.size()));
  for (const AckEntry& entry : pdu.entries) {
    const std::size_t at = out.size();
    put_u16(out, 0);
    put_u32(out, entry.name.source.value);
    put_u32(out, entry.name.message_id);
    put_list(out, entry, options.ranges);
    set_u16(out, at, count16(out.size() - at));
  }
  if (!pdu.delay_100ms) return;
  put_u32(out, static_cast<std::uint32_t>(*pdu.delay_100ms >> 32));
  put_u32(out, static_cast<std::uint32_t>(*pdu.delay_100ms));
}

PduType type_of(const AddressPdu& pdu) {
  if (pdu.fec_id) return pdu.extra ? PduType::extra_fec_address : PduType::fec_address;
  return pdu.extra ? PduType::extra_address : PduType::address;
}

void put(Bytes& out, const AddressPdu& pdu, const EncodeOptions&) {
  begin(out, {.priority = pdu.priority,
              .type = type_of(pdu),
              .part = pdu.part,
              .field = pdu.total,
              .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
  put_u32(out, date32(pdu.expiry));
  if (pdu.fec_id) {
    S5066_ASSERT(pdu.fec_parameters.size() <= 255);
    out.push_back(static_cast<std::uint8_t>(pdu.fec_parameters.size()));
    out.push_back(*pdu.fec_id);
    append(out, pdu.fec_parameters);
  }
  put_u16(out, count16(pdu.destinations.size()));
  put_u16(out, 0);  // reserved octets of an entry
  for (const Destination& destination : pdu.destinations) {
    put_u32(out, destination.node.value);
    put_u32(out, destination.sequence);
  }
}

void put(Bytes& out, const DiscardPdu& pdu, const EncodeOptions&) {
  begin(out, {.priority = pdu.priority, .type = PduType::discard, .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
}

void put(Bytes& out, const AnnouncePdu& pdu, const EncodeOptions&) {
  begin(out, {.type = PduType::announce,
              .part = pdu.part,
              .field = count16(pdu.destinations.size()),
              .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
  put_u32(out, date32(pdu.expiry));
  put_u32(out, pdu.group_address);
  for (const NodeId node : pdu.destinations) put_u32(out, node.value);
}

void put(Bytes& out, const GroupPdu& pdu, const EncodeOptions&) {
  S5066_ASSERT(pdu.type == PduType::request || pdu.type == PduType::reject ||
               pdu.type == PduType::release);
  begin(out, {.type = pdu.type, .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
  put_u32(out, pdu.group_address);
}

void put(Bytes& out, const ParityPdu& pdu, const EncodeOptions&) {
  begin(out, {.priority = pdu.priority,
              .type = PduType::parity,
              .field = pdu.number,
              .source = pdu.name.source});
  put_u32(out, pdu.name.message_id);
  put_u16(out, pdu.total);
  put_u16(out, pdu.last_block_octets);
  put_u16(out, 0);  // reserved
  append(out, pdu.parity);
}

Error too_short(const char* what) {
  return Error{ErrorCode::truncated, what};
}

// Reads the list in the form of 142A. "from 0 to" is a range. The list ends at an invalid value, or
// at a number that is not above the number before it; the state of the blocks above is then
// unknown. A list without any valid number is an error, because its node must not count as
// complete.
Result<AckEntry> decode_list(const MessageName& name, ByteSpan list) {
  AckEntry entry{.name = name};
  const std::size_t values = list.size() / 2;
  const auto value = [&](std::size_t i) { return get_u16(list, 2 * i); };
  std::uint16_t previous = 0;
  for (std::size_t i = 0; i < values;) {
    const std::uint16_t first = value(i);
    const bool is_range = i + 2 < values && value(i + 1) == 0;
    const std::uint16_t last = is_range ? value(i + 2) : first;
    if (first <= previous || (is_range && last <= first)) {
      entry.truncated = true;
      break;
    }
    if (!entry.missing.empty() && first == previous + 1) {
      entry.missing.back().last = last;
    } else {
      entry.missing.push_back({first, last});
    }
    previous = last;
    i += is_range ? 3 : 1;
  }
  if (entry.truncated && entry.missing.empty()) {
    return Error{ErrorCode::bad_field, "the list of missing blocks cannot be decoded"};
  }
  return entry;
}

Result<Pdu> decode_ack(const Header& header, ByteSpan pdu) {
  if (pdu.size() < kAckHeaderOctets) return too_short("Ack_PDU");
  AckPdu ack{.priority = header.priority, .sender = header.source};
  const std::size_t count = get_u16(pdu, 12);
  ByteSpan rest = pdu.subspan(kAckHeaderOctets);
  if (count * kAckEntryOctets > rest.size()) return too_short("Ack_Info_Entries");
  for (std::size_t i = 0; i < count; ++i) {
    if (rest.size() < kAckEntryOctets) return too_short("Ack_Info_Entry");
    const std::size_t length = get_u16(rest, 0);
    if (length < kAckEntryOctets || length % 2 != 0) {
      return Error{ErrorCode::bad_field, "the length of an Ack_Info_Entry is wrong"};
    }
    if (length > rest.size()) return too_short("list of missing blocks");
    auto entry = decode_list({{get_u32(rest, 2)}, get_u32(rest, 6)},
                             rest.subspan(kAckEntryOctets, length - kAckEntryOctets));
    if (!entry) return entry.error();
    ack.entries.push_back(std::move(entry).value());
    rest = rest.subspan(length);
  }
  if (rest.size() == kTimestampOctets) {
    ack.delay_100ms = std::uint64_t{get_u32(rest, 0)} << 32 | get_u32(rest, 4);
  }
  return Pdu{std::move(ack)};
}

Result<Pdu> decode_address(const Header& header, const MessageName& name, ByteSpan pdu) {
  const bool fec = header.type == PduType::fec_address || header.type == PduType::extra_fec_address;
  AddressPdu address{.priority = header.priority, .name = name, .total = header.field};
  address.part = header.part;
  address.extra =
      header.type == PduType::extra_address || header.type == PduType::extra_fec_address;
  if (address.total == 0) return Error{ErrorCode::bad_field, "the message has no Data_PDU"};
  if (pdu.size() < kAddressHeaderOctets) return too_short("Address_PDU");
  address.expiry = {get_u32(pdu, 16)};
  ByteSpan rest = pdu.subspan(20);
  if (fec) {
    const std::size_t octets = rest[0];
    if (rest.size() < 2 + octets + 4) return too_short("FEC parameters");
    const ByteSpan parameters = rest.subspan(2, octets);
    address.fec_id = rest[1];
    address.fec_parameters.assign(parameters.begin(), parameters.end());
    rest = rest.subspan(2 + octets);
  }
  const std::size_t count = get_u16(rest, 0);
  const std::size_t entry_octets = kAddressEntryOctets + get_u16(rest, 2);
  rest = rest.subspan(4);
  if (count * entry_octets > rest.size()) return too_short("Destination_Entries");
  address.destinations.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * entry_octets;
    address.destinations.push_back({{get_u32(rest, at)}, get_u32(rest, at + 4)});
  }
  return Pdu{std::move(address)};
}

Result<Pdu> decode_announce(const Header& header, const MessageName& name, ByteSpan pdu) {
  if (pdu.size() < kAnnounceOctets) return too_short("Announce_PDU");
  const std::size_t count = header.field;
  if (count * 4 > pdu.size() - kAnnounceOctets) return too_short("Destination_IDs");
  AnnouncePdu announce{.name = name,
                       .expiry = {get_u32(pdu, 16)},
                       .group_address = get_u32(pdu, 20),
                       .part = header.part};
  announce.destinations.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    announce.destinations.push_back({get_u32(pdu, kAnnounceOctets + 4 * i)});
  }
  return Pdu{std::move(announce)};
}

Result<Pdu> decode_parity(const Header& header, const MessageName& name, ByteSpan pdu) {
  if (pdu.size() <= kParityHeaderOctets) return too_short("Parity_PDU");
  ParityPdu parity{.priority = header.priority,
                   .name = name,
                   .number = header.field,
                   .total = get_u16(pdu, 16),
                   .last_block_octets = get_u16(pdu, 18)};
  if (parity.total == 0)
    return Error{ErrorCode::bad_field, "the parity is of a message without Data_PDU"};
  const ByteSpan octets = pdu.subspan(kParityHeaderOctets);
  if (parity.last_block_octets > octets.size()) {
    return Error{ErrorCode::bad_field, "the last block is longer than the others"};
  }
  parity.parity.assign(octets.begin(), octets.end());
  return Pdu{std::move(parity)};
}

Result<Pdu> decode_body(const Header& header, ByteSpan pdu) {
  if (header.type == PduType::ack) return decode_ack(header, pdu);
  if (pdu.size() < kNamedOctets) return too_short("Message_ID");
  const MessageName name{header.source, get_u32(pdu, 12)};
  switch (header.type) {
    case PduType::data: {
      if (header.field == 0) return Error{ErrorCode::bad_field, "a Data_PDU has number 0"};
      const ByteSpan fragment = pdu.subspan(kDataHeaderOctets);
      return Pdu{DataPdu{.priority = header.priority,
                         .name = name,
                         .number = header.field,
                         .fragment = {fragment.begin(), fragment.end()}}};
    }
    case PduType::discard:
      return Pdu{DiscardPdu{.priority = header.priority, .name = name}};
    case PduType::address:
    case PduType::extra_address:
    case PduType::fec_address:
    case PduType::extra_fec_address:
      return decode_address(header, name, pdu);
    case PduType::announce:
      return decode_announce(header, name, pdu);
    case PduType::request:
    case PduType::reject:
    case PduType::release:
      if (pdu.size() < kGroupOctets) return too_short("Multicast_Group_Address");
      return Pdu{GroupPdu{.type = header.type, .name = name, .group_address = get_u32(pdu, 16)}};
    case PduType::parity:
      return decode_parity(header, name, pdu);
    case PduType::ack:
      break;
  }
  return Error{ErrorCode::unsupported, "the type of the PDU is unknown"};
}

bool checksum_fits(ByteSpan pdu, const DecodeOptions& options) {
  if (options.fletcher) {
    const FletcherSums sums = fletcher_sums(pdu);
    if (sums.c0 == 0 && sums.c1 == 0) return true;
  }
  return options.internet && internet_checksum(pdu) == get_u16(pdu, kChecksumAt);
}

}  // namespace

// ACP 142 Annex B: the two octets of the checksum make both sums zero.
std::uint16_t fletcher_checksum(ByteSpan pdu) {
  S5066_ASSERT(pdu.size() >= kChecksumAt + 2);
  std::array<std::uint8_t, kChecksumAt + 2> head{};  // its checksum is 0
  std::copy_n(pdu.begin(), kChecksumAt, head.begin());
  FletcherSums sums = fletcher_sums(head);
  for (const std::uint8_t octet : pdu.subspan(head.size())) {
    sums.c0 += octet;
    sums.c1 += sums.c0;
  }
  const auto behind = static_cast<std::int64_t>(pdu.size() - kChecksumAt - 1);
  const auto c0 = static_cast<std::int64_t>(sums.c0 % 255);
  const auto c1 = static_cast<std::int64_t>(sums.c1 % 255);
  const std::int64_t high = modulo_255(behind * c0 - c1);
  const std::int64_t low = modulo_255(c1 - (behind + 1) * c0);
  return static_cast<std::uint16_t>(high << 8 | low);
}

// RFC 1071.
std::uint16_t internet_checksum(ByteSpan pdu) {
  S5066_ASSERT(pdu.size() >= kChecksumAt + 2);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < pdu.size(); ++i) {
    if (i == kChecksumAt || i == kChecksumAt + 1) continue;
    sum += i % 2 == 0 ? std::uint32_t{pdu[i]} << 8 : pdu[i];
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Bytes encode(const Pdu& pdu, const EncodeOptions& options) {
  Bytes out;
  std::visit([&](const auto& value) { put(out, value, options); }, pdu);
  S5066_ASSERT(out.size() <= kPduOctetsMax);
  set_u16(out, 0, static_cast<std::uint16_t>(out.size()));
  set_u16(out, kChecksumAt,
          options.checksum == Checksum::fletcher ? fletcher_checksum(out) : internet_checksum(out));
  return out;
}

Result<Pdu> decode(ByteSpan octets, const DecodeOptions& options) {
  if (octets.size() < kHeaderOctets) return too_short("P_MUL header");
  const std::size_t length = get_u16(octets, 0);
  if (length < kHeaderOctets) return Error{ErrorCode::bad_field, "Length_of_PDU"};
  if (length > octets.size()) return too_short("P_MUL PDU");
  const ByteSpan pdu = octets.first(length);
  if (!checksum_fits(pdu, options))
    return Error{ErrorCode::bad_checksum, "the checksum of the PDU is wrong"};
  const Header header{.priority = pdu[2],
                      .type = static_cast<PduType>(pdu[3] & kTypeMask),
                      .part = static_cast<ListPart>(pdu[3] & ~kTypeMask & 0xFF),
                      .field = get_u16(pdu, 4),
                      .source = {get_u32(pdu, 8)}};
  return decode_body(header, pdu);
}

std::size_t list_values(const std::vector<BlockRange>& missing, bool ranges) {
  std::size_t values = 0;
  for (const BlockRange& range : missing) {
    values += ranges && worth_a_range(range) ? 3 : std::size_t{range.last} - range.first + 1;
  }
  return values;
}

std::size_t block_count(const std::vector<BlockRange>& ranges) {
  return list_values(ranges, false);
}

}  // namespace s5066::p_mul
