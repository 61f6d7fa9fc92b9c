// SPDX-License-Identifier: Apache-2.0
// P_MUL over UDP multicast on a LAN: the address and port of each datagram, the rate, and the nodes
// for which a host may speak. One PDU is one datagram. The ID of a node without a table entry is
// its IPv4 address.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

struct UdpEndpoint {
  std::uint32_t address = 0;  // IPv4
  std::uint16_t port = 0;
  friend auto operator<=>(const UdpEndpoint&, const UdpEndpoint&) = default;
};

struct UdpDatagram {
  UdpEndpoint to;
  Bytes octets;
};

class CarrierUdpCore {
 public:
  /// The ports are a convention, not part of the standard.
  struct Ports {
    std::uint16_t group_control = 2751;
    std::uint16_t announce = 2752;
    std::uint16_t data = 2753;
    std::uint16_t ack = 2754;
  };
  struct Config {
    Ports ports{};
    std::map<NodeId, std::uint32_t> nodes{};
    std::map<GroupId, std::uint32_t> groups{};
    std::uint32_t global_group = 0xEF010101;      // 239.1.1.1
    double rate_bps = 50e6;                       // for all that we send, IP headers included
    std::map<GroupId, double> group_rates_bps{};  // for each group with a rate of its own
    std::size_t pdu_octets_max = 1472;            // an Ethernet frame holds this PDU undivided
  };

  explicit CarrierUdpCore(const Config& config);

  // Events in.
  /// Returns false if the datagram must not be handed on.
  bool on_datagram(std::uint32_t from, ByteSpan octets);
  Result<void> request_send(Instant now, const OutgoingPdu& pdu);

  /// Counts an error of the sockets.
  void count(CarrierCounter error) { counters_.add(error); }

  // Outputs.
  bool ready(Instant now) const { return now >= clear_at_ && datagrams_.empty(); }
  std::optional<UdpDatagram> poll_datagram();
  /// Returns when the next PDU may go.
  Instant clear_at() const { return clear_at_; }
  /// Returns the multicast addresses whose datagrams the core accepts.
  std::vector<std::uint32_t> groups() const;
  const CounterSet<CarrierCounter>& counters() const { return counters_; }

 private:
  std::optional<UdpEndpoint> endpoint_of(const OutgoingPdu& pdu) const;
  double rate_of(const OutgoingPdu& pdu) const;

  Config config_;
  Instant clear_at_{};
  std::deque<UdpDatagram> datagrams_;
  CounterSet<CarrierCounter> counters_;
};

}  // namespace s5066::p_mul
