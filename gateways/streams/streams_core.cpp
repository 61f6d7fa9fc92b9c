// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/streams_core.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::streams {

StreamsCore::StreamsCore(const StreamsConfig& config, std::uint64_t seed) : shared_(config, seed) {}

// --- Requests ------------------------------------------------------------------------------------

/// Returns the session with a station. Makes the session if there is none. Returns nothing if there
/// is no room.
PeerSession* StreamsCore::session(Address station) {
  const auto found = sessions_.find(station);
  if (found != sessions_.end()) return found->second.get();
  if (sessions_.size() >= shared_.config.peers_max) {
    auto oldest = sessions_.end();
    for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
      if (!at->second->idle()) continue;
      if (oldest == sessions_.end() || at->second->heard_at() < oldest->second->heard_at()) {
        oldest = at;
      }
    }
    if (oldest == sessions_.end()) return nullptr;
    sessions_.erase(oldest);
  }
  auto made = std::make_unique<PeerSession>(shared_, station);
  made->set_mtu(mtu_);
  return sessions_.emplace(station, std::move(made)).first->second.get();
}

PeerSession* StreamsCore::session_of(StreamId id) {
  const auto found = shared_.stations.find(id);
  return found == shared_.stations.end() ? nullptr : sessions_.at(found->second).get();
}

Result<StreamId> StreamsCore::request_open(Instant now, Address station, const Target& target,
                                           bool compress) {
  now_ = now;
  if (target.host.empty() || target.host.size() > kHostOctetsMax || target.port == 0) {
    return Error{ErrorCode::bad_field, "the name of the server has no or too many octets"};
  }
  PeerSession* const peer = session(station);
  if (peer == nullptr) return Error{ErrorCode::queue_full, "streams to too many stations"};
  return peer->open(now, target, compress);
}

std::size_t StreamsCore::request_write(Instant now, StreamId id, ByteSpan octets) {
  now_ = now;
  PeerSession* const peer = session_of(id);
  if (peer == nullptr) return 0;
  Stream& stream = *peer->find(id);
  if (stream.send.finished()) return 0;
  const std::size_t taken = std::min(octets.size(), peer->room(stream));
  if (taken < octets.size()) stream.wants_room = true;
  if (taken > 0) peer->write(now, stream, octets.first(taken));
  return taken;
}

void StreamsCore::request_finish(Instant now, StreamId id) {
  now_ = now;
  if (PeerSession* const peer = session_of(id)) peer->finish(now, *peer->find(id));
}

void StreamsCore::request_reset(Instant now, StreamId id, ResetCode code) {
  now_ = now;
  if (PeerSession* const peer = session_of(id)) peer->reset(*peer->find(id), code);
}

void StreamsCore::request_consumed(Instant now, StreamId id, std::size_t octets) {
  now_ = now;
  if (PeerSession* const peer = session_of(id)) peer->consumed(now, *peer->find(id), octets);
}

void StreamsCore::request_discovery(Instant now, Address station) {
  now_ = now;
  if (PeerSession* const peer = session(station)) peer->discover(now);
}

// --- Events --------------------------------------------------------------------------------------

void StreamsCore::on_sis(Instant now, const gateways::SisEvent& event) {
  now_ = now;
  std::visit([this](const auto& one) { on(one); }, event);
}

void StreamsCore::on(const gateways::SisBound& event) {
  bound_ = flow_on_ = true;
  mtu_ = std::max<std::size_t>(event.mtu, kStreamsHeaderOctets + kHostOctetsMax + 64);
  for (auto& [station, peer] : sessions_) peer->set_mtu(mtu_);
}

void StreamsCore::on(const gateways::SisLost&) {
  shared_.node_lost = shared_.node_lost || bound_;
  bound_ = flow_on_ = false;
  requests_.clear();
  for (auto& [station, peer] : sessions_) peer->on_node_lost();
}

void StreamsCore::on(const gateways::SisFlow& event) {
  flow_on_ = event.on;
}

void StreamsCore::on(const gateways::SisIndication& event) {
  const auto pdu = decode_streams(event.updu);
  if (!pdu) {
    shared_.counters.add(StreamCounter::malformed);
    return;
  }
  shared_.counters.add(StreamCounter::updus_received);
  if (PeerSession* const peer = session(event.source)) peer->on_pdu(now_, *pdu);
}

void StreamsCore::on(const gateways::SisConfirmed& event) {
  const auto node = requests_.extract(event.id);
  if (node) sessions_.at(node.mapped())->on_confirmed(now_, event.id);
}

void StreamsCore::on(const gateways::SisRejected& event) {
  const auto node = requests_.extract(event.id);
  if (node) sessions_.at(node.mapped())->on_rejected(now_, event.id, event.reason);
}

void StreamsCore::on(const gateways::SisUnresolved& event) {
  const auto node = requests_.extract(event.id);
  if (node) sessions_.at(node.mapped())->on_unresolved(now_, event.id);
}

void StreamsCore::on_deadline(Instant now) {
  now_ = now;
  for (auto& [station, peer] : sessions_) peer->on_deadline(now);
}

std::optional<Instant> StreamsCore::next_deadline() const {
  if (!shared_.actions.empty()) return now_;
  std::optional<Instant> next;
  for (const auto& [station, peer] : sessions_) {
    const auto at = peer->next_deadline(now_);
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

// --- Actions -------------------------------------------------------------------------------------

std::optional<Action> StreamsCore::poll_action() {
  if (auto action = take_front(shared_.actions)) return action;
  count_held();
  if (!bound_ || !flow_on_) return std::nullopt;
  PeerSession* best = nullptr;
  std::pair<int, std::uint64_t> best_rank;
  for (const auto& [station, peer] : sessions_) {
    const auto priority = peer->wants(now_);
    if (!priority) continue;
    const std::pair<int, std::uint64_t> rank{-int{*priority}, peer->served()};
    if (best != nullptr && best_rank <= rank) continue;
    best = peer.get();
    best_rank = rank;
  }
  if (best == nullptr) return std::nullopt;
  gateways::SisUnidata unidata = best->build(now_);
  requests_[unidata.id] = best->station();
  return unidata;
}

void StreamsCore::count_held() {
  shared_.octets_held = 0;
  for (const auto& [station, peer] : sessions_) {
    for (const auto& [name, stream] : peer->streams()) shared_.octets_held += stream.held();
  }
  shared_.counters.set(StreamCounter::held, shared_.octets_held);
  shared_.counters.set(StreamCounter::open, shared_.stations.size());
}

// --- Reports -------------------------------------------------------------------------------------

Capability StreamsCore::capability(Instant now, Address station) const {
  const auto found = sessions_.find(station);
  return found == sessions_.end() ? Capability::unknown : found->second->capability(now);
}

std::vector<StreamState> StreamsCore::streams(Instant now) const {
  std::vector<StreamState> list;
  for (const auto& [station, peer] : sessions_) {
    for (const auto& [name, stream] : peer->streams()) {
      list.push_back({.id = stream.id,
                      .station = station,
                      .ours = name.ours,
                      .target = stream.target,
                      .interactive = stream.interactive(now, shared_.config),
                      .compressed = stream.send.compressed() || stream.receive.compressed(),
                      .octets_sent = stream.send.acknowledged(),
                      .octets_received = stream.receive.received(),
                      .waiting = stream.send.waiting(),
                      .with_node = stream.send.outstanding(),
                      .age = now - stream.opened_at});
    }
  }
  return list;
}

std::vector<StreamsCore::PeerState> StreamsCore::peers(Instant now) const {
  std::vector<PeerState> list;
  for (const auto& [station, peer] : sessions_) {
    list.push_back({.station = station,
                    .capability = peer->capability(now),
                    .silent = peer->silent(),
                    .streams = peer->streams().size(),
                    .with_node = peer->with_node(),
                    .rate_bps = peer->window().rate_bps()});
  }
  return list;
}

}  // namespace s5066::streams
