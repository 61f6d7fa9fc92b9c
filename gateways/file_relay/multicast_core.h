// SPDX-License-Identifier: Apache-2.0
// Files by P_MUL over UDOP (SAP 7): for several stations at once, for stations in EMCON, and
// without acknowledgement. The number of a node of P_MUL is the address of its station.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/multicast_receiver_core.h"
#include "gateways/file_relay/multicast_sender_core.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

/// P_MUL with files has this APP_ID, next to that of the transfer service.
inline constexpr std::uint16_t kMulticastApplication = 0x8F55;

class MulticastCore {
 public:
  struct Config {
    Address own;  // 0: the relay has no P_MUL
    std::vector<StationGroup> groups;
    std::vector<Address> silent;  // stations that are in EMCON at the start
    std::uint32_t line_rate_bps = 2400;
    std::uint64_t seed = 1;
    MulticastSenderCore::Config sender;
    MulticastReceiverCore::Config receiver;
  };

  MulticastCore(const Config& config, IdSource& ids, const UtcClock& utc, MessageOutbox& outbox);

  bool enabled() const { return config_.own.value != 0; }

  // Events in.
  void on_clock(Instant now, UtcSeconds utc);
  void on_clock_set(std::chrono::seconds step) { sender_.on_clock_set(step); }
  void on_start(Instant now);
  /// Takes an event of the client that is bound to SAP 7.
  void on_sis(Instant now, const gateways::SisEvent& event);
  /// Call when our own EMCON begins or ends. Nothing leaves by P_MUL while it lasts.
  void on_own_silence(Instant now, bool silent);
  /// The node was given other data on SAP 7, of so many octets with their repeats.
  void on_other_handed(Instant now, std::uint8_t sis_priority, std::size_t octets);
  void on_spool_changed(Instant now);
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_changed(Instant now, const gateways::SpoolItem& row);
  bool on_refused(Instant now, Address peer, const RefuseMessage& message);
  bool on_control(Instant now, Address peer, const ControlMessage& message);
  /// Changes a file that arrives, at the request of the operator. Its number is that of the
  /// message; for a file of which the spool has a part (`in_spool`), that of the transfer. False if
  /// there is none.
  bool request(Instant now, const gateways::TransferKey& key, ControlAction action,
               bool in_spool = false);
  void on_deadline(Instant now);

  // Actions out.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<gateways::SisUnidata> poll_updu();
  std::optional<Instant> next_deadline() const;

  /// Returns when all that the node was given on SAP 7 should have left.
  Instant clear_at() const { return carrier_.clear_at(now_); }
  /// Returns why files by P_MUL cannot go; empty if they can.
  const std::string& problem() const { return problem_; }
  const MulticastSenderCore& sender() const { return sender_; }
  const MulticastReceiverCore& receiver() const { return receiver_; }
  const p_mul::PMulCore& p_mul() const { return p_mul_; }
  void list(CounterRows& rows) const;

 private:
  void pump(Instant now);
  void on(Instant now, const p_mul::DestinationEnded& ended);
  void end_what_has_left(Instant now);
  void take_back_unsent(Instant now);
  void on(Instant now, const p_mul::Received& message) { receiver_.on_received(now, message); }
  void on(Instant now, const p_mul::MessageNews& news);
  void on(Instant now, const p_mul::Unanswered& one) { sender_.on_unanswered(now, one); }
  void on(Instant now, const p_mul::ReceivedPart& part) { receiver_.on_part(now, part); }

  Config config_;
  Rng rng_;
  MessageOutbox& outbox_;
  p_mul::CarrierUdopCore carrier_;
  p_mul::PMulCore p_mul_;
  MulticastSenderCore sender_;
  MulticastReceiverCore receiver_;
  bool silent_ = false;
  Instant now_{};
  // Messages without acknowledgement that are with the node, by the time at which they have left.
  std::multimap<Instant, p_mul::DestinationEnded> leaving_;
  std::string problem_;
  std::deque<RelayEvent> events_;  // drained after every input
};
static_assert(TimedCore<MulticastCore>);

}  // namespace s5066::file_relay
