// The sending half of the file relay (F.8.3, F.10.2): takes files from the spool, sends each as one
// BFTP PDU over RCOP, and keeps at it until the far relay acknowledges the file or its time is up.
// Every state that matters is in the store before anything is done about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/common/utc_reference.h"
#include "gateways/file_relay/bftp.h"
#include "gateways/file_relay/relay_types.h"
#include "s5066d/base/time.h"

namespace s5066::file_relay {

class SenderCore {
 public:
  struct Config {
    AckMode acknowledgement = AckMode::frap_v2;  // none: all segments confirmed is enough
    bool frap_v2_needs_ids = true;   // false for a peer that copies the header but not the IDs
    std::uint8_t priority = 4;       // 0..15
    std::uint32_t items_max = 1024;  // known; the rest stays in the store
    std::uint32_t active_max = 4;    // with their content in memory
    std::uint32_t attempts_max = 32;
    Duration lifetime_max = std::chrono::hours(24);  // from acceptance
    Duration retry_delay_min = std::chrono::seconds(60);
    Duration retry_delay_max = std::chrono::hours(1);
    // Between two reports of the node on segments. It reports on each, so this only limits what a
    // mute node can cost; on top of the time on the air.
    Duration confirm_wait = std::chrono::seconds(900);
    // From the last segment's confirmation to the file's acknowledgement, on top of its way here.
    Duration ack_wait = std::chrono::seconds(180);
    std::uint32_t line_rate_bps = 2400;    // a hint, for these times
    std::uint32_t updu_lifetime_s = 3600;  // on top of the time on the air
    Duration spool_poll = std::chrono::seconds(2);
    Duration store_retry = std::chrono::seconds(10);
    Duration purge_every = std::chrono::hours(1);
  };
  struct Acknowledgement {
    Address peer;
    std::uint8_t connection_id = 0;
    std::uint8_t updu_id = 0;
    std::optional<BftpHeader> header;  // FRAPv2
  };
  struct Stats {
    std::uint64_t attempts = 0;
    std::uint64_t attempts_failed = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    std::uint64_t expired = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t acknowledgements_unmatched = 0;
    std::uint64_t store_errors = 0;
  };

  SenderCore(const Config& config, IdSource& ids, const gateways::UtcReference& utc);

  // Events in.
  void on_start(Instant now);
  void on_bound(Instant now, std::size_t mtu);
  void on_lost(Instant now);
  /// A file may have been added to the spool.
  void on_spool_changed(Instant now);
  /// False when the request is not one of ours.
  bool on_confirmed(Instant now, gateways::SisRequestId id);
  bool on_refused(Instant now, gateways::SisRequestId id, std::string reason);
  void on_acknowledgement(Instant now, const Acknowledgement& acknowledgement);
  /// False when the ticket is not one of ours.
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_deadline(Instant now);
  /// The time of day was set by so much. What is in memory goes by `now`; the spool is told.
  void on_clock_set(Instant now, std::chrono::seconds step);

  // Actions out. The next U_PDU is asked for only when the subnet takes one.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<gateways::SisUnidata> poll_updu();
  std::optional<Instant> next_deadline() const;

  std::size_t outstanding() const { return outstanding_.size(); }
  std::vector<TransferStatus> transfers() const;
  const Stats& stats() const { return stats_; }

 private:
  enum class Phase : std::uint8_t {
    waiting,   // for its time, or for a place among the active
    reading,   // its content comes from the store
    starting,  // the attempt is being noted in the store
    sending,   // segments are on their way, or the acknowledgement is
    finishing  // the outcome is being noted in the store
  };
  struct Item {
    gateways::SpoolItem row;
    Phase phase = Phase::waiting;
    Instant next_try{};
    Instant expires{};
    Bytes pdu;
    std::size_t mtu = 0;
    std::size_t segments = 0;
    std::size_t next_segment = 0;
    std::size_t segments_confirmed = 0;
    std::uint64_t octets_confirmed = 0;
    bool acknowledged = false;
    std::optional<Instant> ack_deadline;
    gateways::SaveItem save;  // being written, or to be written again
    std::optional<Instant> save_again;
    std::optional<gateways::StoreTicket> ticket;  // of the one request under way
  };
  struct Outstanding {
    SpoolId item;
    std::uint32_t attempt = 0;
    std::size_t octets = 0;
  };

  void note(Instant now) { now_ = now; }
  void list(Instant now);
  void add_listed(const gateways::OpenItems& open);
  void admit();
  Item* choose_waiting();
  std::uint32_t active() const;
  void start_attempt(Item& item, Bytes content);
  void on_content(Item& item, const gateways::StoreResult& result);
  void on_saved(Item& item, const gateways::StoreResult& result);
  void fail_attempt(Item& item, const std::string& reason, bool retry_at_once);
  void save(Item& item, SpoolState state, Instant next_try, const std::string& reason);
  void request_save(Item& item);
  void settle(Item& item);
  void arm_ack_deadline(Item& item);
  Duration way_of_acknowledgement(const Item& item) const;
  std::uint64_t octets_outstanding() const;
  Duration time_on_air(std::uint64_t octets) const;
  Item* match(const Acknowledgement& acknowledgement);
  void store_failed(const Error& error);
  void store_works();
  void emit(RelayEvent::Kind kind, const Item& item, std::string detail = {});
  gateways::StoreTicket ask(gateways::StoreOperation operation);

  Config config_;
  IdSource& ids_;
  const gateways::UtcReference& utc_;
  Instant now_{};
  std::optional<std::size_t> mtu_;  // while bound
  std::map<SpoolId, Item> items_;
  std::map<gateways::SisRequestId, Outstanding> outstanding_;
  SpoolId last_listed_;
  std::optional<gateways::StoreTicket> list_ticket_;
  bool list_again_ = false;
  std::optional<gateways::StoreTicket> purge_ticket_;
  std::set<gateways::StoreTicket> clock_tickets_;
  std::optional<Instant> list_at_;
  std::optional<Instant> purge_at_;
  bool prefer_new_ = true;
  bool store_failing_ = false;
  std::deque<gateways::StoreRequest> requests_;  // at most one per item, and two
  std::deque<RelayEvent> events_;                // drained after every input
  Stats stats_;
};

}  // namespace s5066::file_relay
