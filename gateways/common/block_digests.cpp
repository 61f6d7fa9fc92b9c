// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/block_digests.h"

#include <algorithm>
#include <utility>

#include "gateways/common/sha256.h"
#include "gateways/common/transfer_manifest.h"

namespace s5066::gateways {

std::vector<Bytes> block_digests_of(ByteSpan image, std::uint8_t block_size_log2) {
  std::vector<Bytes> digests;
  if (block_size_log2 == 0) return digests;
  const std::size_t size = std::size_t{1} << block_size_log2;
  for (std::size_t at = 0; at < image.size(); at += size) {
    Bytes digest = sha256_of(image.subspan(at, std::min(size, image.size() - at)));
    digest.resize(kBlockDigestOctets);
    digests.push_back(std::move(digest));
  }
  return digests;
}

}  // namespace s5066::gateways
