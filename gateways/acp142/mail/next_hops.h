// SPDX-License-Identifier: Apache-2.0
// Which of the stations of one transmission each recipient is for. All of them get one payload with
// the recipients of all, and RFC 8494 has no place to say whose is whose; a station that relays
// would have to guess. So where a transmission is for more than one station, the content begins
// with a header field of ours, which the receiving gateway takes away:
//
//   MULE-Next-Hop: 10.1.1.1; 10.1.1.2 1 3-5 10.1.1.3 2
//
// is by 10.1.1.1, and recipients 1, 3, 4 and 5 of the envelope are for 10.1.1.2.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/p_mul_names.h"
#include "s5066d/base/bytes.h"

namespace s5066::acp142 {

/// The stations of each recipient of an envelope, in ascending order.
using NextHops = std::vector<std::vector<NodeId>>;

/// Name of a header field that only gateways of ours write and read.
constexpr std::string_view kNextHopsName = "MULE-Next-Hop";

/// Returns the field; empty if all recipients are at one station. Equal input gives equal text.
std::string next_hops_field(NodeId sender, const NextHops& hops);

/// Takes the field away if the content begins with it. None where it does not, or where the field
/// is not by `sender`, or makes no sense for so many recipients, of whom none may be left out.
std::optional<NextHops> take_next_hops(NodeId sender, std::size_t recipients, Bytes& content);

/// Removes every such field from the header of a message that no gateway of ours sent.
void drop_next_hops(Bytes& content);

/// "10.1.1.1"
std::string dotted(NodeId node);

}  // namespace s5066::acp142
