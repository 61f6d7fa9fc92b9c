// The data transfer sublayer of one node (Annex C): ARQ connections, unacknowledged delivery and
// half-duplex turn taking over one modem.
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
  /// Modes that our receiver listens for, as modem::listen_modes completes them.
  std::vector<modem::Mode> receive_modes = {};
  /// Largest segment. 0 adapts it to the losses, beginning with 200 octets up to 300 bit/s, 400 up
  /// to 2400 bit/s and 800 above. Unacknowledged data that is sent once uses the longest possible
  /// segments. If parts of such data are useful one by one, a segment lasts 15 s at most.
  std::size_t segment_octets = 0;
  unsigned window = kWindowMax;
  unsigned large_window = kLargeWindowMax;               // with peers that offer it
  Duration transmission_max = kTransmissionMax;          // of the data part
  Duration turnaround = std::chrono::milliseconds(200);  // end of a burst to our own key-down
  Duration reply_margin = std::chrono::seconds(1);       // slack for an answer to be detected
  unsigned replies_missed_max = 8;  // missing replies in a row until the link is lost
  unsigned resyncs_max = 4;         // resyncs in a row without success until the link is lost
  unsigned resets_missed_max = 3;   // resets without an answer until the link is lost
  std::size_t links_max = 16;
  std::size_t held_octets_max = 2 * 1024 * 1024;  // for each link: received, but not yet in order
  std::size_t link_queue_octets_max = 2 * 1024 * 1024;
  std::size_t expedited_queue_octets_max = 64 * 1024;  // for each link
  std::size_t nonarq_queue_octets_max = 256 * 1024;
  /// One C_PDU of this many begun on a link is of the flow served longest ago; 0: never. The queue
  /// of the sublayer above does the same, and its choice must hold at the antenna.
  unsigned fair_turn = 0;
  bool offer_extensions = true;  // to peers; used only with peers that offer them too
  /// Offers and advertises data rate change, and follows advice (C.6.4): without a message if the
  /// receiver detects the mode by itself, else by agreement.
  bool rate_change = true;
  /// Each of two stations sends on its own frequency and receives the other meanwhile. In force
  /// while there is a link and the other station says so too.
  bool full_duplex = false;
  /// Two stations have the frequency to themselves. Once the other has been heard, third stations
  /// get slots only after they have been heard, too.
  bool dedicated_frequency = false;
  /// While undecodable energy is on the air, begin no exchange in which others may begin as well,
  /// for up to TurnControl::kOccupiedMax. Applies whenever stations take turns.
  bool wait_while_occupied = true;
  /// Advises peers by the quality of their transmissions. Follows their advice without a message
  /// only if both have offered that, else by agreement. A connection begins in `mode`.
  std::optional<RateLimits> adaptation;
  /// Repetitions of a type 6 without an answer; then its procedure and its link end (C.6.4.2(11)).
  unsigned management_repeats_max = 3;
  std::size_t peers_max = 64;  // with or without a connection; further stations get no answer
};

/// Bursts in a row that disagree about a window before it is made to agree.
inline constexpr unsigned kOutOfSyncMax = 3;
/// Largest number of WARNINGs that wait to be sent.
inline constexpr std::size_t kWarningsMax = 8;
/// Returns the segment size to begin with, configured or by rate.
std::size_t segment_octets(const Config& config, const modem::Mode& mode);
/// A peer that ignored type 9 on `kLongUnansweredMax` consecutive links gets no type 9 for
/// `kLongUnansweredWait`. A peer that warned of type 9 gets none until a type 9 of its own is
/// heard.
inline constexpr unsigned kLongUnansweredMax = 2;
inline constexpr Duration kLongUnansweredWait = std::chrono::hours(1);
inline std::size_t segment_octets(const Config& config) {
  return segment_octets(config, config.mode);
}
/// True if our receiver decodes this mode.
bool hears(const Config& config, const modem::Mode& mode);
/// Returns the extension bits that we offer to peers (EOW type 14).
std::uint8_t extensions(const Config& config);
/// Returns the largest segment size: one segment must fit the longest transmission in each of
/// `modes_in_use`, whichever of them it was cut for.
std::size_t segment_octets_max(const Config& config);
/// Returns the mode in which connections begin and the modes that adaptation may choose.
std::vector<modem::Mode> modes_in_use(const Config& config);
/// True if a transmission in that mode may be long enough for a frame with this user data. We
/// never change to another mode, because transmissions are never longer than configured.
bool holds_segment(const Config& config, const modem::Mode& mode, std::size_t segment_octets);

using Action =
    std::variant<modem::Command, CpduArrived, CpduConfirm, CpduRejected, CpduIndication,
                 ConnectionLost, ConnectionReset, PeerActive, WarningReceived, WarningTransmitted,
                 DataRateAdvised, TransmitModeChanged, DataRateRefused>;

/// True unless the type is 7 or 15; the destination of every other type has the next turn.
bool asks_for_answer(const pdu::Dpdu& dpdu);
/// True if the D_PDU is sent over a connection only, so that both ends have heard each other.
bool needs_connection(const pdu::Dpdu& dpdu);

/// Tells whether both stations send at the same time, and if that is configured, why they do not.
enum class Duplex : std::uint8_t {
  half,     // as configured
  full,     // both send at the same time
  no_link,  // turns are taken until there is a link
  untold,   // the other has not been heard on the link, nor told what it can do
  // Full duplex should not have been configured, here or there, in these states:
  peer_is_half,   // the other does not announce that it receives while it sends
  hears_itself,   // we receive our own transmission: both frequencies are one
  third_station,  // a third station was heard in the last 30 minutes
};
std::string_view to_string(Duplex duplex);

class DataTransfer {
 public:
  DataTransfer(const Config& config, Rng& rng, Counters& counters, TraceSink& trace);

  // --- From the channel access sublayer ---

  /// Accepts a C_PDU; exactly one CpduConfirm or CpduRejected answers it.
  void request_cpdu(Instant now, CpduRequest request);
  /// D_CONNECTION_MADE: starts a fresh ARQ machine (C.6.3.1). If it is repeated before data was
  /// heard on the connection, no data is lost: the peer may have missed our answer and called
  /// again. Set `reset` if the peer may still hold an older connection: no data goes before a full
  /// reset is acknowledged (C.6.3.1(2)).
  void on_connection_made(Instant now, Address peer, bool reset = false);
  /// D_CONNECTION_TERMINATED: rejects C_PDUs that were not acknowledged.
  void on_connection_terminated(Instant now, Address peer);

  /// While on, no transmission begins, because the caller is about to hand over more data.
  void gather(Instant now, bool on);

  /// EMCON: while on, nothing keys the transmitter, acknowledgements included, and a transmission
  /// in progress is aborted. Accepted C_PDUs stay, and their time to die runs.
  void set_silent(Instant now, bool on);

  /// While the modem has lost its device, no transmission begins, because the modem would refuse
  /// it.
  void set_modem_works(Instant now, bool works);

  /// Exclusive broadcast session: a station that asks for an answer gets a warning that there is
  /// none (C.3.12(9)).
  void set_broadcast(bool on) { broadcast_ = on; }

  // --- Modes ---
  /// Returns the mode of our transmissions to the peer. Link control and data for no single peer
  /// use `Config::mode`.
  modem::Mode mode_to(Address peer) const;
  /// Asks the peer to agree on another mode by the procedure of C.6.4; ends with
  /// TransmitModeChanged or DataRateRefused. Fails at once with `link_down`, `refused` (another
  /// change is under way, or the peer has no such procedure) or `unsupported` (the peer has told
  /// that it cannot change that, or see `holds_segment`).
  Result<void> request_data_rate(Instant now, Address peer, const modem::Mode& mode);
  /// Changes the mode without a message to the peer, whose receiver detects rate and interleaver by
  /// itself; reported by TransmitModeChanged. Does nothing if `holds_segment` forbids the mode.
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
    modem::Mode mode;                         // of our transmissions
    std::optional<modem::Mode> advised = {};  // the peer's advice for our transmissions
    // Why the peer refused the mode that we asked for last.
    std::optional<pdu::DrcReason> refused = {};
    std::optional<std::uint8_t> capabilities = {};  // the peer's, bits of EOW type 4
  };
  std::optional<LinkStatus> link_status(Address peer) const;
  std::size_t queued_octets(Address peer) const;
  bool transmitting() const { return burst_.has_value(); }
  TransferState transfer_state(Address peer) const;
  /// Returns the number of stations with a record; at most Config::peers_max.
  std::size_t peers_known() const { return peers_.size(); }
  bool channel_busy(Instant now) const { return turn_.channel_busy(now); }
  Duplex duplex() const { return duplex_; }
  /// True if any signal, decodable or not, is on the channel, whether or not we wait for it.
  bool channel_occupied() const { return channel_occupied_; }

 private:
  /// The transmission that we have handed to the modem.
  struct OwnBurst {
    modem::BurstId id;
    modem::Mode mode;
    std::optional<Address> peer;  // peer whose connection it serves
    bool managed = false;         // it carries type 6 instead of data
    struct Told {
      Address peer;
      std::optional<modem::Mode> advice;
    };
    std::vector<Told> told;              // EOWs in its headers
    std::optional<Address> turn_given;   // station that was asked for an answer
    std::vector<std::size_t> ends = {};  // end of each of its D_PDUs, in octets
    std::optional<Instant> began = {};   // when it began at the antenna
    Instant give_up_at{};
  };
  /// Advice to a peer whose reaction to advice is unknown; harmless if the peer just follows it.
  struct Probe {
    modem::Mode told;
    modem::Mode before;
    bool followed = false;  // it changed without having asked
  };
  /// A mode that the peer advised but in which it answered nothing.
  struct Unanswered {
    modem::Mode mode;
    unsigned times = 0;
    Instant until{};  // until then neither this mode nor a less robust one is used
  };
  struct Sent {
    Instant until{};
    modem::Mode mode;
  };
  /// Record of another station, apart from its data.
  struct Peer {
    PeerControl control;
    TransferMachine state;
    std::uint64_t heard = 0;                  // counter value when it was heard last
    std::optional<RateSelector> selector;     // for its transmissions to us
    std::optional<RateSelector> guess;        // for ours, while it advises nothing
    std::optional<modem::Mode> heard_in;      // mode of its last transmission
    std::uint32_t heard_max_bps = 0;          // fastest rate of which anything was received
    std::optional<modem::Mode> advice_out;    // advice sent since its last transmission
    Instant advice_at{};                      // when that advice was sent
    std::optional<modem::Mode> agreed_heard;  // mode of a transmission received as agreed
    std::optional<Probe> probe;               // tests whether it changes by the procedure
    std::vector<Unanswered> unanswered;       // our modes that it did not answer
    std::optional<modem::Mode> answered_in;   // mode of the last data that it answered
    std::vector<modem::Mode> answered;   // all modes in which it answered data on this connection
    std::optional<modem::Mode> asked;    // mode that we asked the peer for by data rate change
    std::optional<modem::Mode> refused;  // mode that the peer refused
    std::optional<pdu::DrcReason> refusal;  // reason for the last request that failed
    std::optional<modem::Mode> followed;    // its advice that we follow, if we do not adapt
    std::vector<modem::Mode> proven;     // our modes of which it received more than half last time
    std::optional<modem::Mode> sent_in;  // mode of the last data to it
    std::deque<Sent> sent;               // full duplex: data transmissions that an answer may cover
    unsigned feelers = 0;                // transmissions on this connection
    unsigned long_unanswered = 0;        // links in a row that ended after type 9 went unanswered
    std::optional<Instant> long_again_at;  // time at which type 9 is tried again
  };
  /// The transmission being received.
  struct HeardBurst {
    modem::Mode mode;
    std::optional<Instant> start;  // time of bit 0
    Instant bits_until{};          // expected time of the next bit
    std::optional<Address> source;
    ReceptionMeter meter{mode};
    std::optional<Instant> announced;  // its announced end
    bool beside_own = false;           // it began while we sent
    bool managed = false;              // it carried a type 6
  };
  /// Timing of the burst heard last.
  struct LeftOff {
    modem::Mode mode;
    Instant start{};
    Instant bits_until{};
  };
  /// A received D_PDU while it is handled.
  struct Arrival {
    Instant now{};
    Instant first_bit_at{};
    bool segment_ok = true;
    // Full duplex: when the sender formed it; it covers nothing later.
    std::optional<Instant> formed_at;
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
  std::vector<modem::Mode> modes_;  // modes that adaptation may choose
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
  bool arq_turn_over_ = false;  // the next transmission is for data in another mode than the last
  std::deque<PendingWarning> warnings_;
  std::optional<OwnBurst> burst_;
  std::optional<HeardBurst> heard_;
  std::optional<Address> reply_awaited_from_;
  std::uint64_t bursts_made_ = 0;
  /// Largest number of transmissions in a row that answers may take from waiting connections.
  static constexpr unsigned kPassedOverMax = 2;
  unsigned passed_over_ = 0;  // transmissions in a row that owed answers took from others
  unsigned put_off_ = 0;  // transmissions of type 8 for others that a connection has waited through
  bool silent_ = false;
  bool modem_works_ = true;  // else the modem would refuse each transmission
  bool gathering_ = false;
  bool broadcast_ = false;
  Duplex duplex_ = Duplex::half;
  bool hears_itself_ = false;
  unsigned own_unheard_ = 0;  // our transmissions in a row that we did not receive
  Instant own_began_{};       // our last transmission
  Instant own_ended_{};
  /// Full duplex: end of the last transmission that acknowledged, or begin of the last reception.
  Instant answered_at_{};
  Instant heard_until_{};  // end of the last reception
  Instant now_{};          // time of the last event
  std::deque<Action> actions_;
};

}  // namespace s5066::dts
