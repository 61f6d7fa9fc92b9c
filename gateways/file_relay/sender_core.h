// SPDX-License-Identifier: Apache-2.0
// The sending half of the file relay (F.8.3, F.10.2): takes files from the spool, sends each as one
// BFTP PDU over RCOP, and keeps at it until the far relay acknowledges the file or its time is up.
// Every state that matters is in the store before anything is done about it.
//
// Nothing waits for a station that does not answer. Limits are per station: files under way, U_PDUs
// at the node, of which a station that has not been heard gets few, and a silent station one file
// at growing intervals. Of the files for one station the one with the higher priority goes first,
// then the one with the fewest octets left; every kFairTurn-th U_PDU is of the file served longest
// ago. U_PDUs of large files have one priority less, so that a small file also overtakes what the
// node has already taken of a large one. Of each file only a piece is in memory.
//
// Files go in the times of the day that the configuration gives. Outside of them they wait, and
// what has begun stops.
//
// A station that has the transfer service gets files by that, and all others by BFTP. A station is
// asked with the offer of the first file; one that does not answer is taken for one without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gateways/common/handover_window.h"
#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/bftp.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sending_rules.h"
#include "gateways/file_relay/transfer_attempt.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class RelaySenderCounter : std::uint8_t {
  attempts,
  attempts_failed,
  delivered,
  failed,
  expired,
  corrupt,
  acknowledgements_unmatched,
  store_errors,
  spool_scans,
  offers,
  blocks,
  resumed_octets,
  transfers,
  messages_unmatched,
  udop_segments,
  sent,
  count
};
const CounterTable<RelaySenderCounter>& counter_table(RelaySenderCounter);

class SenderCore {
 public:
  struct Config {
    /// None: a file is delivered when all its segments are confirmed.
    AckMode acknowledgement = AckMode::frap_v2;
    bool frap_v2_needs_ids = true;    // false for a peer that copies the header but not the IDs
    std::uint8_t priority = 4;        // 0..15; for files without a priority of their own
    std::uint32_t items_max = 20000;  // most files in memory; the store takes as many
    // The number of small files under way to one station, and as many large ones. Files with a
    // higher priority than all of these have as many places again.
    std::uint32_t active_max = 4;
    // Limits the files under way to all stations. Beyond it each station keeps one.
    std::uint32_t active_total_max = 512;
    std::size_t small_octets_max = 8192;  // larger files take the places of large files
    /// Octets read at a time; a file has up to 1.5 pieces in memory.
    std::size_t piece_octets = 128u << 10;
    /// Octets of large files begun to one station; a single file may be larger.
    std::size_t begun_octets_max = 16u << 20;
    std::size_t outstanding_max = 160;  // U_PDUs that are at the node and not yet reported on
    std::size_t station_outstanding_max = 96;  // most of these U_PDUs for one station
    /// Most of these U_PDUs for a station that has not been heard.
    std::size_t unheard_outstanding_max = 8;
    Duration heard_for = std::chrono::minutes(30);
    /// After that, large files have the full priority.
    Duration stalled_after = std::chrono::minutes(10);
    std::uint32_t attempts_max = 32;
    Duration lifetime_max = std::chrono::hours(24);  // measured from acceptance
    Duration retry_delay_min = std::chrono::seconds(60);
    Duration retry_delay_max = std::chrono::hours(1);
    // The longest delay in the first hours without a success, of files that go by the transfer
    // service: a link that is there for ten minutes of each hour is found in one of these.
    Duration early_delay_max = std::chrono::minutes(8);
    Duration early_for = std::chrono::hours(3);
    // The longest wait for the node's next report on a segment, on top of the time on the air. The
    // node reports on each segment, so this only limits what a mute node can cost.
    Duration confirm_wait = std::chrono::seconds(900);
    // The longest wait from the last segment's confirmation to the file's acknowledgement, on top
    // of the acknowledgement's time on the air.
    Duration ack_wait = std::chrono::seconds(180);
    std::uint32_t line_rate_bps = 2400;    // estimate of the line rate, for these times on the air
    std::uint32_t updu_lifetime_s = 3600;  // added to the time on the air
    Duration spool_poll = std::chrono::seconds(2);
    Duration store_retry = std::chrono::seconds(10);
    /// Stations without files are forgotten at the same time.
    Duration purge_every = std::chrono::hours(1);

    SendingTable sending;
    bool transfer_service = false;
    // The longest wait for the answer to the offer of a file, on top of its time on the air, while
    // it is not known whether the station has the transfer service. It is longer on a bad link.
    Duration answer_wait = std::chrono::seconds(60);
    Duration service_asked_again = std::chrono::hours(24);
    std::size_t signature_octets_max = 32768;
    std::size_t stations_max = 4096;  // most stations without files that are remembered
  };
  struct Acknowledgement {
    Address peer;
    std::uint8_t connection_id = 0;
    std::uint8_t updu_id = 0;
    std::optional<BftpHeader> header;  // header of the file, in a FRAPv2 only
  };

  SenderCore(const Config& config, IdSource& ids, const UtcClock& utc, MessageOutbox& outbox);

  // Events in.
  void on_start(Instant now);
  void on_bound(Instant now, std::size_t mtu);
  void on_lost(Instant now);
  // Call when the client that is bound to SAP 7 is bound, and with its MTU.
  void on_udop_bound(Instant now, std::size_t mtu);
  void on_udop_lost(Instant now);
  /// Call when our own EMCON begins.
  void on_own_silence(Instant now);
  /// Call when the last U_PDU of poll_udop() was not taken.
  void on_udop_refused(Instant now, gateways::SisRequestId id, const std::string& reason);
  /// Call when a file may have been added to the spool.
  void on_spool_changed(Instant now);
  /// False when the request is not one of ours.
  bool on_confirmed(Instant now, gateways::SisRequestId id);
  bool on_refused(Instant now, gateways::SisRequestId id, std::string reason);
  void on_acknowledgement(Instant now, const Acknowledgement& acknowledgement);
  /// Takes a message of the transfer service. Every message shows that the station has it.
  void on_message(Instant now, Address peer, const HaveMessage& message);
  void on_message(Instant now, Address peer, const DoneMessage& message);
  void on_message(Instant now, Address peer, const RefuseMessage& message);
  void on_message(Instant now, Address peer, const SignatureMessage& message);
  void on_message(Instant now, Address peer, const ControlMessage& message);
  void on_service_heard(Instant now, Address peer);
  /// Call when the relay of this station has sent something.
  void on_heard(Instant now, Address station);
  /// False when the ticket is not one of ours.
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_deadline(Instant now);
  /// Call when the operator has changed a file that is not `busy`, and the spool has the change.
  /// `at_once`: the station of the file is tried now even if it is silent.
  void on_changed(Instant now, const gateways::SpoolItem& row, bool at_once);
  /// Call when the time of day was set by so much. Times in memory go by `now`; the spool is told.
  /// `others`: the last file that somebody else has listed; times up to there move, too.
  void on_clock_set(Instant now, std::chrono::seconds step, SpoolId others = {});

  /// Tells how far an operator may reach into a file.
  enum class InHand : std::uint8_t {
    no,
    sending,  // the node may have some of the file
    busy      // the store is at work on the file, and will soon be done
  };
  InHand in_hand(SpoolId id) const;

  /// Returns files by P_MUL that their stations have let go on since the last call.
  std::vector<gateways::SpoolItem> take_released() { return std::exchange(released_, {}); }

  // Actions out. The next U_PDU is asked for only when the subnet takes one.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<gateways::SisUnidata> poll_updu();
  /// Returns a U_PDU for SAP 7. It has no confirmation, so what is handed over is limited by the
  /// time that it takes at the configured rate. `node_clear_at`: when all that the node has for
  /// SAP 7, also of others, should have left.
  std::optional<gateways::SisUnidata> poll_udop(Instant node_clear_at);
  std::optional<Instant> next_deadline() const;

  std::size_t outstanding() const { return outstanding_.size(); }
  /// Returns the number of stations that have files, or of which more than their address is known.
  std::size_t stations() const { return stations_.size(); }
  /// Returns the octets of content in memory, of all files under way.
  std::size_t octets_held() const;
  std::vector<TransferStatus> transfers() const;
  std::vector<SilentStation> silent_stations(Instant now) const;
  const CounterSet<RelaySenderCounter>& counters() const { return counters_; }

 private:
  enum class Phase : std::uint8_t {
    waiting,   // the item waits for its time, or for a place among the active
    reading,   // the store reads the first piece
    starting,  // the store notes the attempt
    sending,   // segments are on their way, or the acknowledgement is
    finishing  // the store notes the outcome
  };
  struct Item {
    gateways::SpoolItem row;
    Phase phase = Phase::waiting;
    Instant next_try{};
    Instant expires{};
    Instant listed{};            // time from which on this core knows the file
    std::size_t pdu_octets = 0;  // size of the whole BFTP PDU
    Instant admitted{};
    bool station_failed = false;  // the last attempt ended because the station did not answer
    unsigned overtaken = 0;       // files delivered to its station since its last attempt
    Bytes piece;                  // octets of the BFTP PDU from `piece_at` on
    std::size_t piece_at = 0;
    std::optional<gateways::StoreTicket> piece_ticket;
    std::uint64_t served = 0;  // turn in which it was served last
    Instant progress_at{};
    std::size_t mtu = 0;
    std::size_t segments = 0;
    std::size_t next_segment = 0;
    std::size_t segments_confirmed = 0;
    std::uint64_t octets_confirmed = 0;
    /// Time at which all that was handed over by UDOP should have been transmitted.
    Instant left_at{};
    bool acknowledged = false;
    /// End that the other station ordered, with the reason.
    std::optional<std::pair<SpoolState, std::string>> ordered;
    std::optional<Instant> ack_deadline;
    gateways::SaveItem save;  // change that is being written, or is to be written again
    std::optional<Instant> save_again;
    std::optional<gateways::StoreTicket> ticket;  // ticket of the one request under way
    std::optional<TransferAttempt> transfer;  // set while the item is sent by the transfer service
    std::uint64_t octets_there = 0;           // octets that the receiver had by the last HAVE
    bool progressed = false;                  // `octets_there` grew in this attempt
    Instant advanced_at{};     // last time at which the station took or answered a part
    Duration offer_took{};     // time from handing the offer to the node to its confirmation
    bool by_transfer = false;  // the last attempt went, or goes, by the transfer service
    /// Attempts by the transfer service, and attempts that we broke off.
    std::uint32_t attempts_not_counted = 0;
    bool by_bftp = false;        // the offer does not fit in a U_PDU
    bool without_delta = false;  // the receiver no longer has the older file
    Bytes base;                  // hash of the older file that the receiver has
    Bytes signature;             // signature of the older file, as far as it has come
    std::size_t signature_total = 0;
  };
  struct Outstanding {
    SpoolId item;
    Address station;
    std::uint32_t attempt = 0;
    std::size_t octets = 0;
    TransferAttempt::Part part;  // part of the file that went, by the transfer service
    Instant handed{};
  };
  enum class Service : std::uint8_t { unknown, present, absent };
  /// Facts about a station that files are for.
  struct Station {
    std::size_t outstanding = 0;
    std::uint64_t served = 0;  // turn in which it was served last
    std::uint64_t turns = 0;
    std::optional<Instant> heard_at;
    std::optional<Instant> silent_since;  // set while the node cannot reach the station
    Instant failed_at{};
    Instant probe_at{};
    std::string reason;
    Service service = Service::unknown;
    Instant service_at{};     // time from which on the service is absent
    unsigned unanswered = 0;  // offers without an answer, one after the other
    // Data that waits at the node delays nothing urgent, so a transmission may be of full length.
    gateways::HandoverWindow window{
        gateways::HandoverWindow::Config{.span_min = std::chrono::seconds(120)}};
  };
  /// Files under way to one station, in admit(): [0] small ones, [1] large ones.
  struct Places {
    std::uint32_t taken[2] = {};
    std::uint8_t priority_max[2] = {};
  };

  void note(Instant now) { now_ = now; }
  void list(Instant now);
  void add_listed(const gateways::OpenItems& open);
  void add(const gateways::SpoolItem& row);
  void expire_waiting();
  std::string expiry_reason(const Item& item) const;
  void admit();
  void admit_if_due();
  void forget(Item& item);
  void forget_stations();
  void take_place(const Item& item, Places& places) const;
  bool has_place(const Item& item, const Places& places, std::size_t active) const;
  Instant due_at(const Item& item) const;
  Instant window_opens_at(const Item& item) const;
  std::optional<Instant> window_closes_at(const Item& item) const;
  void end_for_window(Item& item);
  void fail_unsent_udop(const std::string& reason);
  void set_phase(Item& item, Phase phase);

  bool uses_transfer(const Item& item);
  gateways::StoreOperation first_request(const Item& item);
  void start_transfer(Item& item, const gateways::ImageReady& ready);
  void prepare_again(Item& item);
  Item* find(Address peer, TransferNumber number);
  void tell_cancelled(const Item& item);
  void order(Item& item, SpoolState state, const std::string& reason);
  void on_no_answer(Item& item);
  static bool is_all_sent(const Item& item);
  static bool is_all_confirmed(const Item& item);
  static bool has_octets_at_node(const Item& item);

  std::size_t octets_left(const Item& item) const;
  bool is_large(const Item& item) const { return item.pdu_octets > config_.small_octets_max; }
  bool is_silent(Address station) const;
  std::uint8_t priority_of(const Item& item) const;
  std::uint8_t updu_priority(const Item& item) const;
  static bool has_segments_left(const Item& item);
  Item* choose_item(bool udop);
  Item* choose_item_for(Address address, const Station& station, bool udop);
  void after_segment(Item& item);
  bool by_udop(const Item& item) const { return config_.sending.of(item.row.destination).by_udop; }
  const std::optional<std::size_t>& mtu_for(const Item& item) const {
    return by_udop(item) ? udop_mtu_ : mtu_;
  }
  AckMode acknowledgement_of(Address station) const {
    return config_.sending.acknowledgement_of(station, config_.acknowledgement);
  }
  std::optional<Instant> udop_room_at() const;
  bool goes_before(const Item& a, const Item& b, bool fair) const;
  std::size_t outstanding_max(const Station& station) const;
  std::size_t transmission_octets() const;
  bool has_room(const Item& item, const Station& station) const;
  bool may_begin(const Item& item) const;
  bool has_next_segment(const Item& item) const;
  static bool expires_under_way(const Item& item);
  Bytes next_updu(Item& item);
  Bytes next_message(Item& item);
  void ask_for_piece(Item& item);
  bool is_corrupt(Item& item, const gateways::StoreResult& result);
  void on_piece(Item& item, const gateways::StoreResult& result);
  void on_station_failed(Item& item, const std::string& reason);
  bool failed_meanwhile(const Item& item) const;
  void on_item_result(Item& item, const gateways::StoreResult& result);
  void note_delivered(const Item& item);
  void start_attempt(Item& item, Bytes content);
  void on_content(Item& item, const gateways::StoreResult& result);
  void on_saved(Item& item, const gateways::StoreResult& result);
  void fail_attempt(Item& item, const std::string& reason, bool retry_at_once);
  Duration retry_delay(Duration since) const;
  Duration early_retry_delay(Duration since) const;
  void save(Item& item, SpoolState state, Instant next_try, const std::string& reason);
  void request_save(Item& item);
  void settle(Item& item);
  void arm_ack_deadline(Item& item);
  Duration way_of_acknowledgement(const Item& item) const;
  Outstanding end_outstanding(std::map<gateways::SisRequestId, Outstanding>::iterator at);
  std::uint32_t time_to_live_s(const Item& item) const;
  Duration time_on_air(std::uint64_t octets) const;
  Item* match(const Acknowledgement& acknowledgement);
  void store_failed(const Error& error);
  void store_works();
  static std::string transfer_of(const Item& item);
  void emit(RelayEvent::Kind kind, const Item& item, std::string detail = {});
  void emit(RelayEvent::Kind kind, Address station, std::string detail);
  gateways::StoreTicket ask(gateways::StoreOperation operation);

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  MessageOutbox& outbox_;
  Instant now_{};
  std::optional<std::size_t> mtu_;  // set while the client is bound
  std::optional<std::size_t> udop_mtu_;
  Instant udop_clear_at_{};  // time at which all that was handed over by UDOP should have left
  std::optional<std::pair<gateways::SisRequestId, SpoolId>> udop_last_;
  std::map<SpoolId, Item> items_;
  std::set<SpoolId> active_;  // items that are not waiting
  bool place_freed_ = false;  // a place became free after the last admit()
  std::map<Address, Station> stations_;
  std::map<gateways::StoreTicket, SpoolId> tickets_;
  std::map<gateways::SisRequestId, Outstanding> outstanding_;
  std::uint64_t octets_outstanding_ = 0;
  std::uint64_t turn_ = 0;
  std::uint32_t next_block_ = 0;
  /// Deadline of the waiting items, as of the last admit().
  std::optional<Instant> waiting_deadline_;
  SpoolId last_listed_;
  bool listed_before_ = false;  // all files that were in the spool at the start are known
  std::optional<gateways::StoreTicket> list_ticket_;
  bool list_again_ = false;
  std::optional<gateways::StoreTicket> purge_ticket_;
  std::set<gateways::StoreTicket> clock_tickets_;
  std::map<gateways::StoreTicket, std::pair<Address, TransferNumber>> find_tickets_;
  /// Tickets of releases of files that their stations suspended.
  std::set<gateways::StoreTicket> release_tickets_;
  std::vector<gateways::SpoolItem> released_;  // released files that go by P_MUL
  std::optional<Instant> list_at_;
  std::optional<Instant> purge_at_;
  bool store_failing_ = false;
  std::deque<gateways::StoreRequest> requests_;  // at most two per item, and two more
  std::deque<RelayEvent> events_;                // drained after every input
  CounterSet<RelaySenderCounter> counters_;
};
static_assert(TimedCore<SenderCore>);

}  // namespace s5066::file_relay
