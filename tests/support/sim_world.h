// SPDX-License-Identifier: Apache-2.0
// Whole nodes with their clients on one simulated channel, all drawn from one seed.
//
// Every client sends U_PDUs that ask for a confirmation and records the outcome of each; a test
// judges these records. Payloads carry sender and number, so that a loss, a repetition or a change
// of order shows at the receiver. After each event the sublayers of the node that had it must agree
// about its links, or the program aborts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/node/node.h"
#include "sis/framer.h"
#include "sis/primitives.h"
#include "tests/support/seeds.h"
#include "tests/support/sim_medium.h"

namespace s5066::sim {

struct WorldOptions {
  std::size_t stations = 2;
  MediumOptions medium;
  modem::Mode mode;
  NodeConfig node;              // address and mode are set by the world
  std::vector<int> clocks_ppm;  // how fast each station's clock is; empty: all are exact
  std::function<void(std::size_t station, NodeConfig& config)> adjust;  // changes one station
};

/// An SIS client bound to one SAP of one node.
class Client {
 public:
  struct Sent {
    Address to;
    std::uint32_t number = 0;
    std::size_t octets = 0;
    unsigned confirms = 0;
    unsigned rejects = 0;
    bool confirmed_to_it = true;  // with ARQ; U_PDUs without ARQ are not confirmed
  };
  struct Received {
    std::size_t from_station = 0;
    std::uint32_t number = 0;
    bool intact = true;
  };

  const std::vector<Sent>& sent() const { return sent_; }
  const std::vector<Received>& received() const { return received_; }
  /// Returns the hard link primitives that it received (types 8 to 11), in order.
  const std::vector<sis::Primitive>& hard_link_news() const { return hard_link_news_; }
  bool bound() const { return bound_; }
  bool flow_off() const { return flow_off_; }
  bool closed() const { return closed_; }

 private:
  friend class World;
  std::size_t station_ = 0;
  SapId sap_;
  ClientId id_;
  sis::Framer framer_;
  bool bound_ = false;
  bool flow_off_ = false;
  bool closed_ = false;
  bool unreadable_ = false;  // the node sent octets that do not decode
  std::vector<Sent> sent_;
  std::vector<Received> received_;
  std::vector<sis::Primitive> hard_link_news_;
};

class World {
 public:
  /// Makes the air of a world; the default is a Medium.
  using MakeAir = std::function<std::unique_ptr<Air>(EventHeap& heap, Rng rng)>;

  World(Seed seed, const WorldOptions& options, const MakeAir& make_air = {});
  ~World();

  static Address address(std::size_t station) {
    return {0x01020301u + static_cast<std::uint32_t>(station)};
  }
  std::size_t stations() const { return stations_.size(); }
  /// Call this only if the world's air is a Medium.
  Medium& medium() { return *medium_; }
  const Node& node(std::size_t station) const;
  Instant now() const { return heap_.now(); }
  Rng& rng() { return rng_; }

  /// Adds a client that binds and stays bound. The reference lives as long as the world.
  Client& add_client(std::size_t station, SapId sap, sis::Confirmation confirmation);
  /// Options of one U_PDU; the default is the client's binding.
  struct SendOptions {
    bool expedited = false;
    sis::DeliveryMode delivery;
  };
  /// Sends one U_PDU of `octets` octets (at least 12) to the same SAP of another station.
  void send(Client& client, std::size_t to, std::size_t octets, Duration time_to_live) {
    send(client, to, octets, time_to_live, SendOptions());
  }
  void send(Client& client, std::size_t to, std::size_t octets, Duration time_to_live,
            const SendOptions& options);
  /// Writes octets of the test's own making on the client's connection.
  void write(Client& client, ByteSpan octets);
  void give(Client& client, const sis::Primitive& primitive);
  /// Called when a client receives a hard link primitive; it may not answer before it returns.
  std::function<void(Client&, const sis::Primitive&)> on_hard_link_news;
  /// Gets each primitive of a client first. The client does not record one for which it returns
  /// true. The function may not answer before it returns.
  std::function<bool(Client&, const sis::Primitive&)> take_primitive;
  /// Restarts the station as soon as it does not transmit; it loses all its state and its clients.
  void restart(std::size_t station);
  /// Restarts the station at once: its transmission breaks off. Call this only if the world's air
  /// is a Medium.
  void lose_power(std::size_t station);
  /// Closes the client's connection without an unbind.
  void disconnect(Client& client);

  void run_for(Duration d) { heap_.run_for(d); }
  void at(Instant when, EventHeap::Callback callback) { heap_.schedule(when, std::move(callback)); }

  /// Counts the U_PDUs with ARQ that did not have exactly one confirm or reject, over all clients
  /// that still exist.
  std::size_t unreported() const;
  /// Returns the faults of the deliveries: repeated, out of order, damaged, or confirmed and not
  /// delivered. Empty if there are none.
  std::string delivery_faults() const;

 private:
  struct Station;
  void on_modem_event(Station& station, modem::Event event);
  void drain(Station& station);
  void check_links(const Station& station) const;
  void begin_anew(std::size_t station);
  void on_primitive(Client& client, const sis::Primitive& primitive);
  using OutcomeCount = unsigned Client::Sent::*;
  /// Records a confirm or reject with these first octets of the U_PDU.
  static void on_outcome(Client& client, ByteSpan part, OutcomeCount count);
  static void on_updu(Client& client, Address source, const Bytes& updu);

  const Seed seed_;
  EventHeap heap_;
  Rng rng_;
  std::unique_ptr<Air> air_;
  Medium* medium_ = nullptr;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::pair<std::size_t, std::uint32_t>, Client*> client_by_id_;
  std::uint32_t next_number_ = 1;
};

}  // namespace s5066::sim
