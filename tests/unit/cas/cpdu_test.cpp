// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/cpdu.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::cas {
namespace {

// B.3.1(4)-(8) B.3.1.1(1)-(4) B.3.1.2(1)-(7) B.3.1.3(1)-(3) B.3.1.4(1)-(4) B.3.1.5(1)-(4)
// B.3.1.6(1)-(3)
TEST(Cpdu, matches_the_worked_examples) {
  const auto is = [](const Cpdu& cpdu, std::string_view hex) {
    const Bytes octets = *from_hex(hex);
    EXPECT_EQ(encode(cpdu), octets) << hex;
    const auto decoded = decode(octets);
    ASSERT_TRUE(decoded.ok()) << hex;
    EXPECT_EQ(*decoded, cpdu) << hex;
  };
  is(PhysicalLinkRequest{LinkType::nonexclusive}, "10");                               // C1
  is(PhysicalLinkRequest{LinkType::exclusive}, "11");                                  // C2
  is(PhysicalLinkAccepted{}, "20");                                                    // C3
  is(PhysicalLinkRejected{RejectReason::supporting_exclusive_link}, "33");             // C4
  is(PhysicalLinkBreak{BreakReason::no_more_data}, "44");                              // C5
  is(PhysicalLinkBreakConfirm{}, "50");                                                // C6
  is(DataCpdu{*from_hex("05 33 CD 001E 48454C4C4F")}, "00 05 33 CD 001E 48454C4C4F");  // C7
  is(DataCpdu{*from_hex("71 33")}, "00 71 33");
}

// B.3.1(1)-(3)
TEST(Cpdu, knows_exactly_six_types_whatever_the_low_half_says) {
  for (unsigned first = 0; first < 256; ++first) {
    const Bytes octets{static_cast<std::uint8_t>(first), 0xAA};
    const auto decoded = decode(octets);
    ASSERT_EQ(decoded.ok(), first >> 4 <= 5) << first;
    if (decoded.ok()) {
      EXPECT_EQ(type_of(*decoded), first >> 4);
    } else {
      EXPECT_EQ(decoded.error().code, ErrorCode::unsupported);
    }
  }
}

// B.3.1.2(4)-(7)
TEST(Cpdu, ignores_reserved_bits_and_octets_behind_a_control_cpdu) {
  EXPECT_EQ(*decode(*from_hex("1E 00 FF")), Cpdu(PhysicalLinkRequest{LinkType::nonexclusive}));
  EXPECT_EQ(*decode(*from_hex("1F")), Cpdu(PhysicalLinkRequest{LinkType::exclusive}));
  EXPECT_EQ(*decode(*from_hex("2F")), Cpdu(PhysicalLinkAccepted{}));
  EXPECT_EQ(*decode(*from_hex("5F 01")), Cpdu(PhysicalLinkBreakConfirm{}));
}

// B.3.1.4(2),(3)
TEST(Cpdu, keeps_reasons_the_standard_does_not_name) {
  const Bytes octets = *from_hex("3F");
  EXPECT_EQ(encode(*decode(octets)), octets);
  EXPECT_EQ(to_string(std::get<PhysicalLinkRejected>(*decode(octets)).reason), "unspecified");
}

// B.3.1.1(2),(4)
TEST(Cpdu, refuses_nothing_and_data_without_spdu) {
  EXPECT_EQ(decode({}).error().code, ErrorCode::truncated);
  EXPECT_EQ(decode(*from_hex("00")).error().code, ErrorCode::truncated);
  EXPECT_TRUE(decode(*from_hex("00 00")).ok());
}

TEST(Cpdu, random_octets_never_do_harm) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes octets(rng.below(40));
    for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.next());
    const auto decoded = decode(octets);
    if (!decoded.ok()) continue;
    EXPECT_EQ(*decode(encode(*decoded)), *decoded);
  }
}

}  // namespace
}  // namespace s5066::cas
