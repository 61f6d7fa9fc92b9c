// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/carrier_udp_core.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kIpOctets = 28;
constexpr std::size_t kTypeAt = 3;
constexpr std::size_t kSourceAt = 8;
constexpr std::uint8_t kAnnounce = 0x04;
constexpr Duration kTimerLate = std::chrono::milliseconds(1);

}  // namespace

CarrierUdpCore::CarrierUdpCore(const Config& config) : config_(config) {
  S5066_ASSERT(config.rate_bps > 0);
}

std::optional<UdpEndpoint> CarrierUdpCore::endpoint_of(const OutgoingPdu& pdu) const {
  const std::uint16_t port = pdu.use == Use::ack    ? config_.ports.ack
                             : pdu.use == Use::data ? config_.ports.data
                             : (pdu.octets.at(kTypeAt) & 0x3F) == kAnnounce
                                 ? config_.ports.announce
                                 : config_.ports.group_control;
  if (const auto* node = std::get_if<NodeId>(&pdu.target)) {
    const auto at = config_.nodes.find(*node);
    return UdpEndpoint{at == config_.nodes.end() ? node->value : at->second, port};
  }
  if (const auto* group = std::get_if<MulticastAddress>(&pdu.target)) {
    return UdpEndpoint{group->value, port};
  }
  if (pdu.use == Use::group_control) return UdpEndpoint{config_.global_group, port};
  const auto at = config_.groups.find(std::get<GroupId>(pdu.target));
  if (at == config_.groups.end()) return std::nullopt;
  return UdpEndpoint{at->second, port};
}

// The rate gives the time between two PDUs, which the standard calls PDU_DELAY.
double CarrierUdpCore::rate_of(const OutgoingPdu& pdu) const {
  const auto* group = std::get_if<GroupId>(&pdu.target);
  if (group == nullptr) return config_.rate_bps;
  const auto at = config_.group_rates_bps.find(*group);
  return at == config_.group_rates_bps.end() ? config_.rate_bps : at->second;
}

Result<void> CarrierUdpCore::request_send(Instant now, const OutgoingPdu& pdu) {
  if (!ready(now)) return Error{ErrorCode::queue_full, "the carrier takes no PDU now"};
  if (pdu.octets.size() > config_.pdu_octets_max)
    return Error{ErrorCode::too_large, "the PDU is larger than pdu_octets_max"};
  const auto to = endpoint_of(pdu);
  if (!to) {
    counters_.add(CarrierCounter::unknown_target);
    return Error{ErrorCode::not_found, "the station or group has no address in the configuration"};
  }
  const double bits = 8.0 * static_cast<double>(pdu.octets.size() + kIpOctets);
  // A timer that is late by up to kTimerLate does not lower the rate. An idle time does not allow a
  // burst afterwards.
  clear_at_ = std::max(clear_at_, now - kTimerLate) + from_seconds(bits / rate_of(pdu));
  counters_.add(CarrierCounter::sent);
  datagrams_.push_back({*to, pdu.octets});
  return {};
}

std::optional<UdpDatagram> CarrierUdpCore::poll_datagram() {
  return take_front(datagrams_);
}

bool CarrierUdpCore::on_datagram(std::uint32_t from, ByteSpan octets) {
  if (octets.size() < kSourceAt + 4) {
    counters_.add(CarrierCounter::malformed);
    return false;
  }
  const auto known = config_.nodes.find({get_u32(octets, kSourceAt)});
  if (known != config_.nodes.end() && known->second != from) {
    counters_.add(CarrierCounter::source_refused);
    return false;
  }
  counters_.add(CarrierCounter::received);
  return true;
}

std::vector<std::uint32_t> CarrierUdpCore::groups() const {
  std::vector<std::uint32_t> all = {config_.global_group};
  for (const auto& [id, address] : config_.groups) all.push_back(address);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace s5066::p_mul
