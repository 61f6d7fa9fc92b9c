// SPDX-License-Identifier: Apache-2.0
// These tests give LONG DATA and LONG ACK, types 9 and 10 (docs/protocol/large_window.md), worked
// examples, damaged frames and random values.
#include <gtest/gtest.h>

#include "s5066d/base/crc.h"
#include "s5066d/pdu/eow.h"
#include "s5066d/pdu/scanner.h"
#include "tests/support/dpdu_samples.h"

namespace s5066::pdu {
namespace {

using test::encoded;

constexpr Address kA{0x1020304};
constexpr Address kB{0x1020305};

struct Example {
  const char* name;
  Bytes octets;
  Dpdu dpdu;
};

Bytes hex(std::string_view text) {
  return from_hex(text).value();
}

// The examples were computed bit by bit, without the code under test.
std::vector<Example> examples() {
  const std::string_view hello = "HELLO HF";
  const Common to_a{.eot_half_s = 6, .destination = kA, .source = kB};
  const Common to_b{.eot_half_s = 2, .destination = kB, .source = kA};
  Common offering = to_b;
  offering.eow = make_extensions(extension::kAnySegmentLength | extension::kLargeWindow);
  return {
      {"data",
       hex("90 EB 90 00 06 EA 10 20 30 41 02 03 05 EC 08 12 34 06 85 48 45 4C 4C 4F 20 48 46 "
           "A5 93 A6 E2"),
       LongData{to_a,
                {.start = true, .end = true, .in_order = true, .uwe = true, .lwe = true},
                {0x1234},
                Bytes(hello.begin(), hello.end())}},
      {"acknowledgement of 65535, 1, 2 and 22 with RX LWE 65534",
       hex("90 EB A0 00 02 EA 10 20 30 51 02 03 04 00 03 FF FE 54 94 0D 00 80 32 08 1F 13"),
       LongAckOnly{to_b, {{65534}, {0x0D, 0x00, 0x80}}}},
      {"acknowledgement with nothing beyond RX LWE, and an offer",
       hex("90 EB AE C0 02 EA 10 20 30 51 02 03 04 00 00 01 00 B4 54 00 00 00 00"),
       LongAckOnly{offering, {{256}, {}}}},
  };
}

std::size_t header_octets_of(const Bytes& frame) {
  return 2 + (frame[5] & 0x1Fu) + (frame[5] >> 5);
}

void seal_header(Bytes& frame) {
  const std::size_t octets = header_octets_of(frame);
  const std::uint16_t crc = header_crc(ByteSpan(frame).subspan(2, octets - 4));
  frame[octets - 2] = static_cast<std::uint8_t>(crc & 0xFF);
  frame[octets - 1] = static_cast<std::uint8_t>(crc >> 8);
}

Dpdu random_long(Rng& rng) {
  const Common common = test::random_common(rng);
  const LongFrameNumber number{static_cast<std::uint16_t>(rng.below(65536))};
  if (rng.chance(0.5)) {
    return LongData{common, test::random_flags(rng), number,
                    test::random_bytes(rng, rng.below(kSegmentOctetsMax + 1))};
  }
  const std::size_t selective = rng.below(kLongSelectiveOctetsMax + 1);
  return LongAckOnly{common, {number, test::random_bytes(rng, selective)}};
}

TEST(LongNumbers, examples_are_read_and_made) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const auto received = decode(example.octets);
    ASSERT_TRUE(received.ok()) << to_string(received.error());
    EXPECT_TRUE(received->dpdu == example.dpdu);
    EXPECT_TRUE(received->segment_ok);
    EXPECT_EQ(received->octets, example.octets.size());
    EXPECT_EQ(to_hex(encoded(example.dpdu)), to_hex(example.octets));
    EXPECT_EQ(encoded_size(example.dpdu), example.octets.size());
  }
}

TEST(LongNumbers, every_prefix_is_refused) {
  for (const Example& example : examples()) {
    for (std::size_t size = 0; size < example.octets.size(); ++size) {
      const auto received = decode(ByteSpan(example.octets).first(size));
      ASSERT_FALSE(received.ok()) << example.name << " cut to " << size;
      EXPECT_EQ(received.error().code, ErrorCode::truncated);
    }
  }
}

TEST(LongNumbers, every_single_bit_error_is_seen) {
  for (const Example& example : examples()) {
    const std::size_t header = 8 * header_octets_of(example.octets);
    for (std::size_t bit = 0; bit < 8 * example.octets.size(); ++bit) {
      Bytes frame = example.octets;
      frame[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      frame.resize(frame.size() + 64);  // so that a larger header size does not only truncate
      const auto received = decode(frame);
      if (bit < header) {
        EXPECT_FALSE(received.ok()) << example.name << " bit " << bit;
      } else {
        ASSERT_TRUE(received.ok()) << example.name << " bit " << bit;
        EXPECT_FALSE(received->segment_ok) << example.name << " bit " << bit;
      }
    }
  }
}

TEST(LongNumbers, hundred_thousand_frames_come_back_as_they_were_sent) {
  Rng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    const Dpdu dpdu = random_long(rng);
    const Bytes octets = encoded(dpdu);
    ASSERT_EQ(octets.size(), encoded_size(dpdu));
    const auto received = decode(octets);
    ASSERT_TRUE(received.ok());
    ASSERT_TRUE(received->segment_ok);
    ASSERT_TRUE(received->dpdu == dpdu) << to_hex(octets);
  }
}

TEST(LongNumbers, the_scanner_finds_them_among_others_at_any_bit) {
  Rng rng(2);
  for (unsigned shift = 0; shift < 8; ++shift) {
    std::vector<Dpdu> sent;
    Bytes octets;
    for (int i = 0; i < 20; ++i) {
      sent.push_back(i % 2 == 0 ? random_long(rng) : test::random_dpdu(rng, 40));
      encode(sent.back(), octets);
    }
    Bytes shifted(octets.size() + 1);
    for (std::size_t i = 0; i < octets.size(); ++i) {
      const unsigned both = unsigned{octets[i]} << shift;
      shifted[i] |= static_cast<std::uint8_t>(both & 0xFF);
      shifted[i + 1] = static_cast<std::uint8_t>(both >> 8);
    }
    Counters counters;
    Scanner scanner(counters);
    scanner.push(shifted);
    scanner.finish();
    for (const Dpdu& dpdu : sent) {
      const auto received = scanner.poll();
      ASSERT_TRUE(received);
      EXPECT_TRUE(received->segment_ok);
      EXPECT_TRUE(received->dpdu == dpdu);
    }
  }
}

// Another implementation may use these numbers with another header. We tell it that we do not
// recognise the type.
TEST(LongNumbers, with_a_header_of_another_size_the_type_is_reserved) {
  for (const std::uint8_t type : {std::uint8_t{9}, std::uint8_t{10}}) {
    for (std::uint8_t size = 6; size < 32; ++size) {
      Bytes frame(80);
      frame[0] = 0x90;
      frame[1] = 0xEB;
      frame[2] = static_cast<std::uint8_t>(type << 4);
      frame[5] = static_cast<std::uint8_t>(7 << 5 | size);
      seal_header(frame);
      const auto received = decode(frame);
      ASSERT_TRUE(received.ok());
      EXPECT_EQ(std::holds_alternative<Unsupported>(received->dpdu), size != 10) << int{size};
      EXPECT_EQ(type_of(received->dpdu), type);
    }
  }
}

TEST(LongNumbers, an_acknowledgement_names_4096_frames_and_not_more) {
  LongAckOnly most{.common = {}, .ack = {}};
  most.ack.selective.resize(kLongSelectiveOctetsMax);
  Bytes frame = encoded(most);
  EXPECT_TRUE(decode(frame).ok());
  frame.push_back(0);
  frame[14] += 1;  // octets of the selective part: 513
  seal_header(frame);
  const auto received = decode(frame);
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().code, ErrorCode::bad_field);
  most.ack.selective.push_back(0);
  EXPECT_DEATH(encoded(most), "kLongSelectiveOctetsMax");
  LongData wide{.common = {}, .flags = {}, .number = {}, .segment = Bytes(kSegmentOctetsMax + 1)};
  EXPECT_DEATH(encoded(wide), "kSegmentOctetsMax");
}

TEST(LongNumbers, bits_stand_for_the_frames_after_rx_lwe) {
  const LongAck ack{.rx_lwe = {65534}, .selective = {0x0D, 0x00, 0x80}};
  for (unsigned n = 0; n < 65536; ++n) {
    const bool expected = n == 65535 || n == 1 || n == 2 || n == 22;
    ASSERT_EQ(is_acknowledged(ack, {static_cast<std::uint16_t>(n)}), expected) << n;
  }
}

}  // namespace
}  // namespace s5066::pdu
