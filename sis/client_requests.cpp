// SPDX-License-Identifier: Apache-2.0
#include "sis/client_requests.h"

#include <algorithm>
#include <utility>

namespace s5066::sis {

namespace {

bool starts_with(ByteSpan whole, ByteSpan part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

/// The fields by which an answer names its request.
struct Named {
  SapId sap;
  Address destination;
  ByteSpan updu;
};
Named named(const Primitive& request) {
  if (const auto* p = std::get_if<ExpeditedUnidataRequest>(&request)) {
    return {p->destination_sap, p->destination, p->updu};
  }
  const auto& p = std::get<UnidataRequest>(request);
  return {p.destination_sap, p.destination, p.updu};
}

}  // namespace

ClientRequests::Class ClientRequests::class_of(const Primitive& primitive) {
  if (std::holds_alternative<ManagementRequest>(primitive)) return kManagement;
  if (std::holds_alternative<ExpeditedUnidataRequest>(primitive)) return kExpedited;
  S5066_ASSERT(std::holds_alternative<UnidataRequest>(primitive));
  return kNormal;
}

Result<RequestId> ClientRequests::add(Instant now, Primitive request, bool confirm) {
  std::size_t held = 0;
  for (const auto& queue : queues_) held += queue.size();
  if (held >= config_.queue_max) {
    return Error{ErrorCode::queue_full, "too many requests are waiting"};
  }
  const RequestId id{next_id_++};
  queues_[class_of(request)].push_back(
      {.id = id, .accepted = now, .confirm = confirm, .primitive = std::move(request)});
  return id;
}

void ClientRequests::append(Bytes& out, std::size_t octets_max, bool flow_off) {
  append(out, octets_max, queues_[kManagement]);
  if (flow_off) return;
  append(out, octets_max, queues_[kExpedited]);
  append(out, octets_max, queues_[kNormal]);
}

void ClientRequests::append(Bytes& out, std::size_t octets_max, std::deque<Request>& queue) {
  while (!queue.empty() && out.size() < octets_max) {
    if (queue.front().confirm && unconfirmed_.size() >= config_.unconfirmed_max) return;
    Request request = std::move(queue.front());
    queue.pop_front();
    encode(request.primitive, out);
    if (!request.confirm) {
      written_.push_back(request.id);
      continue;
    }
    // Expedited requests overtake older ones, so its place need not be the last one.
    const auto place =
        std::upper_bound(unconfirmed_.begin(), unconfirmed_.end(), request.id,
                         [](RequestId id, const Request& other) { return id < other.id; });
    unconfirmed_.insert(place, std::move(request));
  }
}

std::vector<RequestId> ClientRequests::take_sent() {
  return std::exchange(written_, {});
}

// STANDARD: an answer names its request only by a copy of the U_PDU's first octets (A.2.1.7(7)). A
// copy of the same length is the better match, because servers copy the whole U_PDU unless
// configured otherwise. Among equally good matches the oldest is taken.
std::optional<RequestId> ClientRequests::take_answered(Type type, SapId sap, Address destination,
                                                       ByteSpan part) {
  auto best = unconfirmed_.end();
  for (auto it = unconfirmed_.begin(); it != unconfirmed_.end(); ++it) {
    if (type_of(it->primitive) != type) continue;
    const Named sent = named(it->primitive);
    if (sent.sap != sap || sent.destination != destination) continue;
    if (!starts_with(sent.updu, part)) continue;
    const bool whole = sent.updu.size() == part.size();
    if (whole || best == unconfirmed_.end()) best = it;
    if (whole) break;
  }
  if (best == unconfirmed_.end()) return std::nullopt;
  const RequestId id = best->id;
  unconfirmed_.erase(best);
  return id;
}

std::vector<RequestId> ClientRequests::take_expired(Instant now) {
  std::vector<RequestId> expired;
  while (!unconfirmed_.empty() && *next_deadline() <= now) {
    expired.push_back(unconfirmed_.front().id);
    unconfirmed_.pop_front();
  }
  return expired;
}

std::optional<Instant> ClientRequests::next_deadline() const {
  if (unconfirmed_.empty()) return std::nullopt;
  return unconfirmed_.front().accepted + config_.confirmation_timeout;
}

std::vector<RequestId> ClientRequests::take_all() {
  std::vector<RequestId> all;
  for (const Request& request : unconfirmed_) all.push_back(request.id);
  all.insert(all.end(), written_.begin(), written_.end());
  for (auto& queue : queues_) {
    for (const Request& request : queue) all.push_back(request.id);
    queue.clear();
  }
  unconfirmed_.clear();
  written_.clear();
  return all;
}

}  // namespace s5066::sis
