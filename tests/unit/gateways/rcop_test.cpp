// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/rcop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gateways/file_relay/bftp.h"
#include "s5066d/base/rng.h"

namespace s5066::gateways {
namespace {

using file_relay::application_length;
using file_relay::BftpHeader;
using file_relay::kBftpApplication;

constexpr Address kPeer{0x01020304};
constexpr Address kOther{0x01020305};
constexpr std::size_t kMtu = 2048;

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

/// Returns all U_PDUs of one file.
std::vector<Bytes> segments(const std::string& name, const Bytes& content,
                            std::uint8_t connection_id, std::uint8_t updu_id,
                            std::size_t mtu = kMtu) {
  const Bytes pdu =
      file_relay::bftp_pdu({name, static_cast<std::uint32_t>(content.size())}, content);
  std::vector<Bytes> updus;
  const std::size_t count = rcop_segment_count(pdu.size(), mtu);
  for (std::size_t i = 0; i < count; ++i) {
    updus.push_back(rcop_segment({.connection_id = connection_id,
                                  .updu_id = updu_id,
                                  .segment = static_cast<std::uint16_t>(i),
                                  .application_id = kBftpApplication},
                                 pdu, mtu));
  }
  return updus;
}

class Reassembly : public testing::Test {
 protected:
  std::optional<RcopReassembler::Complete> feed(const Bytes& updu, Address from = kPeer) {
    return reassembler.on_updu(now, from, kRcopSap, updu);
  }
  /// Feeds the U_PDUs in the given order. The last one must complete the file, and none before it.
  Bytes complete(const std::vector<Bytes>& updus, Address from = kPeer) {
    Bytes data;
    for (std::size_t i = 0; i < updus.size(); ++i) {
      auto done = feed(updus[i], from);
      EXPECT_EQ(done.has_value(), i + 1 == updus.size()) << i;
      if (done) data = done->data;
    }
    return data;
  }

  Instant now{};
  RcopReassembler::Config config{.length_of = &application_length,
                                 .contexts_max = 4,
                                 .pdu_octets_max = 10000,
                                 .source_octets_max = 15000,
                                 .segments_max = 100,
                                 .idle_timeout_max = std::chrono::seconds(100)};
  RcopReassembler reassembler{config};
};

// F.8.1(1)
TEST(Rcop, header_is_laid_out_as_in_the_worked_example) {
  const auto updus = segments("MAP.BIN", counting(5000), 3, 0x2A);
  ASSERT_EQ(updus.size(), 3u);
  EXPECT_EQ(updus[0].size(), 2048u);
  EXPECT_EQ(updus[1].size(), 2048u);
  EXPECT_EQ(updus[2].size(), 934u);
  EXPECT_EQ(to_hex(ByteSpan(updus[0]).first(22)),
            "30 2A 00 00 10 02 07 4D 41 50 2E 42 49 4E 00 00 13 88 00 01 02 03");
  EXPECT_EQ(to_hex(ByteSpan(updus[1]).first(10)), "30 2A 00 01 10 02 EE EF F0 F1");
  EXPECT_EQ(to_hex(ByteSpan(updus[2]).first(10)), "30 2A 00 02 10 02 E8 E9 EA EB");
}

// F.8.1(2)
TEST(Rcop, every_prefix_of_a_header_is_refused_and_reserved_bits_are_ignored) {
  const Bytes updu = *from_hex("30 2A 00 02 10 02");
  for (std::size_t n = 0; n < updu.size(); ++n) EXPECT_FALSE(decode_rcop(ByteSpan(updu).first(n)));
  EXPECT_EQ(decode_rcop(updu)->header, (RcopHeader{3, 0x2A, 2, 0x1002}));
  EXPECT_EQ(decode_rcop(*from_hex("3F 2A 00 02 10 02"))->header, (RcopHeader{3, 0x2A, 2, 0x1002}));
}

// F.8.3(1)
TEST(Rcop, a_file_that_fills_its_last_segment_needs_no_short_one) {
  const auto sizes = [](std::size_t p) {
    std::vector<std::size_t> octets;
    for (const Bytes& updu : segments("MAP.BIN", counting(p), 0, 0)) octets.push_back(updu.size());
    return octets;
  };
  EXPECT_EQ(sizes(2030), (std::vector<std::size_t>{2048}));
  EXPECT_EQ(sizes(2031), (std::vector<std::size_t>{2048, 7}));
  EXPECT_EQ(sizes(4072), (std::vector<std::size_t>{2048, 2048}));
}

TEST_F(Reassembly, boundary_sizes_complete_on_their_last_segment) {
  for (const std::size_t p : {0u, 1u, 2029u, 2030u, 2031u, 4071u, 4072u, 4073u, 5000u}) {
    SCOPED_TRACE(p);
    const Bytes pdu = complete(segments("MAP.BIN", counting(p), 0, 1));
    EXPECT_EQ(pdu, file_relay::bftp_pdu({"MAP.BIN", static_cast<std::uint32_t>(p)}, counting(p)));
  }
}

// F.8.3(2)
TEST_F(Reassembly, order_and_repeats_do_not_matter) {
  Rng rng(7);
  const Bytes content = counting(5000);
  for (int round = 0; round < 200; ++round) {
    auto updus = segments("f", content, 0, static_cast<std::uint8_t>(round), 64 + rng.below(2000));
    const std::size_t count = updus.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (rng.chance(0.3)) updus.push_back(updus[i]);
    }
    for (std::size_t i = updus.size(); i > 1; --i) {
      std::swap(updus[i - 1], updus[rng.below(static_cast<std::uint32_t>(i))]);
    }
    std::size_t delivered = 0;
    for (const Bytes& updu : updus) {
      if (auto done = feed(updu)) {
        ++delivered;
        EXPECT_EQ(done->data, file_relay::bftp_pdu({"f", 5000}, content));
      }
    }
    EXPECT_GE(delivered, 1u);
  }
}

TEST_F(Reassembly, two_senders_and_two_ids_do_not_mix) {
  const Bytes mine = counting(3000);
  Bytes theirs = counting(3000);
  std::reverse(theirs.begin(), theirs.end());
  const auto a = segments("same", mine, 0, 9);
  const auto b = segments("same", theirs, 0, 9);
  const auto c = segments("same", theirs, 1, 9);
  EXPECT_FALSE(feed(a[0], kPeer));
  EXPECT_FALSE(feed(b[0], kOther));
  EXPECT_FALSE(feed(c[0], kPeer));
  EXPECT_EQ(feed(a[1], kPeer)->data, file_relay::bftp_pdu({"same", 3000}, mine));
  EXPECT_EQ(feed(b[1], kOther)->data, file_relay::bftp_pdu({"same", 3000}, theirs));
  EXPECT_EQ(feed(c[1], kPeer)->data, file_relay::bftp_pdu({"same", 3000}, theirs));
  EXPECT_EQ(reassembler.contexts(), 0u);
}

TEST_F(Reassembly, an_id_that_comes_round_starts_afresh) {
  const auto old_file = segments("old", counting(5000), 0, 255);
  EXPECT_FALSE(feed(old_file[0]));
  EXPECT_FALSE(feed(old_file[1]));
  const Bytes fresh = complete(segments("new", counting(4500), 0, 255));
  EXPECT_EQ(fresh, file_relay::bftp_pdu({"new", 4500}, counting(4500)));
  EXPECT_EQ(reassembler.counters()[RcopCounter::restarted], 1u);
}

TEST_F(Reassembly, what_an_earlier_try_left_goes_when_the_file_is_there) {
  const auto first = segments("f", counting(5000), 0, 7);
  EXPECT_FALSE(feed(first[0]));
  EXPECT_FALSE(feed(segments("f", counting(5000), 2, 8)[0]));  // another one
  EXPECT_FALSE(feed(segments("g", counting(5000), 3, 7)[0]));  // of another make, perhaps
  complete(segments("f", counting(5000), 1, 7));
  EXPECT_EQ(reassembler.contexts(), 2u);
  EXPECT_FALSE(reassembler.poll_dropped());
}

TEST_F(Reassembly, what_is_given_up_is_told_once_with_its_beginning) {
  const auto file = segments("f", counting(5000), 0, 1);
  EXPECT_FALSE(feed(file[0]));
  EXPECT_FALSE(feed(file[2]));
  EXPECT_FALSE(feed(segments("g", counting(5000), 0, 2)[1]));  // nothing is known about it
  now += config.idle_timeout_max;
  reassembler.on_deadline(now);
  const auto dropped = reassembler.poll_dropped();
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->key.updu_id, 1);
  EXPECT_EQ(dropped->application_id, kBftpApplication);
  EXPECT_EQ(dropped->octets, file[0].size() - kRcopHeaderBytes);
  EXPECT_EQ(dropped->begin.size(), RcopReassembler::kBeginOctetsMax);
  EXPECT_FALSE(reassembler.poll_dropped());
}

TEST_F(Reassembly, a_later_segment_with_other_octets_discards_what_was_held) {
  const auto first = segments("f", counting(9000), 0, 1);
  Bytes changed = first[1];
  changed.back() ^= 1;
  EXPECT_FALSE(feed(first[0]));
  EXPECT_FALSE(feed(first[1]));
  EXPECT_FALSE(feed(changed));
  EXPECT_EQ(reassembler.octets_held(kPeer), changed.size() - kRcopHeaderBytes);
}

TEST_F(Reassembly, an_unknown_application_gets_its_first_segment_alone) {
  const Bytes updu = *from_hex("00 05 00 00 90 00 01 02");
  const auto done = feed(updu);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->application_id, 0x9000);
  EXPECT_EQ(to_hex(done->data), "01 02");
}

TEST_F(Reassembly, the_largest_pdu_arrives_and_one_octet_more_is_ignored) {
  const std::size_t fits = config.pdu_octets_max - 6;  // the header of a one-letter name
  EXPECT_FALSE(complete(segments("f", counting(fits), 0, 1)).empty());
  for (const Bytes& updu : segments("f", counting(fits + 1), 0, 2)) EXPECT_FALSE(feed(updu));
  EXPECT_EQ(reassembler.counters()[RcopCounter::too_large], 1u);
  EXPECT_LE(reassembler.octets_held(kPeer), kMtu);
  now += config.idle_timeout_max;
  reassembler.on_deadline(now);
  EXPECT_EQ(reassembler.contexts(), 0u);
}

TEST_F(Reassembly, segment_numbers_end_at_the_limit) {
  const Bytes last = *from_hex("00 05 00 63 10 02 AA");    // 99
  const Bytes beyond = *from_hex("00 05 00 64 10 02 AA");  // 100
  EXPECT_FALSE(feed(last));
  EXPECT_EQ(reassembler.counters()[RcopCounter::too_large], 0u);
  EXPECT_FALSE(feed(beyond));
  EXPECT_EQ(reassembler.counters()[RcopCounter::too_large], 1u);
}

TEST_F(Reassembly, a_newer_file_crowds_out_the_stalest_one) {
  for (std::uint8_t id = 0; id < 4; ++id) {
    EXPECT_FALSE(feed(segments("f", counting(3000), 0, id)[0]));
    now += std::chrono::seconds(1);
  }
  EXPECT_EQ(reassembler.counters()[RcopCounter::crowded_out], 0u);
  EXPECT_FALSE(feed(segments("f", counting(3000), 0, 4)[0]));
  EXPECT_EQ(reassembler.counters()[RcopCounter::crowded_out], 1u);
  EXPECT_TRUE(feed(segments("f", counting(3000), 0, 1)[1]));
  EXPECT_FALSE(feed(segments("f", counting(3000), 0, 0)[1]));
}

TEST_F(Reassembly, a_source_with_many_files_under_way_crowds_out_its_own) {
  const Address other{kPeer.value + 1};
  EXPECT_FALSE(feed(segments("f", counting(3000), 0, 9)[0], other));
  for (std::uint8_t id = 0; id < 5; ++id) {
    now += std::chrono::seconds(1);
    EXPECT_FALSE(feed(segments("f", counting(3000), 0, id)[0]));
  }
  EXPECT_EQ(reassembler.counters()[RcopCounter::crowded_out], 2u);
  EXPECT_TRUE(feed(segments("f", counting(3000), 0, 9)[1], other));
}

TEST_F(Reassembly, one_source_cannot_hold_more_than_its_share) {
  for (std::uint8_t id = 0; id < 3; ++id) {
    const auto updus = segments("f", counting(9000), 0, id);
    for (std::size_t i = 0; i + 1 < updus.size(); ++i) EXPECT_FALSE(feed(updus[i]));
    EXPECT_LE(reassembler.octets_held(kPeer), config.source_octets_max);
    now += std::chrono::seconds(1);
  }
  EXPECT_GT(reassembler.counters()[RcopCounter::crowded_out], 0u);
  EXPECT_TRUE(feed(segments("f", counting(9000), 0, 2).back()));
}

TEST_F(Reassembly, silence_ends_a_context_at_the_timeout_and_not_before) {
  const auto updus = segments("f", counting(3000), 0, 1);
  EXPECT_FALSE(feed(updus[0]));
  EXPECT_EQ(reassembler.next_deadline(), now + config.idle_timeout_max);
  reassembler.on_deadline(now + config.idle_timeout_max - Duration(1));
  EXPECT_EQ(reassembler.contexts(), 1u);
  reassembler.on_deadline(now + config.idle_timeout_max);
  EXPECT_EQ(reassembler.contexts(), 0u);
  EXPECT_EQ(reassembler.counters()[RcopCounter::timed_out], 1u);
}

TEST_F(Reassembly, random_octets_never_break_a_limit) {
  Rng rng(11);
  for (int i = 0; i < 20000; ++i) {
    Bytes updu(rng.below(40));
    for (auto& octet : updu) octet = static_cast<std::uint8_t>(rng.below(4));
    feed(updu);
    ASSERT_LE(reassembler.contexts(), config.contexts_max);
    ASSERT_LE(reassembler.octets_held(kPeer), config.source_octets_max);
  }
}

}  // namespace
}  // namespace s5066::gateways
