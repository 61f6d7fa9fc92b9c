// SPDX-License-Identifier: Apache-2.0
// P_MUL stations as they run in service: each core is behind a UDOP carrier, which is a client of a
// whole node on the simulated channel.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/p_mul_core.h"
#include "tests/support/sim_world.h"

namespace s5066::sim {

class PMulNodes {
 public:
  struct Options {
    WorldOptions world;
    p_mul::PMulCore::Config core{};            // node and groups are set by this class
    p_mul::CarrierUdopCore::Config carrier{};  // tables are set by this class
    bool rate_known = true;                    // the carriers know the data rate
    Duration step = std::chrono::milliseconds(50);
  };
  struct Station {
    Client* client = nullptr;
    std::unique_ptr<p_mul::CarrierUdopCore> carrier;
    std::unique_ptr<p_mul::PMulCore> core;
    std::deque<gateways::SisEvent> news;
    std::map<std::uint8_t, gateways::SisRequestId> arq;  // key: the number in the header
    std::optional<Instant> received_at;
    std::vector<p_mul::Received> received;
    std::vector<p_mul::DestinationEnded> ended;
  };

  PMulNodes(Seed seed, const Options& options);

  static p_mul::NodeId id(std::size_t station) {
    return {0x0A000001u + static_cast<std::uint32_t>(station)};
  }
  World& world() { return world_; }
  Station& operator[](std::size_t station) { return *stations_[station]; }
  /// Submits a message to several stations by the group that contains all of them.
  void submit(std::size_t from, const std::vector<std::size_t>& to, const Bytes& content);
  void run_for(Duration d);
  UtcSeconds utc() const;
  /// Gets each event of a core first. If it returns true, the world does not record the event, and
  /// the function must commit what was received.
  std::function<bool(std::size_t station, const p_mul::MessageEvent&)> take_event;

 private:
  void serve(std::size_t index);
  void give(Instant now, Station& station, Bytes& requests);
  static void hand_down(Station& station, Bytes& requests);

  World world_;
  Rng rng_;
  Duration step_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::uint32_t last_message_ = 0;
};

}  // namespace s5066::sim
