// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_envelope.h"

#include <gtest/gtest.h>

namespace s5066::file_relay {
namespace {

OfferMessage offer_of(std::uint32_t octets) {
  OfferMessage offer{.number = {7}, .holes = true, .manifest = {}};
  offer.manifest.name = "chart.png";
  offer.manifest.size = offer.manifest.image_octets = octets;
  offer.manifest.sha256 = Bytes(gateways::kDigestOctets, 1);
  return offer;
}

Bytes image_of(std::size_t octets) {
  Bytes image(octets);
  for (std::size_t i = 0; i < octets; ++i) image[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return image;
}

std::vector<Bytes> cut(const Bytes& content, std::size_t record) {
  std::vector<Bytes> records;
  for (std::size_t at = 0; at < content.size(); at += record) {
    const auto end = std::min(content.size(), at + record);
    records.emplace_back(content.begin() + static_cast<std::ptrdiff_t>(at),
                         content.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return records;
}

Bytes image_from(const Envelope& envelope, std::size_t octets) {
  Bytes image(octets);
  for (const BlockMessage& block : envelope.blocks) {
    std::copy(block.octets.begin(), block.octets.end(), image.begin() + block.at);
  }
  return image;
}

TEST(TransferEnvelope, what_went_in_comes_out_for_every_size_near_the_edge_of_a_record) {
  for (std::uint32_t octets = 0; octets < 900; ++octets) {
    const OfferMessage offer = offer_of(octets);
    const Bytes image = image_of(octets);
    for (const std::size_t record :
         {record_octets_min(offer), record_octets_min(offer) + 12, std::size_t{240}}) {
      const Bytes content =
          to_envelope(offer, image, {0, octets}, {.record_octets = record, .offer_again = true});
      const Envelope envelope = read_envelope(cut(content, record));
      ASSERT_TRUE(envelope.offer && *envelope.offer == offer) << octets << " " << record;
      ASSERT_EQ(envelope.unreadable, 0u) << octets << " " << record;
      ASSERT_EQ(image_from(envelope, octets), image) << octets << " " << record;
    }
  }
}

TEST(TransferEnvelope, every_record_is_read_without_the_others) {
  const OfferMessage offer = offer_of(5000);
  const Bytes image = image_of(5000);
  const Bytes content =
      to_envelope(offer, image, {1000, 5000}, {.record_octets = 240, .offer_again = true});
  auto records = cut(content, 240);
  std::size_t octets = 0;
  for (const Bytes& record : records) {
    const Envelope alone = read_envelope({record});
    EXPECT_EQ(alone.number, TransferNumber{7});
    EXPECT_EQ(alone.unreadable, 0u);
    for (const BlockMessage& block : alone.blocks) {
      EXPECT_GE(block.at, 1000u);
      octets += block.octets.size();
    }
  }
  EXPECT_EQ(octets, 4000u);
  records.erase(records.begin());
  EXPECT_TRUE(read_envelope(records).offer.has_value());
}

TEST(TransferEnvelope, bad_octets_are_left_out_and_counted) {
  const OfferMessage offer = offer_of(300);
  const Bytes content = to_envelope(offer, image_of(300), {0, 300}, {.record_octets = 240});
  for (std::size_t length = 0; length < 240; ++length) {
    const Bytes part(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(length));
    const Envelope envelope = read_envelope({part});
    EXPECT_LE(envelope.blocks.size(), 1u);
  }
  OfferMessage other = offer_of(10);
  other.number = {8};
  const Bytes stranger = to_envelope(other, image_of(10), {0, 10}, {.record_octets = 240});
  auto records = cut(content, 240);
  records.push_back(stranger);
  const Envelope envelope = read_envelope(records);
  EXPECT_EQ(envelope.offer->number, TransferNumber{7});
  EXPECT_EQ(envelope.unreadable, 2u);  // offer and block of another file
  EXPECT_FALSE(read_envelope({Bytes(240, 0xFF)}).number);
  EXPECT_EQ(read_envelope({Bytes(240, 0xFF)}).unreadable, 1u);
  EXPECT_FALSE(read_envelope({}).number);
}

}  // namespace
}  // namespace s5066::file_relay
