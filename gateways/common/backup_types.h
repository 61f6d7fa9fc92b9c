// SPDX-License-Identifier: Apache-2.0
// The settings for copies of a spool that are made while the gateway serves.
#pragma once

#include <cstdint>
#include <string>

namespace s5066::gateways {

struct BackupSettings {
  std::string directory;  // folder that must exist; empty: no copies are made
  std::uint32_t interval_s = 86400;
  std::uint32_t copies = 7;  // number of copies that are kept
};

}  // namespace s5066::gateways
