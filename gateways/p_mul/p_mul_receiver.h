// SPDX-License-Identifier: Apache-2.0
// The receiving half of P_MUL: puts messages together from blocks and parity in any order, says
// what is missing when it is its turn to, and acknowledges a message only after the layer above has
// it committed (procedures of ACP 142 chapter 3, EMCON, expiry).
//
// Acknowledgements are spread: a receiver waits as many slots as there are destinations before it
// in the Address_PDU, and a random part of a slot, so that eight that heard the same do not answer
// at the same time. The slots begin with the Extra_Address_PDU at the end of a round, or when no
// PDU has come for longer than one took before; each PDU that comes puts off what was to be said.
// STANDARD: who has seen the last block, or the last that it asked for, waits for its random time
// only. We wait for what else may come of the round too, but not for long: after a fade the time
// between two PDUs is no measure of that.
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
    std::size_t pdu_octets_max = 2042;  // of the bearer, for acknowledgements

    std::size_t messages_max = 256;              // incomplete, or not yet committed
    std::size_t message_octets_max = 16u << 20;  // of one
    std::size_t octets_max = 208u << 20;         // of all, blocks and parity
    std::size_t source_octets_max = 52u << 20;   // of those of one source
    std::size_t source_messages_max = 128;       // likewise
    std::size_t known_max = 65536;               // complete ones that are remembered

    /// A message that names this node with sequence 0 wants no answer and gets none. When nothing
    /// more of it is to come, what there is of it is handed up as a part. All transmitters must be
    /// of this suite for that.
    bool one_way_by_sequence = false;

    std::size_t missing_list_max = 64;              // MM
    bool ranges = true;                             // in lists that would be longer than that
    std::optional<std::size_t> ack_when_missing{};  // a list in mid-round from so many blocks on
    Duration ack_slot = std::chrono::seconds(8);
    std::size_t ack_slots_max = 64;
    Duration ack_again = std::chrono::seconds(120);  // nothing has come since; grows
    double back_off = 1.5;
    Duration ack_again_max = std::chrono::minutes(30);  // or ack_again, if that is more
    Duration orphan_max = std::chrono::minutes(30);     // blocks without an Address_PDU
    Duration expiry_margin = std::chrono::seconds(60);  // how far clocks may be apart
    /// A transmitter sends nothing that has expired by its own clock. So what has expired by ours
    /// when it comes shows that the clocks are apart; it is taken, and kept for so long.
    Duration life_by_our_clock = std::chrono::hours(2);
    Duration memory_margin = std::chrono::hours(1);   // completed ones are known past the expiry
    Duration offer_again = std::chrono::seconds(10);  // what could not be committed
  };

  PMulReceiver(const Config& config, Rng& rng, const UtcClock& utc);

  // Events in. `now` never goes backwards.
  void on_address(Instant now, const AddressPdu& address);
  void on_data(Instant now, const DataPdu& data);
  void on_parity(Instant now, const ParityPdu& parity);
  void on_discard(Instant now, const DiscardPdu& discard);
  /// Call when our own EMCON begins or ends. No PDU leaves until it ends.
  void on_silent(Instant now, bool silent, bool listened);
  void on_committed(Instant now, const MessageName& name);
  void on_not_committed(Instant now, const MessageName& name);
  /// The layer above will never take it: it is dropped, and not acknowledged.
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

  std::size_t messages() const { return messages_.size(); }
  std::size_t octets() const { return octets_; }
  std::size_t known() const { return known_.size(); }
  /// Reports that our clock is ahead of that of a node by at least this much.
  struct ClockApart {
    std::chrono::seconds at_least{};
    Instant seen_at{};
  };
  const std::map<NodeId, ClockApart>& clocks_apart() const { return clocks_apart_; }
  const CounterSet<PMulReceiverCounter>& counters() const { return counters_; }

 private:
  static constexpr Duration kGapMax = std::chrono::minutes(6);  // a block at 75 bit/s takes 4
  // When nothing more is to come for us. At 300 bit/s it lets a block for others, or parity, come
  // before it, which take 54 s.
  static constexpr Duration kRestMax = std::chrono::seconds(90);
  static constexpr std::size_t kAddressedMax = 1000;

  using Message = ReceivedMessage;
  using State = ReceivedMessage::State;
  using Known = KnownMessages::Known;
  using Messages = std::map<MessageName, Message>;

  enum class RoundEnd : std::uint8_t {
    known,       // by an Extra_Address_PDU
    for_us,      // the last block that we want has come
    still_open,  // more blocks for us are to come
  };
  enum class Listing : std::uint8_t { listed, absent, unknown };
  struct Place {
    Listing listing = Listing::unknown;
    std::size_t slot = 0;
    std::uint32_t sequence = 0;
    bool alone = false;
  };

  struct Arrived {
    std::uint16_t block = 0;  // 0: none, it is
    std::uint16_t parity = 0;
  };

  /// The time until which a message that is announced now is of use, as far as its expiry can be
  /// believed.
  struct Life {
    UtcSeconds expiry;
    Instant expires{};          // with the margin
    bool by_our_clock = false;  // the expiry had passed
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
  /// A message that needs room, and whether its source or all sources have too many octets.
  struct Wanted {
    MessageName name;
    std::size_t octets = 0;    // more than it has
    std::size_t messages = 0;  // 1 if it is new
    std::optional<std::uint8_t> priority;
    std::size_t held = 0;  // octets that it has
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
  std::map<MessageName, Instant> ignored_;     // not for us, or too large; until when
  std::map<NodeId, std::uint32_t> sequences_;  // the last from each transmitter
  std::map<NodeId, ClockApart> clocks_apart_;
  std::size_t octets_ = 0;
  std::deque<MessageName> acks_;  // due; each at most once
  std::deque<MessageEvent> events_;
  std::deque<MessageName> settled_;
  CounterSet<PMulReceiverCounter> counters_;
};
static_assert(TimedCore<PMulReceiver>);

}  // namespace s5066::p_mul
