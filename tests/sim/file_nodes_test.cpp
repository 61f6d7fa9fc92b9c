// SPDX-License-Identifier: Apache-2.0
// Tests file relays as they run in service: each core with its spool is a client of a whole node on
// the simulated channel.
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_core.h"
#include "sis/codec.h"
#include "tests/support/sim_world.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

class FileNodes {
 public:
  static constexpr std::size_t kAbsent = 9;  // an address without a station

  explicit FileNodes(sim::Seed seed, std::size_t stations = 3)
      : world_(seed, {.stations = stations, .mode = {}}) {
    for (std::size_t i = 0; i < stations; ++i) {
      stations_.push_back(std::make_unique<Station>());
      Station& station = *stations_.back();
      station.config.path = (folder_.path() / std::to_string(i)).string() + ".db";
      station.config.inbox = folder_.make("inbox" + std::to_string(i));
      auto store = gateways::SqliteStore::open(station.config);
      EXPECT_TRUE(store);
      station.store.emplace(std::move(store).value());
      station.core = std::make_unique<file_relay::RelayCore>(file_relay::RelayCore::Config());
      station.client = &world_.add_client(i, gateways::kRcopSap, sis::Confirmation::client);
      station.core->on_clock(world_.now(), utc(), world_.now().time_since_epoch());
      station.core->on_start(world_.now());
      station.core->on_sis(world_.now(), gateways::SisBound{2048});
    }
    world_.take_primitive = [this](sim::Client& client, const sis::Primitive& primitive) {
      for (auto& station : stations_) {
        if (station->client == &client) return note(*station, primitive);
      }
      return false;
    };
  }

  gateways::SpoolId send(std::size_t from, std::size_t to, const std::string& name,
                         std::size_t octets) {
    Station& station = *stations_[from];
    const auto id =
        station.store->enqueue({sim::World::address(to), name, Bytes(octets, 7), utc()});
    EXPECT_TRUE(id);
    station.core->on_spool_changed(world_.now());
    return *id;
  }
  std::size_t files_at(std::size_t at) {
    return test::visible_files(stations_[at]->config.inbox).size();
  }
  gateways::SpoolState state(std::size_t at, gateways::SpoolId id) {
    return (*stations_[at]->store->find(id))->state;
  }
  void run_for(Duration d) {
    for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(100ms)) {
      for (auto& station : stations_) serve(*station);
    }
  }
  std::optional<Duration> time_until_arrival(std::size_t at, const std::string& name,
                                             Duration most) {
    const Instant start = world_.now();
    while (world_.now() - start < most) {
      if (test::visible_files(stations_[at]->config.inbox).contains(name)) {
        return world_.now() - start;
      }
      run_for(1s);
    }
    return std::nullopt;
  }
  sim::World& world() { return world_; }

 private:
  using Key = std::pair<Address, Bytes>;  // the RCOP header distinguishes the U_PDUs to one station
  struct Station {
    gateways::SqliteStore::Config config;
    std::optional<gateways::SqliteStore> store;
    std::unique_ptr<file_relay::RelayCore> core;
    sim::Client* client = nullptr;
    std::deque<gateways::SisEvent> news;
    std::multimap<Key, gateways::SisRequestId> requests;
  };

  UtcSeconds utc() const {
    const auto now = world_.now().time_since_epoch();
    return {1'800'000'000 + std::chrono::duration_cast<std::chrono::seconds>(now).count()};
  }

  static Key key_of(Address destination, ByteSpan updu) {
    const auto header = updu.first(gateways::kRcopHeaderBytes);
    return {destination, Bytes(header.begin(), header.end())};
  }

  static gateways::SisRequestId take_request(Station& station, const Key& key) {
    const auto found = station.requests.find(key);
    EXPECT_NE(found, station.requests.end());
    const auto id = found == station.requests.end() ? gateways::SisRequestId{} : found->second;
    if (found != station.requests.end()) station.requests.erase(found);
    return id;
  }

  static bool note(Station& station, const sis::Primitive& primitive) {
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

  void serve(Station& station) {
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
          station.requests.emplace(key_of(updu->destination, updu->updu), updu->id);
          Bytes octets;
          sis::encode(sis::UnidataRequest{.priority = updu->priority,
                                          .destination_sap = updu->destination_sap,
                                          .destination = updu->destination,
                                          .delivery = updu->delivery,
                                          .time_to_live = updu->time_to_live_s / 2,
                                          .updu = std::move(updu->updu)},
                      octets);
          world_.write(*station.client, octets);
          if (!station.news.empty()) break;
        }
      }
    } while (!station.news.empty());
  }

  test::TemporaryFolder folder_;
  sim::World world_;
  std::vector<std::unique_ptr<Station>> stations_;
};

// Time for two full-length transmissions, the calls to another station, and the answers.
constexpr Duration kSoon = 7min;

TEST(FileNodes, twenty_files_to_an_absent_station_do_not_hold_one_to_a_live_station) {
  FileNodes nodes(1);
  nodes.run_for(10s);
  std::vector<gateways::SpoolId> away;
  for (int i = 0; i < 20; ++i) {
    away.push_back(nodes.send(0, FileNodes::kAbsent, "away" + std::to_string(i), 2000));
  }
  nodes.run_for(10s);
  nodes.send(0, 1, "six", 6);
  const auto took = nodes.time_until_arrival(1, "six", 1h);
  ASSERT_TRUE(took);
  std::printf("6 octets behind 20 files to an absent station: %.0f s\n", to_seconds(*took));
  EXPECT_LT(*took, kSoon);
  for (const auto id : away) EXPECT_NE(nodes.state(0, id), gateways::SpoolState::delivered);
}

TEST(FileNodes, a_small_file_is_not_stuck_behind_a_large_one) {
  for (const std::size_t to : {1u, 2u}) {
    SCOPED_TRACE(to);
    FileNodes nodes(to);
    nodes.run_for(10s);
    nodes.send(0, 1, "large", 300'000);
    nodes.run_for(5min);
    nodes.send(0, to, "seven", 7);
    const auto took = nodes.time_until_arrival(to, "seven", 1h);
    ASSERT_TRUE(took);
    std::printf("7 octets behind 300 kB to %s station: %.0f s\n", to == 1 ? "the same" : "another",
                to_seconds(*took));
    EXPECT_LT(*took, kSoon);
    EXPECT_TRUE(nodes.time_until_arrival(1, "large", 2h));
  }
}

}  // namespace
}  // namespace s5066
