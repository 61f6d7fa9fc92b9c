// SPDX-License-Identifier: Apache-2.0
// Two file relays run in virtual time with real cores and real spools. The simulated subnetwork
// between them rejects, repeats, reorders, stops and goes away. The test can kill either relay at
// any step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_core.h"
#include "s5066d/base/rng.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::test {

struct SubnetOptions {
  double rejected = 0;           // share of U_PDUs; half of these arrive all the same
  double repeated = 0;           // share that arrives twice
  bool reordered = false;        // true: U_PDUs arrive in any order
  std::size_t queue_max = 1000;  // the flow goes off above, and on again at half
  Duration per_updu = std::chrono::seconds(2);
  std::size_t mtu = 2048;
  bool transfers[2] = {};    // stations with the transfer service
  std::size_t udop_mtu = 0;  // of SAP 7; 0: no station is bound to it
  double udop_lost = 0;      // share of U_PDUs without ARQ that do not arrive
};

class RelayWorld {
 public:
  enum Side { kLeft = 0, kRight = 1 };

  explicit RelayWorld(std::uint64_t seed, const SubnetOptions& options = {});

  file_relay::RelayCore::Config core_config;
  SubnetOptions subnet;
  /// The clocks of both relays are ahead of the right time by this.
  Duration clock_ahead{};

  void start(Side side);
  void kill(Side side);
  /// Kills the relay before the n-th step from now, counted from 1. It is back after a while.
  void kill_at_step(Side side, std::uint64_t step) { station(side).steps_left = step; }
  bool was_killed(Side side) const { return stations_[side].kills > 0; }

  gateways::SpoolId send(Side from, const std::string& name, const Bytes& content,
                         std::optional<std::uint8_t> priority = std::nullopt);
  gateways::SpoolItem item(Side side, gateways::SpoolId id);

  /// Puts the clock forward or back while the relay runs.
  void set_clock(Side side, Duration step);
  void lose_connection(Side side, Duration outage);
  /// An operator's change, as the service makes it. False if it was refused.
  bool change(Side side, gateways::SpoolChange change, gateways::SpoolId id);
  /// Sets the errno of every step of storing into the inbox. With 0 the steps work.
  void set_inbox_errno(Side side, int code) { station(side).inbox_errno = code; }
  /// While muted, everything from here to the other side is lost, and no side is told.
  void mute(Side from, bool muted) { station(from).muted = muted; }

  void run_for(Duration time) { heap_.run_for(time); }
  /// True when every file sent so far has been delivered within the time.
  bool run_until_delivered(Duration time_max);

  std::map<std::string, Bytes> inbox(Side side);
  std::filesystem::path inbox_path(Side side) { return station(side).store_config.inbox; }
  gateways::SqliteStore::Config& store_config(Side side) { return station(side).store_config; }
  file_relay::RelayCore& core(Side side) { return *station(side).core; }
  std::uint64_t udop_sent(Side side) const { return stations_[side].udop_sent; }
  /// Tells a relay that SAP 7 is lost, or bound again.
  void set_udop(Side side, bool bound);
  std::uint64_t updus_sent(Side side) const { return stations_[side].updus_sent; }
  /// Octets of blocks of the transfer service that a station has handed to its node.
  std::uint64_t block_octets(Side side) const { return stations_[side].block_octets; }
  const Bytes& last_updu(Side side) const { return stations_[side].last_updu; }
  const gateways::SisUnidata& last_unidata(Side side) const { return stations_[side].last_unidata; }
  std::uint64_t sent_while_off(Side side) const { return stations_[side].sent_while_off; }
  std::size_t outstanding_peak(Side side) const { return stations_[side].outstanding_peak; }
  std::uint64_t events(Side side, file_relay::RelayEvent::Kind kind) {
    return station(side).events[kind];
  }
  const std::vector<file_relay::RelayEvent>& log(Side side) { return station(side).log; }
  /// Drains what a call of the test has left in a core.
  void poke(Side side) { pump(side); }
  /// Hands a U_PDU to the relay as if it had come over the air.
  void inject(Side to, const Bytes& updu);
  Instant now() const { return heap_.now(); }

 private:
  struct Station {
    explicit Station(sim::EventHeap& heap) : timer(heap) {}

    Address address;
    gateways::SqliteStore::Config store_config;
    std::optional<gateways::SqliteStore> store;
    std::unique_ptr<file_relay::RelayCore> core;
    std::uint64_t incarnation = 0;
    std::optional<std::uint64_t> steps_left;
    sim::Timer timer;
    int inbox_errno = 0;
    bool muted = false;
    bool bound = false;
    bool flow_off = false;
    std::uint64_t binding = 0;
    std::size_t queued = 0;
    Instant line_free{};
    std::vector<gateways::SpoolId> sent;
    std::uint64_t kills = 0;
    std::uint64_t updus_sent = 0;
    std::uint64_t udop_sent = 0;
    std::uint64_t udop_binding = 0;
    std::uint64_t block_octets = 0;
    Bytes last_updu;
    gateways::SisUnidata last_unidata;  // by either SAP
    std::uint64_t sent_while_off = 0;
    std::size_t outstanding_peak = 0;
    std::map<file_relay::RelayEvent::Kind, std::uint64_t> events;
    std::vector<file_relay::RelayEvent> log;
  };
  Station& station(Side side) { return stations_[side]; }
  UtcSeconds utc() const;
  void after(Duration wait, sim::EventHeap::Callback run);
  /// Runs only if the relay has not died meanwhile. True if it lives on.
  bool step(Side side);
  void bind(Side side);
  void pump(Side side);
  void serve(Side side, gateways::StoreRequest request);
  void submit(Side side, gateways::SisUnidata updu);
  void submit_udop(Side side, const gateways::SisUnidata& updu);
  void arrive(Side from, const gateways::SisUnidata& updu, std::uint64_t binding, bool reject);
  void tell(Side side, const gateways::SisEvent& event);
  bool all_delivered();

  Rng rng_;
  TemporaryFolder folder_;
  sim::EventHeap heap_;
  Station stations_[2]{Station(heap_), Station(heap_)};
};

}  // namespace s5066::test
