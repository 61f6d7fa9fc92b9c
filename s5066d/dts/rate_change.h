// The data rate change procedure with one peer (C.6.4, C.5.1, C.5.2, C.5.5), in both roles. The
// master asks at which rate and interleaver it may transmit, the slave accepts or refuses; after
// the master's acknowledgement both change, the slave confirms, the master acknowledges that. It
// only decides what is said: Management says it, and repeats it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/result.h"
#include "s5066d/dts/management.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {

class RateChange {
 public:
  struct Config {
    modem::Mode mode;                        // of our transmissions at the beginning
    bool capable = true;                     // without it every request is refused (C.6.4(2))
    bool outranks = true;                    // of two requests that cross, ours stands
    std::vector<modem::Mode> unusable = {};  // we cannot transmit in them
    std::vector<modem::Mode> listened = {};  // of our receiver; see modem::is_heard
  };
  enum class Step : std::uint8_t {
    idle,
    requesting,        // master: a request is out
    awaiting_confirm,  // master: accepted; our acknowledgement lets both change
    cancelling,        // master: refused, and we take the request back
    accepting,         // slave: change when our response is acknowledged
    refusing,          // slave
    confirming,        // slave: changed
  };

  explicit RateChange(const Config& config) : config_(config), mode_(config.mode) {}

  Step step() const { return step_; }
  /// Of our transmissions to the peer.
  const modem::Mode& mode() const { return mode_; }
  /// Of the next transmission. A slave whose acceptance we have acknowledged may have missed that:
  /// it still listens in the old mode then, and not every receiver finds the mode by itself. So
  /// what is repeated goes in the old and the new mode in turn.
  const modem::Mode& next_mode() const { return in_old_mode_ && before_ ? *before_ : mode_; }
  /// Without a word to the peer, which finds rate and interleaver by itself.
  void set_mode(const modem::Mode& mode) {
    mode_ = mode;
    before_.reset();
  }
  /// Of the peer's transmissions to us, where they are what was agreed on with us as the slave.
  const std::optional<modem::Mode>& peer_mode() const { return peer_mode_; }
  /// What we can take from the peer.
  void set_advice(const std::optional<modem::Mode>& mode) { advice_ = mode; }

  /// The request to send, which only an answer ends. `refused` while another change is under way
  /// or when the peer has no data rate change, `unsupported` when it cannot change what this asks.
  Result<Management::Message> request(const modem::Mode& mode);

  /// A new message of a type 6; the answer to send, if it has one.
  std::optional<Management::Message> on_message(const Management::Message& message);
  /// Our message was acknowledged, and nothing said to it; the next one to send.
  std::optional<Management::Message> on_acknowledged();
  /// An acknowledgement without a message, while none of ours waits for one.
  void on_stray_ack();
  /// An acknowledgement of ours without a message has left the antenna.
  void on_ack_sent();
  /// The peer sends data; tells whether that ends a procedure.
  bool on_data();
  /// The peer does not know messages of this type (C.5.3), wherever it said so.
  void on_unrecognised(std::uint8_t type);
  /// The change ends here: no answer came.
  void abandon();

  /// A request of ours came to nothing since the last call.
  std::optional<pdu::DrcReason> take_refusal() { return std::exchange(refusal_, std::nullopt); }
  /// The slave shows that the link is alive (C.6.4.2(31)(33)(34)).
  bool take_closing() { return std::exchange(closing_, false); }

 private:
  std::optional<Management::Message> on_request(const std::optional<modem::Mode>& mode,
                                                pdu::DrcReason why_not, bool equal);
  pdu::DrcResponse as_far_as_heard(const pdu::DrcResponse& response) const;
  std::optional<Management::Message> on_response(const pdu::DrcResponse& response);
  std::optional<Management::Message> on_answer(const pdu::DrcResponse& response);
  void refused(pdu::DrcReason reason);
  void go(Step next);
  void change();
  void break_off();

  Config config_;
  Step step_ = Step::idle;
  modem::Mode mode_;
  modem::Mode wanted_;                 // what is being talked about
  std::optional<modem::Mode> before_;  // until the change is confirmed
  bool in_old_mode_ = false;           // the next acknowledgement of the acceptance
  bool both_ = false;                  // for both directions
  std::optional<modem::Mode> advice_;  // of ours
  std::optional<modem::Mode> peer_mode_;
  bool hdr_ = false;  // a request of type 7: its reasons mean other things
  bool peer_incapable_ = false;
  bool rate_fixed_ = false;  // the peer cannot change it as long as the link lasts (C.6.4.2)
  bool interleaver_fixed_ = false;
  std::optional<pdu::DrcReason> refusal_;
  bool closing_ = false;
  bool confirmed_ = false;  // the last procedure ended with a confirmation of ours
};

}  // namespace s5066::dts
