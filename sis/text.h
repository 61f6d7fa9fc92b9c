// SPDX-License-Identifier: Apache-2.0
// Names of primitives and of the values in them, for logs and messages.
#pragma once

#include <string_view>

#include "sis/codec.h"
#include "sis/framer.h"
#include "sis/primitives.h"

namespace s5066::sis {

/// Returns text like "S_BIND_REQUEST"; "unknown" for a number without a primitive.
std::string_view to_string(Type type);
std::string_view to_string(TransmissionMode mode);
std::string_view to_string(Confirmation confirmation);
std::string_view to_string(BindRejectReason reason);
std::string_view to_string(UnbindReason reason);
std::string_view to_string(RejectReason reason);
std::string_view to_string(HardLinkType type);
std::string_view to_string(HardLinkRejectReason reason);
std::string_view to_string(HardLinkEndReason reason);
std::string_view to_string(NodeStatus status);
std::string_view to_string(AvailabilityReason reason);
std::string_view to_string(Framer::Problem problem);

}  // namespace s5066::sis
