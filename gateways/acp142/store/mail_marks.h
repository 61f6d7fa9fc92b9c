// SPDX-License-Identifier: Apache-2.0
// Keeps the marks by which a repeated message is recognised.
#pragma once

#include <cstdint>
#include <string>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class MailMarks {
 public:
  /// Marks are known for `window_s`.
  MailMarks(gateways::Database& db, std::int64_t window_s) : db_(&db), window_s_(window_s) {}

  /// True for a mark that is not known, or was too long ago. It is known from now on.
  Result<bool> is_new(const std::string& mark, UtcSeconds now);
  /// The message that has left this mark; 0 where it is not known any more.
  Result<MailId> first_with(const std::string& mark);
  /// The recipient `number` of the message has left this mark.
  Result<void> note(MailId id, std::int64_t number, const std::string& mark, UtcSeconds now);

  /// Another copy may reach whom the message has not reached, and counts as the first one then.
  Result<void> release(MailId id);
  /// Takes that back, but for the marks of a copy that has come meanwhile.
  Result<void> restore(MailId id);
  /// The marks of what is under way stay, whatever becomes of the message.
  Result<void> keep_those_of_active();

  /// Notes the number of a message from the air. PM-020: a number is unique while its message
  /// lives.
  Result<MailKept::Repeat> note_received(const AcceptMail& operation);

  Result<void> purge_marks(UtcSeconds now);
  Result<void> purge_received(UtcSeconds now);

 private:
  gateways::Database* db_;
  std::int64_t window_s_;
};

}  // namespace s5066::acp142
