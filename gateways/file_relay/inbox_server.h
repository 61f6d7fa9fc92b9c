// SPDX-License-Identifier: Apache-2.0
// Answers what other stations ask of our inbox: a file, a list, the digest of a file, its removal.
// The access table says who may ask for what.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "gateways/common/store_port.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/station_access.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class InboxServerCounter : std::uint8_t { requests, refused, crowded_out, count };
const CounterTable<InboxServerCounter>& counter_table(InboxServerCounter);

class InboxServer {
 public:
  struct Config {
    std::size_t requests_max = 64;  // most requests that are at the store at one time
    /// Most requests of one station that are at the store at one time.
    std::size_t station_requests_max = 4;
    AccessTable access;
  };

  InboxServer(const Config& config, IdSource& ids, const UtcClock& utc, MessageOutbox& outbox);

  void on_bound(std::size_t mtu) { mtu_ = mtu; }
  void on_request(Instant now, Address from, const RequestMessage& request);
  bool on_store_result(const gateways::StoreResult& result);
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<RelayEvent> poll_event();
  /// True once after a file was put into the spool for another station.
  bool take_enqueued();

  const CounterSet<InboxServerCounter>& counters() const { return counters_; }

 private:
  struct Pending {
    Address from;
    RequestMessage request;
  };
  bool is_allowed(Address from, InboxRequest request) const;
  void refuse(Address from, const RequestMessage& request, const std::string& text);
  void answer(const Pending& pending, const gateways::InboxListing& listing);

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  MessageOutbox& outbox_;
  std::size_t mtu_ = 300;
  bool enqueued_ = false;
  std::map<gateways::StoreTicket, Pending> pending_;
  std::deque<gateways::StoreRequest> requests_;
  std::deque<RelayEvent> events_;
  CounterSet<InboxServerCounter> counters_;
};

}  // namespace s5066::file_relay
