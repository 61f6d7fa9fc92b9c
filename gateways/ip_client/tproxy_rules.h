// SPDX-License-Identifier: Apache-2.0
// Rules of nftables and a policy route by which the kernel gives TCP connections towards some
// prefixes to a transparent listener of this program (TPROXY). They need CAP_NET_ADMIN and the
// program `nft`. The rules are removed at the end; those of a killed program at the next start.
//
// A connection is intercepted by its SYN, so one that began before keeps its path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/result.h"

namespace s5066::ip_client {

struct TproxyPlan {
  std::string interface;  // the TUN interface; what comes from it is left alone
  std::vector<IpPrefix> prefixes;
  std::uint16_t port_v4 = 0;  // of the listener on 127.0.0.1; 0: IPv4 is not intercepted
  std::uint16_t port_v6 = 0;  // of the listener on ::1
};

/// Marks packets of intercepted connections, and numbers the routing table that keeps them here.
/// Each interface has its own, which a new process finds again.
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
  /// Removes also what an earlier process of this interface left.
  void remove_stale();

 private:
  std::string interface_;
  std::string script_;  // in force
  bool present_ = false;
};

}  // namespace s5066::ip_client
