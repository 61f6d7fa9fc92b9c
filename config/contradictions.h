// Fields that are right by themselves and wrong together, defaults included.
#pragma once

#include "config/node_setup.h"
#include "config/validate.h"

namespace s5066::config {

/// `node` is the message, `setup` what it means.
void find_contradictions(const Section& node, const NodeSetup& setup);

}  // namespace s5066::config
