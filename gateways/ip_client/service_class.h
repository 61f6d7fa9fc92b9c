// SPDX-License-Identifier: Apache-2.0
// Quality of service (F.12.4). The TOS octet of a datagram selects the priority and the delivery
// mode of its U_PDU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gateways/ip_client/datagram.h"
#include "gateways/ip_client/route_table.h"

namespace s5066::ip_client {

enum class QosMode : std::uint8_t {
  off,       // one priority for all
  diffserv,  // DSCP (F.12.4.2)
  tos,       // precedence and D, T, R, C of RFC 1349 (F.12.4.1)
};

struct QosConfig {
  struct Class {
    std::uint8_t priority = 0;
    std::optional<bool> arq;  // default: ARQ to one station, non-ARQ to a group
    friend bool operator==(const Class&, const Class&) = default;
  };
  QosMode mode = QosMode::diffserv;
  std::array<Class, 64> by_dscp = default_classes();
  std::uint8_t priority = 0;  // priority for the mode `off`
  std::uint8_t repeats = 1;   // non-ARQ to a group is sent 1 + this many times

  /// Table 9 of F.12.4.2: the priority is twice the class selector.
  static std::array<Class, 64> default_classes();
};

struct Delivery {
  std::uint8_t priority = 0;
  bool arq = true;
  std::uint8_t repeats = 0;  // without ARQ
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

Delivery delivery_of(const QosConfig& config, const Datagram& datagram, const Route& route);

}  // namespace s5066::ip_client
