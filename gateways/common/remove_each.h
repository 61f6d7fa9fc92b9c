// SPDX-License-Identifier: Apache-2.0
// Old rows go so many to a commit, and one that the disk does not give back keeps no other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

struct Removal {
  struct Kept {
    std::int64_t id = 0;
    Error error;
  };
  std::vector<Kept> kept;  // what could not be read or removed
  Result<void> done;       // an error: not all has been looked at
};

/// Calls `remove` for each of these, in transactions of its own. What it reports of a row that
/// cannot be read is undone, and the others go on. Where a disk fails for many in a row, or
/// anything else goes wrong, the rest is left for another time.
Removal remove_each(Database& db, std::span<const std::int64_t> ids,
                    const std::function<Result<void>(std::int64_t id)>& remove);

}  // namespace s5066::gateways
