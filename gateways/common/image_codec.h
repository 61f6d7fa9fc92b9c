// SPDX-License-Identifier: Apache-2.0
// Makes the octets on the air from a file, and the file from them: zstd, and rdiff differences.
#pragma once

#include <cstddef>

#include "gateways/common/transfer_manifest.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

inline constexpr std::size_t kSignatureOctetsMax = 16384;
/// Files below this size go whole, because a signature costs more than they do.
inline constexpr std::size_t kDeltaOctetsMin = 4096;

struct FileImage {
  ImageForm form = ImageForm::plain;
  Bytes octets;  // empty for the plain form
};

/// Returns a zstd frame if a trial on the content shows that this saves at least 2 %.
FileImage compressed_image(ByteSpan content);
/// Returns the rdiff signature of a file, of at most kSignatureOctetsMax.
Result<Bytes> signature_of(ByteSpan content);
/// Returns the difference against the file with this signature, compressed.
Result<Bytes> delta_image(ByteSpan signature, ByteSpan content);

/// Return the file, which must have exactly `octets`. A damaged image is an error.
Result<Bytes> expand(ByteSpan image, std::size_t octets);
Result<Bytes> apply_delta(ByteSpan base, ByteSpan image, std::size_t octets);

}  // namespace s5066::gateways
