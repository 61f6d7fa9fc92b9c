// SPDX-License-Identifier: Apache-2.0
// This class finishes the recovery of a damaged spool of mail. It finds the rows moved to a fresh
// spool, parks each message that is not as it was accepted, makes lost marks anew from rows that
// repeat them, holds messages that might go twice, and reports to the operator. Decision 0012.
#pragma once

#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/store/mail_marks.h"
#include "gateways/acp142/store/mail_rows.h"
#include "gateways/common/spool_recovery.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class MailRecovery {
 public:
  struct Config {
    std::string hostname;          // name of the reporting server
    std::string operator_mailbox;  // gets the report; empty: nobody does
    UtcSeconds now;
  };
  MailRecovery(const Config& config, gateways::Database& fresh, gateways::SpoolReport& report)
      : config_(config), db_(&fresh), report_(&report), rows_(fresh), marks_(fresh, 0) {}

  Result<void> run();

 private:
  Result<void> take_messages_from_backup();
  Result<void> take_message(MailId id);
  Result<void> take_marks_from_backup();
  Result<bool> take_content(MailId id);
  Result<void> drop_parts_without_message();
  Result<void> review_mails();
  Result<void> review(MailId id);
  Result<bool> read_whole(MailItem& item);
  Result<void> review_open(const MailItem& item);
  Result<void> park(MailId id, bool was_active, const std::string& what);
  Result<void> hold(MailId id, const std::string& what);
  Result<void> restore_marks();
  Result<void> restore_numbers();
  Result<void> restore_silences();
  Result<void> report();
  std::string recipients_of(MailId id, const char* table = "mail_target");
  bool has_backup() const { return !report_->backup.empty(); }

  Config config_;
  gateways::Database* db_;
  gateways::SpoolReport* report_;
  MailRows rows_;
  MailMarks marks_;
};

}  // namespace s5066::acp142
