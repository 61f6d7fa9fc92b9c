// SPDX-License-Identifier: Apache-2.0
// Compares a new configuration with that of a running node: it tells which settings change at once
// and which at the next start.
#pragma once

#include <string>
#include <vector>

#include "config/node_setup.h"

namespace s5066::config {

struct NodeChanges {
  std::vector<std::string> at_once;        // names of settings, such as "sis.allow"
  std::vector<std::string> after_restart;  // names of settings in the same form
  std::string running;  // `source` of the configuration that runs once `at_once` is applied
};

/// `source` is that of the configuration that runs now. These settings change at once: log_level,
/// sis.allow, sis.tls when there was TLS before (its files are read again), and of sis.limits
/// connections_max, connections_per_address_max, connects_per_second_max and dead_peer_timeout_s.
NodeChanges changes_to(const std::string& source, const NodeSetup& next);

}  // namespace s5066::config
