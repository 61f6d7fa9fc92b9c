// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/p_mul/p_mul_vectors.h"

#include <string_view>

namespace s5066::p_mul::test {
namespace {

constexpr NodeId kAlpha{0x0A010101};
constexpr NodeId kBravo{0x0A010102};
constexpr NodeId kCharlie{0x0A010103};
constexpr MessageName kName{kAlpha, 123456};
constexpr UtcSeconds kExpiry{1700003600};
constexpr std::uint32_t kGroup = 0xE0000201;

Bytes text(std::string_view characters) {
  return {characters.begin(), characters.end()};
}

AddressPdu address(std::vector<Destination> destinations) {
  return {.priority = 4,
          .name = kName,
          .total = 2,
          .expiry = kExpiry,
          .destinations = std::move(destinations)};
}

AddressPdu address(ListPart part, std::vector<Destination> destinations) {
  AddressPdu pdu = address(std::move(destinations));
  pdu.part = part;
  return pdu;
}

AddressPdu extended(bool extra, bool fec) {
  AddressPdu pdu = fec ? address({{kBravo, 7}}) : address({{kBravo, 7}, {kCharlie, 12}});
  pdu.extra = extra;
  if (fec) {
    pdu.fec_id = 1;
    pdu.fec_parameters = {0x0A, 0x02};
  }
  return pdu;
}

AckPdu ack(NodeId sender, std::vector<BlockRange> missing, bool truncated = false) {
  return {.priority = 4,
          .sender = sender,
          .entries = {{.name = kName, .missing = std::move(missing), .truncated = truncated}}};
}

AckPdu with_timestamp(AckPdu pdu) {
  pdu.delay_100ms = 17;
  return pdu;
}

AckPdu of_two_messages() {
  AckPdu pdu = ack(kCharlie, {});
  pdu.entries.push_back({.name = {{0x0A010109}, 0x55}, .missing = {{1, 1}, {4, 4}}});
  return pdu;
}

std::uint16_t any16(Rng& rng) {
  return static_cast<std::uint16_t>(rng.below(65536));
}
std::uint32_t any32(Rng& rng) {
  return static_cast<std::uint32_t>(rng.next());
}
std::uint8_t any8(Rng& rng) {
  return static_cast<std::uint8_t>(rng.below(256));
}
Bytes any_octets(Rng& rng, std::uint32_t count_max) {
  Bytes octets(rng.below(count_max + 1));
  for (auto& octet : octets) octet = any8(rng);
  return octets;
}
MessageName any_name(Rng& rng) {
  return {{any32(rng)}, any32(rng)};
}
ListPart any_part(Rng& rng) {
  return static_cast<ListPart>(rng.below(4) << 6);
}

AckEntry any_entry(Rng& rng) {
  AckEntry entry{.name = any_name(rng)};
  std::uint32_t next = 1;
  for (auto left = rng.below(6); left > 0; --left) {
    const std::uint32_t first = next + rng.below(50);
    const std::uint32_t last = first + (rng.chance(0.5) ? 0 : rng.below(9));
    entry.missing.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)});
    next = last + 2;
  }
  entry.truncated = !entry.missing.empty() && rng.chance(0.3);
  return entry;
}

AddressPdu any_address(Rng& rng) {
  AddressPdu pdu{.priority = any8(rng),
                 .name = any_name(rng),
                 .total = static_cast<std::uint16_t>(1 + rng.below(65535)),
                 .expiry = {any32(rng)},
                 .part = any_part(rng),
                 .extra = rng.chance(0.5)};
  if (rng.chance(0.5)) {
    pdu.fec_id = any8(rng);
    pdu.fec_parameters = any_octets(rng, 20);
  }
  for (auto left = rng.below(20); left > 0; --left) {
    pdu.destinations.push_back({{any32(rng)}, any32(rng)});
  }
  return pdu;
}

}  // namespace

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> table = {
      {"address of two",
       "00280402000293100A0101010001E2406553FF10000200000A010102000000070A0101030000000C",
       address({{kBravo, 7}, {kCharlie, 12}})},
      {"data 1", "0017040000011CD40A0101010001E24048454C4C4F2C20",
       DataPdu{.priority = 4, .name = kName, .number = 1, .fragment = text("HELLO, ")}},
      {"data 2", "001A04000002342B0A0101010001E240484620574F524C440D0A",
       DataPdu{.priority = 4, .name = kName, .number = 2, .fragment = text("HF WORLD\r\n")}},
      {"ack, block 2 missing", "001A04010000C9C70A0101030001000C0A0101010001E2400002",
       ack(kCharlie, {{2, 2}})},
      {"ack, complete",
       "001804010000"
       "9DFA0A0101020001000A0A0101010001E240",
       ack(kBravo, {})},
      {"ack, complete, of another", "001804010000A1F50A0101030001000A0A0101010001E240",
       ack(kCharlie, {})},
      {"address of nobody", "00180402000231B40A0101010001E2406553FF1000000000", address({})},
      {"address of the second round",
       "0020040200023C850A0101010001E2406553FF10000100000A0101030000000C",
       address({{kCharlie, 12}})},
      {"address, first part", "002004420002AED80A0101010001E2406553FF10000100000A01010200000007",
       address(ListPart::first, {{kBravo, 7}})},
      {"address, last part", "0020048200023A070A0101010001E2406553FF10000100000A0101030000000C",
       address(ListPart::last, {{kCharlie, 12}})},
      {"address, middle part", "002004C2000239C70A0101010001E2406553FF10000100000A0101030000000C",
       address(ListPart::middle, {{kCharlie, 12}})},
      {"discard", "001004030000CEE80A0101010001E240", DiscardPdu{.priority = 4, .name = kName}},
      {"request", "001400050000CC050A0101010001E240E0000201",
       GroupPdu{.type = PduType::request, .name = kName, .group_address = kGroup}},
      {"reject", "001400060000D0FD0A0101030001E240E0000201",
       GroupPdu{.type = PduType::reject, .name = {kCharlie, 123456}, .group_address = kGroup}},
      {"release", "001400070000C40B0A0101010001E240E0000201",
       GroupPdu{.type = PduType::release, .name = kName, .group_address = kGroup}},
      {"announce", "002000040002E6F70A0101010001E2406553FF10E00002010A0101020A010103",
       AnnouncePdu{.name = kName,
                   .expiry = kExpiry,
                   .group_address = kGroup,
                   .destinations = {kBravo, kCharlie}}},
      {"extra address",
       "00280412000253400A0101010001E2406553FF10000200000A010102000000070A0101030000000C",
       extended(true, false)},
      {"FEC address", "002404080002B6F70A0101010001E2406553FF1002010A02000100000A01010200000007",
       extended(false, true)},
      {"extra FEC address",
       "00240418000276280A0101010001E2406553FF1002010A02000100000A01010200000007",
       extended(true, true)},
      {"address with reserved octets",
       "0024040200029BE80A0101010001E2406553FF10000100040A01010200000007DEADBEEF",
       address({{kBravo, 7}}), false, false},
      {"ack with a range",
       "002204010000"
       "62040A010103000100140A0101010001E240000300050000"
       "0009000C",
       ack(kCharlie, {{3, 3}, {5, 9}, {12, 12}}), true},
      {"ack with a range and an end",
       "00220401000014550A010103000100140A0101010001E2400003000500000009"
       "0009",
       ack(kCharlie, {{3, 3}, {5, 9}}, true), true},
      {"ack with a timestamp",
       "00220401000067100A0101030001000C0A0101010001E24000030000000000000011",
       with_timestamp(ack(kCharlie, {{3, 3}}))},
      {"ack of two messages",
       "0026040100003ECC0A0101030002000A0A0101010001E240000E0A0101090000005500010004",
       of_two_messages()},
      {"checksum with a first octet of 0",
       "001004000001"
       "00710A0101010000006C",
       DataPdu{.priority = 4, .name = {kAlpha, 0x6C}, .number = 1}},
      {"checksum with a second octet of 0", "0010040000019D000A0101010000013F",
       DataPdu{.priority = 4, .name = {kAlpha, 0x13F}, .number = 1}},
  };
  return table;
}

Pdu random_pdu(Rng& rng) {
  switch (rng.below(7)) {
    case 0:
      return DataPdu{any8(rng), any_name(rng), static_cast<std::uint16_t>(1 + rng.below(65535)),
                     any_octets(rng, 60)};
    case 1: {
      AckPdu pdu{.priority = any8(rng), .sender = {any32(rng)}};
      for (auto left = rng.below(4); left > 0; --left) pdu.entries.push_back(any_entry(rng));
      if (rng.chance(0.3)) pdu.delay_100ms = rng.next();
      return pdu;
    }
    case 2:
      return any_address(rng);
    case 3:
      return DiscardPdu{any8(rng), any_name(rng)};
    case 4: {
      AnnouncePdu pdu{any_name(rng), {any32(rng)}, any32(rng), any_part(rng)};
      for (auto left = rng.below(20); left > 0; --left) pdu.destinations.push_back({any32(rng)});
      return pdu;
    }
    case 5: {
      const auto type = static_cast<PduType>(5 + rng.below(3));
      return GroupPdu{type, any_name(rng), any32(rng)};
    }
    default: {
      ParityPdu pdu{any8(rng), any_name(rng), any16(rng)};
      pdu.total = static_cast<std::uint16_t>(1 + rng.below(65535));
      pdu.parity = any_octets(rng, 59);
      pdu.parity.push_back(any8(rng));
      pdu.last_block_octets =
          static_cast<std::uint16_t>(rng.below(static_cast<std::uint32_t>(pdu.parity.size() + 1)));
      return pdu;
    }
  }
}

}  // namespace s5066::p_mul::test
