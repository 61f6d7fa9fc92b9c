// SPDX-License-Identifier: Apache-2.0
// The IP client of Annex F (F.12) between the network interface and the subnetwork. The core has no
// I/O and no clock.
//
// A shell calls on_datagram() for each datagram that the host sends through the interface, and
// on_sis() for each event of the SIS client. After every call it drains poll_action() and sets one
// timer. Datagrams from the host are checked, matched with the drop rules, routed to a station or
// group, classified, fragmented if they are too large, and queued. poll_action() hands over as much
// as the next transmission can take. For ARQ the confirmations decide how much that is
// (HandoverWindow), and without ARQ the measured rate. Each datagram is one U_PDU from its first
// octet (F.12.2).
//
// Every limit is per station first. A station that has not answered gets a further datagram only
// while fewer than two of the same or a higher priority are with the node. After the station counts
// as silent, its datagrams are refused with ICMP at once, and one datagram is tried at growing
// intervals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "gateways/common/handover_window.h"
#include "gateways/common/sis_port.h"
#include "gateways/ip_client/datagram.h"
#include "gateways/ip_client/drop_rules.h"
#include "gateways/ip_client/icmp.h"
#include "gateways/ip_client/ip_types.h"
#include "gateways/ip_client/ipv6_peers.h"
#include "gateways/ip_client/packet_queue.h"
#include "gateways/ip_client/route_table.h"
#include "gateways/ip_client/service_class.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

using gateways::HandoverWindow;

/// SAP of the IP client (Table F-1).
inline constexpr SapId kIpSap{9};

class IpClientCore {
 public:
  struct Config {
    RouteTable routes;
    QosConfig qos;
    DropConfig drops;
    std::vector<IpAddress> own_addresses;   // of the interface; refused as a source from the air
    bool check_sources = true;              // true if the table must assign a source to its station
    bool fragment = true;                   // if false, each datagram is treated as with DF
    bool report_not_bound = true;           // report a station without an IP client
    std::optional<IpAddress> icmp_from_v4;  // default: the destination of the datagram
    std::optional<IpAddress> icmp_from_v6;
    std::uint32_t icmp_burst = 10;
    Duration icmp_interval = std::chrono::seconds(1);

    gateways::HandoverWindow::Config window;
    PacketQueue::Config queue;
    std::size_t station_outstanding_max = 512;  // U_PDUs with the node for one station
    std::size_t outstanding_max = 1024;         // U_PDUs with the node for all stations
    std::size_t unheard_outstanding_max = 128;  // for stations that have not answered
    double line_rate_bps = 1200;  // rate for non-ARQ if neither ARQ nor the node gives one
    // Bounds of the age of a waiting datagram. Between them the age follows the turnaround.
    Duration age_min = std::chrono::seconds(15);
    Duration age_max = std::chrono::seconds(300);
    Duration age_unheard = std::chrono::seconds(120);  // age before the station has answered
    // A silent station is tried again after this time. The time doubles up to `retry_max`.
    Duration retry_min = std::chrono::seconds(10);
    Duration retry_max = std::chrono::seconds(300);
    Duration loop_memory = std::chrono::minutes(10);
    std::size_t loop_memory_max = 4096;  // datagrams
    std::size_t flows_max = 1024;        // conversations that are counted
  };
  /// Gives a datagram to the interface.
  struct ToInterface {
    Bytes octets;
  };
  using Action = std::variant<IpEvent, ToInterface, gateways::SisUnidata>;

  static constexpr std::size_t kMtuMin = 296;  // RFC 1144, for slow lines

  explicit IpClientCore(const Config& config);

  // Events in. `now` never goes backwards.
  void on_datagram(Instant now, Bytes octets);
  void on_sis(Instant now, const gateways::SisEvent& event);
  /// Call when the table has changed. Datagrams for stations that are no longer in the table are
  /// dropped.
  void on_routes(Instant now, RouteTable routes);
  /// Call when the node has reported the rate of its mode.
  void on_node_rate(double rate_bps) { node_rate_bps_ = rate_bps; }
  void on_deadline(Instant now);

  // Out.
  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  bool bound() const { return bound_; }
  bool flow_on() const { return flow_on_; }
  std::size_t mtu() const { return mtu_; }
  const RouteTable& routes() const { return config_.routes; }
  const PacketQueue& queue() const { return queue_; }
  std::size_t outstanding() const { return outstanding_.size(); }
  const CounterSet<IpCounter>& counters() const { return counters_; }
  std::uint64_t drops(Direction direction, Drop drop) const { return drops_of(direction)[drop]; }
  /// Call when the interface did not take a datagram.
  void on_interface_refused() { counters_.add(IpCounter::interface_refused); }
  /// Appends all counters.
  void list(CounterRows& rows) const;
  std::vector<StationState> stations(Instant now) const;
  std::vector<FlowCount> flows(Instant now) const;

 private:
  struct Station {
    explicit Station(const gateways::HandoverWindow::Config& config) : window(config) {}
    gateways::HandoverWindow window;
    std::optional<Instant> heard_at;
    std::optional<Instant> silent_since;
    Instant probe_at{};
    std::uint64_t served = 0;  // turn in which it was served last
  };
  /// An ARQ request that the node has not answered yet.
  struct Outstanding {
    Address station;
    FlowKey flow;
    Datagram datagram;
    Bytes quote;  // first octets of the datagram, for ICMP
    Instant handed{};
  };
  struct Seen {
    Address station;
    Instant at{};
  };
  struct Conversation {
    FlowCount count;
    Instant seen{};
  };

  void note(Instant now) { now_ = now; }
  void on(const gateways::SisBound& event);
  void on(const gateways::SisLost& event);
  void on(const gateways::SisFlow& event);
  void on(const gateways::SisIndication& event);
  void on(const gateways::SisConfirmed& event);
  void on(const gateways::SisRejected& event);
  void on(const gateways::SisUnresolved& event);

  bool lacks_node();
  std::optional<Drop> reason_to_drop(const Datagram& datagram, ByteSpan octets) const;
  void send(const Route& route, const Datagram& datagram, Bytes octets);
  void enqueue(const Line& line, Packet packet);
  bool has_ipv6_row(Address station) const;
  void send_ipv6_notice(Address station, bool answer_wanted);
  void on_ipv6_notice(Address station, const Ipv6Notice& notice);
  bool under_way(Address station, const FlowKey& flow, const TcpSegment& segment) const;
  std::size_t mtu_for(const Route& route) const;

  std::optional<gateways::SisUnidata> next_unidata();
  bool has_room(const Line& line, const PacketQueue::Head& head);
  gateways::SisUnidata hand_over(const Line& line, Packet packet);
  PacketQueue::Limits limits_of(const Line& line) const;
  double air_rate_bps() const;
  double air_backlog_octets() const;

  Station& station(Address address);
  bool is_silent(Address address) const;
  void on_heard(Address address);
  void on_not_answered(Address address);

  bool source_allowed(const Datagram& datagram, Address station) const;
  bool is_loop(const Datagram& datagram, ByteSpan octets, Address station) const;
  void remember(const Datagram& datagram, ByteSpan octets, Address station);

  /// Counts the drop. `datagram` and `from` are for the log line. The rate of log lines is limited.
  void drop(Direction direction, Drop reason, const Datagram* datagram = nullptr,
            std::optional<Address> from = {});
  const CounterSet<Drop>& drops_of(Direction direction) const {
    return drops_[static_cast<std::size_t>(direction)];
  }
  void count_queue();
  void report(IcmpError error, const Datagram& datagram, ByteSpan octets, std::size_t mtu = 0);
  Conversation* conversation(const FlowKey& flow);
  void emit(IpEvent::Kind kind, Address station = {}, std::string detail = {});

  Config config_;
  Instant now_{};
  bool bound_ = false;
  bool flow_on_ = false;
  std::optional<Instant> unbound_since_;
  std::size_t mtu_ = sis::kMtu;
  PacketQueue queue_;
  std::map<Address, Station> stations_;
  Ipv6Peers ipv6_peers_;
  std::map<gateways::SisRequestId, Outstanding> outstanding_;
  std::uint64_t last_request_ = 0;
  std::uint64_t turn_ = 0;
  double node_rate_bps_ = 0;  // 0 until the node reports it
  double air_octets_ = 0;     // non-ARQ octets that the node still had at air_at_
  Instant air_at_{};
  std::optional<Instant> sweep_at_;
  std::unordered_map<std::uint64_t, Seen> seen_;  // datagrams from the air, by their hash
  std::deque<std::uint64_t> seen_order_;
  std::map<FlowKey, Conversation> conversations_;
  RateLimit icmp_limit_;
  std::array<CounterSet<Drop>, 2> drops_;  // by direction
  std::array<std::array<RateLimit, kDrops>, 2> drop_news_;
  CounterSet<IpCounter> counters_;
  std::deque<IpEvent> events_;            // drained after every input
  std::deque<ToInterface> to_interface_;  // drained after every input
};

}  // namespace s5066::ip_client
