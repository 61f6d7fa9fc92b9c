// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/p_mul_world.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::sim {
namespace {

using namespace std::chrono_literals;
using p_mul::DestinationEnded;
using p_mul::MessageName;
using p_mul::NodeId;
using p_mul::Received;

constexpr Duration kDetection = 300ms;  // a station notices a transmission 300 ms after its start
constexpr UtcSeconds kStart{1'800'000'000};

}  // namespace

struct PMulWorld::Flight {
  std::size_t sender = 0;
  p_mul::OutgoingPdu pdu;
  Instant start{};
  Instant end{};
  bool collided = false;
  bool cut_off = false;
};

struct PMulWorld::Station {
  explicit Station(EventHeap& heap) : timer(heap) {}

  std::size_t index = 0;
  std::unique_ptr<p_mul::PMulCore> core;
  Spool spool;
  std::shared_ptr<Flight> sending;
  bool pump_due = false;
  std::uint32_t last_message = 0;
  std::map<NodeId, std::uint32_t> sequences;
  std::uint64_t life = 0;
  Timer timer;
};

PMulWorld::PMulWorld(std::uint64_t seed, const PMulOptions& options)
    : rng_(seed), options_(options) {
  for (std::size_t i = 0; i < options.nodes; ++i) {
    stations_.push_back(std::make_unique<Station>(heap_));
    stations_[i]->index = i;
    start_core(*stations_[i]);
  }
}
PMulWorld::~PMulWorld() = default;

p_mul::PMulCore& PMulWorld::core(std::size_t node) {
  return *stations_[node]->core;
}
PMulWorld::Spool& PMulWorld::spool(std::size_t node) {
  return stations_[node]->spool;
}

UtcSeconds PMulWorld::utc() const {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(heap_.now().time_since_epoch());
  return {kStart.value + seconds.count()};
}

void PMulWorld::start_core(Station& station) {
  p_mul::PMulCore::Config config = options_.core;
  config.sender.node = config.receiver.node = id(station.index);
  p_mul::Group everybody{.id = {1}, .members = {}};
  for (std::size_t i = 0; i < options_.nodes; ++i) everybody.members.push_back(id(i));
  config.sender.groups = {everybody};
  station.core = std::make_unique<p_mul::PMulCore>(config, rng_);
  station.core->on_clock(now(), utc());
  station.core->on_start(now());
  for (const auto& [name, expiry] : station.spool.expiry) {
    station.core->on_known(now(), name, expiry);
  }
  // Submits messages without an outcome again, as the mail side does.
  for (const auto& entry : station.spool.outgoing) {
    const p_mul::MessageKey key = entry.first;
    p_mul::Submission again = entry.second;
    std::erase_if(again.destinations, [&](const p_mul::Destination& destination) {
      return station.spool.outcomes[{key, destination.node}].count > 0;
    });
    if (again.destinations.empty()) continue;
    const auto open = again.destinations;
    if (station.core->request_submit(now(), std::move(again)).ok()) continue;
    for (const auto& destination : open) {
      station.spool.outcomes[{key, destination.node}] = {1, p_mul::Outcome::expired};
    }
  }
}

void PMulWorld::restart(std::size_t node) {
  Station& station = *stations_[node];
  ++station.life;
  if (station.sending) station.sending->cut_off = true;
  station.sending.reset();
  station.timer.disarm();
  start_core(station);
  drain(node);
}

p_mul::MessageKey PMulWorld::submit(std::size_t from, const Message& message) {
  Station& station = *stations_[from];
  p_mul::Submission submission{.key = {next_key_++}, .priority = message.priority};
  submission.message_id = station.last_message =
      p_mul::next_message_id(station.last_message, utc());
  submission.expiry = {utc().value +
                       std::chrono::duration_cast<std::chrono::seconds>(message.lifetime).count()};
  submission.acknowledged = message.acknowledged;
  const MessageName name{id(from), submission.message_id};
  for (const std::size_t to : message.to) {
    submission.destinations.push_back({id(to), ++station.sequences[id(to)]});
    names_[{submission.key, id(to)}] = name;
    station.spool.outcomes[{submission.key, id(to)}] = {};
  }
  submission.content.resize(message.octets);
  for (auto& octet : submission.content) octet = static_cast<std::uint8_t>(rng_.next());
  contents_[name] = submission.content;
  const auto key = submission.key;
  p_mul::Submission& kept = station.spool.outgoing[key] = submission;
  const auto accepted = station.core->request_submit(now(), std::move(submission));
  S5066_ASSERT(accepted.ok());
  kept.block_octets = (*accepted).block_octets;
  drain(from);
  return key;
}

void PMulWorld::inject(std::size_t node, const Bytes& octets) {
  deliver(node, octets);
}

void PMulWorld::drain(std::size_t node) {
  Station& station = *stations_[node];
  take_all([&] { return station.core->poll_event(); },
           [&](const p_mul::MessageEvent& event) { on_event(node, event); });
  if (!station.pump_due && !station.sending && station.core->has_pdu()) {
    station.pump_due = true;
    heap_.schedule(now(), [this, node] {
      stations_[node]->pump_due = false;
      pump(node);
    });
  }
  station.timer.arm(station.core->next_deadline(), [this, node, &station] {
    station.core->on_clock(now(), utc());
    station.core->on_deadline(now());
    drain(node);
  });
}

void PMulWorld::on_event(std::size_t node, const p_mul::MessageEvent& event) {
  Station& station = *stations_[node];
  if (const auto* ended = std::get_if<DestinationEnded>(&event)) {
    Outcome& outcome = station.spool.outcomes[{ended->key, ended->node}];
    ++outcome.count;
    outcome.last = ended->outcome;
  }
  const auto* received = std::get_if<Received>(&event);
  if (received == nullptr) return;
  // A commit takes up to 2 s, may fail, and may be lost because the power is cut before its end.
  const bool fails = rng_.chance(options_.commit_failures);
  heap_.schedule(now() + from_seconds(2 * rng_.uniform()),
                 [this, node, life = station.life, fails, message = *received] {
                   Station& self = *stations_[node];
                   if (self.life != life) return;
                   if (fails) {
                     self.core->on_not_committed(now(), message.name);
                   } else {
                     if (self.spool.received.contains(message.name)) ++self.spool.commits_of_known;
                     self.spool.received[message.name] = message.content;
                     self.spool.expiry[message.name] = message.expiry;
                     self.core->on_committed(now(), message.name);
                   }
                   drain(node);
                 });
}

void PMulWorld::pump(std::size_t node) {
  Station& station = *stations_[node];
  if (station.sending || !station.core->has_pdu()) return;
  Instant busy_until = now();
  for (const auto& flight : flights_) {
    if (flight->start + kDetection <= now()) busy_until = std::max(busy_until, flight->end);
  }
  if (busy_until > now()) {
    // A station that waited for the channel leaves it free for a random time of 0.5 to 1.5 s. A
    // sender with more data goes on at once.
    station.pump_due = true;
    heap_.schedule(busy_until + from_seconds(0.5 + rng_.uniform()), [this, node] {
      stations_[node]->pump_due = false;
      pump(node);
    });
    return;
  }
  auto pdu = station.core->poll_pdu(now());
  if (!pdu) return drain(node);
  auto flight = std::make_shared<Flight>();
  flight->sender = node;
  flight->start = now();
  flight->end =
      now() + from_seconds(8.0 * static_cast<double>(pdu->octets.size()) / options_.rate_bps);
  flight->pdu = std::move(*pdu);
  const bool is_ack = flight->pdu.use == p_mul::Use::ack;
  ++counts_.pdus;
  counts_.octets += flight->pdu.octets.size();
  counts_.acks += is_ack;
  for (const auto& other : flights_) {
    if (other->end <= now()) continue;
    ++counts_.collisions;
    counts_.ack_collisions += is_ack && other->pdu.use == p_mul::Use::ack;
    other->collided = flight->collided = true;
  }
  flights_.push_back(flight);
  station.sending = flight;
  station.core->on_clear_at(now(), flight->pdu.priority, flight->end);
  heap_.schedule(flight->end, [this, flight] { finish(flight); });
  drain(node);
}

void PMulWorld::finish(const std::shared_ptr<Flight>& flight) {
  std::erase(flights_, flight);
  Station& sender = *stations_[flight->sender];
  if (sender.sending == flight) sender.sending.reset();
  for (std::size_t node = 0; node < stations_.size() && !flight->cut_off; ++node) {
    if (node == flight->sender || flight->collided || stations_[node]->sending) continue;
    const auto* one = std::get_if<NodeId>(&flight->pdu.target);
    if (one != nullptr && *one != id(node)) continue;
    const unsigned copies = rng_.chance(options_.duplication) ? 2 : 1;
    for (unsigned i = 0; i < copies; ++i) {
      if (rng_.chance(options_.loss)) continue;
      Instant when = now();
      if (rng_.chance(options_.reordering)) when += from_seconds(20 * rng_.uniform());
      heap_.schedule(when, [this, node, flight] { deliver(node, flight->pdu.octets); });
    }
  }
  drain(flight->sender);
}

void PMulWorld::deliver(std::size_t node, const Bytes& octets) {
  Station& station = *stations_[node];
  station.core->on_clock(now(), utc());
  station.core->on_datagram(now(), octets);
  drain(node);
}

std::string PMulWorld::faults() const {
  for (const auto& station : stations_) {
    const std::string who = "node " + std::to_string(station->index);
    if (station->spool.commits_of_known > 0) return who + " was given a message twice";
    for (const auto& [name, content] : station->spool.received) {
      const auto sent = contents_.find(name);
      if (sent == contents_.end()) return who + " has a message nobody sent";
      if (sent->second != content) return who + " has an altered message";
    }
    for (const auto& [which, outcome] : station->spool.outcomes) {
      if (outcome.count > 1) return who + " was told twice what became of a message";
      if (outcome.count == 0 || outcome.last != p_mul::Outcome::delivered) continue;
      for (const auto& other : stations_) {
        if (id(other->index) != which.second) continue;
        if (!other->spool.received.contains(names_.at(which))) return who + " believes a lie";
      }
    }
  }
  return {};
}

std::size_t PMulWorld::unreported() const {
  std::size_t open = 0;
  for (const auto& station : stations_) {
    for (const auto& [which, outcome] : station->spool.outcomes) open += outcome.count == 0;
  }
  return open;
}

std::size_t PMulWorld::delivered() const {
  std::size_t done = 0;
  for (const auto& station : stations_) {
    for (const auto& [which, outcome] : station->spool.outcomes) {
      done += outcome.count > 0 && outcome.last == p_mul::Outcome::delivered;
    }
  }
  return done;
}

}  // namespace s5066::sim
