// SPDX-License-Identifier: Apache-2.0
// The data transfer sublayer of one node (Annex C): ARQ connections, unacknowledged delivery and
// half-duplex turn taking over one modem.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/action_queue.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/trace.h"
#include "s5066d/dts/burst_reception.h"
#include "s5066d/dts/config.h"
#include "s5066d/dts/connection.h"
#include "s5066d/dts/duplex.h"
#include "s5066d/dts/nonarq.h"
#include "s5066d/dts/peer_table.h"
#include "s5066d/dts/service.h"
#include "s5066d/dts/transfer_state.h"
#include "s5066d/dts/transmission_planner.h"
#include "s5066d/dts/turn_control.h"
#include "s5066d/dts/warning_queue.h"

namespace s5066::dts {

using Action =
    std::variant<modem::Command, CpduArrived, CpduConfirm, CpduRejected, CpduIndication,
                 ConnectionLost, ConnectionReset, PeerActive, WarningReceived, WarningTransmitted,
                 DataRateAdvised, TransmitModeChanged, DataRateRefused>;

/// True unless the type is 7 or 15; the destination of every other type has the next turn.
bool asks_for_answer(const pdu::Dpdu& dpdu);
/// True if the D_PDU is sent over a connection only, so that both ends have heard each other.
bool needs_connection(const pdu::Dpdu& dpdu);

// Driven as s5066d/base/driven_core.h says.
class DataTransfer {
 public:
  DataTransfer(const Config& config, Rng& rng, Counters& counters, TraceSink& trace);
  DataTransfer(const DataTransfer&) = delete;  // the parts refer to the settings
  DataTransfer& operator=(const DataTransfer&) = delete;

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
  struct ConnectionStatus {
    std::size_t octets_queued = 0;  // C_PDU octets accepted and not yet reported
    std::uint64_t octets_acknowledged = 0;
    modem::Mode mode;                         // mode of our transmissions
    std::optional<modem::Mode> advised = {};  // the peer's advice for our transmissions
    // Why the peer refused the mode that we asked for last.
    std::optional<pdu::DrcReason> refused = {};
    std::optional<std::uint8_t> capabilities = {};  // the peer's, bits of EOW type 4
  };
  std::optional<ConnectionStatus> connection_status(Address peer) const;
  std::size_t queued_octets(Address peer) const;
  bool transmitting() const { return burst_.has_value(); }
  TransferState transfer_state(Address peer) const;
  /// Returns the number of stations with a record; at most Config::peers_max.
  std::size_t peers_known() const { return peers_.size(); }
  bool channel_busy(Instant now) const { return turn_.channel_busy(now); }
  Duplex duplex() const { return duplex_.state(); }
  /// True if any signal, decodable or not, is on the channel, whether or not we wait for it.
  bool channel_occupied() const { return channel_occupied_; }

 private:
  /// The transmission that we have handed to the modem.
  struct OwnBurst {
    modem::BurstId id;
    modem::Mode mode;
    std::optional<Address> peer;  // peer whose connection it serves
    bool managed = false;         // the burst carries type 6 instead of data
    bool identifies = false;      // the burst is the call sign in Morse code
    struct Told {
      Address peer;
      std::optional<modem::Mode> advice;
    };
    std::vector<Told> told;              // EOWs in its headers
    std::optional<Address> turn_given;   // station that was asked for an answer
    std::vector<std::size_t> ends = {};  // end of each of its D_PDUs, in octets
    std::optional<Instant> began = {};   // time at which the burst began at the antenna
    Instant give_up_at{};
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
  void on_eow(Instant now, Address source, const pdu::Eow& eow);
  void note_activity();
  void note_set_up(Instant now, Address source, const pdu::Eow& eow);
  std::uint8_t offered_by(const pdu::Eow& eow) const;
  void take_set_up_news(Instant now, Peer& record, Connection& connection);

  void on_measured(Instant now, const modem::CarrierDown& event);
  Peer* heard_peer(Instant now);
  bool may_advise(Address peer) const;
  void tell_advice(Instant now);
  void follow_advice(Address source, const pdu::Eow& eow);
  void note_answer(Connection& connection, std::optional<Instant> formed_at);
  Duration trial_max(const Connection& connection, const modem::Mode& mode,
                     Duration otherwise) const;
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
  void note_warned(Instant now, const PendingWarning& warning);

  Peer* peer_record(Address peer);
  modem::Mode control_mode(Address peer) const;
  void collect(PeerControl& control);
  Duration transmission_max(const modem::Mode& mode) const;
  void transmit(Instant now);
  void identify(Instant now);
  void fill(Instant now, BurstBuilder& burst);
  void fill_with_data(Instant now, const TransmissionPlan& plan, Connection* connection,
                      IntervalBudget& budget, BurstBuilder& burst);
  void add_warnings(Instant now, IntervalBudget& budget, BurstBuilder& burst);
  Duration next_turn_max(Instant now) const;
  Duration nonarq_delay() const;
  void add_copies(IntervalBudget& budget, BurstBuilder& burst);
  void add_eows(BurstBuilder& burst);
  TransferWork work_of(Address peer) const;
  std::vector<Address> resting(bool expedited) const;
  void on_sent_to_air(const BurstBuilder& burst);
  bool may_serve(const Connection& connection) const;
  bool may_rest(const Connection& connection) const;
  bool in_full_duplex() const { return duplex_.full(); }
  bool is_own_echo() const { return duplex_.is_own_echo(*reception_.burst()); }
  Duplex duplex_of_peers() const;
  void settle_duplex(Instant now);
  std::optional<Instant> rest_ends() const;
  void await_answers(Instant now);
  void note_keyed(Instant now);
  std::optional<Instant> expedited_rest_ends(const Connection& connection) const;
  void end_expedited_rests(Instant now);
  WaitingWork waiting_work() const;
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
  std::vector<modem::Mode>
      one_choice_;  // modes for peers that, as we do, choose among all waveforms
  Counters& counters_;
  TraceSink& trace_;
  TurnControl turn_;
  bool channel_occupied_ = false;
  BurstReception reception_;
  NonarqSender nonarq_tx_;
  NonarqReceiver nonarq_rx_;
  std::map<Address, Connection> connections_;
  PeerTable peers_;
  TransmissionPlanner planner_;
  WarningQueue warnings_;
  Identification identification_;
  bool answer_owed_ = false;  // a peer waits for the next transmission
  bool spoken_to_ = false;    // a station has asked us, and nothing was sent since
  std::optional<OwnBurst> burst_;
  std::optional<Address> reply_awaited_from_;
  std::uint64_t bursts_made_ = 0;
  bool silent_ = false;
  bool modem_works_ = true;  // else the modem would refuse each transmission
  bool gathering_ = false;
  bool broadcast_ = false;
  DuplexDetector duplex_;
  /// Full duplex: end of the last transmission that acknowledged, or begin of the last reception.
  Instant answered_at_{};
  Instant heard_until_{};  // end of the last reception
  Instant now_{};          // time of the last event
  ActionQueue<Action> actions_;
};
static_assert(DrivenCore<DataTransfer>);

}  // namespace s5066::dts
