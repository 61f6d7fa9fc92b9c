// SPDX-License-Identifier: Apache-2.0
// The data rate change procedure with one peer (C.6.4, C.5.1, C.5.2, C.5.5), in both roles. The
// master asks at which rate and interleaver it may transmit, and the slave accepts or refuses.
// After the master's acknowledgement both change, the slave confirms, and the master acknowledges
// the confirmation. RateChange only decides which message comes next; MessageExchange sends and
// repeats it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/result.h"
#include "s5066d/dts/message_exchange.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {

class RateChange {
 public:
  struct Config {
    modem::Mode mode;                        // mode of our transmissions at the beginning
    bool capable = true;                     // every request is refused if this is false (C.6.4(2))
    bool outranks = true;                    // our request stands if two requests cross
    std::vector<modem::Mode> unusable = {};  // modes in which we cannot transmit
    std::vector<modem::Mode> listened = {};  // modes that our receiver decodes; see modem::is_heard
  };
  enum class Step : std::uint8_t {
    idle,
    requesting,        // master: a request is out
    awaiting_confirm,  // master: accepted; both change when we have acknowledged
    cancelling,        // master: refused, and we withdraw the request
    accepting,         // slave: we change when our response is acknowledged
    refusing,          // slave
    confirming,        // slave: we have changed
  };

  explicit RateChange(const Config& config) : config_(config), mode_(config.mode) {}

  Step step() const { return step_; }
  /// Returns the mode of our transmissions to the peer.
  const modem::Mode& mode() const { return mode_; }
  /// Returns the mode of the next transmission. A slave may have missed our acknowledgement of its
  /// acceptance. It then still listens in the old mode, and not every receiver detects the mode by
  /// itself. Repetitions therefore alternate between the old and the new mode.
  const modem::Mode& next_mode() const {
    return in_old_mode_ && mode_before_ ? *mode_before_ : mode_;
  }
  /// Changes the mode without a message to the peer, whose receiver detects rate and interleaver by
  /// itself.
  void set_mode(const modem::Mode& mode) {
    mode_ = mode;
    mode_before_.reset();
  }
  /// Returns the mode of the peer's transmissions to us if it was agreed on with us as the slave.
  const std::optional<modem::Mode>& peer_mode() const { return peer_mode_; }
  /// Sets the mode that we can receive from the peer.
  void set_advice(const std::optional<modem::Mode>& mode) { advice_ = mode; }

  /// Returns the request to send; only an answer ends it. Fails with `refused` while another change
  /// is under way or when the peer has no data rate change, and with `unsupported` when the peer
  /// cannot change what the request asks.
  Result<MessageExchange::Message> request(const modem::Mode& mode);

  /// Handles a new type 6 message; returns the answer to send, if there is one.
  std::optional<MessageExchange::Message> on_message(const MessageExchange::Message& message);
  /// Call when our message was acknowledged without a message in return. Returns the next message
  /// to send.
  std::optional<MessageExchange::Message> on_acknowledged();
  /// Call for an acknowledgement without a message that arrives while none of our messages waits
  /// for one.
  void on_unexpected_ack();
  /// Call when our acknowledgement without a message has left the antenna.
  void on_ack_sent();
  /// Call when the peer sends data. Returns true if that ends a procedure.
  bool on_data();
  /// Call when the peer reports that it does not know messages of this type (C.5.3), by whatever
  /// message.
  void on_unrecognised(std::uint8_t type);
  /// Ends the change because no answer came.
  void abandon();

  /// Returns why a request of ours failed since the last call, if one did.
  std::optional<pdu::DrcReason> take_refusal() { return std::exchange(refusal_, std::nullopt); }
  /// True if we are the slave and should show that the link is alive (C.6.4.2(31)(33)(34)).
  bool take_closing() { return std::exchange(closing_, false); }

 private:
  std::optional<MessageExchange::Message> on_request(const std::optional<modem::Mode>& mode,
                                                     pdu::DrcReason why_not, bool equal);
  pdu::DrcResponse as_far_as_heard(const pdu::DrcResponse& response) const;
  std::optional<MessageExchange::Message> on_response(const pdu::DrcResponse& response);
  std::optional<MessageExchange::Message> on_answer(const pdu::DrcResponse& response);
  void refused(pdu::DrcReason reason);
  void go(Step next);
  void change();
  void break_off();

  Config config_;
  Step step_ = Step::idle;
  modem::Mode mode_;
  modem::Mode wanted_;                      // mode that the procedure is about
  std::optional<modem::Mode> mode_before_;  // old mode, until the change is confirmed
  bool in_old_mode_ = false;  // the next acknowledgement of the acceptance goes in the old mode
  bool both_ = false;         // the change is for both directions
  std::optional<modem::Mode> advice_;  // our advice
  std::optional<modem::Mode> peer_mode_;
  bool hdr_ = false;  // the request is of type 7, whose reasons have other meanings
  bool peer_incapable_ = false;
  bool rate_fixed_ = false;  // the peer cannot change its rate while the link lasts (C.6.4.2)
  bool interleaver_fixed_ = false;
  std::optional<pdu::DrcReason> refusal_;
  bool closing_ = false;
  bool confirmed_ = false;  // the last procedure ended with our confirmation
};

}  // namespace s5066::dts
