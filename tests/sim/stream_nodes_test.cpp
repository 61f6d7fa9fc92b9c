// SPDX-License-Identifier: Apache-2.0
// Measures streams as they run in service: each core is a client of a whole node on the simulated
// channel.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
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

/// Two stations that open streams. What a station gets on a stream whose port is kAnswered it
/// answers octet for octet.
class StreamNodes {
 public:
  static constexpr std::uint16_t kBulk = 1;
  static constexpr std::uint16_t kAnswered = 2;
  static constexpr std::size_t kAlpha = 0;
  static constexpr std::size_t kBravo = 1;

  StreamNodes(sim::Seed seed, const modem::Mode& mode, const sim::MediumOptions& medium = {},
              const NodeConfig& node = {})
      : world_(seed, {.medium = medium, .mode = mode, .node = node}) {
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

  StreamId open(std::uint16_t port, std::size_t from = kAlpha) {
    const auto id = ends_[from].core->request_open(world_.now(), sim::World::address(1 - from),
                                                   {"server", port}, false);
    EXPECT_TRUE(id.ok());
    return *id;
  }
  /// Writes the next octets of a noise, which do not compress, nor do those that answer them.
  std::size_t write(StreamId id, std::size_t octets, std::size_t from = kAlpha) {
    static const Bytes noise = [] {
      Rng rng(1);
      Bytes made(1024 * 1024);
      for (std::uint8_t& octet : made) octet = static_cast<std::uint8_t>(rng.next());
      return made;
    }();
    if (octets > noise.size() - next_) next_ = 0;
    const ByteSpan part = ByteSpan(noise).subspan(next_, octets);
    const std::size_t taken = ends_[from].core->request_write(world_.now(), id, part);
    next_ += taken;
    return taken;
  }
  /// Octets that have come on all bulk streams, and back to Alpha on a stream.
  std::uint64_t bulk_arrived() const { return bulk_arrived_; }
  std::uint64_t answered(StreamId id) { return answered_[id]; }
  /// At both ends.
  std::size_t octets_held() const {
    return ends_[kAlpha].core->octets_held() + ends_[kBravo].core->octets_held();
  }

  void run_for(Duration d) {
    for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(50ms)) {
      for (End& one : ends_) serve(one);
    }
  }
  /// A stream that is kept full.
  struct Bulk {
    StreamId id;
    std::size_t from = kAlpha;
  };
  /// Returns when `octets` have come back on `answered` or after the limit.
  Duration run_until_answered(StreamId answered, std::uint64_t octets, Duration limit,
                              const std::optional<Bulk>& bulk = {}) {
    const Instant begin = world_.now();
    while (answered_[answered] < octets && world_.now() - begin < limit) {
      if (bulk) write(bulk->id, 65536, bulk->from);
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
    end.client->serve(*end.core, [&](const streams::Action& action) {
      if (const auto* opened = std::get_if<streams::Opened>(&action)) {
        end.ports[opened->id] = opened->target.port;
      } else if (const auto* arrived = std::get_if<streams::Arrived>(&action)) {
        arrive(end, *arrived);
      }
    });
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
  std::size_t next_ = 0;  // in the noise
  std::uint64_t bulk_arrived_ = 0;
  std::map<StreamId, std::uint64_t> answered_;
};

modem::Mode mode_of(unsigned rate_bps) {
  const std::string rate = std::to_string(rate_bps);
  return *modem::parse_mode(rate_bps > 2400 ? "4539-" + rate + "-s" : "110a-" + rate + "-short");
}

/// Shares of the line that a bulk stream and a plain client reach.
struct BulkShares {
  double stream = 0;
  double arq = 0;
};

/// Counts over the last nine tenths of `time`; step() keeps the line busy for a second.
double share_of_line(sim::World& world, unsigned rate_bps, Duration time,
                     const std::function<void()>& step,
                     const std::function<std::uint64_t()>& octets) {
  const Instant begin = world.now();
  Instant since = begin;
  std::uint64_t before = 0;
  while (world.now() - begin < time) {
    step();
    if (world.now() - begin >= time / 10) continue;
    before = octets();
    since = world.now();
  }
  return 8 * static_cast<double>(octets() - before) / rate_bps / to_seconds(world.now() - since);
}

double stream_share(unsigned rate_bps, Duration time, const sim::MediumOptions& medium,
                    const NodeConfig& node = {}) {
  StreamNodes nodes(1, mode_of(rate_bps), medium, node);
  nodes.run_for(10s);
  const StreamId id = nodes.open(StreamNodes::kBulk);
  return share_of_line(
      nodes.world(), rate_bps, time,
      [&] {
        nodes.write(id, 512 * 1024);
        nodes.run_for(1s);
      },
      [&] { return nodes.bulk_arrived(); });
}

/// A client that hands over U_PDUs of full size as long as its node takes them.
double arq_share(unsigned rate_bps, Duration time, const sim::MediumOptions& medium,
                 const NodeConfig& node = {}, std::size_t updus_inside = 150) {
  constexpr std::size_t kUpduOctets = 2048;
  sim::World world(1, {.medium = medium, .mode = mode_of(rate_bps), .node = node});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  return share_of_line(
      world, rate_bps, time,
      [&] {
        while (!alpha.flow_off() && alpha.sent().size() < bravo.received().size() + updus_inside) {
          world.send(alpha, 1, kUpduOctets, 24h);
        }
        world.run_for(1s);
      },
      [&] { return std::uint64_t{kUpduOctets} * bravo.received().size(); });
}

BulkShares bulk(unsigned rate_bps, Duration time, const sim::MediumOptions& medium = {}) {
  const BulkShares shares{stream_share(rate_bps, time, medium), arq_share(rate_bps, time, medium)};
  std::printf("%u bit/s, losses %.0f %%: bulk stream %.1f %% of the line, plain ARQ %.1f %%\n",
              rate_bps, 100 * medium.data_loss, 100 * shares.stream, 100 * shares.arq);
  return shares;
}

class BulkStream : public ::testing::TestWithParam<std::pair<unsigned, Duration>> {};

TEST_P(BulkStream, fills_the_line) {
  EXPECT_GE(bulk(GetParam().first, GetParam().second).stream, 0.85);
}
TEST_P(BulkStream, has_nine_tenths_of_plain_arq_under_losses) {
  const BulkShares shares = bulk(GetParam().first, GetParam().second, {.data_loss = 0.2});
  EXPECT_GE(shares.stream, 0.9 * shares.arq);
}
INSTANTIATE_TEST_SUITE_P(Rates, BulkStream,
                         ::testing::Values(std::pair<unsigned, Duration>(75, 24h),
                                           std::pair<unsigned, Duration>(300, 6h),
                                           std::pair<unsigned, Duration>(1200, 3h),
                                           std::pair<unsigned, Duration>(2400, 2h),
                                           std::pair<unsigned, Duration>(9600, 1h)),
                         [](const auto& one) { return "at_" + std::to_string(one.param.first); });

// The floor is a U_PDU of a plain client over a link that is yet to be made.
TEST(StreamNodes, the_first_octets_of_a_stream_come_as_soon_as_those_of_a_plain_client) {
  for (const unsigned rate_bps : {75u, 1200u, 9600u}) {
    sim::World world(1, {.mode = mode_of(rate_bps)});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10s);
    const Instant sent = world.now();
    world.send(alpha, 1, 200, 1h);
    while (bravo.received().empty() && world.now() - sent < 10min) world.run_for(100ms);
    const Duration floor = world.now() - sent;
    StreamNodes nodes(1, mode_of(rate_bps));
    nodes.run_for(10s);
    const Instant opened = nodes.world().now();
    nodes.write(nodes.open(StreamNodes::kBulk), 200);
    while (nodes.bulk_arrived() == 0 && nodes.world().now() - opened < 10min) nodes.run_for(100ms);
    const Duration took = nodes.world().now() - opened;
    std::printf("first octets at %u bit/s: plain client %.1f s, stream %.1f s\n", rate_bps,
                to_seconds(floor), to_seconds(took));
    // The header, the name of the server and the frame are octets that a plain U_PDU has not.
    EXPECT_LE(to_seconds(took), to_seconds(floor) + 1 + 8.0 * 40 / rate_bps);
  }
}

TEST(StreamNodes, two_hundred_streams_at_once_are_answered) {
  StreamNodes nodes(3, mode_of(9600));
  nodes.run_for(10s);
  std::vector<StreamId> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(nodes.open(StreamNodes::kAnswered));
    nodes.write(ids.back(), 1000);
  }
  const auto all = [&] {
    return std::all_of(ids.begin(), ids.end(),
                       [&](StreamId id) { return nodes.answered(id) == 1000; });
  };
  const Instant begin = nodes.world().now();
  std::size_t held = 0;
  while (!all() && nodes.world().now() - begin < 2h) {
    nodes.run_for(1s);
    held = std::max(held, nodes.octets_held());
  }
  EXPECT_TRUE(all());
  std::printf("200 streams, 1000 octets each and back at 9600 bit/s: %.0f s, %zu octets held\n",
              to_seconds(nodes.world().now() - begin), held);
  EXPECT_LE(held, 2 * 200 * 1100u);
}

// bench_arq_loss has segments of a fixed length. The default node shortens its segments under
// losses, as it must where bits go wrong, and shorter ones carry more headers; on the simulated
// channel a segment is lost as often whatever its length.
TEST(StreamNodes, a_bulk_stream_has_nine_tenths_of_plain_arq_on_the_node_of_the_arq_bench) {
  constexpr std::size_t kQueueOctetsMax = std::size_t{4} << 20;
  constexpr std::size_t kUpdusInside = 1000;
  for (const auto& [rate_bps, segment_octets, time] :
       {std::tuple(1200u, 200u, Duration(8h)), std::tuple(2400u, 400u, Duration(4h)),
        std::tuple(9600u, 400u, Duration(1h))}) {
    NodeConfig node;
    node.dts.segment_octets = segment_octets;
    node.sap.queue.client_octets_max = node.sap.queue.lent_octets_max = kQueueOctetsMax;
    node.sap.link_outstanding_octets_max = kQueueOctetsMax;
    const sim::MediumOptions medium{.data_loss = 0.2};
    const double stream = stream_share(rate_bps, time, medium, node);
    const double arq = arq_share(rate_bps, time, medium, node, kUpdusInside);
    std::printf(
        "%u bit/s, segments of %u octets, losses 20 %%: bulk stream %.1f %% of the line, plain ARQ "
        "%.1f %%\n",
        rate_bps, segment_octets, 100 * stream, 100 * arq);
    EXPECT_GE(stream, 0.9 * arq);
  }
}

enum class Beside { nothing, bulk_with_the_request, bulk_against_the_request };

/// Times of forty exchanges of 200 octets on one stream at 1200 bit/s, in the order in which they
/// began. The bulk stream has run alone for `settle` before the first one.
std::vector<Duration> exchanges(Beside beside, Duration settle = 150s) {
  StreamNodes nodes(2, mode_of(1200));
  nodes.run_for(10s);
  const StreamId asked = nodes.open(StreamNodes::kAnswered);
  nodes.write(asked, 200);
  const Duration first = nodes.run_until_answered(asked, 200, 10min);
  std::optional<StreamNodes::Bulk> bulk;
  if (beside == Beside::nothing) {
    std::printf("first exchange, link to be made: %.1f s\n", to_seconds(first));
  } else {
    const std::size_t from =
        beside == Beside::bulk_with_the_request ? StreamNodes::kAlpha : StreamNodes::kBravo;
    bulk = StreamNodes::Bulk{nodes.open(StreamNodes::kBulk, from), from};
  }
  const auto wait = [&](Duration time) {
    nodes.run_until_answered(asked, ~std::uint64_t{0}, time, bulk);
  };
  wait(settle);
  const std::uint64_t bulk_before = nodes.bulk_arrived();
  const Instant begin = nodes.world().now();
  std::vector<Duration> times;
  for (std::uint64_t i = 2; i <= 41; ++i) {
    wait(from_seconds(12.5 + double(i * 7 % 26)));
    nodes.write(asked, 200);
    times.push_back(nodes.run_until_answered(asked, 200 * i, 30min, bulk));
  }
  const double bulk_bps = 8 * static_cast<double>(nodes.bulk_arrived() - bulk_before) /
                          to_seconds(nodes.world().now() - begin);
  if (bulk) std::printf("bulk stream meanwhile: %.1f %% of the line\n", bulk_bps / 12);
  return times;
}

double percentile(std::vector<Duration> times, std::size_t percent) {
  std::sort(times.begin(), times.end());
  return to_seconds(times[(times.size() - 1) * percent / 100]);
}

// A request of 200 octets and its answer, on a stream that is open, beside a full bulk stream in
// either direction. The first one comes when small data was last sent 150 s or 6 minutes before.
TEST(StreamNodes, an_exchange_beside_a_bulk_stream_waits_for_a_short_transmission) {
  const double idle = percentile(exchanges(Beside::nothing), 95);
  for (const Beside beside : {Beside::bulk_with_the_request, Beside::bulk_against_the_request}) {
    for (const Duration settle : {Duration(150s), Duration(6min)}) {
      auto busy = exchanges(beside, settle);
      const double first = to_seconds(busy.front());
      busy.erase(busy.begin());
      std::printf(
          "exchange of 200 octets at 1200 bit/s: idle p95 %.1f s; beside a bulk stream %s, after "
          "%.0f s without small data, first %.1f s, then median %.1f s, p95 %.1f s, longest %.1f s"
          "\n",
          idle,
          beside == Beside::bulk_with_the_request ? "with the request" : "against the request",
          to_seconds(settle), first, percentile(busy, 50), percentile(busy, 95),
          percentile(busy, 100));
      // An idle exchange is one turn of the link there and back. Two further ones are the limit.
      EXPECT_LE(percentile(busy, 95), 3 * idle);
      EXPECT_LE(first, idle + to_seconds(streams::StreamsConfig().bulk_before_small));
    }
  }
}

}  // namespace
}  // namespace s5066
