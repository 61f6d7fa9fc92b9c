// SPDX-License-Identifier: Apache-2.0
// Fragmentation of IPv4 datagrams (RFC 791, section 3.2).
#pragma once

#include <cstddef>
#include <vector>

#include "gateways/ip_client/datagram.h"
#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

/// Smallest MTU with which every datagram can be divided. It holds the longest header and 8 octets.
inline constexpr std::size_t kIpv4MtuMin = 68;

/// Cuts a valid IPv4 datagram without DF into pieces of at most `mtu` octets. The datagram may be a
/// fragment itself. Only the first piece keeps options that are not marked for every piece.
std::vector<Bytes> fragment_ipv4(ByteSpan octets, const Datagram& datagram, std::size_t mtu);

}  // namespace s5066::ip_client
