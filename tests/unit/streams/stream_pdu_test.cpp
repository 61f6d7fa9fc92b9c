// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/stream_pdu.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::streams {
namespace {

Bytes sample() {
  Bytes out;
  encode(StreamsHeader{.updu_id = 7, .answer_wanted = true, .from_epoch = 0x01020304}, out);
  encode(Frame(OpenFrame{1, {"mail.example", 25}}), out);
  const Bytes text{'E', 'H', 'L', 'O'};
  encode(Frame(DataFrame{{true, 1}, true, false, 300, text}), out);
  encode(Frame(AckFrame{{false, 200}, true, 70000, 102768}), out);
  encode(Frame(ResetFrame{{true, 3}, ResetCode::refused}), out);
  encode(Frame(ProbeFrame{{false, 4}}), out);
  return out;
}

TEST(StreamPdu, the_octets_are_those_of_the_document) {
  EXPECT_EQ(to_hex(sample()),
            "10 07 00 00 A0 66 11 01 02 03 04 00 00 00 00 "
            "10 01 00 19 0C 6D 61 69 6C 2E 65 78 61 6D 70 6C 65 "
            "22 01 AC 02 00 04 45 48 4C 4F "
            "33 C8 01 F0 A2 04 F0 A2 06 "
            "40 03 02 "
            "51 04");
}

TEST(StreamPdu, what_is_encoded_is_decoded_again) {
  const Bytes updu = sample();
  const auto pdu = decode_streams(updu);
  ASSERT_TRUE(pdu.ok());
  EXPECT_EQ(pdu->header,
            (StreamsHeader{.updu_id = 7, .answer_wanted = true, .from_epoch = 0x01020304}));
  ASSERT_EQ(pdu->frames.size(), 5u);
  EXPECT_EQ(std::get<OpenFrame>(pdu->frames[0]), (OpenFrame{1, {"mail.example", 25}}));
  const auto& data = std::get<DataFrame>(pdu->frames[1]);
  EXPECT_EQ(data.offset, 300u);
  EXPECT_TRUE(data.end);
  EXPECT_EQ(Bytes(data.octets.begin(), data.octets.end()), (Bytes{'E', 'H', 'L', 'O'}));
  EXPECT_EQ(std::get<AckFrame>(pdu->frames[2]), (AckFrame{{false, 200}, true, 70000, 102768}));
  EXPECT_EQ(std::get<ResetFrame>(pdu->frames[3]), (ResetFrame{{true, 3}, ResetCode::refused}));
  EXPECT_EQ(std::get<ProbeFrame>(pdu->frames[4]), (ProbeFrame{{false, 4}}));
}

TEST(StreamPdu, no_prefix_and_no_changed_bit_harms) {
  const Bytes updu = sample();
  for (std::size_t octets = 0; octets < kStreamsHeaderOctets; ++octets) {
    EXPECT_FALSE(decode_streams(ByteSpan(updu).first(octets)).ok()) << octets;
  }
  std::size_t accepted = 0;
  for (std::size_t octets = kStreamsHeaderOctets; octets < updu.size(); ++octets) {
    accepted += decode_streams(ByteSpan(updu).first(octets)).ok() ? 1 : 0;
  }
  EXPECT_EQ(accepted, 5u);  // at the ends of frames
  for (std::size_t bit = 0; bit < 8 * updu.size(); ++bit) {
    Bytes changed = updu;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    (void)decode_streams(changed);
  }
}

TEST(StreamPdu, wrong_numbers_are_refused) {
  Bytes header;
  encode(StreamsHeader{.from_epoch = 1}, header);
  const auto with = [&](const char* hex) {
    Bytes updu = header;
    append(updu, *from_hex(hex));
    return decode_streams(updu).ok();
  };
  EXPECT_TRUE(with("50 01"));
  EXPECT_FALSE(with("50 00"));                                // stream 0
  EXPECT_TRUE(with("50 FF FF FF FF 0F"));                     // 2^32 - 1
  EXPECT_FALSE(with("50 80 80 80 80 10"));                    // 2^32
  EXPECT_FALSE(with("00 01"));                                // type 0
  EXPECT_FALSE(with("60 01"));                                // type 6
  EXPECT_FALSE(with("10 01 00 00 01 61"));                    // port 0
  EXPECT_FALSE(with("10 01 00 50 00"));                       // no name
  EXPECT_FALSE(with("10 01 00 50 01 20"));                    // a space in the name
  EXPECT_FALSE(with("11 01 00 50 01 61"));                    // opened by the receiver
  EXPECT_TRUE(with("30 01 80 80 80 80 80 80 80 80 40 00"));   // 2^62
  EXPECT_FALSE(with("30 01 81 80 80 80 80 80 80 80 40 00"));  // above
  EXPECT_FALSE(with("30 01 80 80 80 80 80 80 80 80 80 00"));  // ten octets
  Bytes no_epoch;
  encode(StreamsHeader{}, no_epoch);
  EXPECT_FALSE(decode_streams(no_epoch).ok());
}

TEST(StreamPdu, ip_datagrams_are_told_apart) {
  EXPECT_TRUE(is_streams_updu(sample()));
  EXPECT_FALSE(is_streams_updu(*from_hex("45 00 00 1C A0 66 00 00 40 11")));
  EXPECT_FALSE(is_streams_updu(*from_hex("60 00 00 00 A0 66")));
  EXPECT_FALSE(is_streams_updu({}));
}

}  // namespace
}  // namespace s5066::streams
