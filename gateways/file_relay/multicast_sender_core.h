// SPDX-License-Identifier: Apache-2.0
// The sending half of files by P_MUL: takes files from the spool, each of which may be for several
// stations, hands each to P_MUL as one message or two, and notes what became of it for each
// station. Repeats, repairs and the turns of stations in EMCON are the part of P_MUL.
//
// A message of which all stations that are left do not answer gives its place to others, and comes
// back later.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/common/store_port.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sender_core.h"
#include "gateways/file_relay/sending_rules.h"
#include "gateways/file_relay/transfer_messages.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class MulticastSenderCounter : std::uint8_t {
  messages,
  delivered,
  sent,
  failed,
  suspended,
  corrupt,
  store_errors,
  count
};
const CounterTable<MulticastSenderCounter>& counter_table(MulticastSenderCounter);

class MulticastSenderCore {
 public:
  struct Config {
    std::uint8_t priority = 4;        // 0..15; for files without a priority of their own
    std::uint32_t files_max = 20000;  // most files that this core keeps in memory
    std::size_t messages_max = 16;    // most files that P_MUL has at one time
    Duration lifetime_max = std::chrono::hours(24);  // measured from acceptance
    Duration retry_delay_min = std::chrono::seconds(60);
    Duration retry_delay_max = std::chrono::hours(1);
    Duration spool_poll = std::chrono::seconds(2);
    Duration store_retry = std::chrono::seconds(10);
    // A block of P_MUL has so many octets. With acknowledgement it fills one D_PDU; without, it is
    // small, so that little is lost with each bit error.
    std::uint16_t block_octets = 960;
    std::uint16_t one_way_block_octets = 240;
    SendingTable sending;
  };

  MulticastSenderCore(const Config& config, IdSource& ids, const UtcClock& utc,
                      p_mul::PMulCore& p_mul);

  // Events in.
  void on_start(Instant now);
  void on_bound(Instant now, bool bound);
  void on_spool_changed(Instant now);
  /// False when the ticket is not one of ours.
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_ended(Instant now, const p_mul::DestinationEnded& ended);
  /// A message without acknowledgement is with the node. on_ended() or on_unsent() follows.
  void on_leaving(const p_mul::DestinationEnded& ended);
  /// The node has not transmitted a message without acknowledgement, or nobody knows whether it
  /// has.
  void on_unsent(Instant now, const p_mul::DestinationEnded& ended);
  void on_unanswered(Instant now, const p_mul::Unanswered& unanswered);
  /// A station has a part of its message.
  void on_partly_received(const p_mul::MessageNews& news);
  /// False if the message is about no file of ours.
  bool on_refused(Instant now, Address peer, const RefuseMessage& message);
  /// Suspends or cancels a file at the request of its receiver. False if it is none of ours, or is
  /// to be resumed.
  bool on_control(Instant now, Address peer, const ControlMessage& message);
  /// The operator has changed a file that is not `busy`, and the spool has it so.
  void on_changed(Instant now, const gateways::SpoolItem& row);
  void on_clock_set(std::chrono::seconds step);
  void on_deadline(Instant now);

  SenderCore::InHand in_hand(SpoolId id) const;
  SpoolId last_listed() const { return last_listed_; }
  bool knows(SpoolId id) const { return first_of_.contains(id); }
  std::vector<TransferStatus> transfers() const;

  // Actions out.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<Instant> next_deadline() const;

  const CounterSet<MulticastSenderCounter>& counters() const { return counters_; }

 private:
  enum class Phase : std::uint8_t {
    waiting,
    preparing,  // the manifest comes from the store
    reading,    // the octets on the air come from the store
    sending     // P_MUL has it
  };
  /// One row of the spool: a file for one station.
  struct Row {
    gateways::SpoolItem item;
    bool head_done = false;    // the part with acknowledgement has arrived
    bool rest_done = false;    // the part without acknowledgement is over
    bool rest_leaves = false;  // the part without acknowledgement is with the node
    bool unanswered = false;
    std::uint64_t missing = 0;               // octets that the station lacked by its last report
    std::optional<gateways::SaveItem> save;  // change that waits to be written
    bool save_changed = false;               // `save` changed after the request with `ticket`
    std::optional<gateways::StoreTicket> ticket;
    std::optional<Instant> save_again;
  };
  /// One file, with a row for each of its stations.
  struct File {
    std::map<SpoolId, Row> rows;  // rows that are not over
    Phase phase = Phase::waiting;
    Instant next_try{};
    Instant expires{};
    UtcSeconds expiry;
    SpoolId content_of;    // the row whose content the store reads
    unsigned rounds = 0;   // rounds that the file has been with P_MUL
    bool resumed = false;  // stations may have parts of it
    gateways::PMulFacts facts;
    TransferManifest manifest;
    std::optional<gateways::StoreTicket> ticket;
  };
  using Files = std::map<SpoolId, File>;  // keys are the rows that name the messages

  void list(Instant now);
  void add(const gateways::SpoolItem& item);
  void admit(Instant now);
  bool make_place(Instant now);
  void prepare(SpoolId first, File& file);
  void on_prepared(Instant now, SpoolId first, File& file, const gateways::StoreResult& result);
  void on_image(Instant now, SpoolId first, File& file, const gateways::StoreResult& result);
  Result<void> submit(Instant now, SpoolId first, const File& file, ByteSpan image);
  Result<void> submit_reliable(Instant now, SpoolId first, const File& file, Bytes content);
  Result<void> submit_rest(Instant now, SpoolId first, const File& file, Bytes content,
                           std::size_t record_octets);
  p_mul::Submission submission(const File& file, bool one_way) const;
  static void put_back(Instant now, File& file, Duration wait);
  void suspend(Instant now, SpoolId first, File& file);
  void note_leaving(const p_mul::DestinationEnded& ended, bool leaves);
  void end(Row& row, SpoolState state, const std::string& reason);
  void save(Row& row, SpoolState state, const std::string& reason);
  void request_save(Row& row);
  void on_saved(Instant now, SpoolId id, const gateways::StoreResult& result);
  Files::iterator find_file(TransferNumber number);
  bool end_for(Instant now, Address peer, TransferNumber number, SpoolState state,
               const std::string& reason);
  void forget(SpoolId id);
  void expire(Instant now);
  Row* find(SpoolId id);
  std::uint8_t priority_of(const File& file) const;
  Instant window_opens_at(Instant now, const File& file) const;
  std::optional<Instant> window_closes_at(Instant now, const File& file) const;
  void stop_for_windows(Instant now);
  static std::string transfer_of(const Row& row);
  static std::string progress_of(const Row& row);
  void emit(RelayEvent::Kind kind, const Row& row, std::string detail = {});
  gateways::StoreTicket ask(gateways::StoreOperation operation);

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  p_mul::PMulCore& p_mul_;
  Instant now_{};
  bool bound_ = false;
  Files files_;
  std::map<SpoolId, SpoolId> first_of_;  // key of the file in `files_` for each row
  SpoolId last_listed_;
  std::optional<gateways::StoreTicket> list_ticket_;
  bool list_again_ = false;
  std::optional<Instant> list_at_;
  std::map<gateways::StoreTicket, SpoolId> file_tickets_;
  std::map<gateways::StoreTicket, SpoolId> row_tickets_;
  std::deque<gateways::StoreRequest> requests_;
  std::deque<RelayEvent> events_;
  CounterSet<MulticastSenderCounter> counters_;
};
static_assert(TimedCore<MulticastSenderCore>);

}  // namespace s5066::file_relay
