// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "s5066d/base/bounded_queue.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/crc.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/log.h"
#include "s5066d/base/printable.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/spsc_ring.h"
#include "s5066d/base/trace.h"

namespace s5066 {
namespace {

using std::chrono::seconds;

Bytes ascii(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(Printable, a_text_of_others_becomes_one_printable_line) {
  EXPECT_EQ(printable("a\r\nb\x7F \xC3\xA9~", 100), "a??b? ??~");
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

TEST(Crc, matches_the_vectors_of_the_standard) {
  const Bytes warning = *from_hex("F0 00 00 47 05 64 02");  // C.3.2.8, C.3.2.11
  EXPECT_EQ(header_crc(warning), 0x1E5F);
  EXPECT_EQ(segment_crc(warning), 0xF4178F95u);
  EXPECT_EQ(header_crc(ascii("123456789")), 0x7D01);
  EXPECT_EQ(segment_crc(ascii("123456789")), 0x6738A384u);
  EXPECT_EQ(segment_crc({}), 0u);
  Bytes all(256);
  for (unsigned i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(header_crc(all), 0xDABC);
  EXPECT_EQ(segment_crc(all), 0x0F84A524u);
}

/// Computes the CRC bit by bit, as the standard draws the register.
std::uint32_t segment_crc_of_bits(ByteSpan bytes) {
  std::uint32_t crc = 0;
  for (const auto byte : bytes) {
    for (unsigned i = 0; i < 8; ++i) {
      const bool feedback = ((crc ^ byte >> i) & 1) != 0;
      crc = crc >> 1 ^ (feedback ? 0xF3A4E550u : 0u);
    }
  }
  return crc;
}

TEST(Crc, of_a_segment_is_the_same_at_every_length) {
  Rng rng(7);
  Bytes bytes;
  for (int size = 0; size < 70; ++size) {
    EXPECT_EQ(segment_crc(bytes), segment_crc_of_bits(bytes)) << size;
    bytes.push_back(static_cast<std::uint8_t>(rng.below(256)));
  }
}

TEST(Address, text_round_trips_and_limits_hold) {
  EXPECT_EQ(to_string(Address{0x01020304}), "1.2.3.4");
  EXPECT_EQ(to_string(Address::all_stations()), "31.255.255.255");
  EXPECT_EQ(*parse_address("15.255.255.255"), (Address{Address::kMax, false}));
  EXPECT_EQ(*parse_address("16.0.0.0"), (Address{0, true}));
  for (const char* bad :
       {"", "1.2.3", "1.2.3.4.", "1.2.3.256", "32.0.0.0", "1.2.3.4x", "-1.2.3.4"}) {
    EXPECT_FALSE(parse_address(bad).ok()) << bad;
  }
}

TEST(FrameNumber, counts_modulo_256) {
  EXPECT_EQ(FrameNumber{250} + 10, FrameNumber{4});
  EXPECT_EQ(FrameNumber{3} - 5, FrameNumber{254});
  EXPECT_EQ(distance(FrameNumber{250}, FrameNumber{4}), 10u);
  EXPECT_EQ(distance(FrameNumber{4}, FrameNumber{250}), 246u);
}

TEST(FrameNumber, long_ones_count_modulo_65536) {
  EXPECT_EQ(LongFrameNumber{65530} + 10, LongFrameNumber{4});
  EXPECT_EQ(LongFrameNumber{3} - 5, LongFrameNumber{65534});
  EXPECT_EQ(distance(LongFrameNumber{65530}, LongFrameNumber{4}), 10u);
  EXPECT_EQ(distance(LongFrameNumber{4}, LongFrameNumber{65530}), 65526u);
  EXPECT_EQ(short_number({0x1234}), FrameNumber{0x34});
}

TEST(Bytes, hex_round_trips_and_odd_digits_are_refused) {
  EXPECT_EQ(to_hex(*from_hex("90eb 00")), "90 EB 00");
  EXPECT_FALSE(from_hex("9").ok());
  EXPECT_FALSE(from_hex("9G").ok());
}

TEST(BoundedQueue, refuses_the_item_after_the_last_that_fits) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_FALSE(queue.push(3));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.push(4));
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 4);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(DeadlineTable, gives_due_timers_earliest_first_and_once) {
  enum class Timer { a, b, count };
  DeadlineTable<Timer> timers;
  timers.set(Timer::a, Instant(seconds(5)));
  timers.set(Timer::b, Instant(seconds(3)));
  EXPECT_EQ(timers.next(), Instant(seconds(3)));
  EXPECT_EQ(timers.pop_due(Instant(seconds(2))), std::nullopt);
  EXPECT_EQ(timers.pop_due(Instant(seconds(5))), Timer::b);
  EXPECT_EQ(timers.pop_due(Instant(seconds(5))), Timer::a);
  EXPECT_EQ(timers.pop_due(Instant(seconds(5))), std::nullopt);
}

TEST(SpscRing, keeps_order_across_the_wrap_and_refuses_when_full) {
  SpscRing<int> ring(4);
  for (int round = 0; round < 10; ++round) {
    const std::array<int, 6> in = {round, 1, 2, 3, 4, 5};
    EXPECT_EQ(ring.write(in), 4u);
    EXPECT_FALSE(ring.push(9));
    std::array<int, 6> out{};
    EXPECT_EQ(ring.read(out), 4u);
    EXPECT_EQ(out[0], round);
    EXPECT_EQ(out[3], 3);
  }
}

TEST(Rng, is_the_same_for_the_same_seed_and_roughly_uniform) {
  Rng a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double g = a.gaussian();
    sum += g;
    squares += g * g;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
}

TEST(TraceRing, keeps_the_newest_events) {
  TraceRing ring(3);
  for (int i = 0; i < 5; ++i) {
    ring.on_trace(TraceEvent{
        .at = {}, .kind = TraceKind::dpdu_sent, .peer = {}, .a = i, .b = 0, .octets = {}});
  }
  ASSERT_EQ(ring.events().size(), 3u);
  EXPECT_EQ(ring.events().front().a, 2);
  EXPECT_EQ(ring.events().back().a, 4);
}

TEST(TraceEvent, says_what_is_known_of_discarded_data) {
  TraceEvent event{.kind = TraceKind::updu_discarded, .a = 17};
  event.discarded = Discarded{.reason = DiscardReason::expired, .octets = 300, .clients = {}};
  EXPECT_NE(to_string(event).find(" updu=17 sent=0 reason=expired octets=300"), std::string::npos);
  event.discarded->clients = {{SapId{3}, SapId{4}, 7}};
  EXPECT_NE(to_string(event).find(" octets=300 source_sap=3 destination_sap=4 priority=7"),
            std::string::npos);
}

TEST(Tables, every_trace_kind_and_reason_has_a_name) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(TraceKind::count); ++i) {
    EXPECT_FALSE(to_string(static_cast<TraceKind>(i)).empty()) << i;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(DiscardReason::count); ++i) {
    EXPECT_FALSE(to_string(static_cast<DiscardReason>(i)).empty()) << i;
  }
}

TEST(LogLine, a_value_from_outside_cannot_forge_a_line) {
  struct Sink final : LogSink {
    std::string line;
    void write(LogLevel, std::string_view text) override { line = text; }
  } sink;
  LogLine(sink, LogLevel::info, "file").kv("name", "a b\n\"x\"=1").kv("octets", 5);
  EXPECT_EQ(sink.line, "file name=\"a b\\x0a\\\"x\\\"=1\" octets=5");
}

TEST(LogLine, text_in_another_alphabet_stays_as_it_is) {
  for (const std::string text :
       {"R\xC3\xB6ntgen", "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", "\xE2\x82\xAC", "\xF0\x9F\x93\xA1"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(LogLine, octets_that_are_not_utf_8_are_escaped_one_by_one) {
  EXPECT_EQ(escaped("a\xFF"), "a\\xff");
  EXPECT_EQ(escaped("R\xF6ntgen"), "R\\xf6ntgen") << "ISO 8859-1";
  EXPECT_EQ(escaped("\xC3"), "\\xc3") << "cut off";
  EXPECT_EQ(escaped("\xE2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(escaped("\xE2\x82x"), "\\xe2\\x82x");
  EXPECT_EQ(escaped("\xC0\x8A"), "\\xc0\\x8a") << "an overlong line end";
  EXPECT_EQ(escaped("\xE0\x80\x8A"), "\\xe0\\x80\\x8a") << "an overlong line end";
  EXPECT_EQ(escaped("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(escaped("\x80"), "\\x80");
}

TEST(LogLine, characters_that_hide_or_turn_the_text_are_escaped) {
  EXPECT_EQ(escaped("a\x1B[2J"), "a\\x1b[2J");
  EXPECT_EQ(escaped("\xC2\x9B"), "\\xc2\\x9b") << "a C1 control, CSI";
  EXPECT_EQ(escaped("\xC2\xA0"), "\xC2\xA0") << "behind the last C1 control";
  EXPECT_EQ(escaped("fdp.\xE2\x80\xAEtxt"), "fdp.\\xe2\\x80\\xaetxt") << "right to left";
  EXPECT_EQ(escaped("\xE2\x81\xA6x\xE2\x81\xA9"), "\\xe2\\x81\\xa6x\\xe2\\x81\\xa9");
  EXPECT_EQ(escaped("\xE2\x80\xA8"), "\\xe2\\x80\\xa8") << "a line separator";
  EXPECT_EQ(escaped("\xE2\x80\x8B"), "\\xe2\\x80\\x8b") << "no width";
  EXPECT_EQ(escaped("\xE2\x80\x90"), "\xE2\x80\x90") << "a hyphen, the next behind them";
  EXPECT_EQ(escaped("\xD8\x9C"), "\\xd8\\x9c") << "the Arabic letter mark";
}

}  // namespace
}  // namespace s5066
