// What another configuration of a running node changes: which settings at once, which at the next
// start.
#pragma once

#include <string>
#include <vector>

#include "config/node_setup.h"

namespace s5066::config {

struct NodeChanges {
  std::vector<std::string> at_once;        // names of settings, "sis.allow"
  std::vector<std::string> after_restart;  // likewise
  std::string running;                     // the `source` of what runs when the first are applied
};

/// `source` is that of what runs now. These settings change at once: log_level, sis.allow,
/// sis.tls when there was TLS before (its files are read again), and of sis.limits
/// connections_max, connections_per_address_max, connects_per_second_max and dead_peer_timeout_s.
NodeChanges changes_to(const std::string& source, const NodeSetup& next);

}  // namespace s5066::config
