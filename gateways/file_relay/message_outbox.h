// SPDX-License-Identifier: Apache-2.0
// Short messages of the transfer service that wait to be sent: answers of a receiver, requests to
// and about the inbox of another station. A message that is lost does no harm, because its cause
// comes again.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "gateways/common/sis_port.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"

namespace s5066::file_relay {

enum class OutboxCounter : std::uint8_t { sent, failed, crowded_out, count };
const CounterTable<OutboxCounter>& counter_table(OutboxCounter);

class MessageOutbox {
 public:
  struct Config {
    std::uint8_t priority = 4;
    std::uint32_t updu_lifetime_s = 3600;
    std::size_t messages_max = 1024;
    std::size_t station_messages_max = 128;
    std::size_t station_outstanding_max = 16;  // most messages for one station that are at the node
    std::uint32_t attempts_max = 3;
    Duration retry = std::chrono::seconds(30);
  };

  MessageOutbox(const Config& config, IdSource& ids) : config_(config), ids_(ids) {}

  /// Replaces a message about the same transfer and of the same kind that is not yet at the node.
  void push(Address to, TransferMessage message);

  bool on_confirmed(gateways::SisRequestId id);
  bool on_refused(Instant now, gateways::SisRequestId id);
  void on_lost();
  void on_deadline(Instant now);
  std::optional<gateways::SisUnidata> poll_updu();
  std::optional<Instant> next_deadline() const;

  std::size_t size() const { return messages_.size(); }
  std::size_t outstanding() const;
  const CounterSet<OutboxCounter>& counters() const { return counters_; }

 private:
  struct Pending {
    Address to;
    TransferMessage message;
    std::uint32_t attempts = 0;
    std::optional<gateways::SisRequestId> request;
    std::optional<Instant> send_again;
  };
  std::size_t messages_to(Address station) const;

  Config config_;
  IdSource& ids_;
  std::uint8_t next_updu_id_ = 0;
  std::list<Pending> messages_;
  CounterSet<OutboxCounter> counters_;
};
static_assert(TimedCore<MessageOutbox>);

}  // namespace s5066::file_relay
