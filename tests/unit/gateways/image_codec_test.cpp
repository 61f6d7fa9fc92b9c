// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/image_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "s5066d/base/rng.h"

namespace s5066::gateways {
namespace {

Bytes random_octets(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  Bytes octets(size);
  for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
  return octets;
}

Bytes text_of(std::size_t size) {
  Rng rng(7);
  std::string text;
  while (text.size() < size) {
    text += "position " + std::to_string(rng.below(100000)) + " north, course " +
            std::to_string(rng.below(360)) + "\n";
  }
  return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size)};
}

TEST(ImageCodec, text_shrinks_and_random_octets_go_as_they_are) {
  const Bytes text = text_of(100'000);
  const FileImage image = compressed_image(text);
  ASSERT_EQ(image.form, ImageForm::zstd);
  EXPECT_LT(image.octets.size(), text.size() / 3);
  EXPECT_EQ(*expand(image.octets, text.size()), text);
  for (const std::size_t size : {0u, 1u, 100u, 100'000u}) {
    EXPECT_EQ(compressed_image(random_octets(size)).form, ImageForm::plain) << size;
  }
}

TEST(ImageCodec, a_damaged_or_lying_image_is_an_error) {
  const Bytes text = text_of(20'000);
  Bytes image = compressed_image(text).octets;
  EXPECT_FALSE(expand(image, text.size() - 1));
  EXPECT_FALSE(expand(image, text.size() + 1));
  image.resize(image.size() / 2);
  EXPECT_FALSE(expand(image, text.size()));
  EXPECT_FALSE(expand(random_octets(500), 1000));
}

TEST(ImageCodec, a_text_with_one_percent_changed_crosses_in_under_five_percent) {
  const Bytes old = text_of(200'000);
  Bytes changed = old;
  const Bytes fresh = random_octets(2000, 3);
  std::copy(fresh.begin(), fresh.end(), changed.begin() + 77'000);
  const auto signature = signature_of(old);
  ASSERT_TRUE(signature);
  const auto delta = delta_image(*signature, changed);
  ASSERT_TRUE(delta);
  std::printf("signature %zu, difference %zu octets\n", signature->size(), delta->size());
  EXPECT_LT(signature->size() + delta->size(), old.size() / 20);
  EXPECT_EQ(*apply_delta(old, *delta, changed.size()), changed);
}

TEST(ImageCodec, twenty_changed_places_of_a_text_cross_in_under_five_percent) {
  const Bytes old = text_of(200'000);
  Bytes changed = old;
  Rng rng(4);
  for (int place = 0; place < 20; ++place) {
    const std::size_t at = rng.below(199'900);
    for (std::size_t i = at; i < at + 100; ++i) {
      changed[i] = static_cast<std::uint8_t>('a' + rng.below(26));
    }
  }
  const auto signature = signature_of(old);
  ASSERT_TRUE(signature);
  const auto delta = delta_image(*signature, changed);
  ASSERT_TRUE(delta);
  std::printf("signature %zu, difference %zu octets\n", signature->size(), delta->size());
  EXPECT_LT(signature->size() + delta->size(), old.size() / 20);
  EXPECT_EQ(*apply_delta(old, *delta, changed.size()), changed);
}

TEST(ImageCodec, a_signature_with_small_blocks_or_without_strong_sums_is_refused) {
  const Bytes text = text_of(50'000);
  const Bytes signature = *signature_of(text);
  EXPECT_TRUE(delta_image(signature, text));
  for (const std::size_t at : {3u, 11u}) {  // the magic number, the octets of a strong sum
    Bytes changed = signature;
    changed[at] ^= 1;
    EXPECT_FALSE(delta_image(changed, text)) << at;
  }
  Bytes small = signature;
  small[4] = small[5] = 0;
  small[6] = 1;
  small[7] = 63;  // 319 octets
  EXPECT_FALSE(delta_image(small, text));
}

TEST(ImageCodec, a_difference_larger_than_the_file_is_not_made) {
  EXPECT_FALSE(delta_image(*signature_of(text_of(50'000)), random_octets(50'000)));
}

TEST(ImageCodec, a_difference_that_does_not_fit_its_base_is_an_error_or_another_file) {
  const Bytes old = text_of(50'000);
  Bytes changed = old;
  changed.insert(changed.begin() + 100, 0x55);
  const auto delta = delta_image(*signature_of(old), changed);
  ASSERT_TRUE(delta);
  EXPECT_FALSE(apply_delta(Bytes(10), *delta, changed.size()));
  EXPECT_FALSE(apply_delta(old, *delta, changed.size() - 1));
  EXPECT_FALSE(apply_delta(old, random_octets(300), changed.size()));
  EXPECT_FALSE(delta_image(random_octets(300), changed));
  EXPECT_FALSE(delta_image(Bytes(), changed));
}

}  // namespace
}  // namespace s5066::gateways
