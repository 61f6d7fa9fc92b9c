// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/p_mul_nodes.h"

#include <utility>

#include "s5066d/base/assert.h"
#include "tests/support/unidata_octets.h"

namespace s5066::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWriteOctets = 16 * 1024;
constexpr UtcSeconds kStart{1'800'000'000};
constexpr Address kEverybody{0x0001, true};

std::optional<gateways::SisEvent> event_of(const PMulNodes::Station& station,
                                           const sis::Primitive& primitive) {
  if (std::holds_alternative<sis::DataFlowOn>(primitive)) return gateways::SisFlow{true};
  if (std::holds_alternative<sis::DataFlowOff>(primitive)) return gateways::SisFlow{false};
  if (const auto* indication = std::get_if<sis::UnidataIndication>(&primitive)) {
    return gateways::SisIndication{indication->source, indication->source_sap, indication->updu};
  }
  if (const auto* confirm = std::get_if<sis::UnidataRequestConfirm>(&primitive)) {
    return gateways::SisConfirmed{station.arq.at(confirm->updu_part.at(1))};
  }
  if (const auto* rejected = std::get_if<sis::UnidataRequestRejected>(&primitive)) {
    return gateways::SisRejected{station.arq.at(rejected->updu_part.at(1)), rejected->reason};
  }
  return std::nullopt;
}

WorldOptions subscribed(WorldOptions options) {
  options.node.dts.groups = options.node.sap.groups = {kEverybody};
  return options;
}

}  // namespace

PMulNodes::PMulNodes(Seed seed, const Options& options)
    : world_(seed, subscribed(options.world)), rng_(seed + 1), step_(options.step) {
  auto carrier = options.carrier;
  if (options.rate_known) carrier.rate_bps = options.world.mode.rate_bps;
  p_mul::Group everybody{.id = {1}, .members = {}};
  for (std::size_t i = 0; i < options.world.stations; ++i) {
    carrier.nodes[id(i)] = World::address(i);
    everybody.members.push_back(id(i));
  }
  carrier.groups[{1}] = kEverybody;
  for (std::size_t i = 0; i < options.world.stations; ++i) {
    auto config = options.core;
    config.sender.node = config.receiver.node = id(i);
    config.sender.groups = {everybody};
    stations_.push_back(std::make_unique<Station>());
    Station& station = *stations_.back();
    station.carrier = std::make_unique<p_mul::CarrierUdopCore>(carrier);
    station.core = std::make_unique<p_mul::PMulCore>(config, rng_);
    station.core->on_clock(world_.now(), kStart);
    station.core->on_start(world_.now());
    station.client = &world_.add_client(i, carrier.sap, sis::Confirmation::none);
    station.carrier->on_sis(world_.now(), gateways::SisBound{});
  }
  world_.take_primitive = [this](Client& client, const sis::Primitive& primitive) {
    for (auto& station : stations_) {
      if (station->client != &client) continue;
      auto event = event_of(*station, primitive);
      if (!event) return false;
      station->news.push_back(std::move(*event));
    }
    return true;
  };
}

UtcSeconds PMulNodes::utc() const {
  const auto now = world_.now().time_since_epoch();
  return {kStart.value + std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

void PMulNodes::submit(std::size_t from, const std::vector<std::size_t>& to, const Bytes& content) {
  p_mul::Submission submission{.key = {++last_message_},
                               .message_id = last_message_,
                               .expiry = {utc().value + 86400},
                               .destinations = {},
                               .group = {}};
  for (const std::size_t station : to) submission.destinations.push_back({id(station), 1});
  submission.content = content;
  const auto accepted = stations_[from]->core->request_submit(world_.now(), std::move(submission));
  S5066_ASSERT(accepted.ok());
}

void PMulNodes::run_for(Duration d) {
  for (const Instant end = world_.now() + d; world_.now() < end;) {
    for (std::size_t i = 0; i < stations_.size(); ++i) serve(i);
    world_.run_for(step_);
  }
}

void PMulNodes::serve(std::size_t index) {
  Station& station = *stations_[index];
  const Instant now = world_.now();
  p_mul::PMulCore& core = *station.core;
  core.on_clock(now, utc());
  for (; !station.news.empty(); station.news.pop_front()) {
    station.carrier->on_sis(now, station.news.front());
  }
  while (const auto datagram = station.carrier->poll_datagram()) core.on_datagram(now, *datagram);
  core.on_deadline(now);
  while (const auto event = core.poll_event()) {
    if (take_event && take_event(index, *event)) continue;
    if (const auto* received = std::get_if<p_mul::Received>(&*event)) {
      station.received.push_back(*received);
      station.received_at = now;
      core.on_committed(now, received->name);
    } else if (const auto* ended = std::get_if<p_mul::DestinationEnded>(&*event)) {
      station.ended.push_back(*ended);
    }
  }
  // Writes all pending requests at once while the flow is on, as a client does.
  Bytes requests;
  hand_down(station, requests);  // messages that ARQ could not deliver
  while (station.carrier->ready()) {
    core.on_arq_full(station.carrier->arq_full());
    if (!core.has_pdu()) break;
    auto pdu = core.poll_pdu(now);
    if (!pdu) break;
    const std::uint8_t priority = pdu->priority;
    S5066_ASSERT(station.carrier->request_send(now, std::move(*pdu)).ok());
    core.on_clear_at(now, priority, station.carrier->clear_at(now, priority));
    hand_down(station, requests);
    if (requests.size() < kWriteOctets) continue;
    give(now, station, requests);
  }
  give(now, station, requests);
}

void PMulNodes::give(Instant now, Station& station, Bytes& requests) {
  if (!requests.empty()) world_.write(*station.client, std::exchange(requests, {}));
  for (; !station.news.empty(); station.news.pop_front()) {
    station.carrier->on_sis(now, station.news.front());
  }
}

void PMulNodes::hand_down(Station& station, Bytes& requests) {
  while (auto request = station.carrier->poll_unidata()) {
    if (request->delivery.mode == sis::TransmissionMode::arq) {
      station.arq[request->updu.at(1)] = request->id;
    }
    encode_to(requests, std::move(*request));
  }
}

}  // namespace s5066::sim
