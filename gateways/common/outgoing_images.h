// SPDX-License-Identifier: Apache-2.0
// What the transfer service needs to know of a file that waits to be sent, and the octets that it
// puts on the air for it.
#pragma once

#include <optional>

#include "gateways/common/sqlite_store_db.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class OutgoingImages {
 public:
  struct Facts {
    std::int64_t mtime = 0;
    std::uint16_t mode = 0;
    std::uint32_t request = 0;
  };

  explicit OutgoingImages(Database& db) : db_(db) {}

  Result<void> note_facts(SpoolId id, const Facts& facts);
  /// `content` is that of the file, and right.
  Result<ImageReady> prepare(const PrepareImage& operation, const SpoolItem& item,
                             ByteSpan content);
  /// Returns nothing if the file goes as it is.
  Result<std::optional<Bytes>> read(const ReadImage& operation);
  Result<void> forget(SpoolId id);

 private:
  struct Kept {
    ImageForm form = ImageForm::plain;
    Bytes base;
    Bytes octets;
  };
  Result<std::optional<Kept>> kept(SpoolId id);
  Result<void> keep(SpoolId id, const Kept& image);
  Result<Facts> facts(SpoolId id);
  Result<bool> is_known_there(const SpoolItem& item);

  Database& db_;
};

}  // namespace s5066::gateways
