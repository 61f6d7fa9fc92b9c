// SPDX-License-Identifier: Apache-2.0
// The resolvers that /etc/resolv.conf names (resolv.conf(5)).
#pragma once

#include <string_view>
#include <vector>

#include "gateways/ip_client/ip_address.h"

namespace s5066::ip_client {

inline constexpr std::size_t kResolversMax = 3;  // as the C library reads

/// Returns the addresses of the lines `nameserver`, in their order. Lines that cannot be read are
/// skipped, as the C library does.
std::vector<IpAddress> resolvers_in(std::string_view resolv_conf);

/// Reads /etc/resolv.conf; without it the resolver is on this host.
std::vector<IpAddress> resolvers_of_host();

}  // namespace s5066::ip_client
