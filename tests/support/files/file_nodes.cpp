// SPDX-License-Identifier: Apache-2.0
#include "tests/support/files/file_nodes.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <variant>

#include "gateways/file_relay/relay_setup.h"
#include "s5066d/base/assert.h"
#include "tests/support/unidata_octets.h"

namespace s5066::sim {

namespace {

constexpr Address kEverybody{0x0001, true};

WorldOptions subscribed(WorldOptions options) {
  options.node.dts.groups = options.node.sap.groups = {kEverybody};
  return options;
}

}  // namespace

FileNodes::FileNodes(Seed seed, const WorldOptions& options, const World::MakeAir& make_air,
                     Duration step, bool transfers, bool p_mul)
    : world_(seed, p_mul ? subscribed(options) : options, make_air), step_(step) {
  file_relay::StationGroup everybody{.address = kEverybody, .members = {}};
  for (std::size_t i = 0; i < options.stations; ++i) {
    everybody.members.push_back(World::address(i));
  }
  file_relay::RelayConfig relay;
  relay.transfer_service = transfers;
  for (std::size_t i = 0; i < options.stations; ++i) {
    stations_.push_back(std::make_unique<Station>());
    Station& station = *stations_.back();
    station.config.path = (folder_.path() / std::to_string(i)).string() + ".db";
    station.config.inbox = folder_.make("inbox" + std::to_string(i));
    file_relay::RelayCore::Config& config = station.core_config;
    config = file_relay::core_config(relay);
    station.p_mul = p_mul;
    if (p_mul) {
      config.multicast.own = World::address(i);
      config.multicast.groups = {everybody};
      config.multicast.seed = seed + i;
      config.multicast.line_rate_bps = options.mode.rate_bps;
    }
    start(station);
    bind(i);
  }
  world_.take_primitive = [this](Client& client, const sis::Primitive& primitive) {
    for (auto& station : stations_) {
      if (station->client == &client) return note(*station, primitive);
      if (station->udop == &client) return note_udop(*station, primitive);
    }
    return false;
  };
}

void FileNodes::start(Station& station) {
  auto store = gateways::SqliteStore::open(station.config);
  S5066_ASSERT(store.ok());
  station.store.emplace(std::move(store).value());
  S5066_ASSERT(station.store->recover().ok());
  station.core = std::make_unique<file_relay::RelayCore>(station.core_config);
  station.core->on_clock(world_.now(), utc(), world_.now().time_since_epoch());
  station.core->on_start(world_.now());
}

void FileNodes::bind(std::size_t at) {
  Station& station = *stations_[at];
  station.client = &world_.add_client(at, gateways::kRcopSap, sis::Confirmation::client);
  station.core->on_sis(world_.now(), gateways::SisBound{2048});
  if (!station.p_mul) return;
  station.udop = &world_.add_client(at, p_mul::kUdopSap, sis::Confirmation::none);
  station.core->on_udop(world_.now(), gateways::SisBound{2048});
}

void FileNodes::lose_client(Station& station) {
  station.client = nullptr;
  station.news.clear();
  station.requests.clear();
  station.output.clear();
  station.udop = nullptr;
  station.udop_news.clear();
  station.udop_output.clear();
}

void FileNodes::stop_relay(std::size_t at) {
  Station& station = *stations_[at];
  for (Client* client : {station.client, station.udop}) {
    if (client != nullptr) world_.disconnect(*client);
  }
  lose_client(station);
  station.core.reset();
  station.store.reset();
}

void FileNodes::start_relay(std::size_t at) {
  start(*stations_[at]);
  bind(at);
}

void FileNodes::restart_node(std::size_t at) {
  world_.lose_power(at);
}

std::vector<gateways::SpoolId> FileNodes::send_by_p_mul(std::size_t from,
                                                        const std::vector<std::size_t>& to,
                                                        const std::string& name,
                                                        const Bytes& content,
                                                        const gateways::GradeSettings& grade) {
  Station& station = *stations_[from];
  std::vector<Address> addresses;
  for (const std::size_t one : to) addresses.push_back(World::address(one));
  auto rows =
      station.store->enqueue_by_p_mul({{}, name, content, utc(), std::nullopt}, addresses, grade);
  S5066_ASSERT(rows.ok());
  station.core->on_spool_changed(world_.now());
  return std::move(rows).value();
}

gateways::SpoolItem FileNodes::item(std::size_t at, gateways::SpoolId id) {
  return **stations_[at]->store->find(id);
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

Bytes FileNodes::content_at(std::size_t at, const std::string& name) const {
  std::ifstream file(std::filesystem::path(stations_[at]->config.inbox) / name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

gateways::SpoolState FileNodes::state(std::size_t at, gateways::SpoolId id) {
  return (*stations_[at]->store->find(id))->state;
}

void FileNodes::run_for(Duration d) {
  for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(step_)) {
    for (std::size_t i = 0; i < stations_.size(); ++i) serve(i);
  }
}

std::optional<Duration> FileNodes::time_until(const std::function<bool()>& is_so, Duration most) {
  const Instant start = world_.now();
  while (!is_so()) {
    if (world_.now() - start >= most) return std::nullopt;
    run_for(step_);
  }
  return world_.now() - start;
}

std::optional<Duration> FileNodes::time_until_arrival(std::size_t at, const std::string& name,
                                                      Duration most) {
  const auto path = std::filesystem::path(stations_[at]->config.inbox) / name;
  return time_until([&] { return std::filesystem::exists(path); }, most);
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

bool FileNodes::note_udop(Station& station, const sis::Primitive& primitive) {
  if (std::holds_alternative<sis::DataFlowOn>(primitive)) {
    station.udop_news.push_back(gateways::SisFlow{true});
  } else if (std::holds_alternative<sis::DataFlowOff>(primitive)) {
    station.udop_news.push_back(gateways::SisFlow{false});
  } else if (const auto* in = std::get_if<sis::UnidataIndication>(&primitive)) {
    station.udop_news.push_back(gateways::SisIndication{in->source, in->source_sap, in->updu});
  } else {
    return false;
  }
  return true;
}

void FileNodes::serve(std::size_t at) {
  constexpr Duration kBindDelay = std::chrono::seconds(5);
  Station& station = *stations_[at];
  if (station.core == nullptr) return;
  const Instant now = world_.now();
  if (station.client != nullptr && station.client->closed()) {
    lose_client(station);
    station.bind_at = now + kBindDelay;
    station.core->on_sis(now, gateways::SisLost{});
  } else if (station.client == nullptr && station.bind_at <= now) {
    bind(at);
  }
  file_relay::RelayCore& core = *station.core;
  core.on_clock(now, utc(), now.time_since_epoch());
  if (const auto next = core.next_deadline(); next && *next <= now) core.on_deadline(now);
  do {
    while (!station.news.empty()) {
      core.on_sis(now, station.news.front());
      station.news.pop_front();
    }
    while (!station.udop_news.empty()) {
      const gateways::SisEvent event = std::move(station.udop_news.front());
      station.udop_news.pop_front();
      core.on_udop(now, event);
    }
    while (auto action = core.poll_action()) {
      if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
        core.on_store_result(now, station.store->execute(*request));
      } else if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
        give(station, std::move(*updu));
      } else if (auto* udop = std::get_if<file_relay::RelayCore::UdopUnidata>(&*action)) {
        encode_to(station.udop_output, std::move(udop->unidata));
      }
    }
    const Bytes output = std::exchange(station.output, {});
    if (!output.empty()) world_.write(*station.client, output);
    const Bytes udop_output = std::exchange(station.udop_output, {});
    if (!udop_output.empty()) world_.write(*station.udop, udop_output);
  } while (!station.news.empty() || !station.udop_news.empty());
}

void FileNodes::give(Station& station, gateways::SisUnidata updu) {
  station.requests.emplace(key_of(updu.destination, updu.updu), updu.id);
  encode_to(station.output, std::move(updu));
}

}  // namespace s5066::sim
