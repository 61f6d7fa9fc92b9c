// SPDX-License-Identifier: Apache-2.0
// Measures streams as they run in service: each core is a client of a whole node on the simulated
// channel.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateways/streams/streams_core.h"
#include "modem/api/modes.h"
#include "tests/sim/gateway_client.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using streams::StreamId;
using streams::StreamsCore;

/// Two stations. Alpha opens streams; what Bravo gets on a stream whose port is kAnswered it
/// answers octet for octet.
class StreamNodes {
 public:
  static constexpr std::uint16_t kBulk = 1;
  static constexpr std::uint16_t kAnswered = 2;
  static constexpr std::size_t kAlpha = 0;
  static constexpr std::size_t kBravo = 1;

  StreamNodes(sim::Seed seed, const std::string& mode, sim::MediumOptions medium = {})
      : world_(seed, {.medium = medium, .mode = *modem::parse_mode(mode)}) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      ends_[i].core = std::make_unique<StreamsCore>(streams::StreamsConfig(), seed + i);
      ends_[i].client = std::make_unique<sim::GatewayClient>(world_, i, SapId{9});
      ends_[i].core->on_sis(world_.now(), gateways::SisBound{2048});
    }
    world_.take_primitive = [this](sim::Client& client, const sis::Primitive& primitive) {
      for (End& end : ends_) {
        if (end.client->is(client)) return end.client->note(primitive);
      }
      return false;
    };
  }

  StreamId open(std::uint16_t port) {
    const auto id = ends_[kAlpha].core->request_open(world_.now(), sim::World::address(kBravo),
                                                     {"server", port}, false);
    EXPECT_TRUE(id.ok());
    return *id;
  }
  std::size_t write(StreamId id, std::size_t octets) {
    return ends_[kAlpha].core->request_write(world_.now(), id, Bytes(octets, 'x'));
  }
  /// Octets that have come to Bravo on all bulk streams, and back to Alpha on a stream.
  std::uint64_t bulk_arrived() const { return bulk_arrived_; }
  std::uint64_t answered(StreamId id) { return answered_[id]; }

  void run_for(Duration d) {
    for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(100ms)) {
      for (End& one : ends_) serve(one);
    }
  }
  /// Keeps a bulk stream full, and returns when `octets` have come back on `answered` or after the
  /// limit.
  Duration run_until_answered(StreamId answered, std::uint64_t octets, Duration limit,
                              std::optional<StreamId> bulk = {}) {
    const Instant begin = world_.now();
    while (answered_[answered] < octets && world_.now() - begin < limit) {
      if (bulk) write(*bulk, 65536);
      run_for(100ms);
    }
    return world_.now() - begin;
  }
  sim::World& world() { return world_; }

 private:
  struct End {
    std::unique_ptr<StreamsCore> core;
    std::unique_ptr<sim::GatewayClient> client;
    std::map<StreamId, std::uint16_t> ports;
  };

  void serve(End& end) {
    const Instant now = world_.now();
    if (const auto next = end.core->next_deadline(); next && *next <= now) {
      end.core->on_deadline(now);
    }
    for (;;) {
      while (auto action = end.core->poll_action()) {
        if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
          end.client->send(std::move(*updu));
        } else if (const auto* opened = std::get_if<streams::Opened>(&*action)) {
          end.ports[opened->id] = opened->target.port;
        } else if (const auto* arrived = std::get_if<streams::Arrived>(&*action)) {
          arrive(end, *arrived);
        }
      }
      const auto event = end.client->poll_news();
      if (!event) break;
      end.core->on_sis(now, *event);
    }
  }
  void arrive(End& end, const streams::Arrived& arrived) {
    end.core->request_consumed(world_.now(), arrived.id, arrived.octets.size());
    const auto port = end.ports.find(arrived.id);
    if (port == end.ports.end()) {
      answered_[arrived.id] += arrived.octets.size();
    } else if (port->second == kBulk) {
      bulk_arrived_ += arrived.octets.size();
    } else {
      end.core->request_write(world_.now(), arrived.id, arrived.octets);
    }
  }

  sim::World world_;
  std::array<End, 2> ends_;
  std::uint64_t bulk_arrived_ = 0;
  std::map<StreamId, std::uint64_t> answered_;
};

/// Sends as much as possible on one stream for this long, and returns the share of the line once
/// the first tenth of the time is over.
double bulk_share(unsigned rate_bps, Duration time, sim::MediumOptions medium = {}) {
  StreamNodes nodes(1, "110a-" + std::to_string(rate_bps) + (rate_bps == 9600 ? "" : "-short"),
                    medium);
  nodes.run_for(10s);
  const StreamId id = nodes.open(StreamNodes::kBulk);
  const Instant begin = nodes.world().now();
  std::uint64_t before = 0;
  Instant since = begin;
  while (nodes.world().now() - begin < time) {
    nodes.write(id, 65536);
    nodes.run_for(1s);
    if (nodes.world().now() - begin < time / 10) {
      before = nodes.bulk_arrived();
      since = nodes.world().now();
    }
  }
  const double octets = static_cast<double>(nodes.bulk_arrived() - before);
  const double share = 8 * octets / rate_bps / to_seconds(nodes.world().now() - since);
  std::printf("bulk stream at %u bit/s: %.1f %% of the line\n", rate_bps, 100 * share);
  return share;
}

TEST(StreamNodes, a_bulk_stream_fills_the_line_at_75) {
  EXPECT_GE(bulk_share(75, 24h), 0.85);
}
TEST(StreamNodes, a_bulk_stream_fills_the_line_at_300) {
  EXPECT_GE(bulk_share(300, 6h), 0.85);
}
TEST(StreamNodes, a_bulk_stream_fills_the_line_at_1200) {
  EXPECT_GE(bulk_share(1200, 3h), 0.85);
}
TEST(StreamNodes, a_bulk_stream_fills_the_line_at_2400) {
  EXPECT_GE(bulk_share(2400, 2h), 0.85);
}

// A request of 200 octets and its answer, on a stream that is open, beside a full bulk stream. The
// bulk stream is the other way round in most uses; here both compete for the same transmissions.
TEST(StreamNodes, an_exchange_beside_a_bulk_stream_waits_for_one_transmission) {
  std::vector<Duration> idle;
  std::vector<Duration> busy;
  for (const bool with_bulk : {false, true}) {
    StreamNodes nodes(2, "110a-1200-short");
    nodes.run_for(10s);
    const StreamId asked = nodes.open(StreamNodes::kAnswered);
    nodes.write(asked, 200);
    const Duration first = nodes.run_until_answered(asked, 200, 10min);
    if (!with_bulk) std::printf("first exchange, link to be made: %.1f s\n", to_seconds(first));
    std::optional<StreamId> bulk;
    if (with_bulk) {
      bulk = nodes.open(StreamNodes::kBulk);
      nodes.run_until_answered(asked, ~std::uint64_t{0}, 20min, bulk);
    }
    for (std::uint64_t i = 2; i <= 41; ++i) {
      nodes.run_until_answered(asked, ~std::uint64_t{0}, from_seconds(20.0 + double(i) * 1.7),
                               bulk);
      nodes.write(asked, 200);
      (with_bulk ? busy : idle).push_back(nodes.run_until_answered(asked, 200 * i, 30min, bulk));
    }
  }
  std::sort(idle.begin(), idle.end());
  std::sort(busy.begin(), busy.end());
  const auto at = [](const std::vector<Duration>& list, std::size_t percent) {
    return to_seconds(list[(list.size() - 1) * percent / 100]);
  };
  std::printf(
      "exchange of 200 octets at 1200 bit/s: idle median %.1f s, p95 %.1f s; "
      "beside a bulk stream median %.1f s, p95 %.1f s\n",
      at(idle, 50), at(idle, 95), at(busy, 50), at(busy, 95));
  EXPECT_LT(at(busy, 95), 2 * 120.0);
}

}  // namespace
}  // namespace s5066
