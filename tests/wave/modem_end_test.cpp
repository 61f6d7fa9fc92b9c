// SPDX-License-Identifier: Apache-2.0
// Tests that a burst ends at the end-of-message mark, and not at user bits that look like it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "modem/api/airtime.h"
#include "modem/waveforms/message/message_bits.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// Modes of each waveform, and of each way in which blocks are decoded.
constexpr const char* kModes[] = {
    "110a-75-zero",    "110a-75-short",   "110a-150-short", "110a-600-zero", "110a-600-short",
    "110a-2400-zero",  "110a-2400-short", "110a-4800-zero", "4539-3200-us",  "4539-9600-vs",
    "4539-12800-zero", "4285-75-zero",    "4285-300-short", "4285-600-zero", "4285-2400-short",
    "4285-3600-zero",  "110d-75-s",       "110d-150-us",    "110d-600-us",   "110d-2400-s"};

/// Writes the mark over the user's bits from `bit` on.
void put_mark(Bytes& octets, std::size_t bit) {
  ASSERT_LE(bit + kEndOfMessageBits, 8 * octets.size());
  for (unsigned i = kEndOfMessageBits; i-- > 0; ++bit) {
    const unsigned place = bit % 8;
    const unsigned value = kEndOfMessage >> i & 1;
    octets[bit / 8] =
        static_cast<std::uint8_t>((octets[bit / 8] & ~(1U << place)) | value << place);
  }
}
void put_zeros(Bytes& octets, std::size_t from, std::size_t to) {
  for (std::size_t bit = from; bit < to && bit < 8 * octets.size(); ++bit) {
    octets[bit / 8] = static_cast<std::uint8_t>(octets[bit / 8] & ~(1U << bit % 8));
  }
}

double snr_for(const Mode& mode) {
  return mode.rate_bps >= 8000 ? 40 : mode.rate_bps >= 2400 ? 25 : 15;
}

/// Holds the received bursts of one sent burst between silences.
struct Sent {
  std::vector<HeardBurst> bursts;
  std::uint64_t end = 0;  // sample behind the burst's last sample
};
Sent send(const Mode& mode, const Bytes& octets, std::uint64_t seed) {
  Tape tape;
  tape.silence(0.4).burst(mode, octets);
  Sent sent{.bursts = {}, .end = tape.size()};
  tape.silence(3).noise(snr_for(mode), seed);
  sent.bursts = listen_for(mode, tape);
  return sent;
}

void expect_whole(const Mode& mode, const Bytes& octets, std::uint64_t seed) {
  const Sent sent = send(mode, octets, seed);
  expect_whole(sent.bursts, mode, octets);
  if (sent.bursts.size() != 1 || !sent.bursts[0].ended) return;
  EXPECT_NEAR(static_cast<double>(sent.bursts[0].ended->ended_sample),
              static_cast<double>(sent.end), 12);
}

/// Returns the end of the third block or a later one, in bits.
std::size_t end_of_a_block(const Mode& mode) {
  const std::size_t block = block_bits(mode);
  return std::max<std::size_t>(3, 100 / block) * block;
}
/// Returns the number of octets up to some blocks behind end_of_a_block().
std::size_t some_octets(const Mode& mode) {
  return (end_of_a_block(mode) + block_bits(mode) + 600) / 8;
}

TEST(ModemEnd, the_mark_among_the_users_bits_ends_nothing) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const std::size_t block = block_bits(mode);
    Bytes octets = random_octets(some_octets(mode), 3);
    put_mark(octets, end_of_a_block(mode) - block / 2 - 16);
    expect_whole(mode, octets, 1);
  }
}

TEST(ModemEnd, the_mark_may_straddle_two_blocks) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Bytes octets = random_octets(some_octets(mode), 4);
    put_mark(octets, end_of_a_block(mode) - 13);
    expect_whole(mode, octets, 2);
  }
}

TEST(ModemEnd, the_mark_may_end_a_block) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    // If a block has fewer bits than the mark, the mark spans several blocks.
    for (const unsigned bits_behind : {0U, 1U, 7U}) {
      SCOPED_TRACE(bits_behind);
      Bytes octets = random_octets(some_octets(mode), 5);
      const std::size_t end = end_of_a_block(mode) - bits_behind;
      put_mark(octets, end - kEndOfMessageBits);
      put_zeros(octets, end, end + bits_behind);
      expect_whole(mode, octets, 3);
    }
  }
}

TEST(ModemEnd, the_mark_may_stand_before_the_real_one) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Bytes octets = random_octets(some_octets(mode) + 3, 6);
    put_mark(octets, 8 * octets.size() - kEndOfMessageBits);
    put_mark(octets, 8 * octets.size() - 2 * kEndOfMessageBits);
    expect_whole(mode, octets, 4);
    // The octets end so that the real mark ends the block, or nearly does.
    const std::size_t block = block_bits(mode);
    std::size_t blocks = 2;
    while (block * blocks < 200) ++blocks;
    octets.resize((block * blocks - trailer_bits(mode) % block) / 8);
    put_mark(octets, 8 * octets.size() - kEndOfMessageBits);
    expect_whole(mode, octets, 5);
  }
}

TEST(ModemEnd, many_marks_at_any_bit_end_nothing) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Bytes octets = random_octets(some_octets(mode) + 8 * 11, 7);
    for (std::size_t i = 0; i < 8; ++i) put_mark(octets, 150 + 65 * i);
    ASSERT_EQ((150 + 65 * 7) % 8, (150 - 1) % 8);
    expect_whole(mode, octets, 6);
  }
}

Bytes octets_of(const std::vector<HeardBurst>& bursts) {
  Bytes all;
  for (const HeardBurst& burst : bursts) append(all, burst.octets());
  return all;
}

// The zeros are more than fill a last block, so the modem reports the end, and then that the burst
// goes on.
TEST(ModemEnd, zeros_behind_the_mark_may_go_on_over_whole_blocks) {
  unsigned ended_early = 0;
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const std::size_t begin = end_of_a_block(mode) - kEndOfMessageBits - 24;
    const std::size_t zeros = trailer_bits(mode) + 2 * block_bits(mode) + 500;
    Bytes octets = random_octets((begin + zeros + 3 * block_bits(mode) + 400) / 8, 8);
    put_mark(octets, begin);
    put_zeros(octets, begin + kEndOfMessageBits, begin + zeros);
    const Sent sent = send(mode, octets, 7);
    EXPECT_EQ(bit_errors(octets_of(sent.bursts), octets), 0u);
    // No end is reported if the zeros fill too little of a block, or are decoded together with the
    // following data.
    if (sent.bursts.size() == 1) continue;
    ASSERT_EQ(sent.bursts.size(), 2u);
    ++ended_early;
    EXPECT_EQ(sent.bursts[1].acquired.mode, mode);
    for (const HeardBurst& burst : sent.bursts) {
      ASSERT_TRUE(burst.ended);
      EXPECT_EQ(burst.ended->reason, CarrierDownReason::end_of_message);
    }
    EXPECT_NEAR(static_cast<double>(sent.bursts[1].ended->ended_sample),
                static_cast<double>(sent.end), 12);
    // The times match to the sample, so that a node can join the two parts.
    const HeardBytes& last = sent.bursts[0].portions.back();
    ASSERT_FALSE(sent.bursts[1].portions.empty());
    const double sent_s = 8.0 * static_cast<double>(last.bytes.size()) / mode.rate_bps;
    EXPECT_NEAR(static_cast<double>(sent.bursts[1].portions[0].first_bit_sample),
                static_cast<double>(last.first_bit_sample) + sent_s * kSampleRate, 2);
  }
  EXPECT_GE(ended_early, 12u);
}

// --- A transmitter that goes on ------------------------------------------------------------------

/// A burst whose transmitter goes on behind the end of the message: it sends zeros for some blocks,
/// and does not finish the last of these.
struct GoingOn {
  Tape tape;
  std::uint64_t end = 0;  // sample behind the last block of the message
};
GoingOn going_on(const Mode& mode, const Bytes& octets, double blocks) {
  Bytes sent = octets;
  const std::size_t message = 8 * octets.size();
  const auto more = static_cast<std::size_t>(std::ceil(blocks + 2)) * block_bits(mode);
  sent.resize(octets.size() + (trailer_bits(mode) + block_bits(mode) + more) / 8 + 1);
  put_mark(sent, message);
  GoingOn made;
  const auto start = made.tape.silence(0.4).burst(mode, sent);
  const std::uint64_t count = block_count(mode, octets.size());
  made.end = start + 4 * (preamble_symbols(mode) + data_symbols(mode, count));
  const std::uint64_t later =
      start + 4 * (preamble_symbols(mode) + data_symbols(mode, count + 1)) - made.end;
  made.tape.samples().resize(made.end +
                             static_cast<std::size_t>(blocks * static_cast<double>(later)));
  return made;
}

void expect_ended(const HeardBurst& burst, const Bytes& octets, std::uint64_t end) {
  EXPECT_EQ(bit_errors(burst.octets(), octets), 0u);
  ASSERT_TRUE(burst.ended);
  EXPECT_EQ(burst.ended->reason, CarrierDownReason::end_of_message);
  EXPECT_NEAR(static_cast<double>(burst.ended->ended_sample), static_cast<double>(end), 40);
}

// The zeros behind the mark belong to the burst that ended.
TEST(ModemEnd, the_mark_stands_when_zeros_and_an_unfinished_block_follow) {
  for (const char* text : kModes) {
    const Mode mode = mode_of(text);
    for (const double blocks : {0.4, 1.0, 2.6}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(blocks));
      const Bytes octets = random_octets(54, 8);
      GoingOn sent = going_on(mode, octets, blocks);
      sent.tape.silence(7).noise(snr_for(mode), 5);
      const auto bursts = listen_for(mode, sent.tape);
      ASSERT_EQ(bursts.size(), 1u);
      expect_ended(bursts[0], octets, sent.end);
    }
  }
}

// A receiver of several modes also detects transmissions without their preamble.
TEST(ModemEnd, what_follows_the_mark_is_no_transmission_without_a_preamble) {
  for (const char* text : {"110a-75-short", "110a-600-short", "110a-2400-short", "4539-3200-us",
                           "110d-75-s", "110d-600-s"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const Bytes octets = random_octets(54, 8);
    GoingOn sent = going_on(mode, octets, 3000.0 / static_cast<double>(block_bits(mode)));
    sent.tape.silence(7).noise(snr_for(mode), 5);
    const auto bursts = listen(sent.tape);
    ASSERT_EQ(bursts.size(), 1u);
    expect_ended(bursts[0], octets, sent.end);
  }
}

TEST(ModemEnd, the_mark_stands_wherever_it_lies_before_the_end_of_a_block) {
  for (const char* text : {"110a-2400-short", "4539-3200-us", "110d-600-us"}) {
    const Mode mode = mode_of(text);
    const std::size_t block = block_bits(mode);
    const std::size_t last = (3 * block - kEndOfMessageBits) / 8;
    for (std::size_t count = last - 6; count <= last + 4; ++count) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(count));
      const Bytes octets = random_octets(count, count);
      GoingOn sent = going_on(mode, octets, 1.5);
      sent.tape.silence(5).noise(snr_for(mode), 5);
      const auto bursts = listen_for(mode, sent.tape);
      ASSERT_EQ(bursts.size(), 1u);
      expect_ended(bursts[0], octets, sent.end);
    }
  }
}

TEST(ModemEnd, a_preamble_directly_behind_an_unfinished_block_is_found) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const Bytes first = random_octets(54, 8);
    const Bytes second = random_octets(60, 9);
    GoingOn sent = going_on(mode, first, 1.7);
    sent.tape.burst(mode, second);
    const std::uint64_t end = sent.tape.size();
    sent.tape.silence(5).noise(snr_for(mode), 5);
    const auto bursts = listen_for(mode, sent.tape);
    ASSERT_EQ(bursts.size(), 2u);
    expect_ended(bursts[0], first, sent.end);
    expect_ended(bursts[1], second, end);
  }
}

TEST(ModemEnd, a_burst_directly_behind_another_is_found) {
  for (const char* text : kModes) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const Bytes first = random_octets(54, 8);
    const Bytes second = random_octets(60, 9);
    Tape tape;
    tape.silence(0.4).burst(mode, first);
    tape.burst(mode, second);
    tape.silence(5).noise(snr_for(mode), 5);
    const auto bursts = listen_for(mode, tape);
    ASSERT_EQ(bursts.size(), 2u);
    EXPECT_EQ(bursts[0].octets(), first);
    Bytes heard = bursts[1].octets();
    ASSERT_GE(heard.size(), second.size());
    // Frames of STANAG 4285 in the same grid may continue the first burst, whose mark was then user
    // data.
    if (mode.waveform == Waveform::stanag4285) {
      heard.erase(heard.begin(), heard.end() - static_cast<std::ptrdiff_t>(second.size()));
    }
    EXPECT_EQ(heard, second);
  }
}

// The octets kept back behind the mark come in several portions, all of them before the end is
// reported.
TEST(ModemEnd, octets_behind_thousands_of_zeros_come_though_the_burst_ends_with_them) {
  for (const char* text : {"110a-2400-short", "4539-9600-vs", "4285-2400-zero", "110d-2400-s"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Bytes octets = random_octets(54, 8);
    octets.resize(54 + 4000);
    put_mark(octets, std::size_t{8} * 54);
    octets.push_back(0x55);
    const Sent sent = send(mode, octets, 9);
    EXPECT_EQ(octets_of(sent.bursts), octets);
    ASSERT_FALSE(sent.bursts.empty());
    expect_ended(sent.bursts.back(), sent.bursts.back().octets(), sent.end);
  }
}

// At these ratios a single frame does not show whether it was sent.
TEST(ModemEnd, zeros_behind_the_mark_end_nothing_where_the_signal_is_faint) {
  struct Row {
    const char* mode;
    double snr_db;
  };
  for (const Row& row : {Row{"4539-3200-us", 6}, Row{"4285-75-zero", -5}, Row{"4285-75-short", -5},
                         Row{"4285-300-zero", 0}, Row{"110d-600-us", 1}, Row{"110d-1200-us", 4}}) {
    const Mode mode = mode_of(row.mode);
    const std::size_t begin = end_of_a_block(mode) - kEndOfMessageBits - 24;
    const std::size_t zeros = trailer_bits(mode) + 2 * block_bits(mode) + 500;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(std::string(row.mode) + ' ' + std::to_string(seed));
      Bytes octets = random_octets((begin + zeros + 3 * block_bits(mode) + 400) / 8, seed);
      put_mark(octets, begin);
      put_zeros(octets, begin + kEndOfMessageBits, begin + zeros);
      Tape tape;
      tape.silence(0.4).burst(mode, octets);
      const std::uint64_t end = tape.size();
      tape.silence(2).noise(row.snr_db, seed);
      const auto bursts = listen_for(mode, tape);
      EXPECT_EQ(bit_errors(octets_of(bursts), octets), 0u);
      ASSERT_FALSE(bursts.empty());
      ASSERT_TRUE(bursts.back().ended);
      EXPECT_EQ(bursts.back().ended->reason, CarrierDownReason::end_of_message);
      EXPECT_NEAR(static_cast<double>(bursts.back().ended->ended_sample), static_cast<double>(end),
                  40);
    }
  }
}

// Every block of 4539-3200-us ends with zeros behind a mark, so that a new end is reported before
// the last one has been revoked.
TEST(ModemEnd, a_mark_and_zeros_over_and_over_lose_nothing) {
  for (const char* text : {"4539-3200-us", "110d-3200-us", "110a-2400-short"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Bytes octets(40 * block_bits(mode) / 8);
    constexpr std::size_t kPeriod = 2 * kEndOfMessageBits;
    for (std::size_t at = 0; at + kPeriod <= 8 * octets.size(); at += kPeriod) {
      put_mark(octets, at);
    }
    octets.push_back(0x55);
    const Sent sent = send(mode, octets, 9);
    EXPECT_EQ(bit_errors(octets_of(sent.bursts), octets), 0u);
  }
}

// The signal stops at the end of a block. The mark is in the middle of that block, or at its end,
// where it cannot be distinguished from the real mark.
TEST(ModemEnd, a_burst_that_is_cut_off_behind_a_mark_is_given_up) {
  for (const char* text : {"110a-600-short", "110a-2400-short", "4539-9600-vs", "110d-2400-s"}) {
    const Mode mode = mode_of(text);
    const std::size_t block = block_bits(mode);
    for (const std::size_t behind : {block / 2, std::size_t{0}}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(behind));
      Bytes octets = random_octets(some_octets(mode) + block, 9);
      const std::size_t end = end_of_a_block(mode);
      put_mark(octets, end - behind - kEndOfMessageBits);
      Tape tape;
      const auto start = tape.silence(0.4).burst(mode, octets);
      const auto cut = start + 4 * (preamble_symbols(mode) + data_symbols(mode, end / block));
      tape.samples().resize(cut);
      tape.silence(8).noise(snr_for(mode), 10);
      const auto bursts = listen_for(mode, tape);
      ASSERT_EQ(bursts.size(), 1u);
      ASSERT_TRUE(bursts[0].ended);
      EXPECT_LT(bursts[0].ended->at_sample, cut + 5 * kSampleRate);
      const Bytes heard = bursts[0].octets();
      ASSERT_LE(heard.size(), octets.size());
      EXPECT_EQ(heard,
                Bytes(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(heard.size())));
      // The decoder keeps up to 110 bits back.
      if (behind > 0) {
        EXPECT_GE(8 * heard.size() + 110, end);
        EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::lost);
      }
    }
  }
}

// The frames of the second burst lie where the next frames of the first would lie.
TEST(ModemEnd, the_next_burst_of_4285_does_not_go_on_with_the_last) {
  for (const char* text : {"4285-75-zero", "4285-600-short", "4285-2400-zero"}) {
    const Mode mode = mode_of(text);
    for (const unsigned frames : {2U, 3U, 5U}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(frames));
      const Bytes first = random_octets(30, 1);
      const Bytes second = random_octets(40, 2);
      Tape tape;
      const auto start = tape.silence(0.4).burst(mode, first);
      constexpr std::uint64_t kFrame = 4 * 256;
      const std::uint64_t sent = tape.size() - start;
      tape.samples().resize(start + (sent + kFrame - 1) / kFrame * kFrame + frames * kFrame);
      tape.burst(mode, second);
      tape.silence(2).noise(snr_for(mode), 3);
      auto bursts = listen_for(mode, tape);
      // The second burst may be reported as a carrier before its start is found.
      std::erase_if(bursts, [](const HeardBurst& burst) { return burst.portions.empty(); });
      ASSERT_EQ(bursts.size(), 2u);
      EXPECT_EQ(bursts[0].octets(), first);
      EXPECT_EQ(bursts[1].octets(), second);
    }
  }
}

// --- Time until the end is reported --------------------------------------------------------------

/// Returns the delay of the decoder in bits.
std::size_t decoder_lag(const Mode& mode) {
  if (mode.waveform == Waveform::stanag4539 || mode.waveform == Waveform::ms110d) return 0;
  return 64;
}

// Goal:   the search for more data behind a mark delays the end only if the block leaves a doubt.
// Method: octets of many counts, except for those that leave less than 16 bits behind the mark in
//         the block in which it is decoded. No portion comes in the last block if that block has no
//         octets.
// Accept: the end is reported in the hop in which the burst ends, or, if its last block is decoded
//         later, with its octets.
TEST(ModemEnd, it_is_told_with_the_last_octets_or_as_the_burst_ends) {
  for (const char* text : {"110a-75-short", "110a-150-short", "110a-600-short", "110a-2400-short",
                           "4539-3200-us", "4539-9600-vs", "4285-75-zero", "4285-600-short",
                           "4285-2400-short", "110d-75-s", "110d-600-us", "110d-2400-s"}) {
    const Mode mode = mode_of(text);
    const std::size_t block = block_bits(mode);
    unsigned judged = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      const std::size_t count = 30 + i * (block / 8 / 12 + 1);
      const std::size_t rest = trailer_bits(mode) - kEndOfMessageBits;
      const std::size_t flush = mode.waveform == Waveform::stanag4285 ? rest - 144 : 0;
      const std::size_t end = 8 * count + kEndOfMessageBits;
      const std::size_t decoded = end + flush + decoder_lag(mode);
      // Blocks decoded by the end of the burst: the last one counts only if the mark is not decoded
      // before it.
      const std::size_t blocks = block_count(mode, count);
      const std::size_t known = decoded > (blocks - 1) * block ? blocks : blocks - 1;
      if (known * block < decoded + 16) continue;
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(count));
      const Sent sent = send(mode, random_octets(count, i), i);
      ASSERT_EQ(sent.bursts.size(), 1u);
      ASSERT_TRUE(sent.bursts[0].ended);
      const BurstEnded& ended = *sent.bursts[0].ended;
      const std::uint64_t hop = kSampleRate / 100;
      const std::uint64_t due = (ended.ended_sample + hop - 1) / hop * hop;
      EXPECT_EQ(ended.at_sample, std::max(due, sent.bursts[0].portions.back().at_sample));
      ++judged;
    }
    EXPECT_GE(judged, 1u) << text;
  }
}

}  // namespace
}  // namespace s5066::modem
