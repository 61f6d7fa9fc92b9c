// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_world.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "sis/codec.h"

namespace s5066::sim {
namespace {

constexpr std::size_t kTagOctets = 12;

// The tag of a payload holds sender, number and length; the other octets follow from these.
Bytes payload(std::size_t station, std::uint32_t number, std::size_t octets) {
  S5066_ASSERT(octets >= kTagOctets);
  Bytes out;
  put_u32(out, static_cast<std::uint32_t>(station));
  put_u32(out, number);
  put_u32(out, static_cast<std::uint32_t>(octets));
  Rng rng(number);
  while (out.size() < octets) out.push_back(static_cast<std::uint8_t>(rng.next()));
  return out;
}

}  // namespace

struct World::Station {
  Station(EventHeap& heap, int fast_ppm) : timer(heap, SkewedClock(fast_ppm)) {}
  Instant local(Instant world) const { return timer.clock().local(world); }

  std::size_t index = 0;
  Timer timer;
  std::size_t port = 0;
  std::unique_ptr<Rng> rng;
  NullTrace trace;
  NodeConfig config;
  std::unique_ptr<Node> node;
};

World::World(Seed seed, const WorldOptions& options, const MakeAir& make_air)
    : seed_(seed), rng_(seed) {
  if (make_air) {
    air_ = make_air(heap_, rng_.fork());
  } else {
    auto medium = std::make_unique<Medium>(heap_, rng_.fork(), options.medium);
    medium_ = medium.get();
    air_ = std::move(medium);
  }
  for (std::size_t i = 0; i < options.stations; ++i) {
    const int fast_ppm = i < options.clocks_ppm.size() ? options.clocks_ppm[i] : 0;
    auto station = std::make_unique<Station>(heap_, fast_ppm);
    Station* self = station.get();
    NodeConfig config = options.node;
    config.dts.address = address(i);
    config.dts.mode = options.mode;
    if (options.adjust) options.adjust(i, config);
    self->index = i;
    self->config = config;
    self->rng = std::make_unique<Rng>(rng_.fork());
    self->node = std::make_unique<Node>(config, *self->rng, self->trace);
    self->port = air_->add_station([this, self](const modem::Event& event) {
      on_modem_event(*self, event);
      drain(*self);
    });
    self->node->on_utc(self->local(heap_.now()), UtcSeconds{1'790'000'000});
    stations_.push_back(std::move(station));
    drain(*self);
  }
}

World::~World() = default;

const Node& World::node(std::size_t station) const {
  return *stations_[station]->node;
}

// The times of modem events are converted to the station's clock, because its modem counts samples
// by it.
void World::on_modem_event(Station& station, modem::Event event) {
  std::visit(
      [&](auto& e) {
        e.at = station.local(e.at);
        if constexpr (requires { e.first_bit_at; }) {
          e.first_bit_at = station.local(e.first_bit_at);
        }
        if constexpr (requires { e.ended_at; }) e.ended_at = station.local(e.ended_at);
      },
      event);
  station.node->on_modem_event(station.local(heap_.now()), event);
}

void World::drain(Station& station) {
  const auto take = [&](NodeAction& action) {
    if (auto* command = std::get_if<modem::Command>(&action)) {
      if (auto* burst = std::get_if<modem::TransmitBurst>(command)) {
        burst->not_before = station.timer.clock().world(burst->not_before);
      }
      air_->command(station.port, *command);
    } else if (auto* send = std::get_if<SendToClient>(&action)) {
      const auto client = client_by_id_.find({station.index, send->client.value});
      if (client == client_by_id_.end()) return;
      client->second->framer_.push(send->bytes);
      station.node->on_client_taken(station.local(heap_.now()), send->client, send->bytes.size());
      while (auto item = client->second->framer_.poll()) {
        const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
        const auto primitive = frame ? sis::decode(frame->body)
                                     : Result<sis::Primitive>(Error{ErrorCode::bad_sync, "frame"});
        if (primitive.ok()) {
          on_primitive(*client->second, *primitive);
        } else {
          client->second->unreadable_ = true;
        }
      }
    } else if (auto* close = std::get_if<CloseClient>(&action)) {
      const auto client = client_by_id_.find({station.index, close->client.value});
      if (client == client_by_id_.end()) return;
      client->second->closed_ = true;
      client_by_id_.erase(client);
    }
  };
  take_all([&] { return station.node->poll_action(); }, take);
  check_links(station);
  station.timer.arm(station.node->next_deadline(), [this, &station] {
    station.node->on_deadline(station.local(heap_.now()));
    drain(station);
  });
}

void World::check_links(const Station& station) const {
  const bool sublayers_agree_about_links = station.node->links_in_disagreement().empty();
  if (!sublayers_agree_about_links) {
    std::cerr << "S5066_SEED=" << seed_ << ": station " << station.index << " at "
              << heap_.now().time_since_epoch() / std::chrono::milliseconds(1) << " ms\n";
  }
  S5066_ASSERT(sublayers_agree_about_links);
}

Client& World::add_client(std::size_t station, SapId sap, sis::Confirmation confirmation) {
  clients_.push_back(std::make_unique<Client>());
  Client& client = *clients_.back();
  Station& at = *stations_[station];
  client.station_ = station;
  client.sap_ = sap;
  client.id_ = at.node->on_client_connected(at.local(heap_.now()));
  client_by_id_[{station, client.id_.value}] = &client;
  Bytes bytes;
  sis::encode(sis::BindRequest{.sap = sap,
                               .rank = 5,
                               .service = {.mode = sis::TransmissionMode::arq,
                                           .confirmation = confirmation}},
              bytes);
  at.node->on_client_bytes(at.local(heap_.now()), client.id_, bytes);
  drain(at);
  S5066_ASSERT(client.bound_);
  return client;
}

void World::send(Client& client, std::size_t to, std::size_t octets, Duration time_to_live,
                 const SendOptions& options) {
  if (client.closed_) return;
  const auto units = static_cast<std::uint32_t>(time_to_live / std::chrono::seconds(2));
  const std::uint32_t number = next_number_++;
  Bytes updu = payload(client.station_, number, octets);
  client.sent_.push_back(
      {.to = address(to),
       .number = number,
       .octets = octets,
       .confirmed_to_it = options.delivery.mode != sis::TransmissionMode::nonarq});
  Bytes bytes;
  if (options.expedited) {
    sis::encode(sis::ExpeditedUnidataRequest{client.sap_, address(to), options.delivery, units,
                                             std::move(updu)},
                bytes);
  } else {
    sis::encode(
        sis::UnidataRequest{5, client.sap_, address(to), options.delivery, units, std::move(updu)},
        bytes);
  }
  write(client, bytes);
}

void World::write(Client& client, ByteSpan octets) {
  if (client.closed_) return;
  Station& at = *stations_[client.station_];
  at.node->on_client_bytes(at.local(heap_.now()), client.id_, octets);
  drain(at);
}

void World::give(Client& client, const sis::Primitive& primitive) {
  if (client.closed_) return;
  Station& at = *stations_[client.station_];
  Bytes bytes;
  sis::encode(primitive, bytes);
  at.node->on_client_bytes(at.local(heap_.now()), client.id_, bytes);
  drain(at);
}

void World::restart(std::size_t station) {
  if (node(station).status().transmitting) {
    at(heap_.now() + std::chrono::seconds(1), [this, station] { restart(station); });
    return;
  }
  begin_anew(station);
}

void World::lose_power(std::size_t station) {
  medium_->break_off(stations_[station]->port);
  begin_anew(station);
}

void World::begin_anew(std::size_t station) {
  Station& self = *stations_[station];
  for (const auto& client : clients_) {
    if (client->station_ == station) client->closed_ = true;
  }
  std::erase_if(client_by_id_, [&](const auto& entry) { return entry.first.first == station; });
  self.node = std::make_unique<Node>(self.config, *self.rng, self.trace);
  self.timer.disarm();
  if (medium_) medium_->on_restart(self.port);
  self.node->on_utc(
      self.local(heap_.now()),
      UtcSeconds{1'790'000'000 + heap_.now().time_since_epoch() / std::chrono::seconds(1)});
  drain(self);
}

void World::disconnect(Client& client) {
  if (client.closed_) return;
  client.closed_ = true;
  client_by_id_.erase({client.station_, client.id_.value});
  Station& at = *stations_[client.station_];
  at.node->on_client_closed(at.local(heap_.now()), client.id_);
  drain(at);
}

void World::on_primitive(Client& client, const sis::Primitive& primitive) {
  if (take_primitive && take_primitive(client, primitive)) return;
  if (std::holds_alternative<sis::BindAccepted>(primitive)) {
    client.bound_ = true;
  } else if (std::holds_alternative<sis::UnbindIndication>(primitive)) {
    client.bound_ = false;
  } else if (std::holds_alternative<sis::DataFlowOff>(primitive)) {
    client.flow_off_ = true;
  } else if (std::holds_alternative<sis::DataFlowOn>(primitive)) {
    client.flow_off_ = false;
  } else if (std::holds_alternative<sis::HardLinkEstablished>(primitive) ||
             std::holds_alternative<sis::HardLinkRejected>(primitive) ||
             std::holds_alternative<sis::HardLinkTerminated>(primitive) ||
             std::holds_alternative<sis::HardLinkIndication>(primitive)) {
    client.hard_link_news_.push_back(primitive);
    if (on_hard_link_news) on_hard_link_news(client, primitive);
  } else if (const auto* confirm = std::get_if<sis::UnidataRequestConfirm>(&primitive)) {
    on_outcome(client, confirm->updu_part, &Client::Sent::confirms);
  } else if (const auto* rejected = std::get_if<sis::UnidataRequestRejected>(&primitive)) {
    on_outcome(client, rejected->updu_part, &Client::Sent::rejects);
  } else if (const auto* done = std::get_if<sis::ExpeditedUnidataRequestConfirm>(&primitive)) {
    on_outcome(client, done->updu_part, &Client::Sent::confirms);
  } else if (const auto* refused = std::get_if<sis::ExpeditedUnidataRequestRejected>(&primitive)) {
    on_outcome(client, refused->updu_part, &Client::Sent::rejects);
  } else if (const auto* indication = std::get_if<sis::UnidataIndication>(&primitive)) {
    on_updu(client, indication->source, indication->updu);
  } else if (const auto* urgent = std::get_if<sis::ExpeditedUnidataIndication>(&primitive)) {
    on_updu(client, urgent->source, urgent->updu);
  }
}

void World::on_outcome(Client& client, ByteSpan part, OutcomeCount count) {
  const auto sent = part.size() < kTagOctets
                        ? client.sent_.end()
                        : std::find_if(client.sent_.begin(), client.sent_.end(),
                                       [number = get_u32(part, 4)](const Client::Sent& s) {
                                         return s.number == number;
                                       });
  if (sent == client.sent_.end()) {
    client.unreadable_ = true;
  } else {
    ++((*sent).*count);
  }
}

void World::on_updu(Client& client, Address source, const Bytes& updu) {
  Client::Received received;
  received.intact = updu.size() >= kTagOctets;
  if (received.intact) {
    received.from_station = get_u32(updu, 0);
    received.number = get_u32(updu, 4);
    received.intact = source == address(received.from_station) &&
                      updu == payload(received.from_station, received.number, updu.size());
  }
  client.received_.push_back(received);
}

std::size_t World::unreported() const {
  std::size_t n = 0;
  for (const auto& client : clients_) {
    if (client->closed_) continue;
    for (const auto& sent : client->sent_) {
      n += sent.confirmed_to_it && sent.confirms + sent.rejects != 1;
    }
  }
  return n;
}

std::string World::delivery_faults() const {
  std::string faults;
  std::set<std::uint32_t> delivered;
  for (const auto& client : clients_) {
    if (client->unreadable_) faults += "unreadable primitive; ";
    std::map<std::size_t, std::uint32_t> newest;
    for (const auto& received : client->received_) {
      const std::string name = std::to_string(received.number);
      if (!received.intact) faults += "damaged; ";
      if (!delivered.insert(received.number).second) faults += "repeated " + name + "; ";
      std::uint32_t& last = newest[received.from_station];
      if (received.number < last) faults += "out of order " + name + "; ";
      last = std::max(last, received.number);
    }
  }
  for (const auto& client : clients_) {
    for (const auto& sent : client->sent_) {
      if (sent.confirms > 0 && !delivered.contains(sent.number)) {
        faults += "confirmed but lost " + std::to_string(sent.number) + "; ";
      }
    }
  }
  return faults;
}

}  // namespace s5066::sim
