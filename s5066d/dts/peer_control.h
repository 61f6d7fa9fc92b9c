// What is said to one peer beside data: engineering order wire messages (C.5), alone in the header
// of any D_PDU or acknowledged in type 6, and the change of data rate that they serve (C.6.4).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "s5066d/base/metrics.h"
#include "s5066d/dts/management.h"
#include "s5066d/dts/rate_change.h"
#include "s5066d/dts/service.h"

namespace s5066::dts {

class PeerControl {
 public:
  struct Config {
    Address self;
    modem::Mode mode;                        // of transmissions, until something else is agreed on
    bool rate_change = true;                 // data rate change is offered
    bool full_duplex = false;                // we hear while we send, on another frequency
    unsigned repeats_max = 3;                // of a type 6 without an answer (C.6.4.2(11))
    std::vector<modem::Mode> unusable = {};  // we cannot transmit in them
    std::vector<modem::Mode> listened = {};  // of our receiver; see modem::is_heard
  };
  using Event = std::variant<DataRateAdvised, TransmitModeChanged, DataRateRefused>;
  enum class Missed : std::uint8_t { again, given_up, link_lost };

  PeerControl(Address peer, const Config& config, Counters& counters);

  Address peer() const { return peer_; }

  // --- Requests ---
  /// D_CONNECTION_MADE or the end of the connection: all begins anew (C.3.9(16)(17), C.6.4.1(1)).
  void on_connected(bool connected);
  bool connected() const { return connected_; }
  /// The peer has made the connection anew, and knows nothing of what was said on it.
  void on_restarted();
  /// Begins a data rate change; ends with TransmitModeChanged or DataRateRefused. See
  /// RateChange::request; `link_down` without a connection.
  Result<void> request_mode(const modem::Mode& mode);
  /// Changes at once, because the peer's receiver finds rate and interleaver by itself (C.6.4.2).
  void set_mode(const modem::Mode& mode);
  /// Every acknowledgement tells the peer so, until it changes. Refused silently where Table C-5
  /// has no such rate or C-6 no such interleaver. A request of the peer's for a less robust mode
  /// will be refused. The peer may be told another mode, or none.
  void advise(const std::optional<modem::Mode>& mode, const std::optional<modem::Mode>& told);

  /// What the peer is told.
  std::optional<modem::Mode> advice() const;
  /// Data tells it as well; for peers that look there, too.
  void advise_with_data(bool also) { advise_with_data_ = also; }
  /// What the peer advised last.
  std::optional<modem::Mode> advised() const;
  /// The next advice is news, whatever it is.
  void forget_advice() { advised_.reset(); }

  /// A header that advised this has left the antenna.
  void on_advice_sent(const modem::Mode& mode);
  /// What the peer is advised it asks for by the procedure: it has done so, on this connection or
  /// before. A request for anything else says nothing of what it makes of advice.
  bool asks_for_changes() const { return asks_; }
  /// In which the peer transmits, where that was agreed on at its request.
  const std::optional<modem::Mode>& peer_mode() const { return rate_.peer_mode(); }

  /// Of our transmissions to the peer.
  const modem::Mode& mode() const { return rate_.mode(); }
  /// Of the next one with a type 6.
  const modem::Mode& next_mode() const { return rate_.next_mode(); }
  /// EOW type 4, when it has come.
  std::optional<std::uint8_t> capabilities() const { return capabilities_; }

  /// We hear while we send, or do so no more: the peer is told of a change.
  void set_full_duplex(bool on);

  // --- What was heard of the peer ---
  /// True when it is what was waited for.
  bool on_management(const pdu::Management& dpdu, std::optional<Instant> formed_at = std::nullopt);
  /// The message in a D_PDU of another type.
  void on_eow(const pdu::Eow& eow);
  /// The peer will not hear of type 6 (C.3.12): what is open ends.
  void on_warning();
  /// A D_PDU of the connection: whoever sends that has ended its data rate change.
  void on_data();

  /// A message of the peer's has come in a type 6 since the connection was made.
  bool heard() const { return management_.heard(); }

  // --- Transmissions ---
  /// No regular or expedited data may go to the peer meanwhile (C.6.1.2(1)).
  bool open() const;
  bool has_work() const { return management_.has_work(); }
  bool answer_owed() const { return management_.answer_owed(); }
  bool fill(IntervalBudget& budget, BurstBuilder& burst);
  /// See Management::on_keyed.
  void on_keyed(Instant answered_from) { management_.on_keyed(answered_from); }
  /// What the last fill added waits for an answer, which has not come meanwhile.
  bool wants_reply() const { return wants_reply_; }
  /// The peer is the one to repeat itself first, so that the two do not do it together.
  bool waits_longer() const;
  void on_transmitted(bool sent);
  Missed on_reply_missing();
  /// What is open has nothing to wait for: it goes out again.
  void make_due();

  /// For the header of a D_PDU of this type other than 6 (C.3.2.2).
  pdu::Eow eow_for(std::uint8_t dpdu_type) const;
  /// A D_PDU with that has left the antenna.
  void on_eow_sent() {
    owed_ = {};
    capability_due_ -= capability_due_ > 0 ? 1 : 0;
  }

  /// Something should be sent to show that the link is alive (C.6.4.2(34)).
  bool take_closing() { return rate_.take_closing(); }
  std::optional<Event> poll_event();

 private:
  std::uint8_t own_capabilities() const;
  void on_message(const Management::Message& message, bool acknowledged);
  std::optional<Management::Message> answer_to(const Management::Message& message);
  void say_what_waits();
  bool waits_for_nothing() const;
  void say(std::optional<Management::Message> message);
  void on_advisory(const pdu::DrcRequest& advice);
  void on_unrecognised(std::uint8_t type);
  void collect();

  Address peer_;
  Config config_;
  Counters& counters_;
  bool connected_ = false;
  Management management_;
  RateChange rate_;
  modem::Mode told_mode_;  // by the last TransmitModeChanged
  std::optional<pdu::DrcRequest> advice_;
  bool advise_with_data_ = false;
  std::vector<modem::Mode> advices_sent_;  // on this connection, each once
  bool asks_ = false;
  std::optional<pdu::DrcRequest> advised_;  // by the peer, the last time
  std::optional<std::uint8_t> capabilities_;
  bool knows_capabilities_ = true;  // the peer has not said that it knows no such message
  unsigned capability_due_ = 0;     // transmissions that tell it before anything else
  pdu::Eow owed_;                   // goes in the next D_PDU
  bool frequency_refused_ = false;  // to be said when no change is under way
  bool wants_reply_ = false;
  unsigned misses_ = 0;  // in a row
  std::deque<Event> events_;
};

}  // namespace s5066::dts
