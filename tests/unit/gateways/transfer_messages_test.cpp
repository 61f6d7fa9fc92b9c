// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_messages.h"

#include <gtest/gtest.h>

namespace s5066::file_relay {
namespace {

using gateways::ImageForm;

TransferManifest manifest() {
  TransferManifest file;
  file.name = "map.png";
  file.size = file.image_octets = 40000;
  file.mtime = 1'700'000'000;
  file.mode = 0644;
  file.priority = 9;
  file.expiry_s = 86400;
  file.sha256 = Bytes(32, 0xAB);
  return file;
}

std::vector<TransferMessage> samples() {
  TransferManifest large = manifest();
  large.form = ImageForm::zstd;
  large.size = 5'000'000;
  large.image_octets = 200'000;
  large.block_size_log2 = gateways::block_size_log2_for(large.image_octets);
  large.block_digests.assign(4, Bytes(8, 0x11));
  TransferManifest delta = manifest();
  delta.form = ImageForm::delta;
  delta.image_octets = 1000;
  delta.base = Bytes(32, 0xCD);
  return {OfferMessage{{1}, true, false, false, false, manifest()},
          OfferMessage{{2}, false, true, false, false, large},
          OfferMessage{{3}, false, false, false, false, delta},
          BlockMessage{{4}, 2000, {1, 2, 3}},
          HaveMessage{{5}, true, {{0, 10}, {20, 30}}},
          HaveMessage{{5}, false, {}},
          DoneMessage{{6}, true, Bytes(8, 0xAB)},
          RefuseMessage{{7}, RefuseReason::no_room, "full"},
          SignatureMessage{{8}, 100, 10, Bytes(32, 1), {1, 2}},
          ControlMessage{{9}, ControlAction::cancel, true, "gone"},
          ControlMessage{{9}, ControlAction::suspend, false, ""},
          ControlMessage{{9}, ControlAction::resume, false, ""},
          RequestMessage{{10}, InboxRequest::get, 0, "a/b"},
          RequestMessage{{10}, InboxRequest::list, 7, ""},
          RequestMessage{{10}, InboxRequest::remove, 0, "x"},
          RequestMessage{{10}, InboxRequest::stat, 0, "x"},
          AnswerMessage{{11}, true, 0, 2, "", {{"a", 5, 6, false, {}}, {"d", 0, 7, true, {}}}},
          AnswerMessage{{11}, true, 0, 1, "", {{"a", 5, 6, false, Bytes(32, 2)}}}};
}

TEST(TransferMessages, each_message_is_read_as_it_was_written) {
  for (const TransferMessage& message : samples()) {
    const Bytes octets = encode(message);
    const auto again = decode_transfer_message(octets);
    ASSERT_TRUE(again) << to_string(again.error()) << " " << to_hex(octets);
    EXPECT_EQ(*again, message) << to_hex(octets);
  }
}

TEST(TransferMessages, octets_of_the_documented_examples) {
  EXPECT_EQ(to_hex(encode(BlockMessage{{0x0102}, 0x0300, {0xAA, 0xBB}})),
            "02 00 00 01 02 00 00 03 00 AA BB");
  EXPECT_EQ(to_hex(encode(HaveMessage{{5}, true, {{0, 2033}}})),
            "03 00 00 00 05 01 00 00 00 00 00 00 07 F1");
  EXPECT_EQ(to_hex(encode(DoneMessage{{5}, false, Bytes(8, 0xAB)})),
            "04 00 00 00 05 00 AB AB AB AB AB AB AB AB");
}

// The octets of a block and the ranges of HAVE may end anywhere; all other prefixes lack a field.
TEST(TransferMessages, a_message_that_ends_early_is_refused) {
  for (const TransferMessage& message : samples()) {
    const Bytes octets = encode(message);
    for (std::size_t size = 0; size < octets.size(); ++size) {
      const auto read = decode_transfer_message(ByteSpan(octets).first(size));
      EXPECT_FALSE(read && *read == message) << size;
    }
  }
}

TEST(TransferMessages, ranges_that_overlap_touch_or_run_backwards_are_refused) {
  for (const std::vector<FileRange>& ranges : std::vector<std::vector<FileRange>>{
           {{0, 10}, {5, 20}}, {{0, 10}, {10, 20}}, {{10, 20}, {0, 5}}, {{5, 5}}, {{9, 3}}}) {
    EXPECT_FALSE(decode_transfer_message(encode(HaveMessage{{1}, true, ranges})));
  }
  HaveMessage most{{1}, true, {}};
  for (std::size_t i = 0; i < kHaveRangesMax; ++i) most.ranges.push_back({i * 10, i * 10 + 5});
  Bytes octets = encode(most);
  EXPECT_TRUE(decode_transfer_message(octets));
  append(octets, Bytes{0, 1, 0, 0, 0, 1, 0, 1});
  EXPECT_FALSE(decode_transfer_message(octets));
}

TEST(TransferMessages, a_manifest_that_contradicts_itself_is_refused) {
  const auto accepts = [](const TransferManifest& file) {
    return decode_transfer_message(encode(OfferMessage{{1}, false, false, false, false, file}))
        .ok();
  };
  EXPECT_TRUE(accepts(manifest()));
  TransferManifest file = manifest();
  file.image_octets = 39999;
  EXPECT_FALSE(accepts(file)) << "a plain image is the file";
  file = manifest();
  file.name.clear();
  EXPECT_FALSE(accepts(file));
  file = manifest();
  file.mode = 04755;
  EXPECT_FALSE(accepts(file));
  file = manifest();
  file.size = file.image_octets = 65536;
  EXPECT_TRUE(accepts(file));
  file.size = file.image_octets = 65537;
  EXPECT_FALSE(accepts(file)) << "above 2^16 octets there are digests of blocks";
  file.block_size_log2 = 16;
  file.block_digests.assign(2, Bytes(8, 0));
  EXPECT_TRUE(accepts(file));
  file.block_digests.pop_back();
  EXPECT_FALSE(accepts(file));
}

TEST(TransferMessages, another_version_is_told_apart_from_a_damaged_message) {
  Bytes octets = encode(OfferMessage{{1}, false, false, false, false, manifest()});
  octets[5] = 2;
  const auto read = decode_transfer_message(octets);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::unsupported);
}

TEST(TransferMessages, the_largest_file_has_at_most_64_digests_of_blocks) {
  EXPECT_EQ(gateways::block_size_log2_for(65536), 0);
  EXPECT_EQ(gateways::block_size_log2_for(65537), 16);
  EXPECT_EQ(gateways::block_size_log2_for(64u << 16), 16);
  EXPECT_EQ(gateways::block_size_log2_for((64u << 16) + 1), 17);
  EXPECT_EQ(gateways::block_size_log2_for(UINT32_MAX), 26);
}

}  // namespace
}  // namespace s5066::file_relay
