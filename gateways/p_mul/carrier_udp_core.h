// SPDX-License-Identifier: Apache-2.0
// P_MUL over UDP multicast on a LAN. The core chooses the address and port of each datagram, keeps
// the rate, and refuses datagrams of a node that come from an address of another host. One PDU is
// one datagram. A node without a table entry has its ID as its IPv4 address.
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
    double rate_bps = 50e6;                       // rate of all datagrams with IP headers
    std::map<GroupId, double> group_rates_bps{};  // rates of groups that have their own
    std::size_t pdu_octets_max = 1472;            // largest PDU that fits one Ethernet frame
  };

  explicit CarrierUdpCore(const Config& config);

  // Events in.
  /// Returns true if the datagram may be handed to P_MUL.
  bool on_datagram(std::uint32_t from, ByteSpan octets);
  Result<void> request_send(Instant now, const OutgoingPdu& pdu);

  /// Counts an error of the sockets.
  void count(CarrierCounter error) { counters_.add(error); }

  // Outputs.
  bool ready(Instant now) const { return now >= clear_at_ && datagrams_.empty(); }
  std::optional<UdpDatagram> poll_datagram();
  /// Returns the time when the next PDU may be sent.
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
