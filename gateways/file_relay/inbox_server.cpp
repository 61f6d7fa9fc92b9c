// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/inbox_server.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {
namespace {

constexpr CounterTable<InboxServerCounter> kCounters({
    {InboxServerCounter::requests, "relay_inbox_requests", "requests",
     "requests of other stations about the inbox"},
    {InboxServerCounter::refused, "relay_inbox_requests_refused", "requests",
     "requests of other stations that the access table does not allow, or that failed"},
    {InboxServerCounter::crowded_out, "relay_inbox_requests_crowded_out", "requests",
     "requests of other stations that came while too many were at work"},
});

constexpr std::size_t kAnswerHeaderOctets = 15;
constexpr std::size_t kEntryOctets = 10;  // entry without name and digest

}  // namespace

const CounterTable<InboxServerCounter>& counter_table(InboxServerCounter) {
  return kCounters;
}

InboxServer::InboxServer(const Config& config, IdSource& ids, const UtcClock& utc,
                         MessageOutbox& outbox)
    : config_(config), ids_(ids), utc_(utc), outbox_(outbox) {}

bool InboxServer::is_allowed(Address from, InboxRequest request) const {
  const StationAccess& access = config_.access.of(from);
  switch (request) {
    case InboxRequest::get:
      return access.get;
    case InboxRequest::remove:
      return access.remove;
    case InboxRequest::list:
    case InboxRequest::stat:
      return access.list;
  }
  return false;
}

void InboxServer::refuse(Address from, const RequestMessage& request, const std::string& text) {
  counters_.add(InboxServerCounter::refused);
  outbox_.push(from, AnswerMessage{.number = request.number,
                                   .ok = false,
                                   .first = request.first,
                                   .total = 0,
                                   .text = text,
                                   .entries = {}});
}

void InboxServer::on_request(Instant now, Address from, const RequestMessage& request) {
  counters_.add(InboxServerCounter::requests);
  if (!is_allowed(from, request.request)) {
    return refuse(from, request, "this station does not allow you that");
  }
  std::size_t of_station = 0;
  for (const auto& [ticket, pending] : pending_) {
    if (pending.from != from) continue;
    if (pending.request == request) return;  // the store is at work on this request
    ++of_station;
  }
  if (pending_.size() >= config_.requests_max || of_station >= config_.station_requests_max) {
    counters_.add(InboxServerCounter::crowded_out);
    return;
  }
  const gateways::StoreTicket ticket = ids_.next_ticket();
  pending_.emplace(ticket, Pending{from, request});
  gateways::StoreOperation operation;
  switch (request.request) {
    case InboxRequest::get:
      operation = gateways::SendFromInbox{request.path, from, request.number.value, utc_.utc(now)};
      break;
    case InboxRequest::list:
      operation = gateways::ListInbox{request.path, request.first, kEntriesMax};
      break;
    case InboxRequest::remove:
      operation = gateways::RemoveFromInbox{request.path};
      break;
    case InboxRequest::stat:
      operation = gateways::StatInbox{request.path};
      break;
  }
  requests_.push_back({ticket, std::move(operation)});
}

bool InboxServer::on_store_result(const gateways::StoreResult& result) {
  const auto at = pending_.find(result.ticket);
  if (at == pending_.end()) return false;
  const Pending pending = at->second;
  pending_.erase(at);
  const auto* listing =
      result.answer ? std::get_if<gateways::InboxListing>(&*result.answer) : nullptr;
  if (listing == nullptr) {
    refuse(pending.from, pending.request, result.answer.error().detail);
    return true;
  }
  if (pending.request.request == InboxRequest::get) enqueued_ = true;
  if (pending.request.request == InboxRequest::remove) {
    RelayEvent event;
    event.kind = RelayEvent::Kind::file_deleted;
    event.peer = pending.from;
    event.detail = pending.request.path;
    events_.push_back(std::move(event));
  }
  answer(pending, *listing);
  return true;
}

/// Sends as many entries as fit in one U_PDU; the other station asks for the rest.
void InboxServer::answer(const Pending& pending, const gateways::InboxListing& listing) {
  AnswerMessage message{.number = pending.request.number,
                        .ok = true,
                        .first = pending.request.first,
                        .total = listing.total,
                        .text = {},
                        .entries = {}};
  std::size_t octets = gateways::kRcopHeaderBytes + kAnswerHeaderOctets;
  for (const auto& from : listing.entries) {
    octets += kEntryOctets + from.entry.name.size() + from.sha256.size();
    if (message.entries.size() == kEntriesMax || octets > mtu_) break;
    message.entries.push_back({.name = from.entry.name,
                               .size = from.entry.size,
                               .mtime = from.entry.mtime,
                               .folder = from.entry.folder,
                               .sha256 = from.sha256});
  }
  outbox_.push(pending.from, std::move(message));
}

bool InboxServer::take_enqueued() {
  return std::exchange(enqueued_, false);
}

std::optional<gateways::StoreRequest> InboxServer::poll_store() {
  return take_front(requests_);
}

std::optional<RelayEvent> InboxServer::poll_event() {
  return take_front(events_);
}

}  // namespace s5066::file_relay
