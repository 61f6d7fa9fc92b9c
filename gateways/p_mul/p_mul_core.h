// SPDX-License-Identifier: Apache-2.0
// One P_MUL node without its bearer. It sends and receives many messages at a time. It takes
// datagrams and submissions. It returns PDUs when the bearer has room, and events for the layer
// above.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_groups.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "gateways/p_mul/p_mul_receiver.h"
#include "gateways/p_mul/p_mul_sender.h"
#include "gateways/p_mul/seldom.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::p_mul {

class PMulCore {
 public:
  struct Config {
    PMulSender::Config sender;
    PMulReceiver::Config receiver;  // `node` is that of the sender
    // Settings of dynamic groups. The node, the checksum and the size of a PDU are those of the
    // sender.
    PMulGroups::Config groups{};
    DecodeOptions decode{};
    std::vector<NodeId> sources{};  // nodes from which PDUs are accepted; empty: any
  };

  PMulCore(const Config& config, Rng& rng);

  // Events in. `now` never goes backwards.
  /// Call before every other input, and then from time to time, because the clock may be set.
  void on_clock(Instant now, UtcSeconds utc) {
    if (utc_.set(now, utc).count() != 0) receiver_.on_clock_set();
  }
  void on_start(Instant now) { sender_.on_start(now); }
  /// Call for each message that the spool knows, after the first on_clock.
  void on_known(Instant now, const MessageName& name, UtcSeconds expiry) {
    receiver_.on_known(now, name, expiry);
  }
  void on_datagram(Instant now, ByteSpan octets);
  /// Call when a PDU has been handed to the bearer. All PDUs of that priority will have left at
  /// about `clear_at`.
  void on_clear_at(Instant now, std::uint8_t priority, Instant clear_at) {
    sender_.on_clear_at(now, priority, clear_at);
  }
  /// Sets the nodes for which the bearer takes no more PDUs by ARQ for now.
  void on_arq_full(std::set<NodeId> nodes) { sender_.on_arq_full(std::move(nodes)); }
  void on_committed(Instant now, const MessageName& name) { receiver_.on_committed(now, name); }
  void on_not_committed(Instant now, const MessageName& name) {
    receiver_.on_not_committed(now, name);
  }
  void on_refused(Instant now, const MessageName& name) { receiver_.on_refused(now, name); }
  /// Call when our own EMCON begins or ends, by S_SUBNET_AVAILABILITY or by the operator. No PDU
  /// leaves while it lasts. `listened`: this station could hear others during the silence that
  /// ends.
  void on_own_silence(Instant now, bool silent, bool listened = true);
  /// Call when another node enters or leaves EMCON.
  void on_silence_of(Instant now, NodeId node, bool silent) {
    sender_.on_silent(now, node, silent);
  }
  /// Call when the bearer could not join a group from poll_membership.
  void on_not_joined(std::uint32_t group) { groups_.on_not_joined(group); }
  void on_deadline(Instant now);
  Result<Accepted> request_submit(Instant now, Submission submission);
  Result<void> request_cancel(Instant now, MessageKey key);
  Result<void> request_suspend(Instant now, MessageKey key);
  /// Call after a restart for each message that is submitted again later, so that stations keep
  /// their parts of it until then.
  void on_begun_before(Instant now, std::uint32_t message_id, Instant expires) {
    sender_.on_begun_before(now, message_id, expires);
  }

  // Outputs. Call poll_event after every input until it returns nothing. Call poll_pdu when the
  // bearer has room.
  std::optional<MessageEvent> poll_event();
  /// Returns an accepted source that has sent a PDU, once for all its PDUs since the last call.
  std::optional<NodeId> poll_heard();
  std::optional<OutgoingPdu> poll_pdu(Instant now);
  bool has_pdu() const {
    return !silent_ && (receiver_.has_pdu() || groups_.has_pdu() || sender_.has_pdu());
  }
  /// Returns a group that the bearer must join or leave.
  std::optional<PMulGroups::Membership> poll_membership() { return groups_.poll_membership(); }
  std::optional<Instant> next_deadline() const;

  const PMulSender& sender() const { return sender_; }
  const PMulReceiver& receiver() const { return receiver_; }
  const PMulGroups& groups() const { return groups_; }
  const CounterSet<PMulCounter>& counters() const { return counters_; }
  /// Appends the counters of all parts.
  void list(CounterRows& rows) const;

 private:
  bool believed(NodeId source);
  bool is_source(NodeId node) const;
  void join_up(Instant now);
  void on(Instant now, const DataPdu& pdu);
  void on(Instant now, const AckPdu& pdu);
  void on(Instant now, const AddressPdu& pdu);
  void on(Instant now, const DiscardPdu& pdu);
  void on(Instant now, const AnnouncePdu& pdu);
  void on(Instant now, const GroupPdu& pdu);
  void on(Instant now, const ParityPdu& pdu);

  Config config_;
  UtcClock utc_;
  bool silent_ = false;
  PMulSender sender_;
  PMulReceiver receiver_;
  PMulGroups groups_;
  std::set<NodeId> heard_;  // accepted sources that have sent a PDU
  std::deque<MessageEvent> events_;
  Seldom refusals_;
  CounterSet<PMulCounter> counters_;
};
static_assert(TimedCore<PMulCore>);

}  // namespace s5066::p_mul
