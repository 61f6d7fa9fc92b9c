// SPDX-License-Identifier: Apache-2.0
// Removes old rows, a limited number to a commit, so that a large spool is not locked for long.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// Calls `remove` for each of these rows, 256 to a transaction. The first error ends it; rows of
/// transactions before are removed.
Result<void> remove_each(Database& db, std::span<const std::int64_t> ids,
                         const std::function<Result<void>(std::int64_t id)>& remove);

}  // namespace s5066::gateways
