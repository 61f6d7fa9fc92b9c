// SPDX-License-Identifier: Apache-2.0
// These tests check the marks that end a message, and user bits that only look like one.
#include "modem/waveforms/message/message_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory_resource>

#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

constexpr Trailer kTail{.flush_bits = 0, .block_bits = 500};
constexpr std::array<std::uint8_t, 32> kMark = {0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1,
                                                1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0};

using Bits = std::vector<std::uint8_t>;

Bits random_bits(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  Bits bits(count);
  for (auto& bit : bits) bit = rng.chance(0.5);
  return bits;
}
void put(Bits& bits, std::size_t at, std::size_t zeros_behind = 0) {
  std::copy(kMark.begin(), kMark.end(), bits.begin() + static_cast<std::ptrdiff_t>(at));
  std::fill_n(bits.begin() + static_cast<std::ptrdiff_t>(at + kMark.size()), zeros_behind,
              std::uint8_t{0});
}
Bytes octets_of(const Bits& bits, std::size_t count) {
  Bytes octets(count / 8);
  for (std::size_t i = 0; i < 8 * octets.size(); ++i) {
    octets[i / 8] = static_cast<std::uint8_t>(octets[i / 8] | bits[i] << i % 8);
  }
  return octets;
}

/// Takes in bits as a receiver does and keeps all octets.
class Reader {
 public:
  explicit Reader(const Trailer& trailer) : message_(trailer) {}
  MessageBits& message() { return message_; }
  const Bytes& octets() const { return octets_; }
  void take(std::span<const std::uint8_t> bits, float wrong_share = 0) {
    message_.push(bits);
    message_.judge(wrong_share);
    do {
      const auto portion = message_.take();
      EXPECT_EQ(portion.first_bit, 8 * octets_.size());
      append(octets_, portion.bytes);
    } while (message_.more());
  }

 private:
  MessageBits message_;
  Bytes octets_;
};

TEST(MessageBits, what_is_sent_is_octets_mark_and_zeros) {
  const Bytes octets = {0x01, 0xF0};
  const Bits bits = message_bits(octets, {.flush_bits = 10, .block_bits = 60});
  Bits expected(60);
  expected[0] = 1;
  std::fill_n(expected.begin() + 12, 4, std::uint8_t{1});
  put(expected, 16);
  EXPECT_EQ(bits, expected);
  EXPECT_EQ(message_bits(octets, {.flush_bits = 13, .block_bits = 60}).size(), 120u);
}

TEST(MessageBits, a_mark_with_zeros_up_to_the_end_of_a_block_ends_it) {
  for (std::size_t count = 0; count < 200; ++count) {
    const Bytes octets = octets_of(random_bits(8 * count, count + 1), 8 * count);
    const Bits bits = message_bits(octets, kTail);
    Reader reader(kTail);
    for (std::size_t at = 0; at < bits.size(); at += 500) {
      reader.take(std::span(bits).subspan(at, 500));
    }
    EXPECT_EQ(reader.octets(), octets);
    const auto& mark = reader.message().mark();
    ASSERT_TRUE(mark) << count;
    EXPECT_EQ(mark->end, 8 * count + 32);
    EXPECT_EQ(mark->transmission, bits.size());
    EXPECT_EQ(mark->filled, bits.size() >= mark->end + 16) << count;
  }
}

// The rule holds for every place of the mark, also across two blocks. A mark that ends a block is
// left to the next block to decide.
TEST(MessageBits, octets_behind_a_mark_of_the_user_come_after_all) {
  for (std::size_t at = 300; at < 800; ++at) {
    Bits bits = random_bits(2000, at);
    put(bits, at);
    Reader reader(kTail);
    for (std::size_t from = 0; from < bits.size(); from += 500) {
      if (from > 0) reader.message().go_on();  // more blocks came
      reader.take(std::span(bits).subspan(from, 500));
      const auto& mark = reader.message().mark();
      if (mark) {
        EXPECT_FALSE(mark->filled);
        EXPECT_LT(from + 500 - at - 32, 40u) << at;
      }
    }
    EXPECT_EQ(reader.octets(), octets_of(bits, 2000 - 31)) << at;
  }
}

TEST(MessageBits, many_marks_at_every_bit_offset) {
  Bits bits = random_bits(4000, 3);
  for (std::size_t i = 0; i < 40; ++i) put(bits, 100 + 75 * i);
  put(bits, 3300);  // two in a row, one across a block end
  put(bits, 3332);
  put(bits, 3484);
  Reader reader(kTail);
  for (std::size_t from = 0; from < bits.size(); from += 500) {
    reader.take(std::span(bits).subspan(from, 500));
  }
  EXPECT_FALSE(reader.message().mark());
  EXPECT_EQ(reader.octets(), octets_of(bits, 4000 - 31));
}

TEST(MessageBits, only_so_many_zeros_are_no_accident) {
  for (const std::size_t zeros : {0U, 15U, 16U, 200U}) {
    Bits bits = random_bits(500, 4);
    put(bits, 500 - 32 - zeros, zeros);
    Reader reader(kTail);
    reader.take(bits);
    ASSERT_TRUE(reader.message().mark());
    EXPECT_EQ(reader.message().mark()->filled, zeros >= 16) << zeros;
  }
}

TEST(MessageBits, eight_ones_where_nothing_is_wrong_are_the_users) {
  for (const std::size_t ones : {1U, 7U, 8U}) {
    Bits bits(500);
    put(bits, 100);
    for (std::size_t i = 0; i < ones; ++i) bits[150 + 40 * i] = 1;
    Reader reader(kTail);
    reader.take(bits, 1e-5F);
    EXPECT_EQ(reader.message().mark().has_value(), ones < 8) << ones;
    // Fewer than eight ones do not refute the mark, but it does not end the message either.
    if (const auto& mark = reader.message().mark()) {
      EXPECT_FALSE(mark->filled);
    }
  }
}

TEST(MessageBits, ones_of_a_noisy_block_do_not_keep_the_mark_from_ending_it) {
  // A row gives the expected share of wrong bits after the mark, the number of ones there, and
  // whether the reader takes them for fill or doubts the mark.
  struct Row {
    float share;
    std::size_t ones;
    bool filled;
    bool doubted;
  };
  for (const Row& row :
       {Row{1e-3F, 0, true, false}, Row{1e-3F, 7, true, false}, Row{1e-3F, 12, false, true},
        Row{0.03F, 40, true, false}, Row{0.03F, 80, false, true}, Row{0.3F, 180, false, true}}) {
    Bits bits(500);
    put(bits, 100);
    for (std::size_t i = 0; i < row.ones; ++i) bits[132 + 2 * i] = 1;
    Reader reader(kTail);
    reader.take(bits, row.share);
    // Noise alone never shows that the message goes on.
    ASSERT_TRUE(reader.message().mark()) << row.ones;
    EXPECT_EQ(reader.message().mark()->filled, row.filled) << row.ones;
    EXPECT_EQ(reader.message().mark()->doubted, row.doubted) << row.ones;
  }
}

// Bits after the end of the transmission mean nothing because they may be noise.
TEST(MessageBits, bits_behind_the_last_block_do_not_count) {
  Bits bits = random_bits(1500, 9);
  put(bits, 400, 68);
  Reader reader(kTail);
  reader.take(bits);
  ASSERT_TRUE(reader.message().mark());
  EXPECT_TRUE(reader.message().mark()->filled);
  EXPECT_EQ(reader.octets(), octets_of(bits, 400));
}

TEST(MessageBits, the_rest_of_a_flush_may_come_block_by_block) {
  constexpr Trailer kFlush{.flush_bits = 144, .block_bits = 45};
  Bits bits = random_bits(450, 5);
  put(bits, 45, 144);
  Reader reader(kFlush);
  reader.take(std::span(bits).first(90));
  ASSERT_TRUE(reader.message().mark());
  EXPECT_EQ(reader.message().mark()->transmission, 225u);
  EXPECT_FALSE(reader.message().mark()->filled);
  reader.take(std::span(bits).subspan(90, 45));
  EXPECT_TRUE(reader.message().mark()->filled);
  bits[200] = bits[201] = 1;
  for (std::size_t i = 203; i < 225; ++i) bits[i] = 1;
  reader.take(std::span(bits).subspan(135, 90));
  EXPECT_FALSE(reader.message().mark());
  reader.take(std::span(bits).subspan(225));
  EXPECT_EQ(reader.octets(), octets_of(bits, 450 - 31));
}

TEST(MessageBits, zeros_behind_the_last_block_leave_the_mark_and_others_deny_it) {
  Bits bits = random_bits(500, 6);
  put(bits, 500 - 32 - 5, 5);
  Reader reader(kTail);
  reader.take(bits);
  ASSERT_TRUE(reader.message().mark());
  EXPECT_FALSE(reader.message().mark()->filled);
  reader.take(Bits(500));
  ASSERT_TRUE(reader.message().mark());
  EXPECT_TRUE(reader.message().mark()->filled);
  EXPECT_EQ(reader.message().mark()->transmission, 500u);
  EXPECT_EQ(reader.message().mark()->idle_until, 1000u);
  Bits others(500);
  std::fill_n(others.begin() + 100, 7, std::uint8_t{1});
  reader.take(others);
  EXPECT_FALSE(reader.message().mark()->denied);
  EXPECT_EQ(reader.message().mark()->idle_until, 1500u);
  reader.take(others);
  EXPECT_TRUE(reader.message().mark()->denied);
  EXPECT_EQ(reader.message().mark()->idle_until, 1500u);
  EXPECT_EQ(reader.octets().size(), (500u - 32 - 5) / 8);
}

// A transmitter without data may stay on for any time. Its zeros take no memory, and no bit is
// lost.
TEST(MessageBits, a_million_zeros_are_counted_and_come_after_all) {
  Bits all = random_bits(500, 7);
  put(all, 400, 68);
  all.resize(1'000'500);
  const Bits rest = random_bits(1000, 8);
  all.insert(all.end(), rest.begin(), rest.end());
  std::array<std::byte, std::size_t{512} << 10> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size(),
                                             std::pmr::null_memory_resource());
  MessageBits message(kTail, 500, &memory);
  Bytes octets;
  for (std::size_t at = 0; at < all.size(); at += 500) {
    message.push(std::span(all).subspan(at, 500));
    message.judge(0);
    if (at == all.size() - 500) {
      EXPECT_TRUE(message.mark() && message.mark()->denied);
      message.go_on();
    }
    do append(octets, message.take().bytes);
    while (message.more());
    ASSERT_TRUE(at == all.size() - 500 || octets.size() <= 400 / 8);
  }
  EXPECT_EQ(octets, octets_of(all, all.size() - 31));
}

}  // namespace
}  // namespace s5066::modem
