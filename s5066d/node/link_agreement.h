// SPDX-License-Identifier: Apache-2.0
// Tells which states of one physical link the channel access sublayer and the subnetwork interface
// sublayer may hold at the same time, when all actions between them have been carried out.
#pragma once

#include <optional>

#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/subnetwork_interface.h"

namespace s5066 {

/// `below` is empty if the channel access sublayer has no link to the peer.
bool link_views_agree(const std::optional<cas::LinkInfo>& below, const sap::LinkView& above);

}  // namespace s5066
