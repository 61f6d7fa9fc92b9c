// Turns valid configuration messages into the plain structs of each layer. A field that the file
// leaves out keeps the default of its struct.
#pragma once

#include "config/node_setup.h"
#include "config/proto/node.pb.h"

namespace s5066::config {

/// Of use only for messages without problems, harmless for any.
NodeSetup translate(const proto::Node& node);

}  // namespace s5066::config
