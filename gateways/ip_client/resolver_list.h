// SPDX-License-Identifier: Apache-2.0
// The resolvers that /etc/resolv.conf names (resolv.conf(5)).
#pragma once

#include <string_view>
#include <vector>

#include "gateways/ip_client/ip_address.h"

namespace s5066::ip_client {

inline constexpr std::size_t kResolversMax = 3;  // the C library reads no more

/// Returns the addresses of the lines `nameserver`, in their order. Lines that cannot be read are
/// skipped, as the C library does.
std::vector<IpAddress> resolvers_in(std::string_view resolv_conf);

/// Returns the resolvers in /etc/resolv.conf. If it names none, the resolver is 127.0.0.1.
std::vector<IpAddress> resolvers_of_host();

}  // namespace s5066::ip_client
