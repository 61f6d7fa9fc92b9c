// SPDX-License-Identifier: Apache-2.0
// The receiving half of the transfer service (docs/protocol/file_transfer.md). What arrives goes to
// the spool, and only what is there is called received. After a restart of either station the
// transfer goes on with the ranges that are missing. A block is kept in memory while the spool
// cannot take it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/range_set.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/station_access.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class TransferReceiverCounter : std::uint8_t {
  offers,
  refused,
  blocks,
  blocks_repeated,
  blocks_unknown,
  blocks_dropped,
  files,
  store_errors,
  count
};
const CounterTable<TransferReceiverCounter>& counter_table(TransferReceiverCounter);

class TransferReceiver {
 public:
  struct Config {
    std::uint32_t file_octets_max = 16u << 20;
    std::size_t transfers_max = 512;  // most transfers in memory
    /// Octets of one transfer that are not yet in the spool.
    std::size_t pending_octets_max = 4u << 20;
    std::size_t all_pending_octets_max = 32u << 20;
    /// Most transfers of one station that are announced after a start.
    std::size_t announced_max = 8;
    Duration store_retry_min = std::chrono::seconds(10);
    Duration store_retry_max = std::chrono::minutes(5);
    AccessTable access;
  };

  TransferReceiver(const Config& config, IdSource& ids, const UtcClock& utc, MessageOutbox& outbox);

  // Events in.
  void on_start(Instant now);
  void on_bound(Instant now);
  void on_offer(Instant now, Address source, SapId source_sap, std::uint8_t updu_id,
                OfferMessage offer);
  void on_block(Instant now, Address source, BlockMessage block);
  /// Call when the sender of a file cancels it.
  void on_cancelled(Instant now, Address source, TransferNumber number, const std::string& text);
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_deadline(Instant now);

  /// A transfer as an operator sees it.
  struct Status {
    gateways::TransferKey key;
    std::string name;
    std::uint64_t octets = 0;       // size of the image
    std::uint64_t octets_here = 0;  // octets that are in the spool
  };
  std::vector<Status> transfers() const;
  /// Changes a transfer at the request of the operator. False if there is none.
  bool request(Instant now, const gateways::TransferKey& key, ControlAction action);

  // Actions out.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<Instant> next_deadline() const;

  std::size_t octets_held() const { return pending_octets_; }
  const CounterSet<TransferReceiverCounter>& counters() const { return counters_; }

 private:
  enum class Phase : std::uint8_t { opening, open, finishing };
  struct Incoming {
    TransferManifest manifest;
    SapId source_sap;
    std::uint8_t updu_id = 0;
    Phase phase = Phase::opening;
    gateways::RangeSet saved;
    gateways::RangeSet pending_ranges;  // ranges in `pending` or being saved
    std::vector<gateways::SaveBlocks::Block> pending;
    std::shared_ptr<const std::vector<gateways::SaveBlocks::Block>> saving;
    std::size_t pending_octets = 0;  // octets in `pending` and being saved
    bool answer = false;             // the sender waits to be told what is here
    bool announced = false;
    bool told_no_room = false;  // its sender waits until the spool takes blocks again
    std::optional<gateways::StoreTicket> ticket;
    std::optional<Instant> store_again;
    Duration store_retry{};
    bool reported = false;  // a log line has told that the spool does not take the file
    Instant begun{};
  };
  using Transfers = std::map<gateways::TransferKey, Incoming>;

  void settle(Instant now, Transfers::value_type& entry);
  void ask(gateways::TransferKey key, Incoming& transfer, gateways::StoreOperation operation);
  void ask_again(Instant now, Transfers::value_type& entry);
  void on_failed(Instant now, Transfers::value_type& entry, const Error& error);
  void on_news(Instant now, Transfers::iterator at, gateways::TransferNews news);
  void on_listed(Instant now, const gateways::OpenTransfers& open);
  void send_have(const gateways::TransferKey& key, const Incoming& transfer, bool answer);
  void send_signature(const gateways::TransferKey& key, const gateways::TransferNews& news);
  void announce();
  void forget(Transfers::iterator at);
  bool make_room(Address source);
  void emit(RelayEvent::Kind kind, const Transfers::value_type& entry, std::string detail);

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  MessageOutbox& outbox_;
  Transfers transfers_;
  std::map<gateways::StoreTicket, gateways::TransferKey> tickets_;
  std::optional<gateways::StoreTicket> list_ticket_;
  bool listed_ = false;
  bool bound_ = false;
  std::size_t pending_octets_ = 0;
  std::deque<gateways::StoreRequest> requests_;  // at most one per transfer, and one more
  std::deque<RelayEvent> events_;                // drained after every input
  CounterSet<TransferReceiverCounter> counters_;
};
static_assert(TimedCore<TransferReceiver>);

}  // namespace s5066::file_relay
