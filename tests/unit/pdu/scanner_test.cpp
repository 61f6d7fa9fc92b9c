// SPDX-License-Identifier: Apache-2.0
// These tests give the scanner clean, shifted, damaged and cut streams (C.3.1).
#include "s5066d/pdu/scanner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/crc.h"
#include "s5066d/pdu/header.h"
#include "tests/support/dpdu_samples.h"
#include "tests/unit/pdu/vectors.h"

namespace s5066::pdu {
namespace {

using test::encoded;
using test::random_bytes;
using test::random_dpdu;
using test::vector_octets;

/// Holds bits in the order of the line.
class BitStream {
 public:
  std::size_t size() const { return bits_; }
  void add_bit(bool bit) {
    if (bits_ % 8 == 0) octets_.push_back(0);
    octets_.back() |= static_cast<std::uint8_t>(unsigned{bit} << bits_ % 8);
    ++bits_;
  }
  void add(ByteSpan octets) {
    for (const auto octet : octets) {
      for (unsigned i = 0; i < 8; ++i) add_bit((octet >> i & 1) != 0);
    }
  }
  void add_noise(Rng& rng, std::size_t bits) {
    for (std::size_t i = 0; i < bits; ++i) add_bit(rng.chance(0.5));
  }
  /// Returns the bits, padded to a whole octet with zeros.
  const Bytes& octets() const { return octets_; }

 private:
  Bytes octets_;
  std::size_t bits_ = 0;
};

void drain(Scanner& scanner, std::vector<Received>& into) {
  while (auto received = scanner.poll()) into.push_back(std::move(*received));
}

std::vector<Received> drain(Scanner& scanner) {
  std::vector<Received> all;
  drain(scanner, all);
  return all;
}

std::vector<Received> scan(ByteSpan octets, Counters& counters) {
  Scanner scanner(counters);
  scanner.push(octets);
  return drain(scanner);
}

// C.3.2(4)(5), C.3.2.9(1)(2)
TEST(Scanner, finds_every_frame_of_a_train_at_each_bit_offset) {
  for (std::size_t offset = 0; offset < 8; ++offset) {
    SCOPED_TRACE(offset);
    BitStream stream;
    for (std::size_t i = 0; i < offset; ++i) stream.add_bit(true);
    std::vector<std::size_t> starts;
    for (const auto& vector : test::vectors()) {
      starts.push_back(stream.size());
      stream.add(vector.octets);
    }
    Counters counters;
    const auto found = scan(stream.octets(), counters);
    const auto sent = test::vectors();
    ASSERT_EQ(found.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_TRUE(found[i].dpdu == sent[i].dpdu) << sent[i].name;
      EXPECT_TRUE(found[i].segment_ok);
      EXPECT_EQ(found[i].first_bit, starts[i]);
      EXPECT_EQ(found[i].octets, sent[i].octets.size());
    }
    EXPECT_EQ(counters[Counter::dpdus_received], sent.size());
    EXPECT_EQ(counters[Counter::dpdus_bad_header_crc], 0u);
  }
}

TEST(Scanner, gives_the_same_however_the_stream_is_cut_in_two) {
  Rng rng(3);
  BitStream stream;
  stream.add_noise(rng, 37);
  for (const char* name : {"X7", "X2", "X4", "X26", "X9", "X30"}) {
    stream.add(vector_octets(name));
    stream.add_noise(rng, 5);
  }
  Counters whole_counters;
  const auto whole = scan(stream.octets(), whole_counters);
  ASSERT_EQ(whole.size(), 6u);
  for (std::size_t cut = 0; cut <= stream.octets().size(); ++cut) {
    for (const bool poll_between : {false, true}) {
      Counters counters;
      Scanner scanner(counters);
      std::vector<Received> found;
      scanner.push(ByteSpan(stream.octets()).first(cut));
      if (poll_between) found = drain(scanner);
      scanner.push(ByteSpan(stream.octets()).subspan(cut));
      drain(scanner, found);
      ASSERT_EQ(found.size(), whole.size()) << "cut at " << cut;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(found[i].dpdu == whole[i].dpdu);
        EXPECT_EQ(found[i].first_bit, whole[i].first_bit);
      }
      EXPECT_EQ(counters[Counter::dpdus_bad_header_crc],
                whole_counters[Counter::dpdus_bad_header_crc]);
    }
  }
}

TEST(Scanner, reports_each_frame_with_the_octet_that_completes_it) {
  BitStream stream;
  std::vector<std::size_t> last_octets;
  stream.add_bit(false);
  for (const char* name : {"X2", "X6", "X9", "X33"}) {
    stream.add(vector_octets(name));
    last_octets.push_back((stream.size() - 1) / 8);
  }
  Counters counters;
  Scanner scanner(counters);
  std::size_t found = 0;
  for (std::size_t i = 0; i < stream.octets().size(); ++i) {
    scanner.push(ByteSpan(stream.octets()).subspan(i, 1));
    while (scanner.poll()) {
      ASSERT_LT(found, last_octets.size());
      EXPECT_EQ(i, last_octets[found]);
      ++found;
    }
  }
  EXPECT_EQ(found, last_octets.size());
}

TEST(Scanner, garbage_between_frames_hides_none_of_them) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    BitStream stream;
    std::vector<Dpdu> sent;
    std::vector<std::size_t> starts;
    for (int i = 0; i < 20; ++i) {
      stream.add_noise(rng, rng.below(300));
      sent.push_back(random_dpdu(rng, 60));
      starts.push_back(stream.size());
      stream.add(encoded(sent.back()));
    }
    Counters counters;
    const auto found = scan(stream.octets(), counters);
    ASSERT_EQ(found.size(), sent.size()) << "round " << round;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_TRUE(found[i].dpdu == sent[i]);
      EXPECT_EQ(found[i].first_bit, starts[i]);
    }
  }
}

TEST(Scanner, bit_errors_never_cost_an_undamaged_frame) {
  Rng rng(5);
  std::uint64_t bad_headers = 0;
  std::uint64_t bad_segments = 0;
  for (const double error_rate : {1e-4, 1e-3, 1e-2}) {
    for (int round = 0; round < 100; ++round) {
      BitStream stream;
      std::vector<Dpdu> intact;
      std::size_t headers_intact = 0;
      for (int i = 0; i < 30; ++i) {
        const Dpdu dpdu = random_dpdu(rng, 200);
        Bytes octets = encoded(dpdu);
        const std::size_t header_bits = 8 * (2 + (octets[5] & 0x1Fu) + (octets[5] >> 5));
        std::size_t first_error = 8 * octets.size();
        for (std::size_t bit = 0; bit < 8 * octets.size(); ++bit) {
          if (!rng.chance(error_rate)) continue;
          octets[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
          first_error = std::min(first_error, bit);
        }
        if (first_error == 8 * octets.size()) intact.push_back(dpdu);
        if (first_error >= header_bits) ++headers_intact;
        stream.add(octets);
      }
      Counters counters;
      std::size_t next = 0;
      Scanner scanner(counters);
      scanner.push(stream.octets());
      scanner.finish();
      const auto found = drain(scanner);
      for (const auto& received : found) {
        if (!received.segment_ok) continue;
        ASSERT_LT(next, intact.size()) << "a damaged frame passed";
        EXPECT_TRUE(received.dpdu == intact[next]);
        ++next;
      }
      EXPECT_EQ(next, intact.size()) << "error rate " << error_rate << ", round " << round;
      EXPECT_EQ(found.size(), headers_intact) << "error rate " << error_rate;
      bad_headers += counters[Counter::dpdus_bad_header_crc];
      bad_segments += counters[Counter::dpdus_bad_segment_crc];
    }
  }
  EXPECT_GT(bad_headers, 100u);
  EXPECT_GT(bad_segments, 100u);
}

TEST(Scanner, bits_lost_or_added_inside_a_frame_do_not_cost_the_next) {
  const Bytes first = vector_octets("X33");
  const Bytes second = vector_octets("X9");
  for (int slip = -9; slip <= 9; ++slip) {
    BitStream stream;
    for (std::size_t bit = 0; bit < 8 * first.size(); ++bit) {
      if (slip < 0 && bit >= 4000 && bit < 4000 + static_cast<std::size_t>(-slip)) continue;
      stream.add_bit((first[bit / 8] >> bit % 8 & 1) != 0);
      for (int i = 0; bit == 4000 && i < slip; ++i) stream.add_bit(true);
    }
    stream.add(second);
    Counters counters;
    Scanner scanner(counters);
    scanner.push(stream.octets());
    const auto found = drain(scanner);
    ASSERT_EQ(found.size(), 2u) << "slip " << slip;
    EXPECT_EQ(found[0].segment_ok, slip == 0);
    EXPECT_TRUE(found[1].segment_ok);
  }
}

TEST(Scanner, n2_a_damaged_header_is_counted_and_reported_as_nothing) {
  const Bytes frame = vector_octets("X2");
  for (std::size_t bit = 16; bit < 8 * 18; ++bit) {
    Bytes damaged = frame;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    damaged.resize(damaged.size() + 40);
    Counters counters;
    EXPECT_TRUE(scan(damaged, counters).empty()) << "bit " << bit;
    EXPECT_EQ(counters[Counter::dpdus_bad_header_crc], 1u) << "bit " << bit;
    EXPECT_EQ(counters[Counter::dpdus_received], 0u);
  }
}

TEST(Scanner, n3_zeros_behind_a_sync_are_counted_as_a_bad_header) {
  Bytes octets(64);
  octets[10] = 0x90;
  octets[11] = 0xEB;
  Counters counters;
  EXPECT_TRUE(scan(octets, counters).empty());
  EXPECT_EQ(counters[Counter::dpdus_bad_header_crc], 1u);
}

// C.2(12)
TEST(Scanner, n4_a_frame_inside_a_good_segment_is_only_payload) {
  Data outer;
  outer.segment = vector_octets("X29");
  Bytes octets = encoded(outer);
  Counters counters;
  auto found = scan(octets, counters);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].dpdu == Dpdu{outer});

  // If the outer CRC-32 is broken and no frame stands where the next one should, the same octets
  // may be a frame after a bit slip.
  octets.back() ^= 1;
  append(octets, Bytes(10));
  Counters again;
  found = scan(octets, again);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[0].segment_ok);
  EXPECT_TRUE(std::holds_alternative<Warning>(found[1].dpdu));
  EXPECT_EQ(again[Counter::dpdus_bad_segment_crc], 1u);
}

// Goal:   a client cannot use a damaged frame to send D_PDUs of its own making.
// Method: a segment holds a whole FULL RESET and has one wrong bit after it. Another frame or
//         nothing follows. The stream comes at each bit offset, at once and octet by octet.
TEST(Scanner, a_frame_inside_a_damaged_segment_is_only_payload_while_no_bits_have_slipped) {
  const Common common{.destination = Address{5}, .source = Address{100}};
  Bytes inside;
  encode(Reset{.common = common, .full_reset = true, .frame_id = 1}, inside);
  Bytes segment = inside;
  segment.resize(segment.size() + 20);
  const Bytes outer = encoded(Data{common, {.start = true, .end = true}, {7}, segment});
  const Dpdu next = Warning{.common = common, .received_type = 3, .reason = 1};
  for (const bool followed : {true, false}) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      for (const bool by_octets : {false, true}) {
        SCOPED_TRACE(::testing::Message() << followed << offset << by_octets);
        BitStream stream;
        for (std::size_t i = 0; i < offset; ++i) stream.add_bit(true);
        Bytes damaged = outer;
        damaged[damaged.size() - 10] ^= 4;
        stream.add(damaged);
        if (followed) stream.add(encoded(next));
        Counters counters;
        Scanner scanner(counters);
        std::vector<Received> found;
        for (const std::uint8_t octet : stream.octets()) {
          scanner.push({&octet, 1});
          if (by_octets) drain(scanner, found);
        }
        scanner.finish();
        drain(scanner, found);
        ASSERT_EQ(found.size(), followed ? 2u : 1u);
        EXPECT_TRUE(std::holds_alternative<Data>(found[0].dpdu));
        EXPECT_FALSE(found[0].segment_ok);
        EXPECT_EQ(found.back().dpdu == next, followed);
        EXPECT_EQ(counters[Counter::dpdus_received], found.size());
        EXPECT_EQ(counters[Counter::dpdus_bad_segment_crc], 1u);
      }
    }
  }
}

// Goal:   a client cannot send D_PDUs of its own making with bits that its modem takes for the end
//         of the burst.
// Method: the segment of a frame holds a FULL RESET. The frame is the first, or follows one of
//         three others. It ends for the scanner at each octet, and then goes on.
TEST(Scanner, a_frame_inside_a_segment_that_was_cut_off_is_only_payload) {
  const Common common{.destination = Address{5}, .source = Address{100}};
  Bytes segment;
  encode(Reset{.common = common, .full_reset = true, .frame_id = 1}, segment);
  segment.resize(segment.size() + 20);
  const Dpdu outer = Data{common, {.start = true, .end = true}, {7}, segment};
  Bytes damaged = vector_octets("X9");
  damaged.back() ^= 1;
  for (const Bytes& before : {Bytes(), vector_octets("X9"), vector_octets("X29"), damaged}) {
    Bytes stream = before;
    const std::size_t begin = stream.size();
    append(stream, encoded(outer));
    for (std::size_t cut = begin; cut <= stream.size(); ++cut) {
      SCOPED_TRACE(::testing::Message() << to_hex(before) << ' ' << cut);
      Counters counters;
      Scanner scanner(counters);
      scanner.push(ByteSpan(stream).first(cut));
      auto found = drain(scanner);
      scanner.finish();
      drain(scanner, found);
      for (const auto& received : found) {
        EXPECT_FALSE(std::holds_alternative<Reset>(received.dpdu));
      }
      scanner.resume();
      scanner.push(ByteSpan(stream).subspan(cut));
      drain(scanner, found);
      ASSERT_FALSE(found.empty());
      EXPECT_TRUE(found.back().segment_ok && found.back().dpdu == outer);
    }
  }
}

// Here the next frame is cut off, too.
TEST(Scanner, a_frame_inside_a_damaged_segment_is_only_payload_though_the_next_is_cut_off) {
  Bytes stream = encoded(Data{.segment = vector_octets("X29")});
  const std::size_t end = stream.size();
  stream.back() ^= 1;
  append(stream, vector_octets("X9"));
  for (std::size_t cut = end; cut < stream.size(); ++cut) {
    Counters counters;
    Scanner scanner(counters);
    scanner.push(ByteSpan(stream).first(cut));
    scanner.finish();
    for (const auto& received : drain(scanner)) {
      EXPECT_FALSE(std::holds_alternative<Warning>(received.dpdu)) << cut;
    }
  }
}

TEST(Scanner, sync_words_in_a_segment_do_not_hide_the_next_frame) {
  Data first;
  for (int i = 0; i < 500; ++i) append(first.segment, Bytes{0x90, 0xEB});
  const Bytes next = vector_octets("X9");
  for (const bool damaged : {false, true}) {
    Bytes octets = encoded(first);
    if (damaged) octets[500] ^= 4;
    append(octets, next);
    append(octets, Bytes(40));
    Counters counters;
    const auto found = scan(octets, counters);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].segment_ok, !damaged);
    EXPECT_EQ(encoded(found[1].dpdu), next);
  }
}

TEST(Scanner, an_illegal_field_behind_a_good_crc_is_counted_as_malformed) {
  Bytes octets = vector_octets("X24b");
  octets[17] = 19;  // the C_PDU ends before its segment
  const std::uint16_t crc = header_crc(ByteSpan(octets).subspan(2, 20));
  octets[22] = static_cast<std::uint8_t>(crc & 0xFF);
  octets[23] = static_cast<std::uint8_t>(crc >> 8);
  append(octets, vector_octets("X9"));
  Counters counters;
  EXPECT_EQ(scan(octets, counters).size(), 1u);
  EXPECT_EQ(counters[Counter::dpdus_malformed], 1u);
  EXPECT_EQ(counters[Counter::dpdus_received], 1u);
}

TEST(Scanner, waits_for_the_rest_of_a_frame_until_the_transmission_ends) {
  const Bytes frame = vector_octets("X9");
  const std::size_t header = 20;
  for (std::size_t size = 0; size <= frame.size(); ++size) {
    SCOPED_TRACE(size);
    Counters counters;
    Scanner scanner(counters);
    scanner.push(ByteSpan(frame).first(size));
    EXPECT_EQ(scanner.poll().has_value(), size == frame.size());
    scanner.finish();
    const auto cut = scanner.poll();
    ASSERT_EQ(cut.has_value(), size >= header && size < frame.size());
    if (!cut) continue;
    EXPECT_FALSE(cut->segment_ok);
    const auto& data_ack = std::get<DataAck>(cut->dpdu);
    EXPECT_EQ(data_ack.ack.rx_lwe, FrameNumber{17});
    EXPECT_EQ(data_ack.segment, Bytes(frame.begin() + header,
                                      frame.begin() + std::min<std::ptrdiff_t>(
                                                          static_cast<std::ptrdiff_t>(size), 28)));
    EXPECT_FALSE(scanner.poll());
  }
}

TEST(Scanner, the_end_frees_frames_that_a_false_header_had_hidden) {
  Data claims_more;
  claims_more.segment = Bytes(1000);
  Bytes octets = encoded(claims_more);
  octets.resize(18);                    // only the header, which announces 1000 octets
  octets.insert(octets.begin(), 0x55);  // at a place where no frame would stand
  append(octets, vector_octets("X9"));
  Counters counters;
  Scanner scanner(counters);
  scanner.push(octets);
  EXPECT_FALSE(scanner.poll());
  scanner.finish();
  const auto found = drain(scanner);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(encoded(found[1].dpdu), vector_octets("X9"));
}

TEST(Scanner, the_end_frees_frames_that_a_false_sync_had_hidden) {
  Bytes octets = from_hex("90 EB 20 00 00 FA").value();  // looks like a header of 35 octets
  append(octets, vector_octets("X29"));
  Counters counters;
  Scanner scanner(counters);
  scanner.push(octets);
  EXPECT_FALSE(scanner.poll());
  scanner.finish();
  const auto found = drain(scanner);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(encoded(found[0].dpdu), vector_octets("X29"));
}

TEST(Scanner, a_frame_inside_the_span_of_a_false_header_is_found) {
  Bytes octets = from_hex("90 EB 20 00 00 FA").value();
  append(octets, vector_octets("X29"));
  append(octets, Bytes(40));
  Counters counters;
  EXPECT_EQ(scan(octets, counters).size(), 1u);
  EXPECT_EQ(counters[Counter::dpdus_bad_header_crc], 1u);
}

/// Writes a new header CRC into the frame.
void sign_header(Bytes& frame, std::size_t header_end) {
  const auto crc = header_crc(ByteSpan(frame).subspan(kSyncOctets, header_end - kSyncOctets));
  frame[header_end] = static_cast<std::uint8_t>(crc);
  frame[header_end + 1] = static_cast<std::uint8_t>(crc >> 8);
}

// Goal:   a false header whose CRC happens to fit does not hide a frame that begins inside it.
// Method: the address and flags of a DATA-ONLY are the beginning of a WARNING, and its CRC happens
//         to continue that WARNING.
TEST(Scanner, a_good_frame_that_begins_inside_a_false_header_is_found) {
  const Bytes& good = vector_octets("X1");
  constexpr std::size_t kHeaderEnd = 2 + 4 + 7 + 3;  // place of the CRC
  constexpr std::size_t kGoodAt = 6;
  bool tried = false;
  for (unsigned eot = 0; eot < 65536 && !tried; ++eot) {
    Bytes stream = {
        0x90, 0xEB, 0x00, static_cast<std::uint8_t>(eot >> 8), static_cast<std::uint8_t>(eot),
        0xE9};
    append(stream, ByteSpan(good).first(kHeaderEnd - kGoodAt));
    stream.resize(kHeaderEnd + 2);
    sign_header(stream, kHeaderEnd);
    if (stream[kHeaderEnd] != good.back()) continue;
    tried = true;
    stream.resize(stream.size() + 20, 0x11);
    Counters counters;
    const auto found = scan(stream, counters);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_FALSE(found[0].segment_ok);
    EXPECT_EQ(found[1].first_bit, 8 * kGoodAt);
    EXPECT_EQ(found[1].octets, good.size());
  }
  EXPECT_TRUE(tried);
}

TEST(Scanner, a_good_frame_that_begins_inside_an_illegal_header_is_found) {
  Bytes stream = {0x90, 0xEB, 0x70, 0, 0, 0xEF};
  append(stream, vector_octets("X1"));
  append(stream, Bytes{0, 0xFF, 0xFF, 0, 0, 0, 0});  // an offset past the end of the C_PDU; CRC
  sign_header(stream, stream.size() - 2);
  stream.resize(stream.size() + 20);
  Counters counters;
  const auto found = scan(stream, counters);
  EXPECT_EQ(counters[Counter::dpdus_malformed], 1u);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first_bit, 8u * 6);
}

// Goal:   a burst that is cut anywhere loses the frame that is cut, and no other.
TEST(Scanner, a_burst_cut_anywhere_loses_only_the_frame_that_was_cut) {
  Bytes stream;
  std::vector<std::size_t> ends;
  for (const auto& vector : test::vectors()) {
    if (vector.octets.size() > 60) continue;
    append(stream, vector.octets);
    ends.push_back(stream.size());
  }
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Counters counters;
    Scanner scanner(counters);
    scanner.push(ByteSpan(stream).first(cut));
    scanner.finish();
    std::size_t whole = 0;
    for (const auto& received : drain(scanner)) whole += received.segment_ok;
    const auto wanted = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin();
    ASSERT_EQ(whole, static_cast<std::size_t>(wanted)) << cut;
  }
}

TEST(Scanner, a_reset_forgets_the_last_transmission) {
  const Bytes frame = vector_octets("X9");
  Counters counters;
  Scanner scanner(counters);
  scanner.push(ByteSpan(frame).first(20));
  EXPECT_FALSE(scanner.poll());
  scanner.reset();
  scanner.push(ByteSpan(frame).subspan(20));
  EXPECT_FALSE(scanner.poll());
  scanner.reset();
  scanner.push(frame);
  const auto received = scanner.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->first_bit, 0u);
}

// The transmission is cut in any octet. The cut frame is first reported as damaged and then found
// whole. No earlier frame is reported a second time.
TEST(Scanner, a_transmission_that_was_finished_too_early_goes_on) {
  Bytes octets = vector_octets("X2");
  append(octets, vector_octets("X9"));
  append(octets, vector_octets("X29"));
  Counters whole_counters;
  const auto whole = scan(octets, whole_counters);
  ASSERT_EQ(whole.size(), 3u);
  for (std::size_t cut = 0; cut <= octets.size(); ++cut) {
    SCOPED_TRACE(cut);
    Counters counters;
    Scanner scanner(counters);
    scanner.push(ByteSpan(octets).first(cut));
    auto found = drain(scanner);
    scanner.finish();
    for (const auto& damaged : drain(scanner)) EXPECT_FALSE(damaged.segment_ok);
    scanner.reset();
    scanner.resume();
    scanner.push(ByteSpan(octets).subspan(cut));
    drain(scanner, found);
    ASSERT_EQ(found.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(found[i].dpdu == whole[i].dpdu);
      EXPECT_EQ(found[i].first_bit, whole[i].first_bit);
    }
  }
}

TEST(Scanner, bit_indices_run_on_over_many_pushes) {
  Rng rng(6);
  Counters counters;
  Scanner scanner(counters);
  std::uint64_t expected = 0;
  for (int i = 0; i < 2000; ++i) {
    const Bytes octets = encoded(random_dpdu(rng, 300));
    scanner.push(octets);
    const auto received = scanner.poll();
    ASSERT_TRUE(received);
    ASSERT_EQ(received->first_bit, expected);
    ASSERT_FALSE(scanner.poll());
    expected += 8 * octets.size();
  }
}

TEST(Scanner, holds_sixteen_mebioctets_and_no_more) {
  Counters counters;
  Scanner scanner(counters);
  const Bytes most(Scanner::kUnpolledOctetsMax);
  scanner.push(most);
  EXPECT_FALSE(scanner.poll());  // zeros hold no sync, so nothing is kept
  scanner.push(ByteSpan(most).first(most.size() - 1));
  EXPECT_DEATH(scanner.push(Bytes(10)), "kUnpolledOctetsMax");
}

}  // namespace
}  // namespace s5066::pdu
