// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/remove_each.h"

#include <algorithm>

namespace s5066::gateways {
namespace {

constexpr std::size_t kInOneCommit = 256;

}  // namespace

Result<void> remove_each(Database& db, std::span<const std::int64_t> ids,
                         const std::function<Result<void>(std::int64_t id)>& remove) {
  for (std::size_t at = 0; at < ids.size();) {
    auto transaction = Transaction::begin(db);
    if (!transaction) return transaction.error();
    for (const std::size_t end = std::min(ids.size(), at + kInOneCommit); at < end; ++at) {
      if (auto removed = remove(ids[at]); !removed) return removed;
    }
    if (auto committed = transaction->commit(); !committed) return committed;
  }
  return {};
}

}  // namespace s5066::gateways
