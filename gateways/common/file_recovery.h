// SPDX-License-Identifier: Apache-2.0
// This function finishes the recovery of a damaged spool of files, when its rows have been moved to
// a fresh one. Decision 0012.
#pragma once

#include "gateways/common/spool_recovery.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// Parks what is not what was accepted, takes out what belongs to no file, and adds both to the
/// report.
Result<void> review_files(Database& fresh, SpoolReport& report);

}  // namespace s5066::gateways
