// SPDX-License-Identifier: Apache-2.0
// Rules of nftables and a policy route by which the kernel gives TCP connections towards some
// prefixes to a transparent listener of this program (TPROXY). They need CAP_NET_ADMIN and the
// program `nft`. The rules are removed at the end. The rules of a program that was killed are
// removed at its next start.
//
// A connection is intercepted by its SYN, so a connection that began before the rules keeps its
// path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/result.h"

namespace s5066::ip_client {

struct TproxyPlan {
  std::string interface;  // the TUN interface; packets from it are not intercepted
  std::vector<IpPrefix> prefixes;
  std::uint16_t port_v4 = 0;  // listener on 127.0.0.1; 0 if IPv4 is not intercepted
  std::uint16_t port_v6 = 0;  // listener on ::1; 0 if IPv6 is not intercepted
};

/// Returns the mark of packets of intercepted connections. The routing table that keeps these
/// packets on the host has the same number. The mark follows from the name of the interface, so
/// that a new process finds the rules of an earlier one.
std::uint32_t tproxy_mark(const std::string& interface);

/// Returns the script for nft that replaces our rules by those of the plan.
std::string tproxy_script(const TproxyPlan& plan);

class TproxyRules {
 public:
  explicit TproxyRules(std::string interface) : interface_(std::move(interface)) {}
  TproxyRules(const TproxyRules&) = delete;
  TproxyRules& operator=(const TproxyRules&) = delete;
  ~TproxyRules() { remove(); }

  Result<void> set(const TproxyPlan& plan);
  void remove();
  /// Removes the rules, also if an earlier process of this interface has left them.
  void remove_stale();

 private:
  std::string interface_;
  std::string script_;  // script in force
  bool present_ = false;
};

}  // namespace s5066::ip_client
