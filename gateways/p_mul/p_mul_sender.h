// The transmitting half of P_MUL: announces a message by Address_PDUs, sends its blocks, collects
// acknowledgements, and sends again what is missing to those who miss it, until every destination
// has said that it has everything or the message expires (procedures of ACP 142 chapter 3).
//
// A round is Address, Data, Parity, and an Extra_Address that marks its end for those who may lose
// a part of it. The bearer pulls PDU by PDU, so the most urgent message has every next one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/erasure_code.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "gateways/p_mul/seldom.h"
#include "gateways/common/utc_reference.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

/// How a message is sent. A group can have rules of its own.
struct RoundRules {
  std::size_t pdu_octets_max = 2042;
  // At most pdu_octets_max less the header of a Parity_PDU. With this, and with what UDOP and the
  // subnetwork put before it, one fills two frames of 1023.
  std::uint16_t block_octets = 2012;
  Checksum checksum = Checksum::fletcher;

  // From the last octet on the air to the next round, when answers are missing. On top of it a
  // slot for each destination that is to answer; it grows with each round.
  Duration ack_wait = std::chrono::seconds(30);
  double back_off = 1.5;
  Duration emcon_interval = std::chrono::minutes(10);
  unsigned emcon_repeats_max = 4;

  bool extra_address = true;  // at the end of a round of several PDUs
  bool coded = false;         // send parity where it makes up for more than a block
  double parity_ahead = 0;    // rows for each block where nobody can ask again
  bool resend_all = false;    // to who has never answered, instead of a question
};

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
    std::size_t bearer_octets_max = 0;  // of a PDU that was cut by other rules; 0: pdu_octets_max

    std::size_t messages_max = 64;
    std::size_t content_octets_max = 128u << 20;  // of all of them
    std::size_t destinations_max = 1000;          // of one message
    std::size_t destinations_known_max = 4096;    // of whom a loss is remembered

    Duration ack_slot = std::chrono::seconds(8);
    Duration ack_wait_max = std::chrono::minutes(15);  // or ack_wait, if that is more
    std::size_t missing_list_max = 64;  // MM of the receivers: a list this long may go on

    std::vector<NodeId> silent{};  // in EMCON at the start
    unsigned unacknowledged_repeats = 1;

    bool dynamic_groups = false;  // for destinations that no group of `groups` has

    double reliable_from = 0.1;  // share of blocks lost: then one node gets them by ARQ
    unsigned discards = 2;       // Discard_PDUs for a message that ends early
    // Targets of messages of the same priority take turns: each has the bearer for so long or so
    // many octets.
    Duration turn_max = std::chrono::minutes(2);
    std::size_t turn_octets_max = 256u << 10;
    Duration discard_unknown_after = std::chrono::minutes(2);  // not before our own restart is over
  };
  struct Stats {
    std::uint64_t messages = 0;
    std::uint64_t rounds = 0;
    std::uint64_t address_pdus = 0;
    std::uint64_t data_pdus = 0;
    std::uint64_t data_pdus_again = 0;  // of these, not in the first round
    std::uint64_t parity_pdus = 0;
    std::uint64_t discard_pdus = 0;
    std::uint64_t octets = 0;       // of all these
    std::uint64_t data_octets = 0;  // fragments and parity alone
    std::uint64_t pre_emptions = 0;
    std::uint64_t acks = 0;
    std::uint64_t acks_of_others = 0;      // for messages of other sources
    std::uint64_t acks_not_addressed = 0;  // from stations that are no destination
    std::uint64_t acks_unknown = 0;        // for messages that are over
    std::uint64_t acks_repeated = 0;       // after the destination had ended
    std::uint64_t acks_nonsense = 0;       // blocks the message does not have
    std::uint64_t acks_other_form = 0;     // taken, though the IDs stand in other fields
    std::uint64_t delivered = 0;
    std::uint64_t expired = 0;
  };

  /// A message needs a group of its own, or its destinations have to be told of it again; without
  /// destinations it needs it no more.
  struct GroupWish {
    std::uint32_t message_id = 0;
    std::vector<NodeId> destinations{};
    UtcSeconds expiry{};
  };

  PMulSender(const Config& config, const gateways::UtcReference& utc);

  // Events in. `now` never goes backwards.
  void on_start(Instant now) { started_ = now; }
  /// Returns the nodes that it is of.
  std::vector<NodeId> on_ack(Instant now, const AckPdu& ack);
  /// The PDU of that priority that was handed to the bearer last will have left the antenna at
  /// about `clear_at`.
  void on_clear_at(Instant now, std::uint8_t priority, Instant clear_at);
  void on_arq_full(std::set<NodeId> nodes) { arq_full_ = std::move(nodes); }
  /// By the operator; an acknowledgement ends it, too.
  void on_silent(Instant now, NodeId node, bool silent);
  /// The answer to a GroupWish: they have been told, and had the time to join; address 0: no
  /// address is free.
  void on_group(Instant now, std::uint32_t message_id, std::uint32_t address);
  void on_deadline(Instant now);
  Result<Accepted> request_submit(Instant now, Submission submission);
  Result<void> request_cancel(Instant now, MessageKey key);
  Result<void> request_suspend(Instant now, MessageKey key);

  // Actions out. The next PDU is asked for only when the bearer takes one.
  std::optional<OutgoingPdu> poll_pdu(Instant now);
  std::optional<MessageEvent> poll_event();
  std::optional<GroupWish> poll_group_wish();
  /// Nodes that do not hear what goes to a group they are in; group 0 stands for dynamic ones.
  std::vector<std::pair<GroupId, NodeId>> unheard(Instant now) const;
  std::optional<Instant> next_deadline() const;
  bool has_pdu() const;

  std::size_t messages() const { return messages_.size(); }
  std::size_t content_octets() const { return content_octets_; }
  const Stats& stats() const { return stats_; }

 private:
  enum class For : std::uint8_t { answering, everybody };

  struct Node {
    Destination address;
    bool ended = false;
    bool sent = false;              // a round that names it has been handed to the bearer
    const char* refused = nullptr;  // why its last acknowledgement did not count
    bool silent = false;            // EMCON: no answer is waited for
    bool heard = false;             // has said what it misses
    bool answered = false;          // since the last round left
    bool early = false;             // has said something before it may have left
    bool alone = false;             // in this round it is sent to by its own address
    bool left = false;              // what this round has for it is with the bearer
    bool answered_alone = false;    // to such a round it has answered before
    bool group_tried = false;       // and since then the group has had blocks for it
    bool coded = false;             // the last round had parity for it
    std::uint16_t last_block = 0;   // of the last round; 0: it had none
    unsigned unanswered = 0;        // rounds in a row; what it misses is not known then
    bool parity_in_vain = false;    // its list was the same after parity
    std::vector<bool> missing{};    // by block number - 1, once heard
    std::vector<bool> before{};     // as it was when the round began
  };
  /// What is left to send of a round.
  struct Round {
    std::optional<NodeId> only{};  // to this node by its own address; none: to the message's target
    std::vector<Destination> destinations;
    std::size_t next_destination = 0;
    bool address_done = false;
    std::vector<std::uint16_t> blocks;
    std::size_t next_block = 0;
    std::vector<std::uint16_t> parity;
    std::size_t next_parity = 0;
    unsigned extras = 0;  // Extra_Address_PDUs
    unsigned discards = 0;
    bool reliable = false;
    bool closes = false;  // the message is over with it
  };
  struct Message {
    Submission submission;
    MessageName name;
    Target target;
    RoundRules rules;
    bool awaits_group = false;
    std::uint16_t total = 1;
    BlockGroups groups;
    std::vector<std::size_t> next_row;  // by group
    std::vector<Node> nodes;
    Instant expires{};
    std::uint64_t order = 0;
    std::optional<Round> round;
    std::deque<Round> legs{};  // of the same round, still to come: to nodes that the group misses
    unsigned rounds = 0;
    For round_for = For::everybody;
    unsigned silent_rounds = 0;  // that were for silent nodes too
    bool silent_done = false;    // silent nodes have been sent all that is configured
    bool probing = false;        // we were restarted: the nodes may have parts of it
    Duration wait{};
    Instant left_at{};     // as the bearer guesses
    Instant answers_by = Instant::max();  // to the last round, if the channel is good
    bool put_off = false;  // its end of waiting, once, because the bearer was busy
    std::optional<Instant> ack_deadline;
    std::optional<Instant> silent_deadline;
  };
  using Messages = std::map<MessageKey, Message>;

  void check(const RoundRules& rules) const;
  Result<Target> resolve(const Submission& submission) const;
  const RoundRules& rules_for(const Target& target) const;
  static bool is_dynamic(const Message& message);
  bool can_leave(const Message& message) const;
  void ask_for_group(Message& message);
  void forget(Messages::iterator at);
  void forget_one_that_is_over();
  void forget_unsaid();
  Message* find(std::uint32_t message_id);
  void start_round(Instant now, Message& message, For whom);
  void choose_addresses(Instant now, Message& message);
  void make_legs(Message& message);
  void send_alone(Message& message);
  std::optional<GroupId> group_of(const Message& message) const;
  bool is_unheard(Instant now, const Message& message, NodeId node) const;
  void say_unheard(const Message& message, NodeId node);
  void note_unheard(Instant now, const Message& message, NodeId node);
  static bool is_in(const Round& round, const Node& node);
  Round make_leg(Message& message, std::optional<NodeId> only);
  void choose_blocks(Message& message, For whom, Round& round);
  unsigned choose_extras(const Message& message, const Round& round) const;
  void choose_repairs(Message& message, const std::vector<Node*>& heard, Round& round);
  void add_parity(Message& message, std::size_t group, std::size_t rows, Round& round);
  void end_round(Instant now, Message& message);
  void arm(Message& message, Instant left_at);
  void close(Message& message, unsigned discards);
  void end(Instant now, Message& message, Node& node, Outcome outcome);
  void end_all(Instant now, Message& message, Outcome outcome);
  void say_why(Instant now, const Message& message, const Node& node,
               DestinationEnded& ended) const;
  Instant busy_until(Instant now, std::uint8_t priority) const;
  void note_left(Instant now, std::uint8_t priority);
  bool sends_blocks(const Message& message) const;
  Instant verdict_at(const Message& message) const;
  bool take_list(Instant now, Message& message, Node& node, const AckEntry& entry);
  static bool shows_end_of_round(const Node& node, std::size_t listed);
  std::optional<NodeId> sender_of(const AckPdu& ack, const AckEntry& entry) const;
  std::optional<NodeId> on_entry(Instant now, const AckPdu& ack, const AckEntry& entry);
  void refuse(Instant now, const AckPdu& ack, const AckEntry& entry, const char* why);
  void after_answer(Instant now, Message& message);
  OutgoingPdu discard_to(NodeId node, const MessageName& name, std::uint8_t priority) const;
  void discard_unknown(Instant now, NodeId node, const MessageName& name, std::uint8_t priority);
  Message* most_urgent(Instant now);
  bool takes_turn(const Message& message, const Message& other) const;
  void note_turn(Instant now, const Message& message, std::size_t octets);
  OutgoingPdu next_of(Instant now, Message& message);
  Bytes address_pdu(Message& message, Round& round, bool extra);
  Bytes block_pdu(const Message& message, std::uint16_t number);
  Bytes parity_pdu(const Message& message, std::uint16_t number);
  void say_unanswered(const Message& message, const Node& node);
  void news(MessageNews::Kind kind, const Message& message, NodeId node, std::uint64_t octets);

  Config config_;
  const gateways::UtcReference& utc_;
  Instant started_{};
  std::map<std::uint8_t, Instant> clear_at_;  // of the PDUs of each priority
  Messages messages_;
  std::set<NodeId> arq_full_;
  std::map<NodeId, double> loss_;  // share of blocks, smoothed
  std::map<NodeId, bool> silent_;  // as the operator or an acknowledgement says
  std::map<std::pair<GroupId, NodeId>, Instant> unheard_;  // since when
  std::map<std::uint32_t, Instant> suspended_;             // message numbers, until they expire
  std::size_t content_octets_ = 0;
  std::uint64_t next_order_ = 0;
  std::optional<MessageKey> last_;         // whose PDU was handed over last
  std::map<Target, std::uint64_t> turns_;  // when a target had its last turn, as a running number
  std::uint64_t last_turn_ = 0;
  Instant turn_began_{};
  std::size_t turn_octets_ = 0;
  std::optional<MessageKey> ended_;  // whose round ended with it
  std::deque<OutgoingPdu> answers_;  // Discard_PDUs for acknowledgements of what is over
  std::map<MessageName, Instant> answered_at_;
  Seldom refusals_;
  std::deque<GroupWish> wishes_;
  bool unsaid_ = false;  // a message is over of which nobody was told anything
  std::deque<MessageEvent> events_;
  Stats stats_;
};

}  // namespace s5066::p_mul
