// SPDX-License-Identifier: Apache-2.0
// Names of P_MUL that the mail gateway uses without their namespace.
#pragma once

#include "gateways/p_mul/message_port.h"

namespace s5066::acp142 {

using p_mul::Accepted;
using p_mul::Destination;
using p_mul::DestinationEnded;
using p_mul::GroupId;
using p_mul::MessageEvent;
using p_mul::MessageKey;
using p_mul::MessageName;
using p_mul::MessageNews;
using p_mul::NodeId;
using p_mul::Outcome;
using p_mul::Received;
using p_mul::Submission;
using p_mul::Unanswered;

}  // namespace s5066::acp142
