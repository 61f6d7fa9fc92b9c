// SPDX-License-Identifier: Apache-2.0
// Commands of an operator that take more than one request to the running relay: hand files over,
// ask for the inbox of another station, watch the files that are on their way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/service_client.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

struct PutOptions {
  std::vector<std::string> files;  // a folder stands for all files in it
  std::vector<Address> to;
  std::optional<std::uint8_t> priority = std::nullopt;
  gateways::GradeSettings grade{};
  /// Limits the octets that one request puts into the spool, because the relay does nothing else
  /// meanwhile. A single copy may be larger.
  std::size_t request_octets_max = 64 << 20;
  bool wait = false;
  bool progress = false;
};

inline constexpr std::size_t kPutFilesMax = 100000;

/// A file with the name that it gets at the receiver. The name of a file in a folder has the
/// folders in it.
struct FileToPut {
  std::string path;
  std::string name;
  friend bool operator==(const FileToPut&, const FileToPut&) = default;
};
/// Follows no symbolic link in a folder, and leaves out names that begin with a dot.
Result<std::vector<FileToPut>> files_to_put(const std::vector<std::string>& paths);

/// Returns the largest number of stations for which one request hands over a file of so many
/// octets: all if they share one copy as a group of P_MUL.
std::size_t stations_per_put(const RelayConfig& config, const PutOptions& options,
                             std::size_t octets);

/// Each command returns the exit status: 0 done, 1 not. With `wait` it says what became of the
/// files: 0 if all were delivered.
int put_files(const gateways::ServiceClient& relay, const RelayConfig& config,
              const PutOptions& options);
/// Waits for the answer of the other station.
int ask_far_inbox(const gateways::ServiceClient& relay, InboxRequest request, Address station,
                  const std::string& path);
/// Shows how far all files are, twice a second, until there are none or the program is ended.
int watch_transfers(const gateways::ServiceClient& relay, const std::string& node_control_socket);

}  // namespace s5066::file_relay
