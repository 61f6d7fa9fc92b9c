// SPDX-License-Identifier: Apache-2.0
// The receiving half of files by P_MUL: takes what messages bring of files to the spool, which puts
// files that are whole, or may have holes, into the inbox. A message is acknowledged when the spool
// has it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "gateways/common/store_port.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/station_access.h"
#include "gateways/file_relay/transfer_envelope.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class MulticastReceiverCounter : std::uint8_t {
  messages,
  parts,
  unreadable,
  refused,
  files,
  files_with_holes,
  files_incomplete,
  store_errors,
  count
};
const CounterTable<MulticastReceiverCounter>& counter_table(MulticastReceiverCounter);

class MulticastReceiverCore {
 public:
  struct Config {
    std::uint32_t file_octets_max = 16u << 20;
    AccessTable access;
    Duration store_retry = std::chrono::seconds(10);
    /// Interval of the search for files whose time is over.
    Duration look_every = std::chrono::minutes(1);
    std::size_t parts_max = 64;  // most messages that wait for the spool
  };

  /// `outbox` takes refusals of messages that want an answer.
  MulticastReceiverCore(const Config& config, IdSource& ids, const UtcClock& utc,
                        p_mul::PMulCore& p_mul, MessageOutbox& outbox);

  // Events in.
  void on_start(Instant now);
  void on_received(Instant now, const p_mul::Received& message);
  void on_part(Instant now, const p_mul::ReceivedPart& part);
  /// False when the ticket is not one of ours.
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_deadline(Instant now);
  /// Refuses what still comes of a file that the operator here has cancelled.
  void on_cancelled(const gateways::TransferKey& key);

  // Actions out.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<Instant> next_deadline() const;

  const CounterSet<MulticastReceiverCounter>& counters() const { return counters_; }

 private:
  struct Pending {
    gateways::TakeMessage operation;
    bool one_way = false;
  };

  void take(Instant now, const p_mul::MessageName& name, const std::vector<Bytes>& records,
            Pending pending);
  void refuse(Instant now, const p_mul::MessageName& name, const Pending& pending,
              RefuseMessage refusal);
  void ask(Pending pending);
  void on_failed(Instant now, Pending pending, const Error& error);
  void on_taken(Instant now, const Pending& pending, const gateways::TransferNews& news);
  void tell(const gateways::TransferKey& key, const gateways::TransferNews& news);
  void look(Instant now);

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  p_mul::PMulCore& p_mul_;
  MessageOutbox& outbox_;
  std::map<gateways::StoreTicket, Pending> pending_;
  std::deque<Pending> again_;  // parts that the spool could not take
  std::deque<gateways::TransferKey> cancelled_;
  std::optional<Instant> again_at_;
  std::optional<Instant> look_at_;
  std::optional<gateways::StoreTicket> names_ticket_;
  std::optional<gateways::StoreTicket> overdue_ticket_;
  std::deque<gateways::StoreRequest> requests_;
  std::deque<RelayEvent> events_;
  CounterSet<MulticastReceiverCounter> counters_;
};
static_assert(TimedCore<MulticastReceiverCore>);

}  // namespace s5066::file_relay
