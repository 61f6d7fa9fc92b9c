// SPDX-License-Identifier: Apache-2.0
// Deletes messages that ended long ago, a limited number to a commit.
#pragma once

#include <cstdint>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class MailPurge {
 public:
  MailPurge(gateways::Database& db, std::int64_t keep_finished_s)
      : db_(&db), keep_finished_s_(keep_finished_s) {}

  /// Returns false if more are left than one call deletes.
  Result<bool> run(UtcSeconds now);

 private:
  Result<std::vector<std::int64_t>> finished(UtcSeconds now);
  Result<bool> is_over(MailId id, UtcSeconds now);

  gateways::Database* db_;
  std::int64_t keep_finished_s_;
};

}  // namespace s5066::acp142
