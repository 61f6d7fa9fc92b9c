// SPDX-License-Identifier: Apache-2.0
// One message that is being received: its blocks and rows of parity. It recovers lost blocks from
// parity and lists the missing blocks. PMulReceiver decides when to send the list.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gateways/p_mul/erasure_code.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

/// The plan for the next acknowledgement of a message.
struct OwedAck {
  std::size_t slot = 0;  // our place in the list of destinations
  bool alone = false;    // true: no other destination is in the list
  std::optional<Instant> ack_at;
  bool again = false;  // true: the acknowledgement repeats an earlier one
  Duration again_after{};
  Instant heard_at{};
  Duration gap{};         // time between the last two PDUs
  bool has_last = false;  // the last block that we want has come
};

struct ReceivedMessage {
  static constexpr std::size_t kBlockCost = 96;  // additional octets of memory for each block

  enum class State : std::uint8_t {
    orphan,     // blocks without an Address_PDU
    receiving,  // the message is for us and not complete
    offered     // the message is complete and was handed to the layer above
  };

  /// Returns the octets of blocks and parity, with kBlockCost for each of them.
  std::size_t octets() const { return octets_; }
  bool complete() const { return blocks.size() == total; }
  void add_block(std::uint16_t number, Bytes block);
  void add_parity(const ParityPdu& row);
  /// Drops blocks with numbers above the total. Returns their number.
  std::size_t drop_blocks_above_total();
  void drop_parity();
  /// Recovers the missing blocks of the group if it has enough parity. Returns the number of
  /// recovered blocks.
  std::size_t recover_group(std::size_t group);
  /// Returns the missing blocks. Each row of parity of a group makes up for one missing block of
  /// the group, and that block is not listed.
  std::vector<BlockRange> missing() const;
  Bytes content() const;

  State state = State::orphan;
  bool one_way = false;  // the sender wants no answer
  std::uint8_t priority = 0;
  std::uint16_t total = 0;  // number of blocks; 0: no Address_PDU has come yet
  UtcSeconds expiry{};
  Instant expires{};
  std::map<std::uint16_t, Bytes> blocks;
  std::map<std::uint16_t, ParityPdu> parity;
  std::uint16_t highest_wanted = 0;  // highest block number in our last list
  bool last_seen = false;            // block number `total` has come
  std::set<NodeId> addressed;        // destinations in the Address_PDUs that have come
  OwedAck owing;
  std::optional<Instant> offer_at;

 private:
  std::size_t octets_ = 0;
};

}  // namespace s5066::p_mul
