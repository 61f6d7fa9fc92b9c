// SPDX-License-Identifier: Apache-2.0
// What the spool knows of files that go by P_MUL, and of messages that came by it. Begins no
// transaction of its own.
#pragma once

#include <optional>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class PMulTable {
 public:
  explicit PMulTable(Database& db) : db_(db) {}

  /// Notes that these rows are one message. They are for different stations. Chooses its number.
  Result<void> note(const std::vector<SpoolId>& rows, const GradeSettings& grade, UtcSeconds now);
  /// Returns nothing if the row goes by RCOP.
  Result<std::optional<PMulFacts>> find(SpoolId row);

  /// Returns the row for a station of the file with this number, which is that of the file or of
  /// one of its messages; nothing if it does not go by P_MUL.
  Result<std::optional<SpoolId>> row_for(SpoolId number, Address destination);
  /// Notes that the row no longer goes by P_MUL.
  Result<void> forget(SpoolId row);

  /// Remembers a name until it expires, but for a month at most. Of too many the one that expires
  /// first is forgotten.
  Result<void> remember(const KnownNames::Name& name, UtcSeconds now);
  /// Forgets the names that have expired, and returns the others.
  Result<std::vector<KnownNames::Name>> names(UtcSeconds now);

 private:
  Result<std::uint32_t> next_number(UtcSeconds now);
  Result<std::uint32_t> next_sequence(SpoolId row);

  Database& db_;
};

}  // namespace s5066::gateways
