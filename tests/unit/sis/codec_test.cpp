// SPDX-License-Identifier: Apache-2.0
#include "sis/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "s5066d/base/rng.h"
#include "sis/text.h"
#include "tests/unit/sis/vectors.h"

namespace s5066::sis {
namespace {

/// Octets of type 21 without blocks that do not belong to the U_PDU (A.2.2.21).
constexpr std::size_t kUnidataIndicationFixed = 13;

Bytes frame_of(const Primitive& primitive) {
  Bytes out;
  encode(primitive, out);
  return out;
}

Bytes body_of(std::string_view hex) {
  const Bytes frame = *from_hex(hex);
  return {frame.begin() + kHeaderOctets, frame.end()};
}

ErrorCode error_of(ByteSpan body) {
  const auto result = decode(body);
  return result.ok() ? ErrorCode::io : result.error().code;
}

Bytes random_octets(Rng& rng, std::size_t count) {
  Bytes out(count);
  for (auto& octet : out) octet = static_cast<std::uint8_t>(rng.below(256));
  return out;
}

std::uint8_t nibble(Rng& rng) {
  return static_cast<std::uint8_t>(rng.below(16));
}

Address random_address(Rng& rng) {
  return {static_cast<std::uint32_t>(rng.next()) & Address::kMax, rng.chance(0.3)};
}

DeliveryMode random_delivery(Rng& rng) {
  return {.mode = static_cast<TransmissionMode>(nibble(rng)),
          .confirmation = static_cast<Confirmation>(rng.below(4)),
          .as_they_arrive = rng.chance(0.5),
          .extended = rng.chance(0.5),
          .retransmissions = nibble(rng)};
}

HardLink random_link(Rng& rng) {
  return {.type = static_cast<HardLinkType>(rng.below(4)),
          .priority = static_cast<std::uint8_t>(rng.below(4)),
          .remote_sap = {nibble(rng)},
          .remote = random_address(rng)};
}

std::vector<OctetRange> random_blocks(Rng& rng) {
  std::vector<OctetRange> blocks(rng.below(5));
  for (auto& block : blocks) {
    block = {static_cast<std::uint16_t>(rng.below(65536)),
             static_cast<std::uint16_t>(rng.below(65536))};
  }
  return blocks;
}

std::uint8_t octet(Rng& rng) {
  return static_cast<std::uint8_t>(rng.below(256));
}
RejectReason random_reason(Rng& rng) {
  return static_cast<RejectReason>(nibble(rng));
}

template <typename Request>
Request random_request(Rng& rng) {
  Request p;
  if constexpr (requires { p.priority; }) p.priority = nibble(rng);
  p.destination_sap = {nibble(rng)};
  p.destination = random_address(rng);
  p.delivery = random_delivery(rng);
  p.time_to_live = rng.below(1u << 20);
  p.updu = random_octets(rng, rng.below(40));
  return p;
}

template <typename Indication>
Indication random_indication(Rng& rng) {
  Indication p;
  if constexpr (requires { p.priority; }) p.priority = nibble(rng);
  p.destination_sap = {nibble(rng)};
  p.destination = random_address(rng);
  p.mode = static_cast<TransmissionMode>(nibble(rng));
  p.source_sap = {nibble(rng)};
  p.source = random_address(rng);
  p.updu = random_octets(rng, rng.below(40));
  if (rng.chance(0.3)) {
    p.mode = TransmissionMode::nonarq_with_errors;
    p.errored = random_blocks(rng);
    p.missing = random_blocks(rng);
  }
  return p;
}

template <typename Answer>
Answer random_answer(Rng& rng) {
  Answer p;
  if constexpr (requires { p.reason; }) p.reason = random_reason(rng);
  p.destination_sap = {nibble(rng)};
  p.destination = random_address(rng);
  p.updu_part = random_octets(rng, rng.below(40));
  return p;
}

Primitive random_link_primitive(Type type, Rng& rng) {
  switch (type) {
    case Type::hard_link_establish:
      return HardLinkEstablish{random_link(rng)};
    case Type::hard_link_terminate:
      return HardLinkTerminate{random_address(rng)};
    case Type::hard_link_established:
      return HardLinkEstablished{octet(rng), random_link(rng)};
    case Type::hard_link_rejected:
      return HardLinkRejected{static_cast<HardLinkRejectReason>(octet(rng)), random_link(rng)};
    case Type::hard_link_terminated:
      return HardLinkTerminated{static_cast<HardLinkEndReason>(octet(rng)), random_link(rng)};
    case Type::hard_link_indication:
      return HardLinkIndication{octet(rng), random_link(rng)};
    case Type::hard_link_accept:
      return HardLinkAccept{random_link(rng)};
    case Type::hard_link_reject:
      return HardLinkReject{octet(rng), random_link(rng)};
    default:
      S5066_ASSERT(false);
  }
}

Primitive random_primitive(Rng& rng) {
  const SapId sap{nibble(rng)};
  const auto type = static_cast<Type>(1 + rng.below(kTypeMax));
  switch (type) {
    case Type::bind_request:
      return BindRequest{.sap = sap, .rank = nibble(rng), .service = random_delivery(rng)};
    case Type::unbind_request:
      return UnbindRequest{};
    case Type::bind_accepted:
      return BindAccepted{.sap = sap, .mtu = static_cast<std::uint16_t>(rng.below(65536))};
    case Type::bind_rejected:
      return BindRejected{static_cast<BindRejectReason>(octet(rng))};
    case Type::unbind_indication:
      return UnbindIndication{static_cast<UnbindReason>(octet(rng))};
    case Type::subnet_availability:
      return SubnetAvailability{static_cast<NodeStatus>(octet(rng)),
                                static_cast<AvailabilityReason>(octet(rng))};
    case Type::data_flow_on:
      return DataFlowOn{};
    case Type::data_flow_off:
      return DataFlowOff{};
    case Type::keep_alive:
      return KeepAlive{};
    case Type::management_request:
      return ManagementRequest{octet(rng), random_octets(rng, rng.below(40))};
    case Type::management_indication:
      return ManagementIndication{octet(rng), random_octets(rng, rng.below(40))};
    case Type::unidata_request:
      return random_request<UnidataRequest>(rng);
    case Type::unidata_indication:
      return random_indication<UnidataIndication>(rng);
    case Type::unidata_request_confirm:
      return random_answer<UnidataRequestConfirm>(rng);
    case Type::unidata_request_rejected:
      return random_answer<UnidataRequestRejected>(rng);
    case Type::expedited_request:
      return random_request<ExpeditedUnidataRequest>(rng);
    case Type::expedited_indication:
      return random_indication<ExpeditedUnidataIndication>(rng);
    case Type::expedited_request_confirm:
      return random_answer<ExpeditedUnidataRequestConfirm>(rng);
    case Type::expedited_request_rejected:
      return random_answer<ExpeditedUnidataRequestRejected>(rng);
    default:
      return random_link_primitive(type, rng);
  }
}

TEST(SisCodec, the_examples_cover_every_type) {
  std::set<Type> types;
  for (const Vector& vector : vectors()) types.insert(vector.type);
  EXPECT_EQ(types.size(), kTypeMax);
}

// A.2.2.2(13) A.2.2.5(1) A.2.2.7(1) A.2.2.10(1) A.2.2.11(1) A.2.2.12(1) A.2.2.13(1) A.2.2.16(1)
// A.2.2.17(1) A.2.2.18(1) A.2.2.20(1)-(3) A.2.2.21(1)-(3) A.2.2.22(1)-(3) A.2.2.23(1)-(3)
// A.2.2.24(1)-(3) A.2.2.25(1)-(3) A.2.2.26(1)-(3) A.2.2.27(1)-(3)
TEST(SisCodec, reproduces_every_worked_example_both_ways) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const auto result = decode(body_of(vector.hex));
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(*result, vector.value);
    EXPECT_EQ(type_of(*result), vector.type);
    EXPECT_EQ(to_hex(frame_of(vector.value)), to_hex(*from_hex(vector.hex)));
  }
}

TEST(SisCodec, refuses_every_prefix_of_every_example) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const Bytes body = body_of(vector.hex);
    for (std::size_t size = 0; size < body.size(); ++size) {
      const ErrorCode code = error_of(ByteSpan(body).first(size));
      // A shorter body is also a valid management message if it still names its type.
      const bool management =
          vector.type == Type::management_request || vector.type == Type::management_indication;
      if (management && size >= 2) continue;
      EXPECT_TRUE(code == ErrorCode::truncated || (size > 0 && code == ErrorCode::bad_field))
          << size;
    }
  }
}

TEST(SisCodec, refuses_one_octet_more_than_every_example) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    Bytes body = body_of(vector.hex);
    body.push_back(0);
    if (vector.type == Type::management_request || vector.type == Type::management_indication) {
      EXPECT_TRUE(decode(body).ok());
    } else {
      EXPECT_EQ(error_of(body), ErrorCode::bad_field);
    }
  }
}

TEST(SisCodec, a_flipped_bit_is_refused_or_changes_the_value_or_was_unused) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const Bytes body = body_of(vector.hex);
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      Bytes flipped = body;
      flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (0x80 >> bit % 8));
      const auto result = decode(flipped);
      if (!result.ok()) continue;
      // An accepted body must survive a second trip, which shows that nothing was read that is not
      // written.
      const Bytes again = frame_of(*result);
      const auto second = decode(ByteSpan(again).subspan(kHeaderOctets));
      ASSERT_TRUE(second.ok()) << bit;
      EXPECT_EQ(*second, *result) << bit;
    }
  }
}

TEST(SisCodec, random_primitives_round_trip) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const Primitive primitive = random_primitive(rng);
    const Bytes frame = frame_of(primitive);
    ASSERT_EQ(get_u16(frame, 3), frame.size() - kHeaderOctets);
    const auto result = decode(ByteSpan(frame).subspan(kHeaderOctets));
    ASSERT_TRUE(result.ok()) << to_hex(frame);
    ASSERT_EQ(*result, primitive) << to_hex(frame);
  }
}

TEST(SisCodec, random_octets_never_crash_it) {
  Rng rng(2);
  for (int i = 0; i < 200000; ++i) {
    Bytes body = random_octets(rng, 1 + rng.below(30));
    if (rng.chance(0.9)) body[0] = static_cast<std::uint8_t>(1 + rng.below(27));
    const auto result = decode(body);
    if (result.ok()) {
      ASSERT_EQ(static_cast<std::uint8_t>(type_of(*result)), body[0]);
    }
  }
}

TEST(SisCodec, unused_bits_are_ignored) {
  EXPECT_EQ(*decode(*from_hex("01 37 14 0F")), *decode(*from_hex("01 37 14 00")));
  EXPECT_EQ(*decode(*from_hex("03 3F 0800")), *decode(*from_hex("03 30 0800")));
  EXPECT_EQ(*decode(*from_hex("16 F3 E1020305 0001 48")),
            *decode(*from_hex("16 03 E1020305 0001 48")));
  EXPECT_EQ(*decode(*from_hex("18 F5 E1020305 14 00001E 0002 4142")),
            *decode(*from_hex("18 05 E1020305 14 00001E 0002 4142")));
  EXPECT_EQ(*decode(*from_hex("19 F5 E1020305 15 E1020304 0002 4142")),
            *decode(*from_hex("19 05 E1020305 15 E1020304 0002 4142")));
  EXPECT_EQ(*decode(*from_hex("1A F5 E1020305 0002 4142")),
            *decode(*from_hex("1A 05 E1020305 0002 4142")));
}

TEST(SisCodec, a_number_of_blocks_is_believed_only_as_far_as_they_are_there) {
  const std::string head = "15 5D FFFFFFFF 3D E1020304 0000 ";
  const auto body = [&head](std::string_view rest) { return *from_hex(head + std::string(rest)); };
  EXPECT_TRUE(decode(body("0001 0000 0001 0000")).ok());
  EXPECT_TRUE(decode(body("0000 0001 0000 0001")).ok());
  EXPECT_EQ(error_of(body("0002 0000 0001 0000")), ErrorCode::truncated);
  EXPECT_EQ(error_of(body("0000 0002 0000 0001")), ErrorCode::truncated);
  EXPECT_EQ(error_of(body("FFFF 0000 0001 0000")), ErrorCode::truncated);
  EXPECT_EQ(error_of(body("0000 FFFF 0000 0001")), ErrorCode::truncated);
  EXPECT_EQ(error_of(body("0001 0000 0001")), ErrorCode::truncated);
  // One octet follows an empty U_PDU.
  EXPECT_EQ(error_of(body("0000 0000 00")), ErrorCode::bad_field);
}

TEST(SisCodec, the_most_blocks_fill_the_size_field) {
  const std::size_t blocks = (kBodyOctetsMax - kUnidataIndicationFixed - 4) / 4;
  UnidataIndication indication;
  indication.mode = TransmissionMode::nonarq_with_errors;
  indication.errored.assign(blocks, {1, 2});
  indication.updu.assign((kBodyOctetsMax - kUnidataIndicationFixed - 4) % 4, 7);
  const Bytes frame = frame_of(indication);
  EXPECT_EQ(frame.size(), kHeaderOctets + kBodyOctetsMax);
  EXPECT_EQ(*decode(ByteSpan(frame).subspan(kHeaderOctets)), Primitive{indication});
  indication.missing.assign(1, {3, 4});
  EXPECT_DEATH(frame_of(indication), "size <= kBodyOctetsMax");
}

TEST(SisCodec, fixed_sizes_are_those_of_the_standard) {
  const std::map<unsigned, std::size_t> sizes = {
      {1, 4},  {2, 1},   {3, 4},   {4, 2},  {5, 2},  {6, 6},   {7, 5},   {8, 7},  {9, 7},
      {10, 7}, {11, 7},  {12, 6},  {13, 7}, {14, 3}, {15, 1},  {16, 1},  {17, 1}, {18, 2},
      {19, 2}, {20, 12}, {21, 13}, {22, 8}, {23, 8}, {24, 12}, {25, 13}, {26, 8}, {27, 8}};
  for (const auto& [type, size] : sizes) {
    SCOPED_TRACE(type);
    Bytes body(size, 0);
    std::fill(body.begin(), body.end(), std::uint8_t{0x20});  // no address has size 0
    body[0] = static_cast<std::uint8_t>(type);
    if (type >= 20) body[size - 2] = body[size - 1] = 0;  // no U_PDU
    EXPECT_TRUE(decode(body).ok());
    const auto smaller = ByteSpan(body).first(size - 1);
    EXPECT_EQ(error_of(smaller), ErrorCode::truncated);
    body.push_back(0);
    if (type == 18 || type == 19) continue;
    EXPECT_EQ(error_of(body), ErrorCode::bad_field);
  }
}

TEST(SisCodec, types_outside_the_table_are_unsupported) {
  for (unsigned type = 0; type < 256; ++type) {
    const Bytes body{static_cast<std::uint8_t>(type)};
    if (type >= 1 && type <= 27) {
      EXPECT_TRUE(direction(static_cast<std::uint8_t>(type)).has_value()) << type;
      EXPECT_NE(to_string(static_cast<Type>(type)), "unknown") << type;
    } else {
      EXPECT_EQ(error_of(body), ErrorCode::unsupported) << type;
      EXPECT_FALSE(direction(static_cast<std::uint8_t>(type)).has_value()) << type;
    }
  }
}

TEST(SisCodec, knows_who_may_send_what) {
  EXPECT_EQ(direction(Type::bind_request), Direction::to_server);
  EXPECT_EQ(direction(Type::bind_accepted), Direction::to_client);
  EXPECT_EQ(direction(Type::keep_alive), Direction::both);
  EXPECT_EQ(direction(Type::hard_link_accept), Direction::to_server);
  EXPECT_EQ(direction(Type::hard_link_indication), Direction::to_client);
  EXPECT_EQ(direction(Type::expedited_request), Direction::to_server);
  EXPECT_EQ(direction(Type::expedited_request_rejected), Direction::to_client);
}

TEST(SisCodec, an_address_counts_with_all_its_bits_unless_its_size_is_0) {
  const auto destination = [](std::string_view address) {
    const auto body = from_hex("16 03" + std::string(address) + "0000");
    const auto result = decode(*body);
    EXPECT_TRUE(result.ok());
    return std::get<UnidataRequestConfirm>(*result).destination;
  };
  EXPECT_EQ(destination("E0000005"), Address{5});
  EXPECT_EQ(destination("20000005"), Address{5});          // size 1, right-justified
  EXPECT_EQ(destination("41020305"), Address{0x1020305});  // size 2, but written in full
  EXPECT_EQ(destination("F0000000"), (Address{0, true}));
  EXPECT_EQ(error_of(*from_hex("16 03 01020305 0000")), ErrorCode::bad_field);
  EXPECT_EQ(error_of(*from_hex("16 03 11020305 0000")), ErrorCode::bad_field);
  EXPECT_EQ(error_of(*from_hex("06 93 01020305")), ErrorCode::bad_field);
  EXPECT_EQ(error_of(*from_hex("07 01020305")), ErrorCode::bad_field);
  EXPECT_EQ(error_of(*from_hex("08 01 93 01020305")), ErrorCode::bad_field);
  EXPECT_EQ(error_of(*from_hex("15 53 E1020305 13 01020304 0000")), ErrorCode::bad_field);
}

TEST(SisCodec, the_largest_updu_of_each_type_fills_the_size_field) {
  const auto request = UnidataRequest{.updu = Bytes(kBodyOctetsMax - kUnidataRequestFixed, 7)};
  const auto indication =
      UnidataIndication{.updu = Bytes(kBodyOctetsMax - kUnidataIndicationFixed, 7)};
  for (const Primitive& primitive : {Primitive{request}, Primitive{indication}}) {
    const Bytes frame = frame_of(primitive);
    EXPECT_EQ(frame.size(), kHeaderOctets + kBodyOctetsMax);
    EXPECT_EQ(*decode(ByteSpan(frame).subspan(kHeaderOctets)), primitive);
  }
}

TEST(SisCodecDeathTest, only_indications_with_errors_list_blocks) {
  const auto normal = UnidataIndication{.mode = TransmissionMode::nonarq, .errored = {{0, 1}}};
  EXPECT_DEATH(frame_of(normal), "errored.empty");
  const auto expedited =
      ExpeditedUnidataIndication{.mode = TransmissionMode::arq, .missing = {{0, 1}}};
  EXPECT_DEATH(frame_of(expedited), "missing.empty");
}

TEST(SisCodecDeathTest, one_octet_more_than_the_size_field_can_say_is_our_bug) {
  const auto request = UnidataRequest{.updu = Bytes(kBodyOctetsMax - kUnidataRequestFixed + 1, 7)};
  EXPECT_DEATH(frame_of(request), "size <= kBodyOctetsMax");
}

TEST(SisCodec, a_updu_past_the_mtu_is_still_read_so_that_the_server_can_reject_it) {
  for (const std::size_t size : {std::size_t{kMtu}, std::size_t{kMtu} + 1}) {
    const auto request = UnidataRequest{.updu = Bytes(size, 7)};
    const Bytes frame = frame_of(request);
    EXPECT_EQ(*decode(ByteSpan(frame).subspan(kHeaderOctets)), Primitive{request});
  }
}

TEST(SisCodec, extra_error_counts_behind_an_arq_indication_are_refused) {
  EXPECT_EQ(error_of(*from_hex("15 53 E1020305 13 E1020304 0005 00000000 48454C4C4F")),
            ErrorCode::bad_field);
}

}  // namespace
}  // namespace s5066::sis
