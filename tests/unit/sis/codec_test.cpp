#include "sis/codec.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"
#include "sis/text.h"
#include "tests/unit/sis/vectors.h"

namespace s5066::sis {
namespace {

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

Primitive random_primitive(Rng& rng) {
  const auto octet = static_cast<std::uint8_t>(rng.below(256));
  const SapId sap{nibble(rng)};
  const Bytes updu = random_octets(rng, rng.below(40));
  switch (rng.below(12)) {
    case 0:
      return BindRequest{.sap = sap, .rank = nibble(rng), .service = random_delivery(rng)};
    case 1:
      return UnbindRequest{};
    case 2:
      return BindAccepted{.sap = sap, .mtu = static_cast<std::uint16_t>(rng.below(65536))};
    case 3:
      return BindRejected{static_cast<BindRejectReason>(octet)};
    case 4:
      return UnbindIndication{static_cast<UnbindReason>(octet)};
    case 5:
      return DataFlowOn{};
    case 6:
      return DataFlowOff{};
    case 7:
      return KeepAlive{};
    case 8:
      return UnidataRequest{.priority = nibble(rng),
                            .destination_sap = sap,
                            .destination = random_address(rng),
                            .delivery = random_delivery(rng),
                            .time_to_live = rng.below(1u << 20),
                            .updu = updu};
    case 9:
      return UnidataIndication{.priority = nibble(rng),
                               .destination_sap = sap,
                               .destination = random_address(rng),
                               .mode = static_cast<TransmissionMode>(rng.below(3)),
                               .source_sap = {nibble(rng)},
                               .source = random_address(rng),
                               .updu = updu};
    case 10:
      return UnidataRequestConfirm{
          .destination_sap = sap, .destination = random_address(rng), .updu_part = updu};
    default:
      return UnidataRequestRejected{.reason = static_cast<RejectReason>(nibble(rng)),
                                    .destination_sap = sap,
                                    .destination = random_address(rng),
                                    .updu_part = updu};
  }
}

TEST(SisCodec, reproduces_every_worked_example_both_ways) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const auto result = decode(body_of(vector.hex));
    if (!vector.value) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code, ErrorCode::unsupported);
      continue;
    }
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(*result, *vector.value);
    EXPECT_EQ(type_of(*result), vector.type);
    EXPECT_EQ(to_hex(frame_of(*vector.value)), to_hex(*from_hex(vector.hex)));
  }
}

TEST(SisCodec, refuses_every_prefix_of_every_example) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const Bytes body = body_of(vector.hex);
    for (std::size_t size = 0; size < body.size(); ++size) {
      const ErrorCode code = error_of(ByteSpan(body).first(size));
      if (size == 0) {
        EXPECT_EQ(code, ErrorCode::truncated);
      } else if (vector.value) {
        EXPECT_TRUE(code == ErrorCode::truncated || code == ErrorCode::bad_field) << size;
      } else {
        EXPECT_TRUE(code == ErrorCode::truncated || code == ErrorCode::unsupported) << size;
      }
    }
  }
}

TEST(SisCodec, refuses_one_octet_more_than_every_example) {
  for (const Vector& vector : vectors()) {
    if (!vector.value) continue;
    SCOPED_TRACE(vector.name);
    Bytes body = body_of(vector.hex);
    body.push_back(0);
    EXPECT_EQ(error_of(body), ErrorCode::bad_field);
  }
}

TEST(SisCodec, a_flipped_bit_is_refused_or_changes_the_value_or_was_unused) {
  for (const Vector& vector : vectors()) {
    if (!vector.value) continue;
    SCOPED_TRACE(vector.name);
    const Bytes body = body_of(vector.hex);
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      Bytes flipped = body;
      flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (0x80 >> bit % 8));
      const auto result = decode(flipped);
      if (!result.ok()) continue;
      // What is accepted must survive a second trip: nothing was read that is not written.
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
