#include "s5066d/runtime/connection_gate.h"

#include <algorithm>
#include <charconv>

#include "s5066d/base/assert.h"

namespace s5066::runtime {

namespace {
namespace ip = boost::asio::ip;

/// Addresses remembered for the sake of their rate; above it those that are quiet are forgotten.
constexpr std::size_t kSourcesMax = 1024;
constexpr unsigned kHouseholdBits = 64;

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
  std::fill(octets.begin() + kHouseholdBits / 8, octets.end(), std::uint8_t{0});
  return ip::address_v6(octets);
}

}  // namespace

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

Result<void> ConnectionGate::admit(Time now, const ip::address& peer) {
  if (!is_named(peer)) return Error{ErrorCode::refused, "address not allowed"};
  if (connections_ >= config_.connections_max) {
    return Error{ErrorCode::queue_full, "too many connections"};
  }
  if (sources_.size() >= kSourcesMax) forget_the_quiet(now);
  const ip::address key = source_of(peer);
  if (sources_.count(key) == 0 && sources_.size() >= kSourcesMax) {
    return Error{ErrorCode::queue_full, "connections from too many addresses"};
  }
  Source& source = sources_[key];
  if (source.connections >= config_.connections_per_address_max) {
    return Error{ErrorCode::queue_full, "too many connections from this address"};
  }
  // As many as a second allows may come at once; a refused one costs nothing.
  const auto cost = std::chrono::nanoseconds(std::chrono::seconds(1)) /
                    std::max(config_.connects_per_second_max, 1u);
  const Time paid_until = std::max(source.paid_until, now) + cost;
  if (paid_until - now > std::chrono::seconds(1)) {
    return Error{ErrorCode::queue_full, "too many connections a second from this address"};
  }
  source.paid_until = paid_until;
  ++source.connections;
  ++connections_;
  return {};
}

void ConnectionGate::on_closed(const ip::address& peer) {
  const auto source = sources_.find(source_of(peer));
  S5066_ASSERT(source != sources_.end() && source->second.connections > 0 && connections_ > 0);
  --source->second.connections;
  --connections_;
}

std::uint64_t ConnectionGate::household_of(const ip::address& peer) {
  const ip::address source = source_of(peer);
  if (source.is_v4()) return source.to_v4().to_uint();
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kHouseholdBits / 8; ++i) {
    number = number << 8 | source.to_v6().to_bytes()[i];
  }
  return number;
}

std::optional<ConnectionGate::Permission> ConnectionGate::permission_of(
    const ip::address& peer, const std::vector<std::string>& names) const {
  if (config_.allow.empty()) return Permission{};
  for (std::size_t i = 0; i < config_.allow.size(); ++i) {
    const AllowEntry& entry = config_.allow[i];
    if (networks_[i] && !contains(*networks_[i], peer)) continue;
    const bool known = entry.certificate.empty() ||
                       std::find(names.begin(), names.end(), entry.certificate) != names.end();
    if (known) return Permission{entry.access};
  }
  return std::nullopt;
}

/// Whether an entry could fit, whatever the certificate will say.
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
