// Who may connect to the SIS port, how many at a time and how often, and what each may do.
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

/// The process at the other end of a local socket, as it was when it connected. A process that
/// cannot be seen from here, as in another container, is 0.
struct LocalPeer {
  pid_t process = 0;
  uid_t user = 0;
};
/// The other end of a connection.
using Peer = std::variant<boost::asio::ip::address, LocalPeer>;
/// "192.0.2.7", "pid 711 uid 1000".
std::string to_string(const Peer& peer);

class ConnectionGate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit ConnectionGate(const SisListenerConfig& config) : config_(config) {}

  /// Reads the addresses of the allow list.
  Result<void> open();
  /// Other limits and another allow list from now on; what is connected stays. With an error
  /// everything is as it was.
  Result<void> change(const SisListenerConfig& config);

  /// Counts the connection until on_closed(), or says why it has to go.
  Result<void> admit(Time now, const Peer& peer);
  void on_closed(const Peer& peer);

  /// One number for all addresses that count as one: of IPv4 the address, of IPv6 its first 64
  /// bits; of a local client that of its process.
  static std::uint64_t household_of(const Peer& peer);

  struct Permission {
    /// None: what the node's bind policy says.
    std::optional<sap::ClientAccess> access;
    std::uint8_t priority_max = sap::kPriorityMax;
  };
  /// By the first entry that fits; nothing when none does. `names` are those in the certificate.
  std::optional<Permission> permission_of(const Peer& peer,
                                          const std::vector<std::string>& names) const;

 private:
  /// An address, an IPv6 network of 64 bits, a process or a user.
  using Key = std::pair<char, std::string>;
  /// What one peer takes a part of.
  struct Share {
    Key key;
    std::size_t connections_max = 0;
    std::uint32_t connects_per_second_max = 0;
    std::string_view whose;  // "from this address"
  };
  struct Source {
    std::size_t connections = 0;
    Time paid_until{};  // of the connections made so far
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
  std::vector<std::optional<Network>> networks_;  // of config_.allow; none: any address
  std::map<Key, Source> sources_;
  std::size_t connections_ = 0;
};

}  // namespace s5066::runtime
