// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/bftp.h"

#include <gtest/gtest.h>

namespace s5066::file_relay {
namespace {

const Bytes kHello{'h', 'e', 'l', 'l', 'o'};

// F.10.1(1), F.10.2.2(1)
TEST(Bftp, matches_the_worked_example) {
  const Bytes pdu = bftp_pdu({"A.TXT", 5}, kHello);
  EXPECT_EQ(to_hex(pdu), "05 41 2E 54 58 54 00 00 00 05 68 65 6C 6C 6F");
  EXPECT_EQ(
      to_hex(gateways::rcop_segment(
          {.connection_id = 0, .updu_id = 5, .segment = 0, .application_id = kBftpApplication}, pdu,
          2048)),
      "00 05 00 00 10 02 05 41 2E 54 58 54 00 00 00 05 68 65 6C 6C 6F");
}

// F.10.1(1), F.10.2.3(1), F.10.2.4(1)
TEST(Bftp, acknowledgements_match_the_worked_examples) {
  EXPECT_EQ(to_hex(frap_updu(0, 5)), "00 05 00 00 10 0B");
  EXPECT_EQ(to_hex(frap_v2_updu(0, 5, {"A.TXT", 5})),
            "00 05 00 00 10 0C 05 41 2E 54 58 54 00 00 00 05");
}

TEST(Bftp, every_prefix_of_a_header_is_too_short_and_the_header_is_enough) {
  Bytes header;
  encode({"A.TXT", 0x01020304}, header);
  for (std::size_t n = 0; n < header.size(); ++n) {
    const auto cut = decode_bftp_header(ByteSpan(header).first(n));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::truncated);
    const auto length = application_length(kBftpApplication, ByteSpan(header).first(n));
    ASSERT_TRUE(length);
    EXPECT_FALSE(length->has_value());
  }
  EXPECT_EQ(*decode_bftp_header(header), (BftpHeader{"A.TXT", 0x01020304}));
  EXPECT_EQ(**application_length(kBftpApplication, header), 10u + 0x01020304u);
  EXPECT_EQ(**application_length(kFrapV2Application, header), 10u);
}

TEST(Bftp, names_from_none_to_255_octets_round_trip) {
  for (const std::size_t n : {0u, 1u, 254u, 255u}) {
    const BftpHeader header{std::string(n, '\xFF'), 0xFFFFFFFF};
    Bytes bytes;
    encode(header, bytes);
    EXPECT_EQ(bytes.size(), encoded_bytes(header));
    EXPECT_EQ(*decode_bftp_header(bytes), header);
  }
}

TEST(Bftp, other_applications_have_no_length_and_a_bare_acknowledgement_has_none_to_wait_for) {
  EXPECT_FALSE(application_length(0x2000, kHello));
  EXPECT_EQ(**application_length(kFrapApplication, {}), 0u);
}

}  // namespace
}  // namespace s5066::file_relay
