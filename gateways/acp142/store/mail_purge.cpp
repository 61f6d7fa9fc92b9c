// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_purge.h"

#include "gateways/acp142/store/mail_rows.h"
#include "gateways/common/remove_each.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kAtOnceMax = 4096;  // others wait meanwhile

}  // namespace

Result<bool> MailPurge::run(UtcSeconds now) {
  auto ids = finished(now);
  if (!ids) return ids.error();
  const bool all = ids->size() <= kAtOnceMax;
  if (!all) ids->resize(kAtOnceMax);
  const auto removed = gateways::remove_each(*db_, *ids, [&](std::int64_t id) -> Result<void> {
    const auto old = is_over({id}, now);
    if (!old) return old.error();
    return *old ? MailRows(*db_).erase({id}) : Result<void>();
  });
  if (!removed) return removed.error();
  return all;
}

/// One more than go at once at most.
Result<std::vector<std::int64_t>> MailPurge::finished(UtcSeconds now) {
  auto rows = db_->prepare(
      "SELECT id FROM mail WHERE state IN ('delivered', 'failed', 'expired') AND finished_utc < ? "
      "LIMIT ?");
  if (!rows) return rows.error();
  rows->bind(now.value - keep_finished_s_).bind(static_cast<std::int64_t>(kAtOnceMax) + 1);
  const auto ids = ids_of(*rows);
  if (!ids) return ids.error();
  std::vector<std::int64_t> found;
  for (const MailId id : *ids) found.push_back(id.value);
  return found;
}

/// An operator may have queued it again since it was found.
Result<bool> MailPurge::is_over(MailId id, UtcSeconds now) {
  auto row = db_->prepare(
      "SELECT 1 FROM mail WHERE id = ? AND state IN ('delivered', 'failed', 'expired') AND "
      "finished_utc < ?");
  if (!row) return row.error();
  return row->bind(id.value).bind(now.value - keep_finished_s_).step();
}

}  // namespace s5066::acp142
