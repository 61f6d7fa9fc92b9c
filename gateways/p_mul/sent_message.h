// SPDX-License-Identifier: Apache-2.0
// One message on its way to its destinations: what each of them has said, and what is left to send
// of the round that is under way. It plans a round from that and makes the PDUs of the round one by
// one; PMulSender decides when a round begins and ends.
//
// A round has one leg for all nodes that the target of the message reaches, and then one for each
// node that is sent to by its own address.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gateways/p_mul/block_loss.h"
#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/erasure_code.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "gateways/p_mul/round_rules.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

struct SentMessage {
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
  /// The PDUs of a round that are left to send.
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

  /// True if the message has a group for itself, or is to get one.
  bool is_dynamic() const;
  /// Returns the group that the message is sent to; group 0 stands for any dynamic one.
  std::optional<GroupId> group() const;
  /// True if nothing but Discard_PDUs or an empty Address_PDU is left to send.
  bool is_closing() const { return round && round->closes; }
  /// True if the round under way has blocks or parity left to send.
  bool sends_blocks() const;
  /// True if the round under way has no PDU left to send.
  bool round_over() const;
  static bool is_in(const Round& round, const Node& node);

  /// Resets what the nodes have said about the last round. Returns those that are silent for the
  /// first time.
  std::vector<NodeId> begin_round();
  /// Makes the legs of the round that begins.
  void plan_round(const BlockLoss& loss);
  /// Makes the legs again, with each node by its own address.
  void plan_round_alone(const BlockLoss& loss);
  /// Octets of blocks and parity that the legs have.
  std::size_t planned_octets() const;
  /// Takes what a node misses. A list that stops short says nothing about the blocks above its
  /// last.
  void note_list(Node& node, const AckEntry& entry, std::size_t end);
  /// Returns the next PDU of the round under way, with its type.
  std::pair<PduType, Bytes> next_pdu();

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
  Instant left_at{};                    // as the bearer guesses
  Instant answers_by = Instant::max();  // to the last round, if the channel is good
  bool put_off = false;                 // its end of waiting, once, because the bearer was busy
  std::optional<Instant> ack_deadline;
  std::optional<Instant> silent_deadline;

 private:
  Round make_leg(std::optional<NodeId> only, const BlockLoss& loss);
  void choose_blocks(Round& round);
  void choose_all(Round& round);
  unsigned choose_extras(const Round& leg) const;
  void choose_repairs(const std::vector<Node*>& heard, Round& leg);
  void add_parity(std::size_t group, std::size_t rows, Round& leg);
  Bytes address_pdu(bool extra);
  Bytes block_pdu(std::uint16_t number) const;
  Bytes parity_pdu(std::uint16_t number) const;
};

}  // namespace s5066::p_mul
