// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mule.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "gateways/acp142/mail/cdt.h"
#include "s5066d/base/rng.h"

namespace s5066::acp142 {
namespace {

// The worked example gives the payload, its compression at level 9, and both ways to tag it.
const Bytes kPayload = *from_hex(
    "3C 61 40 62 2E 63 3E 0D 0A 3C 64 40 65 2E 66 3E 0D 0A 0D 0A 53 3A 20 78 0D 0A 0D 0A 68 69 0D "
    "0A");
const Bytes kZlib = *from_hex(
    "78 DA B3 49 74 48 D2 4B B6 E3 E5 B2 49 71 48 D5 4B 03 32 78 B9 82 AD 14 2A 40 74 46 26 2F 17 "
    "00 7A 6C 06 A6");

Bytes join(std::string_view hex, const Bytes& tail) {
  Bytes out = *from_hex(hex);
  append(out, tail);
  return out;
}
const Bytes kImplicit = join("30 30 80 01 00 30 2B 80 01 19 A0 26 04 24", kZlib);
const Bytes kExplicit = join("30 34 A0 03 02 01 00 30 2D A0 03 02 01 19 A0 26 04 24", kZlib);

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}
Result<Mail> decode(std::string_view text) {
  return decode_mule(octets(text), {});
}

// PM-104, PM-106
TEST(Mule, the_worked_example_both_ways) {
  const Mail mail{{{"a@b.c", {}}, {{"d@e.f", {}}}}, octets("S: x\r\n\r\nhi\r\n")};
  EXPECT_EQ(encode_mule(mail.envelope, mail.content), kPayload);
  const auto decoded = decode_mule(kPayload, {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->envelope, mail.envelope);
  EXPECT_EQ(decoded->content, mail.content);
}

// PM-105
TEST(Mule, dots_and_zero_octets_and_line_feeds_of_the_content_stay_as_they_are) {
  const std::string content("\r\n.\r\n..\nx\0y", 11);
  const auto mail = decode("<>\r\n<a@b>\r\n\r\n" + content);
  ASSERT_TRUE(mail);
  EXPECT_EQ(mail->content, octets(content));
  EXPECT_EQ(mail->envelope.from.address, "");
}

// PM-104, PM-110
TEST(Mule, an_unknown_parameter_is_handed_on) {  // RFC 8494 3.3
  const auto mail = decode("<a@b> RRVS=1\r\n<c@d> WHAT\r\n\r\n");
  ASSERT_TRUE(mail);
  EXPECT_EQ(to_string(mail->envelope.from), "<a@b> RRVS=1");
  EXPECT_TRUE(mail->content.empty());
}

TEST(Mule, the_size_is_left_out) {
  const Envelope envelope{{"a@b", {{"SIZE", "5"}, {"BODY", "7BIT"}}}, {{"c@d", {}}}};
  const Bytes payload = encode_mule(envelope, {});
  EXPECT_EQ(std::string(payload.begin(), payload.end()), "<a@b> BODY=7BIT\r\n<c@d>\r\n\r\n");
}

// PM-104, PM-106
TEST(Mule, payloads_that_are_none_are_refused) {
  for (const char* text :
       {"", "<a@b>", "<a@b>\r\n", "<a@b>\r\n\r\n", "<a@b>\r\n<c@d>", "<a@b>\r\n<c@d>\r\n",
        "<a@b>\n<c@d>\n\n", "MAIL FROM:<a@b>\r\n<c@d>\r\n\r\n", "<a@b>\r\n<>\r\n\r\n"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
}

// PM-104
TEST(Mule, takes_the_most_recipients_allowed_and_no_more) {
  std::string payload = "<a@b>\r\n";
  for (int i = 0; i < 1000; ++i) payload += "<c@d>\r\n";
  EXPECT_EQ(decode(payload + "\r\n")->envelope.recipients.size(), 1000u);
  EXPECT_EQ(decode(payload + "<c@d>\r\n\r\n").error().code, ErrorCode::too_large);
}

// PM-100
TEST(Cdt, the_worked_example_is_written_with_implicit_tags_and_read_with_both) {
  EXPECT_EQ(encode_cdt(kPayload), kImplicit);
  EXPECT_EQ(*decode_cdt(kImplicit, {}), kPayload);
  EXPECT_EQ(*decode_cdt(kExplicit, {}), kPayload);
}

TEST(Cdt, the_worked_example_is_written_with_explicit_tags_where_that_is_asked_for) {
  EXPECT_EQ(encode_cdt(kPayload, CdtTags::explicit_), kExplicit);
  Rng rng(1);
  for (const std::size_t octets : {0u, 1u, 100u, 127u, 128u, 70'000u}) {
    Bytes content(octets);
    for (auto& octet : content) octet = static_cast<std::uint8_t>(rng.next());
    const auto decoded = decode_cdt(encode_cdt(content, CdtTags::explicit_), {});
    ASSERT_TRUE(decoded) << to_string(decoded.error());
    EXPECT_EQ(*decoded, content);
  }
}

TEST(Cdt, indefinite_lengths_strings_in_pieces_and_octets_behind_the_end_are_taken) {
  const Bytes first(kZlib.begin(), kZlib.begin() + 20);
  const Bytes second(kZlib.begin() + 20, kZlib.end());
  Bytes whole = *from_hex("30 80 80 01 00 30 80 80 01 19 A0 80 24 80 04 14");
  append(whole, first);
  append(whole, join("04 10", second));
  append(whole, *from_hex("00 00 00 00 00 00 00 00 55 AA"));
  const auto decoded = decode_cdt(whole, {});
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, kPayload);
}

// PM-101, PM-102
TEST(Cdt, other_types_and_algorithms_are_refused) {
  EXPECT_EQ(decode_cdt(kImplicit, {}, 24).error().code, ErrorCode::unsupported);
  Bytes algorithm = kImplicit;
  algorithm[4] = 1;
  EXPECT_EQ(decode_cdt(algorithm, {}).error().code, ErrorCode::unsupported);
}

// PM-101: gzip, and deflate without a header, are not taken.
TEST(Cdt, no_stream_but_zlib_is_taken) {
  const Bytes bare(kZlib.begin() + 2, kZlib.end() - 4);
  EXPECT_EQ(bare.size(), 30u);
  EXPECT_FALSE(decode_cdt(join("30 2A 80 01 00 30 25 80 01 19 A0 20 04 1E", bare), {}));
  Bytes gzip = join("1F 8B 08 00 00 00 00 00 02 03", bare);
  const auto sum = crc32(0, kPayload.data(), static_cast<uInt>(kPayload.size()));
  for (const auto value : {static_cast<std::uint32_t>(sum), std::uint32_t{32}}) {
    for (int shift = 0; shift < 32; shift += 8) {
      gzip.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
  EXPECT_EQ(gzip.size(), 48u);
  EXPECT_FALSE(decode_cdt(join("30 3C 80 01 00 30 37 80 01 19 A0 32 04 30", gzip), {}));
}

TEST(Cdt, every_prefix_is_refused_and_no_single_bit_flip_gives_other_octets) {
  for (std::size_t n = 0; n < kImplicit.size(); ++n) {
    EXPECT_FALSE(decode_cdt(ByteSpan(kImplicit).first(n), {})) << n;
  }
  for (std::size_t bit = 0; bit < 8 * kImplicit.size(); ++bit) {
    Bytes flipped = kImplicit;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
    const auto decoded = decode_cdt(flipped, {});
    if (decoded) {
      EXPECT_EQ(*decoded, kPayload) << bit;
    }
  }
}

TEST(Cdt, random_contents_come_back) {
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    Bytes content(rng.below(20000));
    for (auto& octet : content) octet = static_cast<std::uint8_t>(rng.below(i < 25 ? 256 : 3));
    const auto decoded = decode_cdt(encode_cdt(content), {});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, content);
  }
}

// PM-103
TEST(Cdt, a_bomb_stops_at_the_ratio_and_at_the_octets) {
  const Bytes zeros(10u << 20);
  const Bytes bomb = encode_cdt(zeros);
  ASSERT_LT(bomb.size() * 100, zeros.size());
  EXPECT_EQ(decode_cdt(bomb, {.ratio_max = 100}).error().code, ErrorCode::too_large);
  EXPECT_TRUE(decode_cdt(bomb, {.octets_max = zeros.size()}));
  EXPECT_FALSE(decode_cdt(bomb, {.octets_max = zeros.size() - 1}));
}

// Goal:   mail that an operator sends is not taken for a bomb, however regular it is.
// Method: empty files of several lengths, as octets and in base64, and contents that begin or end
//         with them.
TEST(Cdt, whatever_is_sent_is_within_what_is_received) {
  Rng rng(2);
  Bytes noise(5000);
  for (auto& octet : noise) octet = static_cast<std::uint8_t>(rng.below(256));
  for (const std::size_t octets : {65'536u, 65'537u, 1u << 20, 16u << 20}) {
    Bytes zeros(octets);
    Bytes lines;
    for (Bytes line(76, 'A'); lines.size() < octets; append(lines, line)) {
      if (lines.empty()) append(line, Bytes{'\r', '\n'});
    }
    Bytes begins = noise;
    append(begins, zeros);
    Bytes ends = zeros;
    append(ends, noise);
    for (const Bytes& content : {zeros, lines, begins, ends}) {
      const Bytes sent = encode_cdt(content);
      EXPECT_LT(sent.size(), 7000 + content.size() / 50);
      const auto received = decode_cdt(sent, {});
      ASSERT_TRUE(received) << octets;
      EXPECT_EQ(*received, content);
    }
  }
}

// PM-103
TEST(Cdt, a_short_content_may_be_as_regular_as_it_likes) {
  EXPECT_TRUE(decode_cdt(encode_cdt(Bytes(65536)), {.ratio_max = 1}));
  EXPECT_FALSE(decode_cdt(encode_cdt(Bytes(65537)), {.ratio_max = 1}));
}

TEST(Cdt, nesting_without_end_is_refused) {
  Bytes deep;
  for (int i = 0; i < 10000; ++i) append(deep, *from_hex("30 80"));
  EXPECT_EQ(decode_cdt(deep, {}).error().code, ErrorCode::too_large);
}

TEST(Cdt, a_length_larger_than_the_input_is_refused) {
  for (const char* hex : {"30 84 FF FF FF FF", "30 85 00 00 00 00 01", "30 81", "30 7F 80",
                          "3F 01 00", "30 03 80 01 00"}) {
    EXPECT_FALSE(decode_cdt(*from_hex(hex), {})) << hex;
  }
}

}  // namespace
}  // namespace s5066::acp142
