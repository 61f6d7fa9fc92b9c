// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/sis_server/server_side.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <chrono>

#include "s5066d/base/deadline_table.h"
#include "s5066d/node/node.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/sis_listener.h"

namespace s5066::bench {
namespace {

/// Timers of a link in use, and the next call after a failed one, expire sooner than this. If the
/// next deadline is later, the server is at rest.
constexpr Duration kAtRest = std::chrono::minutes(15);
/// Events on the air between two polls of the sockets. The daemon also handles all pending events
/// of its modem at once.
constexpr int kStepsAtATime = 32;

NodeConfig node_config(Address address) {
  NodeConfig config;
  config.dts.address = address;
  config.dts.mode = *modem::parse_mode("110a-2400-short");
  config.dts.transmission_max = dts::kTransmissionMax;
  config.sap.bind.allow_management_sap = true;  // 16 clients need a SAP each
  config.sap.bind.allow_reserved_saps = true;
  // The virtual clock is far ahead of the clients, so long timeouts keep them from counting as idle
  // or slow.
  config.sap.links.idle_timeout = std::chrono::hours(1);
  config.sap.unbound_idle_timeout = std::chrono::hours(1);
  config.partial_primitive_timeout = std::chrono::hours(1);
  return config;
}

runtime::SisListenerConfig any_port() {
  runtime::SisListenerConfig config;
  config.port = 0;
  return config;
}

class NoTrace final : public TraceSink {
 public:
  void on_trace(const TraceEvent&) override {}
};

}  // namespace

class ServerSide::Station final : public runtime::ModemPort {
 public:
  Station(ServerSide& side, Address address, LogSink& log)
      : heap_(side.heap_),
        medium_(side.medium_),
        node_(node_config(address), side.rng_, trace_),
        driver_(side.io_, node_, log),
        listener_(side.io_, any_port(), driver_, log),
        air_(medium_.add_station([this](const modem::Event& event) {
          driver_.drive([&](Node& node, Instant now) { node.on_modem_event(now, event); });
        })) {
    driver_.connect(*this, listener_);
    driver_.drive([](Node& node, Instant now) { node.on_utc(now, UtcSeconds{1'790'000'000}); });
    S5066_ASSERT(listener_.open());
    listener_.accept();
  }

  std::uint16_t port() const { return listener_.port(); }
  std::optional<Instant> next_deadline() const { return node_.next_deadline(); }
  void on_deadline() {
    driver_.drive([](Node& node, Instant now) { node.on_deadline(now); });
  }

  Instant now() const override { return heap_.now(); }
  bool lockstep() const override { return true; }
  Result<void> request(modem::Command command) override {
    medium_.command(air_, command);
    return {};
  }

 private:
  sim::EventHeap& heap_;
  sim::Medium& medium_;
  NoTrace trace_;
  Node node_;
  runtime::AsioDriver driver_;
  runtime::SisListener listener_;
  std::size_t air_;
};

ServerSide::ServerSide(int commands, LogSink& log)
    : commands_(io_, commands), wake_(io_), medium_(heap_, Rng(2), {.looks_into_bursts = false}) {
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    stations_[i] = std::make_unique<Station>(*this, kStations[i], log);
  }
  read_command();
}

ServerSide::~ServerSide() = default;

std::uint16_t ServerSide::port(std::size_t station) const {
  return stations_[station]->port();
}

void ServerSide::read_command() {
  commands_.async_read_some(boost::asio::buffer(&command_, 1),
                            [this](boost::system::error_code failure, std::size_t) {
                              over_ = over_ || failure;
                              if (failure) return;
                              held_ = command_ == 'h';
                              read_command();
                            });
}

void ServerSide::run() {
  while (!over_) {
    if (io_.poll() > 0) continue;
    if (held_) {
      io_.run_one();
      continue;
    }
    int steps = 0;
    while (steps < kStepsAtATime && step()) ++steps;
    if (steps == 0) rest();
  }
}

/// Runs the next event on the air or in a node, if one is near.
bool ServerSide::step() {
  std::optional<Instant> deadline;
  for (const auto& station : stations_) deadline = earlier(deadline, station->next_deadline());
  if (!heap_.empty() && (!deadline || heap_.next_at() <= *deadline)) {
    heap_.run_one();
    return true;
  }
  if (!deadline || *deadline - heap_.now() > kAtRest) return false;
  heap_.run_until(std::max(*deadline, heap_.now()));
  for (const auto& station : stations_) station->on_deadline();
  return true;
}

void ServerSide::rest() {
  const auto began = std::chrono::steady_clock::now();
  wake_.expires_after(std::chrono::seconds(1));
  wake_.async_wait([](boost::system::error_code) {});
  io_.run_one();
  wake_.cancel();
  heap_.run_until(heap_.now() + (std::chrono::steady_clock::now() - began));
}

}  // namespace s5066::bench
