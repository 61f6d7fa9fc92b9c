// SPDX-License-Identifier: Apache-2.0
// Description of one file that a station offers to another one (docs/protocol/file_transfer.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// Tells how the octets on the air are made from the file.
enum class ImageForm : std::uint8_t {
  plain,  // the octets are those of the file
  zstd,   // one zstd frame
  delta,  // a zstd frame with an rdiff delta against a file that the receiver has
  count
};

inline constexpr std::size_t kDigestOctets = 32;
inline constexpr std::size_t kBlockDigestOctets = 8;  // length of the beginning of a SHA-256
inline constexpr std::size_t kBlockDigestsMax = 64;
inline constexpr std::size_t kTransferNameMax = 255;
inline constexpr std::uint8_t kBlockSizeLog2Min = 16;
inline constexpr std::uint8_t kBlockSizeLog2Max = 31;

struct TransferManifest {
  std::string name;        // octets, with '/' between folders
  std::uint32_t size = 0;  // octets of the file
  std::int64_t mtime = 0;  // UTC seconds, 0 to 2^32 - 1; 0 if unknown
  std::uint16_t mode = 0;  // permission bits, 0 to 0777; 0 if unknown
  std::uint8_t priority = 4;
  std::uint32_t expiry_s = 0;  // the file is given up after so many seconds
  std::uint32_t request = 0;   // number of the `get` that asked for the file; 0 if none did
  Bytes sha256;                // hash of the file
  ImageForm form = ImageForm::plain;
  std::uint32_t image_octets = 0;  // octets on the air
  Bytes base;                      // SHA-256 of the older file; only with ImageForm::delta
  /// An image above 2^16 octets has digests of its blocks of 2^block_size_log2 octets each. The log
  /// is 0 if there are none.
  std::uint8_t block_size_log2 = 0;
  std::vector<Bytes> block_digests;
  friend bool operator==(const TransferManifest&, const TransferManifest&) = default;

  /// True if both describe the same octets on the air, so that ranges of one are ranges of the
  /// other.
  bool has_same_image(const TransferManifest& other) const {
    return sha256 == other.sha256 && form == other.form && image_octets == other.image_octets &&
           base == other.base;
  }
};

/// The layout is that of the offer, from its octet 7 on.
void encode(const TransferManifest& manifest, Bytes& out);
Result<TransferManifest> decode_manifest(ByteSpan from);

/// Returns the smallest allowed size of blocks of which kBlockDigestsMax are enough, as a
/// logarithm, or 0 for an image without digests of blocks.
std::uint8_t block_size_log2_for(std::uint32_t image_octets);

}  // namespace s5066::gateways
