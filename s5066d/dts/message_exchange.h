// SPDX-License-Identifier: Apache-2.0
// The handshake of type 6 D_PDUs with one peer (C.3.9): one message at a time, each with an ID of
// its own, repeated until the peer acknowledges it. Callers decide what the messages say.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"

namespace s5066::dts {

class MessageExchange {
 public:
  struct Message {
    pdu::Eow eow;
    Bytes extension = {};  // 0..kExtensionOctetsMax octets
    friend bool operator==(const Message&, const Message&) = default;
  };
  /// Result of a type 6 of the peer.
  struct Heard {
    bool acknowledged = false;         // our message has arrived, which ends it
    bool repeated = false;             // the message had been received before
    std::optional<Message> message{};  // the new message, if it carried one
  };

  /// Event that ends a message, besides another message and `stop`.
  enum class Until : std::uint8_t {
    acknowledged,
    stopped,  // the peer answers with a message; its reader calls stop()
    sent,     // no answer is expected; the message is sent again if the peer repeats its own
  };

  /// Takes a message to be sent; it replaces the one before.
  void send(Message message, Until until = Until::acknowledged);
  /// Ends the last message, which needs no acknowledgement any more.
  void stop() { out_.reset(); }
  /// Handles a type 6 of the peer. In full duplex `formed_at` is when the peer wrote it.
  Heard on_management(const pdu::Management& dpdu, std::optional<Instant> formed_at = std::nullopt);
  /// Queues an acknowledgement even if the peer's message has been acknowledged before.
  void owe_ack() { ack_owed_ = true; }
  /// Sets the EOW for the next acknowledgement that carries no message of its own (C.3.9(7)).
  void attach(const pdu::Eow& eow) { attached_ = eow; }

  /// True if a message of the peer has come.
  bool heard() const { return rx_id_.has_value(); }
  bool outstanding() const;
  /// True if the outstanding message was acknowledged but not answered.
  bool acknowledged_only() const { return out_ && out_->acknowledged; }
  bool answer_owed() const { return ack_owed_; }
  bool has_work() const { return ack_owed_ || (out_ && out_->due); }
  /// Adds due messages; copies fill the rest of a block (C.6.4.2). Returns false if it does not
  /// fit.
  bool fill(const pdu::Common& common, IntervalBudget& budget, BurstBuilder& burst);
  /// Call when the last fill is on the air. The peer answers it from `answered_from` on, if it
  /// receives us while it sends.
  void on_keyed(Instant answered_from);
  void on_transmitted(bool sent);
  /// Makes the last message due again, because it has not been answered or no answer will come.
  void make_due();

 private:
  struct Outgoing {
    Message message;
    std::uint8_t frame_id = 0;
    Until until = Until::acknowledged;
    bool with_ack = false;
    bool due = true;
    bool sent = false;
    std::optional<Instant> answered_from = {};
    bool acknowledged = false;
  };

  bool may_be_answered(std::optional<Instant> formed_at) const;

  std::optional<Outgoing> out_;
  std::uint8_t next_id_ = 0;           // TX MANAGEMENT FRAME ID (C.3.9(16))
  std::optional<std::uint8_t> rx_id_;  // empty: the "out of range" of C.3.9(17)
  Message rx_message_;                 // the message with rx_id_
  bool rx_had_ack_ = false;            // the message with rx_id_ acknowledged ours
  bool ack_owed_ = false;
  pdu::Eow attached_;
  bool ack_filled_ = false;  // added by the last fill
  bool out_filled_ = false;
};

}  // namespace s5066::dts
