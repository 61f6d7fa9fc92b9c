// SPDX-License-Identifier: Apache-2.0
// This class carries out what operators do to a message in the spool.
#pragma once

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/store/mail_marks.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

/// A receiver that gets a message again under a number that it knows does not deliver it twice, so
/// a number is kept as long as anybody may have the message under it.
class MailChanges {
 public:
  MailChanges(gateways::Database& db, MailMarks marks) : db_(&db), marks_(marks) {}

  /// Makes the change in one commit. `refused` if the state of the message does not allow it.
  /// `under_way`: the mail core has it in hand, and goes on with it or lets it go.
  Result<void> change(SpoolChange asked, MailId id, UtcSeconds now, bool under_way);

 private:
  Result<void> retry(MailId id, UtcSeconds now, bool under_way);
  Result<void> cancel(MailId id, bool under_way);

  gateways::Database* db_;
  MailMarks marks_;
};

}  // namespace s5066::acp142
