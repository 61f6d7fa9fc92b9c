// The data transfer sublayer of one node (Annex C): ARQ connections, unacknowledged delivery and
// the half-duplex discipline over one modem.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/trace.h"
#include "s5066d/dts/connection.h"
#include "s5066d/dts/nonarq.h"
#include "s5066d/dts/peer_control.h"
#include "s5066d/dts/rate_selector.h"
#include "s5066d/dts/reception_meter.h"
#include "s5066d/dts/service.h"
#include "s5066d/dts/transfer_state.h"
#include "s5066d/dts/turn_control.h"
#include "s5066d/pdu/scanner.h"

namespace s5066::dts {

struct Config {
  Address address;
  std::vector<Address> groups;  // subscribed, besides all stations
  modem::Mode mode;
  /// What our receiver listens for, as modem::listen_modes completes it.
  std::vector<modem::Mode> receive_modes = {};
  /// At most so long; 0: what the losses call for, beginning with 200 up to 300 bit/s, 400 up to
  /// 2400 and 800 above; of unacknowledged data that is sent once, as long as they can be, and
  /// where parts of such data are of use no longer than a quarter of a minute takes.
  std::size_t segment_octets = 0;
  unsigned window = kWindowMax;
  unsigned large_window = kLargeWindowMax;               // with peers that offer it
  Duration transmission_max = kTransmissionMax;          // of the data part
  Duration turnaround = std::chrono::milliseconds(200);  // end of a burst to our own key-down
  Duration reply_margin = std::chrono::seconds(1);       // slack for an answer to be detected
  unsigned replies_missed_max = 8;                       // in a row, then the link is lost
  unsigned resyncs_max = 4;                              // in a row in vain, then the link is lost
  unsigned resets_missed_max = 3;  // resets without an answer, then the link is lost
  std::size_t links_max = 16;
  std::size_t held_octets_max = 2 * 1024 * 1024;  // of each link: received, but not yet in order
  std::size_t link_queue_octets_max = 2 * 1024 * 1024;
  std::size_t expedited_queue_octets_max = 64 * 1024;  // of each link
  std::size_t nonarq_queue_octets_max = 256 * 1024;
  /// Of so many C_PDUs begun on a link one is of the flow served longest ago; 0: never. As in the
  /// queue of the sublayer above, whose choice has to hold at the antenna.
  unsigned fair_turn = 0;
  bool offer_extensions = true;  // to peers; they are used only with those that offer them too
  /// Data rate change is offered and advertised, and advice followed (C.6.4): without a word where
  /// a receiver finds the mode by itself, else by agreement.
  bool rate_change = true;
  /// Each of two stations sends on a frequency of its own, and hears the other meanwhile: while
  /// there is a link, and the other says so too.
  bool full_duplex = false;
  /// Two stations have the frequency to themselves: when the other has been heard, third ones have
  /// a chance to begin only once they have been, too.
  bool dedicated_frequency = false;
  /// Nothing is begun where others may begin as well while something that no receiver knows is on
  /// the air, for up to TurnControl::kOccupiedMax; wherever turns are taken.
  bool wait_while_occupied = true;
  /// Advises peers by what is heard of them, and heeds their advice without a word only where both
  /// have offered that, else by agreement. `mode` is where a connection begins.
  std::optional<RateLimits> adaptation;
  /// Of a type 6 without an answer; then its procedure and its link end (C.6.4.2(11)).
  unsigned management_repeats_max = 3;
  std::size_t peers_max = 64;  // with or without a connection; more are not answered
};

/// So many bursts in a row disagree about a window, then it is made to agree.
inline constexpr unsigned kOutOfSyncMax = 3;
/// That wait to be sent.
inline constexpr std::size_t kWarningsMax = 8;
/// The segment size to begin with, configured or by rate.
std::size_t segment_octets(const Config& config, const modem::Mode& mode);
/// Whoever answered nothing to type 9 on so many links in a row is sent no more for so long, and
/// whoever warned of it for good, until one of its own is heard.
inline constexpr unsigned kLongUnansweredMax = 2;
inline constexpr Duration kLongUnansweredWait = std::chrono::hours(1);
inline std::size_t segment_octets(const Config& config) {
  return segment_octets(config, config.mode);
}
/// By our receiver.
bool hears(const Config& config, const modem::Mode& mode);
/// That are offered to peers.
std::uint8_t extensions(const Config& config);
/// The longest that segments may become: so that one fits the longest transmission in each of
/// `modes_in_use`, whichever of them it was cut for.
std::size_t segment_octets_max(const Config& config);
/// Where connections begin, and where adaptation may lead them.
std::vector<modem::Mode> modes_in_use(const Config& config);
/// A transmission in that mode may be long enough for a frame with so much user data. No other is
/// ever changed to: transmissions are never longer than they may be.
bool holds_segment(const Config& config, const modem::Mode& mode, std::size_t segment_octets);

using Action =
    std::variant<modem::Command, CpduArrived, CpduConfirm, CpduRejected, CpduIndication,
                 ConnectionLost, ConnectionReset, PeerActive, WarningReceived, WarningTransmitted,
                 DataRateAdvised, TransmitModeChanged, DataRateRefused>;

/// Types 7 and 15 ask whoever they are for for no answer; of all others he has the next turn.
bool asks_for_answer(const pdu::Dpdu& dpdu);
/// True if the D_PDU is sent over a connection only, so that both ends have heard each other.
bool needs_connection(const pdu::Dpdu& dpdu);

/// Whether both stations send at the same time, and where that is configured, why they do not.
enum class Duplex : std::uint8_t {
  half,     // as configured
  full,     // both send at the same time
  no_link,  // turns are taken until there is one
  untold,   // the other has not been heard on the link, nor said what it can do
  // From here on it should not have been configured, here or there:
  peer_is_half,   // the other does not say that it hears while it sends
  hears_itself,   // what we send is heard here: both frequencies are one
  third_station,  // that was heard of late
};
std::string_view to_string(Duplex duplex);

class DataTransfer {
 public:
  DataTransfer(const Config& config, Rng& rng, Counters& counters, TraceSink& trace);

  // --- From the channel access sublayer ---

  /// Answered by exactly one CpduConfirm or CpduRejected.
  void request_cpdu(Instant now, CpduRequest request);
  /// D_CONNECTION_MADE: a fresh ARQ machine (C.6.3.1). Repeated before data was heard on the
  /// connection, no data is lost: the peer may have missed our answer and called again. `reset`
  /// when the peer may still hold an older connection: no data goes before a full reset is
  /// acknowledged (C.6.3.1(2)).
  void on_connection_made(Instant now, Address peer, bool reset = false);
  /// D_CONNECTION_TERMINATED: what was not acknowledged is rejected.
  void on_connection_terminated(Instant now, Address peer);

  /// While on, no transmission begins: more to send is about to come, at this very moment.
  void gather(Instant now, bool on);

  /// EMCON: while it lasts nothing keys the transmitter, acknowledgements included; a transmission
  /// in progress is aborted. What was accepted stays, and its time to die runs.
  void set_silent(Instant now, bool on);

  /// While the modem has lost its device no transmission begins: it would refuse each of them.
  void set_modem_works(Instant now, bool works);

  /// An exclusive broadcast session: who asks for an answer is told that there is none (C.3.12(9)).
  void set_broadcast(bool on) { broadcast_ = on; }

  // --- Modes ---
  /// Of our transmissions to the peer; in `Config::mode` go link control and what is for nobody in
  /// particular.
  modem::Mode mode_to(Address peer) const;
  /// Asks the peer to agree on another mode by the procedure of C.6.4; ends with
  /// TransmitModeChanged or DataRateRefused. Refused at once as `link_down`, `refused` (another
  /// change is under way, or the peer has no such procedure) or `unsupported` (it has said that it
  /// cannot change that, or see `holds_segment`).
  Result<void> request_data_rate(Instant now, Address peer, const modem::Mode& mode);
  /// Without a word to the peer, whose receiver finds rate and interleaver by itself; reported by
  /// TransmitModeChanged. Nothing happens where `holds_segment` forbids it.
  void set_data_rate(Instant now, Address peer, const modem::Mode& mode);

  // --- From the modem ---
  void on_modem_event(Instant now, const modem::Event& event);

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;
  std::optional<Action> poll_action();

  // --- For operators ---
  struct LinkStatus {
    std::size_t octets_queued = 0;  // C_PDU octets accepted and not yet reported
    std::uint64_t octets_acknowledged = 0;
    modem::Mode mode;                               // of our transmissions
    std::optional<modem::Mode> advised = {};        // the peer would like to have
    std::optional<pdu::DrcReason> refused = {};     // the mode that we asked for last
    std::optional<std::uint8_t> capabilities = {};  // of the peer, bits of EOW type 4
  };
  std::optional<LinkStatus> link_status(Address peer) const;
  std::size_t queued_octets(Address peer) const;
  bool transmitting() const { return burst_.has_value(); }
  TransferState transfer_state(Address peer) const;
  /// Stations of which anything is known; at most Config::peers_max.
  std::size_t peers_known() const { return peers_.size(); }
  bool channel_busy(Instant now) const { return turn_.channel_busy(now); }
  Duplex duplex() const { return duplex_; }
  /// By anything, known or not, whatever follows from it.
  bool channel_occupied() const { return channel_occupied_; }

 private:
  /// The transmission we have handed to the modem.
  struct OwnBurst {
    modem::BurstId id;
    modem::Mode mode;
    std::optional<Address> peer;  // whose connection it serves
    bool managed = false;         // with type 6 instead of data
    struct Told {
      Address peer;
      std::optional<modem::Mode> advice;
    };
    std::vector<Told> told;              // by the headers
    std::optional<Address> turn_given;   // spoken to
    std::vector<std::size_t> ends = {};  // of its D_PDUs, in octets
    std::optional<Instant> began = {};   // at the antenna
    Instant give_up_at{};
  };
  /// Told to a peer that has not shown yet what it makes of advice: harmless if it just follows.
  struct Probe {
    modem::Mode told;
    modem::Mode before;
    bool followed = false;  // without having asked
  };
  /// A mode that the peer wished for and did not answer to.
  struct Unanswered {
    modem::Mode mode;
    unsigned times = 0;
    Instant until{};  // not again before then, nor what is less robust
  };
  struct Sent {
    Instant until{};
    modem::Mode mode;
  };
  /// All that is said to another station beside data.
  struct Peer {
    PeerControl control;
    TransferMachine state;
    std::uint64_t heard = 0;                  // counts up
    std::optional<RateSelector> selector;     // of its transmissions to us
    std::optional<RateSelector> guess;        // of ours, while it advises nothing
    std::optional<modem::Mode> heard_in;      // its last transmission
    std::uint32_t heard_max_bps = 0;          // the fastest of which anything came
    std::optional<modem::Mode> advice_out;    // told since then
    Instant advice_at{};                      // the last time
    std::optional<modem::Mode> agreed_heard;  // in which it came, as agreed
    std::optional<Probe> probe;               // of whether it changes by the procedure
    std::vector<Unanswered> unanswered;       // modes of ours
    std::optional<modem::Mode> answered_in;   // the last data that was
    std::vector<modem::Mode> answered;        // all on this connection in which data was
    std::optional<modem::Mode> asked;         // of the peer, by data rate change
    std::optional<modem::Mode> refused;       // by the peer
    std::optional<pdu::DrcReason> refusal;    // of the last request that came to nothing
    std::optional<modem::Mode> followed;      // its advice, where we do not adapt
    std::vector<modem::Mode> proven;          // of ours: more than half came the last time
    std::optional<modem::Mode> sent_in;       // the last data to it
    std::deque<Sent> sent;                    // full duplex: data that an answer may speak of
    unsigned feelers = 0;                     // transmissions on this connection
    unsigned long_unanswered = 0;          // links in a row that ended after type 9 went unanswered
    std::optional<Instant> long_again_at;  // after too many of them
  };
  /// The transmission being heard.
  struct HeardBurst {
    modem::Mode mode;
    std::optional<Instant> start;  // of bit 0
    Instant bits_until{};          // where the next bit belongs
    std::optional<Address> source;
    ReceptionMeter meter{mode};
    std::optional<Instant> announced;  // its end
    bool beside_own = false;           // began while we sent
    bool managed = false;              // with a type 6
  };
  /// The burst heard last.
  struct LeftOff {
    modem::Mode mode;
    Instant start{};
    Instant bits_until{};
  };
  /// A D_PDU being dealt with.
  struct Arrival {
    Instant now{};
    Instant first_bit_at{};
    bool segment_ok = true;
    std::optional<Instant> formed_at;  // full duplex: nothing that came later is in it
    TransferAction action = TransferAction::process;
  };
  struct PendingWarning {
    Address peer;
    std::uint8_t received_type = 0;
    std::uint8_t reason = 0;
    friend bool operator==(const PendingWarning&, const PendingWarning&) = default;
  };

  void on_event(Instant now, const modem::TransmitStarted& event);
  void on_event(Instant now, const modem::TransmitFinished& event);
  void on_event(Instant now, const modem::CarrierUp& event);
  void on_event(Instant now, const modem::ReceivedBytes& event);
  void on_event(Instant now, const modem::CarrierDown& event);
  void on_event(Instant now, const modem::ChannelOccupancy& event);
  void on_event(Instant now, const modem::Fault& event);
  void note_held(Instant now, const TurnControl::KeyTransmitter& turn);
  void on_burst_over(Instant now, modem::TransmitOutcome outcome,
                     std::optional<Instant> cut_at = std::nullopt);
  static std::size_t dpdus_left(const OwnBurst& burst, Instant cut_at);
  void on_heard_over();
  void lose_hopeless(Instant now);
  Duration reply_time(Instant now) const;

  void on_received(Instant now, pdu::Received received);
  void on_dpdu(const Arrival& arrival, pdu::Data& data);
  void on_dpdu(const Arrival& arrival, pdu::DataAck& data);
  void on_dpdu(const Arrival& arrival, pdu::AckOnly& ack);
  void on_dpdu(const Arrival& arrival, pdu::LongData& data);
  void on_dpdu(const Arrival& arrival, pdu::LongAckOnly& ack);
  void on_dpdu(const Arrival& arrival, pdu::Reset& reset);
  void on_dpdu(const Arrival& arrival, pdu::ExpeditedData& data);
  void on_dpdu(const Arrival& arrival, pdu::ExpeditedAck& ack);
  void on_dpdu(const Arrival& arrival, pdu::Management& management);
  void on_dpdu(const Arrival& arrival, pdu::Nonarq& nonarq);
  void on_dpdu(const Arrival& arrival, pdu::Warning& warning);
  void on_dpdu(const Arrival& arrival, pdu::Unsupported& unsupported);
  void on_eow(Address source, const pdu::Eow& eow);
  void begin_bits(const modem::ReceivedBytes& event);
  void note_activity();

  void note_quality(const modem::ReceivedBytes& event);
  void on_measured(Instant now, const modem::CarrierDown& event);
  Peer* heard_peer(Instant now);
  std::optional<RateSelector> new_selector() const;
  void tell_advice(Instant now);
  void heed_advice(Address source, const pdu::Eow& eow);
  void go_to(Peer& record, const modem::Mode& mode);
  void note_answer(Connection& connection, std::optional<Instant> formed_at);
  void note_sent(Peer& record, Instant until, const modem::Mode& mode);
  static std::optional<modem::Mode> mode_answered(Peer& record, std::optional<Instant> formed_at);
  void fall_back(Peer& record, unsigned missed);
  void fall_back_from_advice(Peer& record, unsigned missed);
  static bool was_answered(const Peer& record, const modem::Mode& mode);
  void note_unanswered(Peer& record, bool lost);
  bool is_unanswered(const Peer& record, const modem::Mode& mode) const;
  void note_never_heard(Peer& record);
  static bool knows_long(Peer& record, Instant now);
  void note_long_unanswered(Peer& record, Instant now);
  void follow(const DataRateAdvised& advised);
  std::optional<modem::Mode> advice_for(Peer& record, const modem::Mode& wish) const;
  Duration feeler_max(Address peer, const modem::Mode& mode, Duration otherwise) const;
  TransferAction take(const pdu::Dpdu& dpdu);
  template <typename Data>
  void on_data(const Arrival& arrival, Data& data);
  template <typename AckDpdu>
  void on_acknowledgement(const Arrival& arrival, const AckDpdu& ack, pdu::DpduType type);
  bool is_unrecognised(const pdu::Dpdu& dpdu) const;
  Connection& connection_to(const pdu::Common& common);
  bool link_may_be_coming(Address peer) const;
  void on_answer(const Arrival& arrival, Connection& connection, Connection::Verdict verdict,
                 pdu::DpduType type);
  void owe_warning(Address peer, std::uint8_t received_type, std::uint8_t reason);
  void note_warned(Instant now, const PendingWarning& warning);

  Peer* peer_record(Address peer);
  void collect(PeerControl& control);
  Duration transmission_max(const modem::Mode& mode) const;
  bool may_use(const modem::Mode& mode) const;
  void transmit(Instant now);
  void fill(Instant now, BurstBuilder& burst);
  Duration next_turn_max(Instant now) const;
  Duration nonarq_delay() const;
  void add_copies(IntervalBudget& budget, BurstBuilder& burst);
  void add_eows(BurstBuilder& burst);
  PeerControl* choose_control();
  TransferWork work_of(Address peer) const;
  std::vector<Address> resting(bool expedited) const;
  void on_sent_to_air(const BurstBuilder& burst);
  bool may_serve(const Connection& connection) const;
  bool may_rest(const Connection& connection) const;
  bool in_full_duplex() const { return duplex_ == Duplex::full; }
  bool is_own_echo() const { return hears_itself_ && heard_->beside_own; }
  bool may_hear_while_sending(Instant now) const;
  Duplex duplex_now(Instant now) const;
  void settle_duplex(Instant now);
  bool is_own(Instant first_bit_at) const;
  void note_own_heard();
  void note_own_ended(Instant now, bool sent);
  std::optional<Instant> formed_at() const;
  std::optional<Instant> rest_ends() const;
  void await_answers(Instant now);
  void note_keyed(Instant now);
  std::optional<Instant> expedited_rest_ends(const Connection& connection) const;
  void end_expedited_rests(Instant now);
  Connection* choose_connection();
  std::optional<Address> choose_audience(const PeerControl* control, Connection*& connection);
  bool anything_to_send() const;
  bool may_send() const { return !silent_ && modem_works_; }
  void want_transmit(Instant now);
  void on_reply_missing(Instant now);
  void lose(Instant now, Address peer);
  void end_link(Address peer);
  void collect_nonarq();
  void collect(Connection& connection);
  void settle(Instant now);
  void take_turn(Instant now);
  void trace_dpdu(Instant now, TraceKind kind, const pdu::Dpdu& dpdu, Address peer, bool intact);

  Config config_;
  std::vector<modem::Mode> modes_;  // to choose from
  Counters& counters_;
  TraceSink& trace_;
  TurnControl turn_;
  bool channel_occupied_ = false;
  pdu::Scanner scanner_;
  std::optional<LeftOff> left_off_;
  NonarqSender nonarq_tx_;
  NonarqReceiver nonarq_rx_;
  std::map<Address, Connection> connections_;
  std::map<Address, Peer> peers_;
  std::uint64_t heard_count_ = 0;
  std::optional<Address> last_served_;
  bool arq_turn_over_ = false;  // the next transmission is for what is not in the mode of the last
  std::deque<PendingWarning> warnings_;
  std::optional<OwnBurst> burst_;
  std::optional<HeardBurst> heard_;
  std::optional<Address> reply_awaited_from_;
  std::uint64_t bursts_made_ = 0;
  /// Transmissions in a row that answers may take from those who wait.
  static constexpr unsigned kPassedOverMax = 2;
  unsigned passed_over_ = 0;  // transmissions in a row that owed answers took from others
  unsigned put_off_ = 0;      // that type 8 for others took from a connection since it was served
  bool silent_ = false;
  bool modem_works_ = true;  // else each transmission would be refused
  bool gathering_ = false;
  bool broadcast_ = false;
  Duplex duplex_ = Duplex::half;
  bool hears_itself_ = false;
  unsigned own_unheard_ = 0;  // transmissions of ours in a row
  Instant own_began_{};       // the last one
  Instant own_ended_{};
  /// Full duplex: the last transmission that acknowledged ended, or one began to be heard.
  Instant answered_at_{};
  Instant heard_until_{};  // the last transmission heard
  Instant now_{};          // of the last event
  std::deque<Action> actions_;
};

}  // namespace s5066::dts
