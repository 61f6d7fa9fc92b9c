// SPDX-License-Identifier: Apache-2.0
#include "tests/support/files/file_nodes.h"

#include <variant>

#include "s5066d/base/assert.h"
#include "sis/codec.h"

namespace s5066::sim {

FileNodes::FileNodes(Seed seed, const WorldOptions& options, const World::MakeAir& make_air,
                     Duration step, bool transfers)
    : world_(seed, options, make_air), step_(step) {
  for (std::size_t i = 0; i < options.stations; ++i) {
    stations_.push_back(std::make_unique<Station>());
    Station& station = *stations_.back();
    station.config.path = (folder_.path() / std::to_string(i)).string() + ".db";
    station.config.inbox = folder_.make("inbox" + std::to_string(i));
    auto store = gateways::SqliteStore::open(station.config);
    S5066_ASSERT(store.ok());
    station.store.emplace(std::move(store).value());
    file_relay::RelayCore::Config config;
    config.sender.transfer_service = transfers;
    station.core = std::make_unique<file_relay::RelayCore>(config);
    station.client = &world_.add_client(i, gateways::kRcopSap, sis::Confirmation::client);
    station.core->on_clock(world_.now(), utc(), world_.now().time_since_epoch());
    station.core->on_start(world_.now());
    station.core->on_sis(world_.now(), gateways::SisBound{2048});
  }
  world_.take_primitive = [this](Client& client, const sis::Primitive& primitive) {
    for (auto& station : stations_) {
      if (station->client == &client) return note(*station, primitive);
    }
    return false;
  };
}

gateways::SpoolId FileNodes::send(std::size_t from, std::size_t to, const std::string& name,
                                  const Bytes& content, std::optional<std::uint8_t> priority) {
  Station& station = *stations_[from];
  const auto id = station.store->enqueue({World::address(to), name, content, utc(), priority});
  S5066_ASSERT(id.ok());
  station.core->on_spool_changed(world_.now());
  return *id;
}

std::size_t FileNodes::files_at(std::size_t at) const {
  return test::visible_files(stations_[at]->config.inbox).size();
}

gateways::SpoolState FileNodes::state(std::size_t at, gateways::SpoolId id) {
  return (*stations_[at]->store->find(id))->state;
}

void FileNodes::run_for(Duration d) {
  for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(step_)) {
    for (auto& station : stations_) serve(*station);
  }
}

std::optional<Duration> FileNodes::time_until_arrival(std::size_t at, const std::string& name,
                                                      Duration most) {
  const Instant start = world_.now();
  while (world_.now() - start < most) {
    if (std::filesystem::exists(std::filesystem::path(stations_[at]->config.inbox) / name)) {
      return world_.now() - start;
    }
    run_for(step_);
  }
  return std::nullopt;
}

UtcSeconds FileNodes::utc() const {
  const auto now = world_.now().time_since_epoch();
  return {1'800'000'000 + std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

FileNodes::Key FileNodes::key_of(Address destination, ByteSpan updu) {
  const auto header = updu.first(gateways::kRcopHeaderBytes);
  return {destination, Bytes(header.begin(), header.end())};
}

gateways::SisRequestId FileNodes::take_request(Station& station, const Key& key) {
  const auto found = station.requests.find(key);
  S5066_ASSERT(found != station.requests.end());
  const auto id = found->second;
  station.requests.erase(found);
  return id;
}

bool FileNodes::note(Station& station, const sis::Primitive& primitive) {
  if (std::holds_alternative<sis::DataFlowOn>(primitive)) {
    station.news.push_back(gateways::SisFlow{true});
  } else if (std::holds_alternative<sis::DataFlowOff>(primitive)) {
    station.news.push_back(gateways::SisFlow{false});
  } else if (const auto* in = std::get_if<sis::UnidataIndication>(&primitive)) {
    station.news.push_back(gateways::SisIndication{in->source, in->source_sap, in->updu});
  } else if (const auto* yes = std::get_if<sis::UnidataRequestConfirm>(&primitive)) {
    const auto id = take_request(station, key_of(yes->destination, yes->updu_part));
    station.news.push_back(gateways::SisConfirmed{id});
  } else if (const auto* no = std::get_if<sis::UnidataRequestRejected>(&primitive)) {
    const auto id = take_request(station, key_of(no->destination, no->updu_part));
    station.news.push_back(gateways::SisRejected{id, no->reason});
  } else {
    return false;
  }
  return true;
}

void FileNodes::serve(Station& station) {
  const Instant now = world_.now();
  file_relay::RelayCore& core = *station.core;
  core.on_clock(now, utc(), now.time_since_epoch());
  if (const auto next = core.next_deadline(); next && *next <= now) core.on_deadline(now);
  do {
    while (!station.news.empty()) {
      core.on_sis(now, station.news.front());
      station.news.pop_front();
    }
    while (auto action = core.poll_action()) {
      if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
        core.on_store_result(now, station.store->execute(*request));
      } else if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
        give(station, std::move(*updu));
        if (!station.news.empty()) break;
      }
    }
  } while (!station.news.empty());
}

void FileNodes::give(Station& station, gateways::SisUnidata updu) {
  station.requests.emplace(key_of(updu.destination, updu.updu), updu.id);
  Bytes octets;
  sis::encode(sis::UnidataRequest{.priority = updu.priority,
                                  .destination_sap = updu.destination_sap,
                                  .destination = updu.destination,
                                  .delivery = updu.delivery,
                                  .time_to_live = updu.time_to_live_s / 2,
                                  .updu = std::move(updu.updu)},
              octets);
  world_.write(*station.client, octets);
}

}  // namespace s5066::sim
