// Keeps a spool to one process: two gateways on one spool would send everything twice.
#pragma once

#include <string>

#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {

/// Locks the spool in `directory` as long as the descriptor lives. Fails with already_exists when
/// another process has it, whom the error calls `other`, and with io when there is no such folder.
Result<posix::Fd> lock_spool(const std::string& directory, const std::string& other);

}  // namespace s5066::gateways
