// SPDX-License-Identifier: Apache-2.0
// One message that comes from the air: its blocks and rows of parity. It makes up for lost blocks
// from parity and lists those that are missing; PMulReceiver decides when to say so.
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

/// When the receiver is to say something about a message.
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
  static constexpr std::size_t kBlockCost = 96;  // memory for a block besides its octets

  enum class State : std::uint8_t {
    orphan,     // blocks without an Address_PDU
    receiving,  // for us
    offered     // complete, with the layer above
  };

  /// Returns the octets of blocks and parity, with the memory that each costs besides.
  std::size_t octets() const { return octets_; }
  bool complete() const { return blocks.size() == total; }
  void add_block(std::uint16_t number, Bytes block);
  void add_parity(const ParityPdu& row);
  /// Drops blocks with numbers above the total. Returns how many there were.
  std::size_t drop_blocks_above_total();
  void drop_parity();
  /// Makes missing blocks of the group from parity, if there is enough. Returns how many it made.
  std::size_t recover_group(std::size_t group);
  /// Returns the missing blocks. Where a group has rows of parity, only as many of its blocks count
  /// as missing as the rows cannot make up for.
  std::vector<BlockRange> missing() const;
  Bytes content() const;

  State state = State::orphan;
  bool one_way = false;  // no answer is wanted
  std::uint8_t priority = 0;
  std::uint16_t total = 0;  // 0 until an Address_PDU tells it
  UtcSeconds expiry{};
  Instant expires{};
  std::map<std::uint16_t, Bytes> blocks;
  std::map<std::uint16_t, ParityPdu> parity;
  std::uint16_t highest_wanted = 0;  // highest block number in our last list
  bool last_seen = false;            // block number `total` has come
  std::set<NodeId> addressed;        // other destinations of the message
  OwedAck owing;
  std::optional<Instant> offer_at;

 private:
  std::size_t octets_ = 0;
};

}  // namespace s5066::p_mul
