// SPDX-License-Identifier: Apache-2.0
// One message that is being sent: the answers of each destination, and the PDUs that are left to
// send of the current round. It plans each round from the answers and makes the PDUs one by one.
// PMulSender decides when a round begins and ends.
//
// A round has one leg to the target of the message, for all nodes that it reaches. Then it has one
// leg for each node that is sent to by its own address.
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
    const char* refused = nullptr;  // reason why its last acknowledgement was refused
    bool silent = false;            // no answer is awaited, for example because of EMCON
    bool heard = false;             // the node has listed its missing blocks
    bool answered = false;          // the node has answered since the last round left
    bool early = false;             // an answer came before the estimated end of the round
    bool alone = false;             // this round goes to the node by its own address
    bool left = false;              // the bearer has all PDUs of this round for the node
    bool answered_alone = false;    // the node has answered a round to its own address
    bool group_tried = false;       // since that answer, blocks for it were sent to the group
    bool coded = false;             // the last round had parity for it
    std::uint16_t last_block = 0;   // last block for the node in the last round; 0: none
    /// Number of rounds in a row without an answer. If it is not 0, the missing blocks are unknown.
    unsigned unanswered = 0;
    bool parity_in_vain = false;  // the list did not change after a round with parity
    std::vector<bool> missing{};  // by block number - 1; empty before the first list
    std::vector<bool> before{};   // copy of `missing` from the beginning of the round
  };
  /// The PDUs of a round that are left to send.
  struct Round {
    /// The node to whose own address the leg goes. None: the leg goes to the message's target.
    std::optional<NodeId> only{};
    std::vector<Destination> destinations;
    std::size_t next_destination = 0;
    bool address_done = false;
    std::vector<std::uint16_t> blocks;
    std::size_t next_block = 0;
    std::vector<std::uint16_t> parity;
    std::size_t next_parity = 0;
    unsigned extras = 0;  // Extra_Address_PDUs left to send
    unsigned discards = 0;
    bool reliable = false;
    bool closes = false;  // the message ends with this round
  };

  /// True if the message is sent to a dynamic group, or waits for one.
  bool is_dynamic() const;
  /// Returns the group to which the message is sent. Group 0 stands for any dynamic group.
  std::optional<GroupId> group() const;
  /// True if only Discard_PDUs or an empty Address_PDU are left to send.
  bool is_closing() const { return round && round->closes; }
  /// True if the round under way has blocks or parity left to send.
  bool sends_blocks() const;
  /// True if the round under way has no PDU left to send.
  bool round_over() const;
  static bool is_in(const Round& round, const Node& node);

  /// Resets the answers of the nodes to the last round. Returns the nodes that have left a round
  /// unanswered for the first time.
  std::vector<NodeId> begin_round();
  /// Makes the legs of the round that begins.
  void plan_round(const BlockLoss& loss);
  /// Makes the legs again, with one leg to the own address of each node.
  void plan_round_alone(const BlockLoss& loss);
  /// Returns the octets of all blocks and parity in the legs.
  std::size_t planned_octets() const;
  /// Notes the missing blocks of a node. The list is valid for the first `end` blocks. The state of
  /// the blocks above them does not change.
  void note_list(Node& node, const AckEntry& entry, std::size_t end);
  /// Returns the next PDU of the current round and its type.
  std::pair<PduType, Bytes> next_pdu();

  Submission submission;
  MessageName name;
  Target target;
  RoundRules rules;
  bool awaits_group = false;
  std::uint16_t total = 1;
  BlockGroups groups;
  std::vector<std::size_t> next_row;  // next row of parity, by group of blocks
  std::vector<Node> nodes;
  Instant expires{};
  std::uint64_t order = 0;
  std::optional<Round> round;
  std::deque<Round> legs{};  // legs that follow in the same round, each to one node
  unsigned rounds = 0;
  For round_for = For::everybody;
  unsigned silent_rounds = 0;  // number of rounds that included silent nodes
  bool silent_done = false;    // silent nodes have been sent all configured rounds
  bool probing = false;        // sent before our restart, so nodes may have parts of it
  Duration wait{};
  Instant left_at{};  // time when the last round has left, as the bearer estimates it
  /// End of the time for answers to the last round if the channel is good.
  Instant answers_by = Instant::max();
  bool put_off = false;  // the wait was extended once because the bearer was busy
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
