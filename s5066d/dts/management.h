// The handshake of type 6 D_PDUs with one peer (C.3.9): one message at a time, each with an ID of
// its own, repeated until the peer acknowledges it. What the messages say is for others.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"

namespace s5066::dts {

class Management {
 public:
  struct Message {
    pdu::Eow eow;
    Bytes extension = {};  // 0..kExtensionOctetsMax octets
    friend bool operator==(const Message&, const Message&) = default;
  };
  /// What a type 6 of the peer was.
  struct Heard {
    bool acknowledged = false;         // our message has arrived, which ends it
    bool repeated = false;             // a message that was there before
    std::optional<Message> message{};  // a new one
  };

  /// What ends a message, besides another one and `stop`.
  enum class Until : std::uint8_t {
    acknowledged,
    stopped,  // its answer is a message itself; whoever reads that knows it
    sent,     // nothing is waited for; it goes out again when what it answers is repeated
  };

  /// Takes the message to be sent, in place of the one before.
  void send(Message message, Until until = Until::acknowledged);
  /// The message sent last needs no acknowledgement any more.
  void stop() { out_.reset(); }
  /// In full duplex `formed_at` is when the peer wrote it.
  Heard on_management(const pdu::Management& dpdu, std::optional<Instant> formed_at = std::nullopt);
  /// An acknowledgement goes out even if the peer's message has been acknowledged before.
  void owe_ack() { ack_owed_ = true; }
  /// Sent with the next acknowledgement that carries no message of its own (C.3.9(7)).
  void attach(const pdu::Eow& eow) { attached_ = eow; }

  /// A message of the peer's has come.
  bool heard() const { return rx_id_.has_value(); }
  bool outstanding() const;
  /// The outstanding message was acknowledged, yet not answered.
  bool acknowledged_only() const { return out_ && out_->acknowledged; }
  bool answer_owed() const { return ack_owed_; }
  bool has_work() const { return ack_owed_ || (out_ && out_->due); }
  /// Adds what is due; copies fill the rest of a block (C.6.4.2). False when it does not fit.
  bool fill(const pdu::Common& common, IntervalBudget& budget, BurstBuilder& burst);
  /// What the last fill added is on the air: the peer answers it from `answered_from` on, if it
  /// hears us while it sends.
  void on_keyed(Instant answered_from);
  void on_transmitted(bool sent);
  /// What was sent last has not been answered, or has no answer coming: it is due again.
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
  std::optional<std::uint8_t> rx_id_;  // none: the "out of range" of C.3.9(17)
  Message rx_message_;                 // the one with rx_id_
  bool rx_had_ack_ = false;            // the message with rx_id_ acknowledged ours
  bool ack_owed_ = false;
  pdu::Eow attached_;
  bool ack_filled_ = false;  // by the last fill
  bool out_filled_ = false;
};

}  // namespace s5066::dts
