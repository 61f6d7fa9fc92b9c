// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/transfer_manifest.h"

#include <algorithm>

#include "gateways/common/octet_reader.h"
#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

constexpr std::uint16_t kModeMax = 0777;

/// Returns the problem of a manifest, or null.
const char* problem_of(const TransferManifest& file) {
  if (file.name.empty()) return "no name";
  if (file.form >= ImageForm::count) return "form of the image";
  if (file.mode > kModeMax) return "mode";
  if (file.form == ImageForm::plain && file.image_octets != file.size) return "size of the image";
  if (file.image_octets == 0 && file.size > 0) return "an empty image";
  if (file.block_size_log2 != block_size_log2_for(file.image_octets)) return "size of blocks";
  return nullptr;
}

}  // namespace

void encode(const TransferManifest& file, Bytes& out) {
  S5066_ASSERT(file.sha256.size() == kDigestOctets && file.priority < 16);
  S5066_ASSERT(file.base.size() == (file.form == ImageForm::delta ? kDigestOctets : 0u));
  S5066_ASSERT(file.block_digests.size() <= kBlockDigestsMax);
  S5066_ASSERT(file.name.size() <= kTransferNameMax);
  out.push_back(
      static_cast<std::uint8_t>(static_cast<unsigned>(file.form) << 4 | unsigned{file.priority}));
  put_u32(out, file.size);
  put_u32(out, file.image_octets);
  put_u32(out, static_cast<std::uint32_t>(file.mtime));
  put_u16(out, file.mode);
  put_u32(out, file.expiry_s);
  put_u32(out, file.request);
  append(out, file.sha256);
  append(out, file.base);
  out.push_back(static_cast<std::uint8_t>(file.name.size()));
  out.insert(out.end(), file.name.begin(), file.name.end());
  out.push_back(file.block_size_log2);
  for (const Bytes& digest : file.block_digests) append(out, digest);
}

Result<TransferManifest> decode_manifest(ByteSpan from) {
  OctetReader reader(from);
  TransferManifest file;
  const std::uint8_t form = reader.u8();
  file.form = static_cast<ImageForm>(form >> 4);
  file.priority = form & 0x0F;
  file.size = reader.u32();
  file.image_octets = reader.u32();
  file.mtime = reader.u32();
  file.mode = reader.u16();
  file.expiry_s = reader.u32();
  file.request = reader.u32();
  file.sha256 = reader.octets(kDigestOctets);
  if (file.form == ImageForm::delta) file.base = reader.octets(kDigestOctets);
  file.name = reader.text();
  file.block_size_log2 = reader.u8();
  if (!reader.ok()) return Error{ErrorCode::truncated, "manifest"};
  if (const char* problem = problem_of(file)) {
    return Error{ErrorCode::bad_field, std::string("manifest: ") + problem};
  }
  if (file.block_size_log2 > 0) {
    const std::uint64_t block = std::uint64_t{1} << file.block_size_log2;
    for (std::uint64_t at = 0; at < file.image_octets; at += block) {
      file.block_digests.push_back(reader.octets(kBlockDigestOctets));
    }
  }
  if (!reader.ok()) return Error{ErrorCode::truncated, "manifest"};
  if (reader.left() > 0) return Error{ErrorCode::bad_field, "manifest: octets after its end"};
  return file;
}

std::uint8_t block_size_log2_for(std::uint32_t image_octets) {
  std::uint8_t log2 = kBlockSizeLog2Min;
  if (image_octets <= (std::uint64_t{1} << log2)) return 0;
  while ((std::uint64_t{kBlockDigestsMax} << log2) < image_octets) ++log2;
  return log2;
}

}  // namespace s5066::gateways
