// SPDX-License-Identifier: Apache-2.0
// The transmitting half of P_MUL (procedures of ACP 142 chapter 3). It announces a message by
// Address_PDUs, sends its blocks, collects acknowledgements and repeats missing blocks. It ends
// when every destination has acknowledged the whole message or the message expires.
//
// A round consists of Address, Data and Parity_PDUs. Extra_Address_PDUs mark its end for nodes that
// lose a part of it. The bearer asks for one PDU at a time, and each time the most urgent message
// provides it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gateways/p_mul/block_loss.h"
#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "gateways/p_mul/round_rules.h"
#include "gateways/p_mul/seldom.h"
#include "gateways/p_mul/sent_message.h"
#include "gateways/p_mul/turns.h"
#include "gateways/p_mul/unheard_groups.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::p_mul {

struct Group {
  GroupId id;
  std::vector<NodeId> members;
  std::optional<RoundRules> rules{};
};

class PMulSender {
 public:
  struct Config : RoundRules {
    NodeId node;
    std::vector<Group> groups{};
    /// Largest PDU of the bearer. A message may have been divided for larger PDUs than
    /// `pdu_octets_max`. 0: pdu_octets_max.
    std::size_t bearer_octets_max = 0;

    std::size_t messages_max = 64;
    std::size_t content_octets_max = 128u << 20;  // content of all messages
    std::size_t destinations_max = 1000;          // destinations of one message
    std::size_t destinations_known_max = 4096;    // destinations whose block loss is remembered

    Duration ack_slot = std::chrono::seconds(8);
    Duration ack_wait_max = std::chrono::minutes(15);  // at least ack_wait
    /// MM of the receivers: a list of this length may be incomplete.
    std::size_t missing_list_max = 64;

    std::vector<NodeId> silent{};  // nodes in EMCON at the start
    unsigned unacknowledged_repeats = 1;

    bool dynamic_groups = false;  // true: used if no group of `groups` has all destinations

    double reliable_from = 0.1;  // a node that lost this share of the blocks gets them by ARQ
    unsigned discards = 2;       // Discard_PDUs for a message that ends early
    // Targets of messages of the same priority take turns. This time and this number of octets
    // limit each turn.
    Duration turn_max = std::chrono::minutes(2);
    std::size_t turn_octets_max = 256u << 10;
    /// Acknowledgements of unknown messages are answered by Discard_PDUs only after this time from
    /// our start.
    Duration discard_unknown_after = std::chrono::minutes(2);
  };

  /// Asks for a dynamic group for one message, or for another announcement of it. Without
  /// destinations it releases the group of the message.
  struct GroupRequest {
    std::uint32_t message_id = 0;
    std::vector<NodeId> destinations{};
    UtcSeconds expiry{};
  };

  PMulSender(const Config& config, const UtcClock& utc);

  // Events in. `now` never goes backwards.
  void on_start(Instant now) { started_ = now; }
  /// Returns the nodes that the acknowledgement is from. Refused entries do not count.
  std::vector<NodeId> on_ack(Instant now, const AckPdu& ack);
  /// Call when the bearer has the PDU. The last PDU of that priority will have left the antenna at
  /// about `clear_at`.
  void on_clear_at(Instant now, std::uint8_t priority, Instant clear_at);
  void on_arq_full(std::set<NodeId> nodes) { arq_full_ = std::move(nodes); }
  /// Call when the operator says that a node is in EMCON or has left it. An acknowledgement of the
  /// node also ends its silence.
  void on_silent(Instant now, NodeId node, bool silent);
  /// Answers a GroupRequest. Call when the group was announced to the destinations and they have
  /// had time to join. Address 0: no address is free.
  void on_group(Instant now, std::uint32_t message_id, std::uint32_t address);
  void on_deadline(Instant now);
  Result<Accepted> request_submit(Instant now, Submission submission);
  Result<void> request_cancel(Instant now, MessageKey key);
  Result<void> request_suspend(Instant now, MessageKey key);
  /// Call for a message that an earlier process has begun and that is submitted again later.
  void on_begun_before(Instant now, std::uint32_t message_id, Instant expires);

  // Outputs. Call poll_pdu only when the bearer takes a PDU.
  std::optional<OutgoingPdu> poll_pdu(Instant now);
  std::optional<MessageEvent> poll_event();
  std::optional<GroupRequest> poll_group_request();
  /// Returns the nodes that do not hear a group of which they are members. Group 0 stands for all
  /// dynamic groups.
  std::vector<std::pair<GroupId, NodeId>> unheard(Instant now) const { return unheard_.list(now); }
  std::optional<Instant> next_deadline() const;
  bool has_pdu() const;

  std::size_t messages() const { return messages_.size(); }
  std::size_t content_octets() const { return content_octets_; }
  const CounterSet<PMulSenderCounter>& counters() const { return counters_; }

 private:
  using For = SentMessage::For;
  using Message = SentMessage;
  using Node = SentMessage::Node;
  using Round = SentMessage::Round;
  using Messages = std::map<MessageKey, Message>;

  void check(const RoundRules& rules) const;
  Result<Target> resolve(const Submission& submission) const;
  const RoundRules& rules_for(const Target& target) const;
  bool can_leave(const Message& message) const;
  void ask_for_group(Message& message);
  void forget(Messages::iterator at);
  void forget_one_that_is_over();
  void forget_unsaid();
  Message* find(std::uint32_t message_id);
  void start_round(Instant now, Message& message, For whom);
  void choose_addresses(Instant now, Message& message);
  bool is_unheard(Instant now, const Message& message, NodeId node) const;
  void say_unheard(const Message& message, NodeId node);
  void note_unheard(Instant now, const Message& message, NodeId node);
  void end_round(Instant now, Message& message);
  void arm(Message& message, Instant left_at);
  void close(Message& message, unsigned discards);
  void end(Instant now, Message& message, Node& node, Outcome outcome);
  void end_all(Instant now, Message& message, Outcome outcome);
  void say_why(Instant now, const Message& message, const Node& node,
               DestinationEnded& ended) const;
  Instant busy_until(Instant now, std::uint8_t priority) const;
  void note_left(Instant now, std::uint8_t priority);
  Instant verdict_at(const Message& message) const;
  bool take_list(Instant now, Message& message, Node& node, const AckEntry& entry);
  void note_end_of_round(Instant now, Message& message, Node& node, std::size_t listed);
  void note_answer(Instant now, Message& message, Node& node);
  void count_pdu(PduType type, const Message& message, std::size_t octets);
  static bool shows_end_of_round(const Node& node, std::size_t listed);
  std::optional<NodeId> sender_of(const AckPdu& ack, const AckEntry& entry) const;
  std::optional<NodeId> on_entry(Instant now, const AckPdu& ack, const AckEntry& entry);
  void refuse(Instant now, const AckPdu& ack, const AckEntry& entry, const char* why);
  void after_answer(Instant now, Message& message);
  OutgoingPdu discard_to(NodeId node, const MessageName& name, std::uint8_t priority) const;
  void discard_unknown(Instant now, NodeId node, const MessageName& name, std::uint8_t priority);
  Message* most_urgent(Instant now);
  OutgoingPdu next_of(Instant now, Message& message);
  void say_unanswered(const Message& message, NodeId node);
  void news(MessageNews::Kind kind, const Message& message, NodeId node, std::uint64_t octets);

  Config config_;
  const UtcClock& utc_;
  Instant started_{};
  std::map<std::uint8_t, Instant> clear_at_;  // by priority: the time when its PDUs have left
  Messages messages_;
  std::set<NodeId> arq_full_;
  BlockLoss loss_;
  std::map<NodeId, bool> silent_;  // set by the operator or by an acknowledgement
  UnheardGroups unheard_;
  /// Numbers of suspended messages, and the time when each expires.
  std::map<std::uint32_t, Instant> suspended_;
  std::size_t content_octets_ = 0;
  std::uint64_t next_order_ = 0;
  Turns turns_;
  std::optional<MessageKey> ended_;  // the message whose round ended with the last PDU
  /// Discard_PDUs that answer acknowledgements of finished messages.
  std::deque<OutgoingPdu> answers_;
  std::map<MessageName, Instant> answered_at_;
  Seldom refusals_;
  std::deque<GroupRequest> group_requests_;
  bool unsaid_ = false;  // true: a message ended and cannot send the PDUs that end it
  std::deque<MessageEvent> events_;
  CounterSet<PMulSenderCounter> counters_;
};
static_assert(TimedCore<PMulSender>);

}  // namespace s5066::p_mul
