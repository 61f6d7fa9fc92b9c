// Who may connect to the SIS port, how many at a time and how often, and what each may do.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/runtime/settings.h"
#include "s5066d/sap/config.h"

namespace s5066::runtime {

class ConnectionGate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit ConnectionGate(const SisListenerConfig& config) : config_(config) {}

  /// Reads the addresses of the allow-list.
  Result<void> open();

  /// Counts the connection until on_closed(), or says why it has to go.
  Result<void> admit(Time now, const boost::asio::ip::address& peer);
  void on_closed(const boost::asio::ip::address& peer);

  /// One number for all addresses that count as one: of IPv4 the address, of IPv6 its first 64
  /// bits.
  static std::uint64_t household_of(const boost::asio::ip::address& peer);

  struct Permission {
    /// None: what the node's bind policy says.
    std::optional<sap::ClientAccess> access;
  };
  /// By the first entry that fits; nothing when none does. `names` are those in the certificate.
  std::optional<Permission> permission_of(const boost::asio::ip::address& peer,
                                          const std::vector<std::string>& names) const;

 private:
  /// An IPv6 network of 64 bits is one household.
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

  const SisListenerConfig config_;
  std::vector<std::optional<Network>> networks_;  // of config_.allow; none: any address
  std::map<boost::asio::ip::address, Source> sources_;
  std::size_t connections_ = 0;
};

}  // namespace s5066::runtime
