// SPDX-License-Identifier: Apache-2.0
// Runs data transfer sublayers on one simulated medium, with no layer above them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>

#include "modem/api/airtime.h"
#include "s5066d/dts/data_transfer.h"
#include "tests/support/sim_medium.h"

namespace s5066::dts {

using namespace std::chrono_literals;

class DtsWorld {
 public:
  struct Station {
    explicit Station(sim::EventHeap& heap) : timer(heap) {}

    Counters counters;
    NullTrace trace;
    std::unique_ptr<DataTransfer> dts;
    std::size_t port = 0;
    std::vector<CpduIndication> received;
    std::vector<CpduId> confirmed;
    std::vector<CpduRejected> rejected;
    std::vector<Address> lost;
    std::vector<WarningReceived> warnings;
    std::vector<DataRateAdvised> advised;
    std::vector<TransmitModeChanged> modes;
    std::vector<DataRateRefused> rates_refused;
    std::array<std::size_t, 16> dpdus_sent{};  // by type
    struct Burst {
      Instant at;
      bool identifies = false;
    };
    std::vector<Burst> bursts;
    sim::Timer timer;
  };

  /// The last `plain` stations offer nothing beyond the standard.
  DtsWorld(std::size_t stations, const sim::MediumOptions& options, std::uint64_t seed,
           Config config = {}, std::size_t plain = 0)
      : rng_(seed), medium_(heap_, rng_.fork(), options) {
    for (std::size_t i = 0; i < stations; ++i) {
      auto station = std::make_unique<Station>(heap_);
      config.address = address(i);
      config.offer_extensions = config.offer_extensions && i + plain < stations;
      station->dts =
          std::make_unique<DataTransfer>(config, rng_, station->counters, station->trace);
      Station* self = station.get();
      station->port = medium_.add_station([this, self](const modem::Event& event) {
        self->dts->on_modem_event(heap_.now(), event);
        drain(*self);
      });
      stations_.push_back(std::move(station));
    }
    run_for(10s);  // every station listens before any sends
  }

  static Address address(std::size_t i) { return {0x01020300u + static_cast<std::uint32_t>(i)}; }
  Station& operator[](std::size_t i) { return *stations_[i]; }
  sim::Medium& medium() { return medium_; }
  Instant now() const { return heap_.now(); }

  void connect(std::size_t a, std::size_t b) {
    made(a, b);
    made(b, a);
  }
  void made(std::size_t at, std::size_t peer, bool reset = false) {
    stations_[at]->dts->on_connection_made(heap_.now(), address(peer), reset);
    drain(*stations_[at]);
  }
  void send(std::size_t from, std::size_t to, std::uint64_t id, Bytes cpdu,
            Service service = Service::arq, std::optional<Instant> ttd = {}) {
    request(from, {.id = {id},
                   .service = service,
                   .destination = address(to),
                   .cpdu = std::move(cpdu),
                   .time_to_die = ttd});
  }
  void request(std::size_t from, CpduRequest request) {
    stations_[from]->dts->request_cpdu(heap_.now(), std::move(request));
    drain(*stations_[from]);
  }
  Result<void> ask_for(std::size_t at, std::size_t peer, const modem::Mode& mode) {
    auto done = stations_[at]->dts->request_data_rate(heap_.now(), address(peer), mode);
    drain(*stations_[at]);
    return done;
  }
  void silence(std::size_t at, bool on) {
    stations_[at]->dts->set_silent(heap_.now(), on);
    drain(*stations_[at]);
  }
  void run_for(Duration d) { heap_.run_for(d); }

 private:
  static void count(ByteSpan burst, std::array<std::size_t, 16>& by_type) {
    while (!burst.empty()) {
      const auto frame = pdu::decode(burst);
      S5066_ASSERT(frame.ok());
      ++by_type[pdu::type_of(frame->dpdu)];
      burst = burst.subspan(frame->octets);
    }
  }
  void drain(Station& station) {
    const auto take = [&](Action& action) {
      if (auto* command = std::get_if<modem::Command>(&action)) {
        if (const auto* burst = std::get_if<modem::TransmitBurst>(command)) {
          count(burst->bytes, station.dpdus_sent);
          station.bursts.push_back({heap_.now(), !burst->morse.empty()});
        }
        medium_.command(station.port, *command);
      } else if (auto* confirm = std::get_if<CpduConfirm>(&action)) {
        station.confirmed.push_back(confirm->id);
      } else if (auto* rejected = std::get_if<CpduRejected>(&action)) {
        station.rejected.push_back(*rejected);
      } else if (auto* indication = std::get_if<CpduIndication>(&action)) {
        station.received.push_back(std::move(*indication));
      } else if (auto* lost = std::get_if<ConnectionLost>(&action)) {
        station.lost.push_back(lost->peer);
      } else if (auto* warning = std::get_if<WarningReceived>(&action)) {
        station.warnings.push_back(*warning);
      } else if (auto* advice = std::get_if<DataRateAdvised>(&action)) {
        station.advised.push_back(*advice);
      } else if (auto* mode = std::get_if<TransmitModeChanged>(&action)) {
        station.modes.push_back(*mode);
      } else if (auto* refused = std::get_if<DataRateRefused>(&action)) {
        station.rates_refused.push_back(*refused);
      }
    };
    sim::take_all([&] { return station.dts->poll_action(); }, take);
    station.timer.arm(station.dts->next_deadline(), [this, &station] {
      station.dts->on_deadline(heap_.now());
      drain(station);
    });
  }

  sim::EventHeap heap_;
  Rng rng_;
  sim::Medium medium_;
  std::vector<std::unique_ptr<Station>> stations_;
};

inline Bytes pattern(std::size_t octets, std::uint64_t seed) {
  Rng rng(seed);
  Bytes out(octets);
  for (auto& octet : out) octet = static_cast<std::uint8_t>(rng.next());
  return out;
}

inline void expect_clean_air(DtsWorld& world) {
  EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
  EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
  EXPECT_EQ(world.medium().faults().eot_increased, 0u);
}

/// Makes twenty requests, of both kinds, from either of two connected stations, at random times
/// less than `seconds_apart` apart. Every C_PDU must arrive once, each kind in order, and none may
/// be confirmed that did not arrive.
inline void expect_both_kinds_once_and_in_order(DtsWorld& world, std::uint64_t seed,
                                                std::uint32_t seconds_apart) {
  world.connect(0, 1);
  Rng rng(seed);
  std::uint64_t id = 0;
  std::vector<Bytes> sent[2][2];  // by station, by kind
  for (int i = 0; i < 20; ++i) {
    const std::size_t from = rng.below(2);
    const bool expedited = rng.chance(0.5);
    const Bytes cpdu = pattern(1 + rng.below(2000), seed * 100 + ++id);
    world.send(from, 1 - from, id, cpdu, expedited ? Service::expedited_arq : Service::arq);
    sent[from][expedited].push_back(cpdu);
    world.run_for(std::chrono::seconds(rng.below(seconds_apart)));
  }
  world.run_for(std::chrono::hours(3));
  for (const std::size_t from : {0u, 1u}) {
    std::vector<Bytes> got[2];
    for (const auto& indication : world[1 - from].received) {
      got[indication.service == Service::expedited_arq].push_back(indication.cpdu);
    }
    ASSERT_EQ(got[0], sent[from][0]);
    ASSERT_EQ(got[1], sent[from][1]);
    EXPECT_EQ(world[from].confirmed.size(), sent[from][0].size() + sent[from][1].size());
    EXPECT_TRUE(world[from].rejected.empty());
  }
  expect_clean_air(world);
}

}  // namespace s5066::dts
