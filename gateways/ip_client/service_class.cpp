// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/service_class.h"

#include <algorithm>

namespace s5066::ip_client {
namespace {

// Bits of the TOS octet (RFC 1349).
constexpr std::uint8_t kDelay = 0x10;
constexpr std::uint8_t kReliability = 0x04;
constexpr std::uint8_t kCost = 0x02;
constexpr std::uint8_t kAllTosBits = 0x1E;
/// STANDARD: Table F-8 asks for more than one repeat. Two satisfy both readings of "repeat".
constexpr std::uint8_t kReliableRepeats = 2;

std::uint8_t precedence_priority(std::uint8_t traffic_class) {
  return static_cast<std::uint8_t>((traffic_class >> 5) * 2);
}

/// True if Table F-8 selects ARQ. A combination that the table leaves open uses ARQ.
bool tos_wants_arq(std::uint8_t traffic_class) {
  const std::uint8_t bits = traffic_class & kAllTosBits;
  return bits != kDelay && bits != kCost;
}

}  // namespace

std::array<QosConfig::Class, 64> QosConfig::default_classes() {
  std::array<Class, 64> classes{};
  for (std::size_t dscp = 0; dscp < classes.size(); ++dscp) {
    classes[dscp].priority = static_cast<std::uint8_t>(dscp / 8 * 2);
  }
  return classes;
}

Delivery delivery_of(const QosConfig& config, const Datagram& datagram, const Route& route) {
  const std::uint8_t octet = datagram.traffic_class;
  std::optional<bool> arq;
  Delivery delivery{.repeats = config.repeats};
  switch (config.mode) {
    case QosMode::off:
      delivery.priority = config.priority;
      break;
    case QosMode::diffserv:
      delivery.priority = config.by_dscp[octet / 4].priority;
      arq = config.by_dscp[octet / 4].arq;
      break;
    case QosMode::tos:
      delivery.priority = precedence_priority(octet);
      arq = tos_wants_arq(octet);
      if (route.station.group && (octet & kReliability) != 0) {
        delivery.repeats = std::max(config.repeats, kReliableRepeats);
      }
      break;
  }
  delivery.arq = !route.station.group && route.arq.value_or(arq.value_or(true));
  if (route.repeats) delivery.repeats = *route.repeats;
  if (delivery.arq) delivery.repeats = 0;
  if (!route.station.group && !route.repeats) delivery.repeats = 0;
  if (route.priority_max) delivery.priority = std::min(delivery.priority, *route.priority_max);
  return delivery;
}

}  // namespace s5066::ip_client
