// SPDX-License-Identifier: Apache-2.0
#include "sis/framer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"
#include "tests/unit/sis/vectors.h"

namespace s5066::sis {
namespace {

/// Appends each item as text: the hex of a body, or the name of the problem. Checks that
/// next_type() told the type of each frame.
void drain(Framer& framer, std::vector<std::string>& out) {
  for (;;) {
    const auto type = framer.next_type();
    const auto item = framer.poll();
    if (!item) return;
    if (const auto* frame = std::get_if<Framer::Frame>(&*item)) {
      EXPECT_EQ(type, frame->body[0]);
      out.push_back(to_hex(frame->body));
    } else {
      constexpr std::string_view kNames[] = {"garbage", "bad version", "empty"};
      out.emplace_back(kNames[static_cast<std::size_t>(std::get<Framer::Problem>(*item))]);
    }
  }
}

std::vector<std::string> split(Framer& framer, std::string_view hex) {
  std::vector<std::string> out;
  framer.push(*from_hex(hex));
  drain(framer, out);
  return out;
}

std::vector<std::string> split(std::string_view hex) {
  Framer framer;
  return split(framer, hex);
}

using Out = std::vector<std::string>;

Bytes all_vectors(Out& bodies) {
  Bytes stream;
  for (const Vector& vector : vectors()) {
    const Bytes frame = *from_hex(vector.hex);
    append(stream, frame);
    bodies.push_back(to_hex(ByteSpan(frame).subspan(kHeaderOctets)));
  }
  return stream;
}

TEST(Framer, splits_all_examples_pushed_at_once) {
  Out expected, out;
  Framer framer;
  framer.push(all_vectors(expected));
  drain(framer, out);
  EXPECT_EQ(out, expected);
  EXPECT_FALSE(framer.partial());
}

TEST(Framer, splits_all_examples_pushed_octet_by_octet) {
  Out expected, out;
  Framer framer;
  for (const std::uint8_t octet : all_vectors(expected)) {
    framer.push({&octet, 1});
    drain(framer, out);
  }
  EXPECT_EQ(out, expected);
  EXPECT_FALSE(framer.partial());
}

TEST(Framer, every_prefix_of_a_frame_is_partial_and_nothing_comes_out) {
  const Bytes frame = *from_hex(vectors().front().hex);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    Framer framer;
    framer.push(ByteSpan(frame).first(size));
    EXPECT_EQ(framer.poll(), std::nullopt) << size;
    EXPECT_EQ(framer.partial(), size > 0) << size;
  }
}

TEST(Framer, the_type_of_a_frame_is_known_from_its_first_octet_on) {
  Framer framer;
  framer.push(*from_hex("90EB00 0011"));
  EXPECT_EQ(framer.next_type(), std::nullopt);
  framer.push(*from_hex("14"));
  EXPECT_EQ(framer.next_type(), 0x14);
  EXPECT_FALSE(framer.poll());
  EXPECT_EQ(framer.next_type(), 0x14);
}

TEST(Framer, the_next_type_is_looked_for_behind_garbage_and_refused_frames) {
  Framer garbage;
  garbage.push(*from_hex("AAAA90 90EB00 0011 14"));
  EXPECT_EQ(garbage.next_type(), 0x14);
  Framer refused;
  refused.push(*from_hex("90EB01 0004 0000"));
  EXPECT_EQ(refused.next_type(), std::nullopt);
  EXPECT_TRUE(refused.poll());
  refused.push(*from_hex("0000 90EB00 0011 18"));
  EXPECT_EQ(refused.next_type(), 0x18);
  Framer empty;
  empty.push(*from_hex("90EB00 0000 14"));
  EXPECT_EQ(empty.next_type(), std::nullopt);
}

TEST(Framer, never_looks_for_a_preamble_inside_a_body) {
  EXPECT_EQ(split("90EB00 000A 90EB00 0001 02 90EB0000 90EB00 0001 11"),
            (Out{"90 EB 00 00 01 02 90 EB 00 00", "11"}));
}

TEST(Framer, reports_garbage_once_and_finds_the_next_frame) {
  EXPECT_EQ(split("010203 90EB00 0001 02"), (Out{"garbage", "02"}));
  EXPECT_EQ(split("90EB00 0001 02 FF 90EB00 0001 11"), (Out{"02", "garbage", "11"}));
  EXPECT_EQ(split("90 90 EB00 0001 02"), (Out{"garbage", "02"}));
  EXPECT_EQ(split("EB90 EB00 0001 02"), (Out{"garbage", "02"}));
  EXPECT_EQ(split("90 00 90EB00 0001 02"), (Out{"garbage", "02"}));
}

TEST(Framer, reports_one_run_of_garbage_once_however_it_is_cut) {
  Framer framer;
  EXPECT_EQ(split(framer, "01"), (Out{"garbage"}));
  EXPECT_EQ(split(framer, "02 90"), Out{});
  EXPECT_EQ(split(framer, "03 90"), Out{});
  EXPECT_EQ(split(framer, "EB"), Out{});
  EXPECT_EQ(split(framer, "00 0001 02"), (Out{"02"}));
  EXPECT_EQ(split(framer, "04"), (Out{"garbage"}));
}

TEST(Framer, keeps_a_lone_first_half_of_a_preamble) {
  Framer framer;
  EXPECT_EQ(split(framer, "AAAA90"), (Out{"garbage"}));
  EXPECT_EQ(framer.buffered(), 1u);
  EXPECT_TRUE(framer.partial());
  EXPECT_EQ(split(framer, "EB00000102"), (Out{"02"}));
}

TEST(Framer, garbage_leaves_nothing_in_memory) {
  Framer framer;
  framer.push(Bytes(kGarbageReportOctets - 1, 0xAA));
  Out out;
  drain(framer, out);
  EXPECT_EQ(out, (Out{"garbage"}));
  EXPECT_EQ(framer.buffered(), 0u);
  EXPECT_FALSE(framer.partial());
}

TEST(Framer, reports_endless_garbage_again_and_again) {
  Framer framer;
  Out out;
  framer.push(Bytes(kGarbageReportOctets - 1, 0xAA));
  drain(framer, out);
  EXPECT_EQ(out.size(), 1u);
  framer.push(Bytes(1, 0xAA));
  drain(framer, out);
  EXPECT_EQ(out.size(), 2u);
  framer.push(Bytes(10 * kGarbageReportOctets, 0xAA));
  drain(framer, out);
  EXPECT_EQ(out.size(), 12u);
}

TEST(Framer, reports_a_bad_version_from_the_header_alone_and_skips_its_size) {
  Framer framer;
  EXPECT_EQ(split(framer, "90EB01 0004"), (Out{"bad version"}));
  EXPECT_TRUE(framer.partial());
  EXPECT_EQ(split(framer, "90EB00"), Out{});
  EXPECT_EQ(split(framer, "00 90EB00 0001 02"), (Out{"02"}));
  EXPECT_FALSE(framer.partial());
}

TEST(Framer, a_frame_of_size_0_is_a_problem_and_takes_five_octets) {
  EXPECT_EQ(split("90EB00 0000 90EB00 0001 02"), (Out{"empty", "02"}));
  EXPECT_EQ(split("90EB07 0000 90EB00 0001 02"), (Out{"bad version", "02"}));
}

TEST(Framer, the_largest_frame_passes_and_memory_stays_below_it_until_then) {
  Bytes frame = *from_hex("90EB00FFFF");
  frame.resize(kHeaderOctets + kBodyOctetsMax, 0x90);
  Framer framer;
  framer.push(ByteSpan(frame).first(frame.size() - 1));
  EXPECT_EQ(framer.poll(), std::nullopt);
  EXPECT_EQ(framer.buffered(), kHeaderOctets + kBodyOctetsMax - 1);
  framer.push(ByteSpan(frame).last(1));
  const auto item = framer.poll();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(std::get<Framer::Frame>(*item).body.size(), kBodyOctetsMax);
  EXPECT_EQ(framer.buffered(), 0u);
}

TEST(Framer, a_flipped_bit_never_spoils_more_than_the_frames_it_covers) {
  // The frame is a type 22. The stream after it is longer than any size that a flipped size field
  // can claim.
  const Bytes victim = *from_hex("90EB00 000D 16 03 E1020305 0005 48454C4C4F");
  const Bytes marker = *from_hex("90EB00 0001 11");
  for (std::size_t bit = 0; bit < victim.size() * 8; ++bit) {
    Bytes stream = victim;
    stream[bit / 8] = static_cast<std::uint8_t>(stream[bit / 8] ^ (0x80 >> bit % 8));
    for (std::size_t i = 0; i < 70000 / marker.size(); ++i) append(stream, marker);
    Framer framer;
    Out out;
    for (std::size_t at = 0; at < stream.size(); at += 4096) {
      framer.push(ByteSpan(stream).subspan(at, std::min<std::size_t>(4096, stream.size() - at)));
      drain(framer, out);
    }
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out.back(), "11") << bit;  // the framer is in step again
    EXPECT_FALSE(framer.partial()) << bit;
    EXPECT_LE(std::count_if(out.begin(), out.end(), [](const auto& o) { return o != "11"; }), 2)
        << bit;
  }
}

TEST(Framer, any_cut_of_any_stream_gives_the_same_items) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    Bytes stream;
    for (int part = 0; part < 6; ++part) {
      if (rng.chance(0.5)) {
        append(stream,
               *from_hex(vectors()[rng.below(static_cast<std::uint32_t>(vectors().size()))].hex));
      } else {
        constexpr std::uint8_t kLikely[] = {0x90, 0xEB, 0x00, 0x01, 0x04};
        for (std::uint32_t i = rng.below(8); i > 0; --i) stream.push_back(kLikely[rng.below(5)]);
      }
    }
    Out whole, pieces;
    Framer first, second;
    first.push(stream);
    drain(first, whole);
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = std::min<std::size_t>(1 + rng.below(9), stream.size() - at);
      second.push(ByteSpan(stream).subspan(at, size));
      drain(second, pieces);
      at += size;
    }
    ASSERT_EQ(pieces, whole) << to_hex(stream);
    ASSERT_EQ(first.buffered(), second.buffered());
  }
}

std::optional<Framer::Mistake> mistake_in(std::string_view hex) {
  Framer framer;
  framer.push(*from_hex(hex));
  return framer.mistake();
}

TEST(Framer, notices_a_client_that_sends_the_low_octet_first_by_its_bind_request) {
  Bytes bind;
  encode(BindRequest{.sap = SapId{3}}, bind);
  const auto mistake = [](const Bytes& octets) {
    Framer framer;
    framer.push(octets);
    return framer.mistake();
  };
  EXPECT_EQ(mistake(bind), std::nullopt);
  Bytes swapped = bind;
  std::swap(swapped[3], swapped[4]);
  EXPECT_EQ(mistake(swapped), Framer::Mistake::octet_order);
  swapped.pop_back();
  EXPECT_EQ(mistake(swapped), std::nullopt) << "the rest may show that it is right";
  EXPECT_EQ(mistake_in("EB90"), Framer::Mistake::octet_order);
  EXPECT_EQ(mistake_in("EB"), std::nullopt);
}

TEST(Framer, notices_a_tls_handshake) {
  EXPECT_EQ(mistake_in("160301"), Framer::Mistake::tls);
  EXPECT_EQ(mistake_in("16"), std::nullopt);
  EXPECT_EQ(mistake_in("1604"), std::nullopt);
  EXPECT_EQ(mistake_in("1703"), std::nullopt) << "no handshake";
}

TEST(Framer, takes_no_right_stream_for_a_mistake) {
  for (const Vector& vector : vectors()) {
    const Bytes frame = *from_hex(vector.hex);
    for (std::size_t octets = 0; octets <= frame.size(); ++octets) {
      Framer framer;
      framer.push(ByteSpan(frame).first(octets));
      EXPECT_EQ(framer.mistake(), std::nullopt) << vector.hex << " cut at " << octets;
    }
  }
}

}  // namespace
}  // namespace s5066::sis
