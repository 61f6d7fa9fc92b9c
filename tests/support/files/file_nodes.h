// SPDX-License-Identifier: Apache-2.0
// File relays as they run in service: each core with its spool is a client of a whole node. The
// nodes share a simulated channel, or one with real waveforms.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_core.h"
#include "tests/support/sim_world.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::sim {

class FileNodes {
 public:
  static constexpr std::size_t kAbsent = 9;  // an address without a station

  explicit FileNodes(Seed seed, std::size_t stations = 3)
      : FileNodes(seed, WorldOptions{.stations = stations, .mode = {}}, {},
                  std::chrono::milliseconds(100)) {}
  /// `step`: the relays look at their clients' news and at their timers this often.
  /// `transfers`: the relays have the transfer service. `p_mul`: all relays are in one group.
  FileNodes(Seed seed, const WorldOptions& options, const World::MakeAir& make_air, Duration step,
            bool transfers = false, bool p_mul = false);

  /// Puts a file of `octets` into the spool of one station.
  gateways::SpoolId send(std::size_t from, std::size_t to, const std::string& name,
                         std::size_t octets) {
    return send(from, to, name, Bytes(octets, 7), std::nullopt);
  }
  gateways::SpoolId send(std::size_t from, std::size_t to, const std::string& name,
                         const Bytes& content, std::optional<std::uint8_t> priority);
  /// Puts a file for several stations into the spool, to go by P_MUL. Returns a row for each.
  std::vector<gateways::SpoolId> send_by_p_mul(std::size_t from, const std::vector<std::size_t>& to,
                                               const std::string& name, const Bytes& content,
                                               const gateways::GradeSettings& grade = {});
  gateways::SpoolItem item(std::size_t at, gateways::SpoolId id);
  std::size_t files_at(std::size_t at) const;
  /// Returns the content of a file in the inbox; empty if there is none.
  Bytes content_at(std::size_t at, const std::string& name) const;
  gateways::SpoolState state(std::size_t at, gateways::SpoolId id);
  /// Ends a relay, which loses what is not in its spool, and starts it again.
  void stop_relay(std::size_t at);
  void start_relay(std::size_t at);
  void restart(std::size_t at) {
    stop_relay(at);
    start_relay(at);
  }
  /// Cuts the power of a node. It starts again at once, and its relay binds again after some
  /// seconds.
  void restart_node(std::size_t at);
  void run_for(Duration d);
  /// Returns the time until this is so; empty if it is not within `most`.
  std::optional<Duration> time_until(const std::function<bool()>& is_so, Duration most);
  /// Returns the time until the file stands whole in the inbox; empty if it does not within `most`.
  std::optional<Duration> time_until_arrival(std::size_t at, const std::string& name,
                                             Duration most);
  World& world() { return world_; }
  const file_relay::RelayCore& relay(std::size_t at) const { return *stations_[at]->core; }
  /// Our own EMCON, as the node of the relay says it.
  void set_own_silence(std::size_t at, bool silent) {
    stations_[at]->core->on_own_silence(world_.now(), silent);
  }
  /// The relay has it from its next restart on.
  file_relay::RelayCore::Config& core_config(std::size_t at) { return stations_[at]->core_config; }

 private:
  using Key = std::pair<Address, Bytes>;  // the RCOP header distinguishes the U_PDUs to one station
  struct Station {
    gateways::SqliteStore::Config config;
    std::optional<gateways::SqliteStore> store;
    std::unique_ptr<file_relay::RelayCore> core;
    file_relay::RelayCore::Config core_config;
    Client* client = nullptr;  // nullptr without a connection to the node
    Instant bind_at{};
    bool p_mul = false;
    Client* udop = nullptr;  // with P_MUL
    std::deque<gateways::SisEvent> news;
    std::deque<gateways::SisEvent> udop_news;
    std::multimap<Key, gateways::SisRequestId> requests;
    Bytes output;       // to the node, in one write
    Bytes udop_output;  // likewise
  };

  UtcSeconds utc() const;
  static Key key_of(Address destination, ByteSpan updu);
  static gateways::SisRequestId take_request(Station& station, const Key& key);
  static bool note(Station& station, const sis::Primitive& primitive);
  void start(Station& station);
  void bind(std::size_t at);
  void lose_client(Station& station);
  void serve(std::size_t at);
  static void give(Station& station, gateways::SisUnidata updu);
  static bool note_udop(Station& station, const sis::Primitive& primitive);

  test::TemporaryFolder folder_;
  World world_;
  Duration step_;
  std::vector<std::unique_ptr<Station>> stations_;
};

}  // namespace s5066::sim
