// SPDX-License-Identifier: Apache-2.0
// The answers to `queue`, `show` and `received`: rows of the spool as messages of the control
// interface.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/file_relay/relay_types.h"

namespace s5066::proto {
class FileDetails;
class FileQueue;
class ReceivedFiles;
}  // namespace s5066::proto

namespace s5066::file_relay {

inline constexpr std::uint32_t kRowsListed = 1000;

/// Returns the first kRowsListed of these rows, and says whether there are more.
proto::FileQueue queue_answer(const std::vector<gateways::SpoolItem>& items,
                              const gateways::ListFilter& filter, const RelayConfig& config,
                              UtcSeconds now);

/// Returns one row, and what the file waits for. `on_its_way` is its transfer, if there is one.
proto::FileDetails details_answer(const gateways::SpoolItem& item, const RelayConfig& config,
                                  const std::optional<TransferStatus>& on_its_way, UtcSeconds now);

/// Returns the first kRowsListed of these files, and says whether there are more.
proto::ReceivedFiles received_answer(const std::vector<gateways::ReceivedFile>& files);

}  // namespace s5066::file_relay
