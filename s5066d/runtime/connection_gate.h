// SPDX-License-Identifier: Apache-2.0
// Decides who may connect to the SIS port, how many at a time and how often, and with which rights.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/runtime/settings.h"
#include "s5066d/sap/config.h"

namespace s5066::runtime {

/// The process at the other end of a local socket, as it was when it connected. It is 0 for a
/// process that cannot be seen from here, for example in another container.
struct LocalPeer {
  pid_t process = 0;
  uid_t user = 0;
};
/// The other end of a connection.
using Peer = std::variant<boost::asio::ip::address, LocalPeer>;
/// Returns text like "192.0.2.7" or "pid 711 uid 1000".
std::string to_string(const Peer& peer);

class ConnectionGate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit ConnectionGate(const SisListenerConfig& config) : config_(config) {}

  /// Parses the addresses of the allow list.
  Result<void> open();
  /// Replaces limits and allow list from now on; existing connections stay. After an error
  /// everything is as before.
  Result<void> change(const SisListenerConfig& config);

  /// Counts the connection until on_closed(), or returns why it must be closed.
  Result<void> admit(Time now, const Peer& peer);
  void on_closed(const Peer& peer);

  /// Returns one number for all addresses that count as one host: the address for IPv4, its first
  /// 64 bits for IPv6, and the process for a local client.
  static std::uint64_t host_key_of(const Peer& peer);

  struct Permission {
    /// Rights; if empty, the node's bind policy decides.
    std::optional<sap::ClientAccess> access;
    std::uint8_t priority_max = sap::kPriorityMax;
  };
  /// Returns the permission of the first entry that fits; nothing if none does. `names` are those
  /// in the certificate.
  std::optional<Permission> permission_of(const Peer& peer,
                                          const std::vector<std::string>& names) const;

 private:
  /// Key of an address, an IPv6 network of 64 bits, a process or a user.
  using Key = std::pair<char, std::string>;
  /// Limits that one peer shares with others of the same key.
  struct Share {
    Key key;
    std::size_t connections_max = 0;
    std::uint32_t connects_per_second_max = 0;
    std::string_view whose;  // text like "from this address"
  };
  struct Source {
    std::size_t connections = 0;
    Time paid_until{};  // time up to which the connections so far are charged
  };
  struct Network {
    boost::asio::ip::address address;
    unsigned bits = 0;
  };

  bool contains(const Network& network, const boost::asio::ip::address& peer) const;
  bool is_named(const boost::asio::ip::address& peer) const;
  void forget_the_quiet(Time now);
  std::vector<Share> shares_of(const Peer& peer) const;

  SisListenerConfig config_;
  std::vector<std::optional<Network>> networks_;  // networks of config_.allow; empty: any address
  std::map<Key, Source> sources_;
  std::size_t connections_ = 0;
};

}  // namespace s5066::runtime
