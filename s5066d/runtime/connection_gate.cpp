// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/connection_gate.h"

#include <algorithm>
#include <charconv>

#include "s5066d/base/assert.h"

namespace s5066::runtime {

namespace {
namespace ip = boost::asio::ip;

/// Largest number of addresses, processes and users whose rate is remembered; above it the inactive
/// ones are forgotten.
constexpr std::size_t kSourcesMax = 1024;
constexpr unsigned kHostKeyBits = 64;

ip::address plain(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  }
  return address;
}

template <typename Octets>
bool agree(const Octets& a, const Octets& b, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

ip::address source_of(const ip::address& peer) {
  const ip::address address = plain(peer);
  if (address.is_v4()) return address;
  ip::address_v6::bytes_type octets = address.to_v6().to_bytes();
  std::fill(octets.begin() + kHostKeyBits / 8, octets.end(), std::uint8_t{0});
  return ip::address_v6(octets);
}

/// Returns the time that one connection takes of a second.
std::chrono::nanoseconds cost_of(std::uint32_t connects_per_second_max) {
  return std::chrono::nanoseconds(std::chrono::seconds(1)) / std::max(connects_per_second_max, 1u);
}

}  // namespace

std::string to_string(const Peer& peer) {
  if (const auto* address = std::get_if<ip::address>(&peer)) return address->to_string();
  const LocalPeer& local = std::get<LocalPeer>(peer);
  return "pid " + std::to_string(local.process) + " uid " + std::to_string(local.user);
}

Result<void> ConnectionGate::open() {
  networks_.clear();
  for (const AllowEntry& entry : config_.allow) {
    networks_.emplace_back();
    if (entry.address.empty()) continue;
    const std::size_t slash = entry.address.find('/');
    boost::system::error_code failure;
    Network network{plain(ip::make_address(entry.address.substr(0, slash), failure))};
    const unsigned bits_max = network.address.is_v4() ? 32 : 128;
    network.bits = bits_max;
    if (slash != std::string::npos) {
      const char* end = entry.address.data() + entry.address.size();
      const auto read = std::from_chars(entry.address.data() + slash + 1, end, network.bits);
      if (read.ec != std::errc() || read.ptr != end) network.bits = bits_max + 1;
    }
    if (failure || network.bits > bits_max) {
      return Error{ErrorCode::bad_field, "not an address or network: " + entry.address};
    }
    networks_.back() = network;
  }
  return {};
}

Result<void> ConnectionGate::change(const SisListenerConfig& config) {
  const auto before = std::exchange(config_, config);
  const auto networks = networks_;
  auto opened = open();
  if (opened) return opened;
  config_ = before;
  networks_ = networks;
  return opened;
}

Result<void> ConnectionGate::admit(Time now, const Peer& peer) {
  const auto* address = std::get_if<ip::address>(&peer);
  if (address != nullptr && !is_named(*address)) {
    return Error{ErrorCode::refused, "address not allowed"};
  }
  if (connections_ >= config_.connections_max) {
    return Error{ErrorCode::queue_full, "too many connections"};
  }
  const std::vector<Share> shares = shares_of(peer);
  if (sources_.size() + shares.size() > kSourcesMax) forget_the_quiet(now);
  for (const Share& share : shares) {
    const auto found = sources_.find(share.key);
    if (found == sources_.end()) {
      if (sources_.size() + shares.size() <= kSourcesMax) continue;
      return Error{ErrorCode::queue_full,
                   "connections from too many addresses, users and processes"};
    }
    const Source& source = found->second;
    const std::string whose(share.whose);
    if (source.connections >= share.connections_max) {
      return Error{ErrorCode::queue_full, "too many connections " + whose};
    }
    if (std::max(source.paid_until, now) + cost_of(share.connects_per_second_max) - now >
        std::chrono::seconds(1)) {
      return Error{ErrorCode::queue_full, "too many connections a second " + whose};
    }
  }
  // The connections that a second allows may come at once. A refused one costs nothing.
  for (const Share& share : shares) {
    Source& source = sources_[share.key];
    source.paid_until = std::max(source.paid_until, now) + cost_of(share.connects_per_second_max);
    ++source.connections;
  }
  ++connections_;
  return {};
}

void ConnectionGate::on_closed(const Peer& peer) {
  for (const Share& share : shares_of(peer)) {
    const auto source = sources_.find(share.key);
    S5066_ASSERT(source != sources_.end() && source->second.connections > 0);
    --source->second.connections;
  }
  S5066_ASSERT(connections_ > 0);
  --connections_;
}

std::vector<ConnectionGate::Share> ConnectionGate::shares_of(const Peer& peer) const {
  if (const auto* address = std::get_if<ip::address>(&peer)) {
    return {{{'a', source_of(*address).to_string()},
             config_.connections_per_address_max,
             config_.connects_per_second_max,
             "from this address"}};
  }
  const LocalPeer& local = std::get<LocalPeer>(peer);
  const LocalListenerConfig limits = config_.local.value_or(LocalListenerConfig{});
  std::vector<Share> shares{{{'u', std::to_string(local.user)},
                             limits.connections_per_user_max,
                             limits.connects_per_user_second_max,
                             "of this user"}};
  if (local.process == 0) return shares;
  shares.push_back({{'p', std::to_string(local.process)},
                    limits.connections_per_process_max,
                    limits.connects_per_process_second_max,
                    "of this process"});
  return shares;
}

std::uint64_t ConnectionGate::host_key_of(const Peer& peer) {
  constexpr std::uint64_t kLocal = std::uint64_t{1} << 63;
  if (const auto* local = std::get_if<LocalPeer>(&peer)) {
    return kLocal | static_cast<std::uint64_t>(local->process);
  }
  const ip::address source = source_of(std::get<ip::address>(peer));
  if (source.is_v4()) return source.to_v4().to_uint();
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kHostKeyBits / 8; ++i) {
    number = number << 8 | source.to_v6().to_bytes()[i];
  }
  return number;
}

std::optional<ConnectionGate::Permission> ConnectionGate::permission_of(
    const Peer& peer, const std::vector<std::string>& names) const {
  if (std::holds_alternative<LocalPeer>(peer)) {  // the mode of the socket decides who may connect
    return Permission{config_.local ? config_.local->access : std::nullopt};
  }
  if (config_.allow.empty()) return Permission{};
  const ip::address& address = std::get<ip::address>(peer);
  for (std::size_t i = 0; i < config_.allow.size(); ++i) {
    const AllowEntry& entry = config_.allow[i];
    if (networks_[i] && !contains(*networks_[i], address)) continue;
    const bool known = entry.certificate.empty() ||
                       std::find(names.begin(), names.end(), entry.certificate) != names.end();
    if (known) return Permission{entry.access, entry.priority_max};
  }
  return std::nullopt;
}

/// True if an entry could fit, with any certificate.
bool ConnectionGate::is_named(const ip::address& peer) const {
  return config_.allow.empty() ||
         std::any_of(networks_.begin(), networks_.end(),
                     [&](const auto& network) { return !network || contains(*network, peer); });
}

bool ConnectionGate::contains(const Network& network, const ip::address& peer) const {
  const ip::address address = plain(peer);
  if (network.address.is_v4() != address.is_v4()) return false;
  if (address.is_v4()) {
    return agree(network.address.to_v4().to_bytes(), address.to_v4().to_bytes(), network.bits);
  }
  return agree(network.address.to_v6().to_bytes(), address.to_v6().to_bytes(), network.bits);
}

void ConnectionGate::forget_the_quiet(Time now) {
  std::erase_if(sources_, [now](const auto& entry) {
    return entry.second.connections == 0 && entry.second.paid_until <= now;
  });
}

}  // namespace s5066::runtime
