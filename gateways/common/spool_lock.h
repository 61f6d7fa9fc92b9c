// SPDX-License-Identifier: Apache-2.0
// Access to a spool: one service at a time, because two on one spool would send everything twice,
// and not by a user who cannot write it.
#pragma once

#include <string>

#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {

/// Locks the spool in `directory` as long as the descriptor lives. Fails with already_exists when
/// another process has it, whom the error calls `other`, and with io when there is no such folder.
Result<posix::Fd> lock_spool(const std::string& directory, const std::string& other);

/// Fails with refused, and says which file and what to do, when the folder, the database in it or
/// the lock is there but cannot be written by this process.
Result<void> check_spool_writable(const std::string& directory);

/// Fails with unsupported when a newer program has changed the form of the spool. A spool that is
/// not there is good.
Result<void> check_spool_version(const std::string& directory);

}  // namespace s5066::gateways
