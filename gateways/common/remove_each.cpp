// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/remove_each.h"

#include <algorithm>

namespace s5066::gateways {

namespace {

constexpr std::size_t kInOneCommit = 256;
constexpr std::size_t kUnreadInARowMax = 64;

}  // namespace

// A row that cannot be removed rolls back the removals before it in its transaction; those are done
// again, up to that row.
Removal remove_each(Database& db, std::span<const std::int64_t> ids,
                    const std::function<Result<void>(std::int64_t id)>& remove) {
  Removal removal;
  std::size_t in_a_row = 0;
  std::size_t keep = ids.size();  // where the next one is that cannot be removed
  for (std::size_t at = 0; at < ids.size();) {
    if (at == keep) {
      ++at;
      keep = ids.size();
      continue;
    }
    auto transaction = Transaction::begin(db);
    if (!transaction) {
      removal.done = transaction.error();
      return removal;
    }
    const std::size_t end = std::min(keep, at + kInOneCommit);
    std::size_t next = at;
    while (next < end && removal.done) {
      removal.done = remove(ids[next]);
      if (removal.done) ++next;
    }
    if (!removal.done) {
      if (!db.cannot_read()) return removal;
      removal.kept.push_back({ids[next], removal.done.error()});
      const bool damaged = removal.done.error().code == ErrorCode::bad_checksum;
      if (!damaged && ++in_a_row == kUnreadInARowMax) return removal;
      removal.done = {};
      keep = next;
      continue;
    }
    removal.done = transaction->commit();
    if (!removal.done) return removal;
    at = end;
    in_a_row = 0;
  }
  return removal;
}

}  // namespace s5066::gateways
