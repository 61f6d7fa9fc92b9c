// SPDX-License-Identifier: Apache-2.0
// The field that tells for which stations of one transmission each recipient is. All stations get
// one payload with all recipients, and RFC 8494 has no place for this; a station that relays would
// have to guess. So if a transmission is for more than one station, the content begins with a
// header field of this suite, which the receiving gateway removes:
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

/// Removes the field if the content begins with it. Returns nothing if the field is absent, is not
/// by `sender`, or does not fit the number of recipients; it must name all of them.
std::optional<NextHops> take_next_hops(NodeId sender, std::size_t recipients, Bytes& content);

/// Removes every such field from the header of a message that did not come from a gateway of this
/// suite.
void drop_next_hops(Bytes& content);

/// Returns text like "10.1.1.1".
std::string dotted(NodeId node);

}  // namespace s5066::acp142
