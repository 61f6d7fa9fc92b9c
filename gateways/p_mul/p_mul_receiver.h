// SPDX-License-Identifier: Apache-2.0
// The receiving half of P_MUL (procedures of ACP 142 chapter 3, EMCON, expiry). It puts messages
// together from blocks and parity in any order and reports missing blocks in its slot. It
// acknowledges a message only after the layer above has committed it.
//
// Acknowledgements are spread: a receiver waits one slot for each destination before it in the
// Address_PDU and a random part of a slot, so that eight receivers of one message do not answer at
// the same time. The slots begin with the Extra_Address_PDU at the end of a round, or when no PDU
// has come for longer than the last interval between two PDUs. Each PDU that comes postpones the
// acknowledgement.
//
// STANDARD: a node that has received the last block, or the last block that it asked for, waits for
// its random time only. We also wait for the rest of the round. That wait is limited, because after
// a fade the interval between two PDUs does not show how long the rest takes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "gateways/p_mul/known_messages.h"
#include "gateways/p_mul/message_port.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "gateways/p_mul/received_message.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::p_mul {

class PMulReceiver {
 public:
  static constexpr std::size_t kBlockCost = ReceivedMessage::kBlockCost;

  struct Config {
    NodeId node;
    Checksum checksum = Checksum::fletcher;
    std::size_t pdu_octets_max = 2042;  // largest acknowledgement that the bearer takes

    std::size_t messages_max = 256;  // messages that are incomplete or not yet committed
    std::size_t message_octets_max = 16u << 20;  // largest content of one message
    std::size_t octets_max = 208u << 20;         // blocks and parity of all messages
    std::size_t source_octets_max = 52u << 20;   // blocks and parity of all messages of one source
    std::size_t source_messages_max = 128;       // messages of one source
    std::size_t known_max = 65536;               // complete messages that are remembered

    /// True: a message that names this node with sequence 0 is not acknowledged. When no more PDUs
    /// of it are expected, its blocks are handed up as a ReceivedPart. The transmitters must be of
    /// this suite.
    bool one_way_by_sequence = false;

    std::size_t missing_list_max = 64;  // MM of ACP 142
    bool ranges = true;                 // true: lists that are longer than this use ranges
    /// The node sends its list before the end of the round when it misses this number of blocks.
    std::optional<std::size_t> ack_when_missing{};
    Duration ack_slot = std::chrono::seconds(8);
    std::size_t ack_slots_max = 64;
    /// First wait before an acknowledgement without effect is repeated. It grows by `back_off`.
    Duration ack_again = std::chrono::seconds(120);
    double back_off = 1.5;
    Duration ack_again_max = std::chrono::minutes(30);  // at least ack_again
    /// Blocks without an Address_PDU are kept for this time.
    Duration orphan_max = std::chrono::minutes(30);
    Duration expiry_margin = std::chrono::seconds(60);  // tolerated difference between clocks
    /// A transmitter sends no message that has expired by its own clock. A message that has expired
    /// by our clock when it comes therefore shows that the clocks differ; it is accepted and kept
    /// for this time.
    Duration life_by_our_clock = std::chrono::hours(2);
    /// Completed messages are remembered until this time after the expiry.
    Duration memory_margin = std::chrono::hours(1);
    /// A message that could not be committed is offered again after this time.
    Duration offer_again = std::chrono::seconds(10);
  };

  PMulReceiver(const Config& config, Rng& rng, const UtcClock& utc);

  // Inputs. `now` never goes backwards.
  void on_address(Instant now, const AddressPdu& address);
  void on_data(Instant now, const DataPdu& data);
  void on_parity(Instant now, const ParityPdu& parity);
  void on_discard(Instant now, const DiscardPdu& discard);
  /// Call when our own EMCON begins or ends. No PDU leaves until it ends.
  void on_silent(Instant now, bool silent, bool listened);
  void on_committed(Instant now, const MessageName& name);
  void on_not_committed(Instant now, const MessageName& name);
  /// Call when the layer above will never take the message. It is dropped and not acknowledged.
  void on_refused(Instant now, const MessageName& name);
  /// Call at the start for each message that the spool knows.
  void on_known(Instant now, const MessageName& name, UtcSeconds expiry);
  /// Call when our clock was set. The differences to other clocks are then unknown again.
  void on_clock_set() { clocks_apart_.clear(); }
  void on_deadline(Instant now);

  // Actions out.
  std::optional<OutgoingPdu> poll_pdu(Instant now);
  std::optional<MessageEvent> poll_event();
  /// Returns a message for which no more PDUs are expected.
  std::optional<MessageName> poll_settled();
  std::optional<Instant> next_deadline() const;
  bool has_pdu() const { return !acks_.empty() && !silent_; }

  /// A message for us that is not complete.
  struct Arriving {
    MessageName name;
    std::size_t blocks = 0;  // received or recovered blocks
    std::size_t blocks_total = 0;
    std::size_t octets = 0;  // memory of these blocks and of the parity
  };
  std::vector<Arriving> arriving() const;
  std::size_t messages() const { return messages_.size(); }
  std::size_t octets() const { return octets_; }
  std::size_t known() const { return known_.size(); }
  /// The least time by which our clock is ahead of the clock of a node.
  struct ClockApart {
    std::chrono::seconds at_least{};
    Instant seen_at{};
  };
  const std::map<NodeId, ClockApart>& clocks_apart() const { return clocks_apart_; }
  const CounterSet<PMulReceiverCounter>& counters() const { return counters_; }

 private:
  static constexpr Duration kGapMax = std::chrono::minutes(6);  // at 75 bit/s a block takes 4 min
  // Longest wait after the last PDU for us. A block for others, or parity, may still come before
  // the end of the round. At 300 bit/s it takes 54 s.
  static constexpr Duration kRestMax = std::chrono::seconds(90);
  static constexpr std::size_t kAddressedMax = 1000;
  // A refused message is ignored for at most this time.
  static constexpr Duration kIgnoredFor = std::chrono::minutes(30);

  using Message = ReceivedMessage;
  using State = ReceivedMessage::State;
  using Known = KnownMessages::Known;
  using Messages = std::map<MessageName, Message>;

  enum class RoundEnd : std::uint8_t {
    known,       // an Extra_Address_PDU has marked the end
    for_us,      // the last block that we want has come
    still_open,  // more blocks for us are expected
  };
  enum class Listing : std::uint8_t { listed, absent, unknown };
  struct Place {
    Listing listing = Listing::unknown;
    std::size_t slot = 0;
    std::uint32_t sequence = 0;
    bool alone = false;
  };

  struct Arrived {
    std::uint16_t block = 0;  // 0: the PDU is not a Data_PDU
    std::uint16_t parity = 0;
  };

  /// The time until which an announced message is kept. If its expiry has passed by our clock, the
  /// time is `life_by_our_clock` from now.
  struct Life {
    UtcSeconds expiry;
    Instant expires{};          // the expiry with `expiry_margin`
    bool by_our_clock = false;  // the expiry had passed by our clock
  };
  Life life_of(Instant now, UtcSeconds expiry) const;
  void note_clock(Instant now, const AddressPdu& address);
  Place place(const AddressPdu& address) const;
  static void note_addressed(Message& message, const AddressPdu& address);
  void on_known_address(Instant now, const Place& place, Known& known, const AddressPdu& address);
  void adopt(Instant now, const Place& place, const AddressPdu& address);
  void repeat(Instant now, const Place& place, Message& message, const AddressPdu& address);
  /// The octets and messages of one source.
  struct Load {
    std::size_t octets = 0;
    std::size_t messages = 0;
  };
  Load load_of(NodeId source) const;
  Message* message_for(Instant now, const MessageName& name, std::size_t octets,
                       std::optional<std::uint8_t> priority = {});
  /// A message that needs room, and the limits that it would exceed.
  struct Wanted {
    MessageName name;
    std::size_t octets = 0;    // additional octets
    std::size_t messages = 0;  // 1 if the message is new, otherwise 0
    std::optional<std::uint8_t> priority;
    std::size_t held = 0;  // octets that the message has already
    bool source_full = false;
    bool octets_full = false;
  };
  bool make_room(Instant now, const MessageName& keep, std::size_t octets,
                 std::optional<std::uint8_t> priority);
  std::optional<MessageName> find_victim(Instant now, const Wanted& wanted) const;
  bool yields(Instant now, const Wanted& wanted, const MessageName& name,
              const Message& message) const;
  void count_octets(const Message& message, std::size_t before);
  void forget(const MessageName& name);
  void ignore(Instant now, const MessageName& name);
  void after_pdu(Instant now, const MessageName& name, Message& message, const Arrived& arrived);
  void recover_group(Message& message, std::size_t group);
  void offer(const MessageName& name, Message& message);
  void offer_part(const MessageName& name, Message& message);
  std::optional<Instant> quiet_at(const Message& message) const;
  AckEntry list_of(const MessageName& name, Message& message);
  bool expects_ack(const MessageName& name) const;
  void hear(Instant now, const MessageName& name, OwedAck& owing);
  void plan_in_turn(Instant now, const MessageName& name, OwedAck& owing, RoundEnd end);
  static Duration rest_of_round(const OwedAck& owing);
  void plan_at_once(Instant now, const MessageName& name, OwedAck& owing);
  Duration spread(std::size_t slot);
  Duration grown(Duration wait) const;
  void ack_if_due(Instant now, const MessageName& name, OwedAck& owing);
  bool withdraw_ack(const MessageName& name);
  void news(MessageNews::Kind kind, const MessageName& name);

  Config config_;
  Rng& rng_;
  const UtcClock& utc_;
  bool silent_ = false;
  Messages messages_;
  KnownMessages known_;
  Instant purge_at_{};
  /// Messages that are not for us, too large or refused, and the time until which each is ignored.
  std::map<MessageName, Instant> ignored_;
  std::map<NodeId, std::uint32_t> sequences_;  // the last sequence of each transmitter
  std::map<NodeId, ClockApart> clocks_apart_;
  std::size_t octets_ = 0;
  std::deque<MessageName> acks_;  // each message whose acknowledgement is due, once
  std::deque<MessageEvent> events_;
  std::deque<MessageName> settled_;
  CounterSet<PMulReceiverCounter> counters_;
};
static_assert(TimedCore<PMulReceiver>);

}  // namespace s5066::p_mul
