// SPDX-License-Identifier: Apache-2.0
// P_MUL over STANAG 5066 (F.5, F.8, F.9). Each PDU is a U_PDU behind the six-octet header of UDOP
// and RCOP, and is never divided. PDUs to groups and to ordinary nodes go without ARQ. A PDU to one
// node goes by ARQ if it asks for that and the SAP allows both services.
//
// Only S_DATA_FLOW controls the flow. The core estimates when the node will have transmitted its
// data, because answers can come only after that. The node does not report this time for non-ARQ
// data, so the core measures the rate: between two times at which the node turns the flow on, it
// has transmitted the data that it was given between them. Before the first measurement the core
// uses a configured rate.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "gateways/common/rcop.h"
#include "gateways/common/sis_port.h"
#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

/// Application identifier of T-MMHS between LMTAs (Table F-5).
inline constexpr std::uint16_t kPMulApplication = 0x2000;
inline constexpr SapId kMmhsSap{2};
inline constexpr SapId kUdopSap{7};

/// P_MUL uses the priorities 0 to 8 of U_PDUs.
inline constexpr std::size_t kSisPriorities = 9;

/// Estimates when data that was handed over will have left.
class DrainEstimate {
 public:
  /// The estimate uses `rate_bps` until a rate is measured.
  explicit DrainEstimate(double rate_bps) : rate_bps_(rate_bps) {}

  void on_handed(Instant now, std::uint8_t sis_priority, std::size_t octets);
  void on_flow(Instant now, bool on);
  /// Call when the connection to the node is lost. The node then has none of our data.
  void on_lost(Instant now);
  /// Call when the silence of our node (EMCON) begins or ends. The data stays in the node during
  /// the silence, and that time does not count for the rate.
  void on_silence(Instant now, bool silent);

  double rate_bps() const { return rate_bps_; }
  bool measured() const { return measured_; }
  /// Returns the time when all data that was handed over will have left.
  Instant clear_at(Instant now) const;
  /// Returns the time when all data of that priority and of higher priorities will have left. The
  /// node sends the most urgent data first. Only less urgent data that it has already prepared for
  /// transmission comes before; it takes at most `prepared_max`.
  Instant clear_at(Instant now, std::uint8_t sis_priority, Duration prepared_max) const;

 private:
  using Backlog = std::array<double, kSisPriorities>;  // octets, by priority
  Backlog backlog(Instant now) const;

  double rate_bps_;
  bool measured_ = false;
  bool flow_on_ = true;
  bool silent_ = false;
  Backlog backlog_{};
  Instant at_{};
  std::optional<Instant> turned_on_at_;
  Instant turned_off_at_{};
  std::size_t handed_since_ = 0;
};

class CarrierUdopCore {
 public:
  /// Longest time for data that s5066d has prepared. It prepares two transmissions without ARQ of
  /// at most 127.5 s each, and a more urgent U_PDU does not overtake a U_PDU in them.
  static constexpr Duration kHeldByNodeMax = std::chrono::seconds(255);

  struct Config {
    SapId sap = kMmhsSap;  // of both stations
    std::uint16_t application = kPMulApplication;
    bool node_is_address = false;     // the number of a node is the address of its station
    std::map<NodeId, Address> nodes;  // station of each node; PDUs from others are refused
    std::map<GroupId, Address> groups;
    std::uint8_t repeats = 0;              // 0..15: non-ARQ data is sent 1 + this often
    double rate_bps = 300;                 // used until a rate is measured
    std::size_t arq_outstanding_max = 16;  // unconfirmed PDUs to one node
    std::size_t learned_max = 1024;        // remembered addresses of nodes that are not in `nodes`
    Duration lifetime_max = std::chrono::hours(24);
  };

  explicit CarrierUdopCore(const Config& config);

  // Events in.
  void on_sis(Instant now, const gateways::SisEvent& event);
  /// Call when our own EMCON begins or ends. No data goes to the node during EMCON. PDUs that P_MUL
  /// has handed over and that the node has not got are dropped. P_MUL sends them again in later
  /// rounds if the message is acknowledged.
  void on_silence(Instant now, bool silent);
  /// Call when another user of the SAP has handed over data without ARQ, because the data takes
  /// time on the same line. `octets` includes the repeats.
  void on_other_handed(Instant now, std::uint8_t sis_priority, std::size_t octets);
  /// Sends a PDU of at most the MTU less 6 octets. Fails with `too_large` for a larger PDU, with
  /// `queue_full` if there is no room, and with `not_found` for a target without an address.
  Result<void> request_send(Instant now, OutgoingPdu pdu);

  // Outputs. ready() is true if there is room for one more PDU. A PDU by ARQ to a node of
  // arq_full() is refused all the same.
  bool ready() const;
  /// Returns the nodes for which the limit of unconfirmed PDUs by ARQ is reached.
  std::set<NodeId> arq_full() const;
  std::optional<gateways::SisUnidata> poll_unidata();
  std::optional<Bytes> poll_datagram();
  /// Returns the time when all data that was handed over will have left.
  Instant clear_at(Instant now) const;
  /// Returns the time when all PDUs of that P_MUL priority will have left.
  Instant clear_at(Instant now, std::uint8_t priority) const;
  std::size_t pdu_octets_max() const { return mtu_ - gateways::kRcopHeaderBytes; }
  bool bound() const { return bound_; }
  const CounterSet<CarrierCounter>& counters() const { return counters_; }
  const DrainEstimate& drain() const { return drain_; }

 private:
  std::optional<Address> address_of(const Target& target) const;
  bool may_speak_for(NodeId node, Address station);
  bool may_use_arq(const OutgoingPdu& pdu) const;
  void send(Instant now, const OutgoingPdu& pdu, bool arq);
  void on(Instant now, const gateways::SisBound& event);
  void on(Instant now, const gateways::SisLost& event);
  void on(Instant now, const gateways::SisFlow& event);
  void on(Instant now, const gateways::SisIndication& event);
  void on(Instant now, const gateways::SisConfirmed& event);
  void on(Instant now, const gateways::SisRejected& event);
  void on(Instant now, const gateways::SisUnresolved& event);
  void arq_failed(Instant now, gateways::SisRequestId id);

  Config config_;
  bool bound_ = false;
  bool flow_on_ = false;
  bool silent_ = false;
  std::size_t mtu_ = sis::kMtu;
  std::uint64_t last_request_ = 0;
  std::uint8_t updu_id_ = 0;
  std::map<gateways::SisRequestId, OutgoingPdu> arq_;  // not yet confirmed
  std::map<NodeId, Address> learned_;
  std::deque<gateways::SisUnidata> requests_;
  std::deque<Bytes> datagrams_;
  DrainEstimate drain_;
  CounterSet<CarrierCounter> counters_;
};

}  // namespace s5066::p_mul
