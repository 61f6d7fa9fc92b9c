// SPDX-License-Identifier: Apache-2.0
// Keeps what stations have sent as mail and the gateway cannot read, in a folder for the operator.
// Nothing there is ever sent or deleted by the gateway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gateways/common/inbox.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class MailQuarantine {
 public:
  struct Config {
    std::string directory;  // made with the first file
    std::size_t files_max = 100;
    std::uint64_t octets_max = 64u << 20;
    std::size_t station_files_max = 20;  // of these from one station
    std::uint64_t station_octets_max = 16u << 20;
    gateways::Inbox::StepHook inbox_hook{};  // for tests
  };

  struct Kept {
    std::string name;       // of the file; if it is not kept, the name that it would have
    std::string full = {};  // why it is not kept: the folder has as much as it may
  };

  explicit MailQuarantine(Config config) : config_(std::move(config)) {}

  /// Writes and syncs the octets, unless the same are there already from this station, or the
  /// folder has as much as it may. An error if the disk does not take them now.
  Result<Kept> keep(Address from, ByteSpan octets) const;

 private:
  Config config_;
};

}  // namespace s5066::acp142
