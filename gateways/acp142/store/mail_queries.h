// SPDX-License-Identifier: Apache-2.0
// This class answers what operators ask about the spool of mail.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class MailQueries {
 public:
  explicit MailQueries(gateways::Database& db) : db_(&db) {}

  /// The youngest first; no content.
  Result<std::vector<MailItem>> list(std::uint32_t items_max);
  /// Lists the messages that fit, with targets.
  Result<std::vector<MailItem>> list(const MailFilter& filter, std::uint32_t items_max);
  /// The youngest with this number, Message-ID, or address of sender or recipient.
  Result<std::vector<MailId>> trace(std::string_view word, std::uint32_t items_max);
  Result<MailCourse> course(MailId id);
  /// All that were made of the same message, and the reports on them.
  Result<std::vector<MailId>> relatives(MailId id);
  Result<std::map<NodeId, WaitingMail>> waiting();
  Result<std::optional<MailItem>> find(MailId id);
  Result<std::vector<StationRow>> stations();
  /// The silence of stations as operators or stations have said; node 0 is this station.
  Result<std::map<NodeId, bool>> silences();

 private:
  gateways::Database* db_;
};

}  // namespace s5066::acp142
