// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sha256.h"

#include <openssl/evp.h>

#include "s5066d/base/assert.h"

namespace s5066::gateways {

Bytes sha256_of(ByteSpan content) {
  Bytes digest(32);
  const int done =
      EVP_Digest(content.data(), content.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  S5066_ASSERT(done == 1);
  return digest;
}

}  // namespace s5066::gateways
