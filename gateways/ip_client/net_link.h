// SPDX-License-Identifier: Apache-2.0
// Addresses, routes and state of a network interface, by rtnetlink. Changes need CAP_NET_ADMIN.
// Addresses and states that are already right are not changed, so that an interface that an
// administrator has configured works without CAP_NET_ADMIN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::ip_client {

class NetLink {
 public:
  static Result<NetLink> open();

  /// Gives the interface this address and the network around it.
  Result<void> add_address(const std::string& interface, const IpPrefix& address);
  /// Sets the MTU and a short queue, and turns the interface on. Does nothing if the interface is
  /// on and has this MTU.
  Result<void> bring_up(const std::string& interface, std::size_t mtu);
  Result<void> add_route(const std::string& interface, const IpPrefix& prefix);
  Result<void> remove_route(const std::string& interface, const IpPrefix& prefix);

  /// Keeps packets with this mark on the host, for both versions of IP. Adds a rule for the mark,
  /// and a local default route in the routing table with the same number.
  Result<void> keep_marked(std::uint32_t mark);
  void release_marked(std::uint32_t mark);

 private:
  explicit NetLink(posix::Fd socket) : socket_(std::move(socket)) {}
  /// Sends one request and waits for the kernel's answer.
  Result<void> request(Bytes message, const std::string& what);
  Result<void> change_route(int type, int flags, const std::string& interface,
                            const IpPrefix& prefix);
  Result<void> change_marked(bool add, std::uint32_t mark, std::uint8_t family);

  posix::Fd socket_;
};

bool has_interface(const std::string& interface);
/// Returns the addresses that the interface has now.
std::vector<IpAddress> addresses_of(const std::string& interface);
/// Returns the addresses of all interfaces.
std::vector<IpAddress> addresses_of_host();

}  // namespace s5066::ip_client
