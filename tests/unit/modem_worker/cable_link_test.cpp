// SPDX-License-Identifier: Apache-2.0
// Two whole modems run on one cable, in lockstep.
#include <gtest/gtest.h>

#include <array>

#include "modem/api/airtime.h"
#include "modem/audio/cable_device.h"
#include "modem/audio/cable_hub.h"
#include "modem/worker/sample_time.h"
#include "s5066d/base/rng.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/modem_worker/fakes.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Runs a hub in a thread. In real time its delay is generous because other tests keep the machine
/// busy.
class Cable {
 public:
  explicit Cable(const CableMixer::Config& mixer = {}) { open(mixer); }
  ~Cable() { close(); }
  void open(const CableMixer::Config& mixer = {}, cable::Pace pace = cable::Pace::max) {
    hub_ = std::make_unique<CableHub>(CableHub::Config{
        .socket_path = folder_ / "cable", .pace = pace, .delay_blocks = 50, .mixer = mixer});
    EXPECT_TRUE(hub_->open().ok());
    thread_ = std::thread([this] { EXPECT_TRUE(hub_->run().ok()); });
  }
  void close() {
    if (!hub_) return;
    hub_->stop();
    thread_.join();
    hub_.reset();
  }
  std::unique_ptr<Device> end(std::uint16_t station) const {
    return std::make_unique<CableDevice>(
        CableDevice::Config{.socket_path = folder_ / "cable", .station = station});
  }
  CableCounters counters() const { return hub_->counters(); }

 private:
  test::TemporaryFolder folder_;
  std::unique_ptr<CableHub> hub_;
  std::thread thread_;
};

Bytes random_bytes(Rng& rng, std::size_t count) {
  Bytes bytes(count);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

/// One burst of a plan: its station and its earliest time. The bursts follow one another.
struct Planned {
  std::uint16_t station;
  TransmitBurst burst;
};

/// Plays one station's part of the plan until `end`. The station sends its own bursts. It sets the
/// receive mode by name for bursts of others whose preamble does not tell their mode.
LockstepStation::Node part_of(const std::vector<Planned>& plan, std::uint16_t station,
                              Instant end) {
  auto parts = std::make_shared<std::deque<std::pair<Instant, Command>>>();
  bool by_name = false;
  for (const Planned& planned : plan) {
    // The command comes 100 ms early, so that `not_before` decides the start.
    const Instant at = planned.burst.not_before - milliseconds(100);
    const Mode& mode = planned.burst.mode;
    if (planned.station == station) {
      parts->emplace_back(at, planned.burst);
    } else if (mode.waveform == Waveform::stanag4285 || by_name) {
      by_name = mode.waveform == Waveform::stanag4285;
      parts->emplace_back(at, SetReceiveModes{by_name ? std::vector{mode} : std::vector<Mode>{}});
    }
  }
  return [parts, end](LockstepStation& self, Instant now) {
    while (!parts->empty() && parts->front().first <= now) {
      EXPECT_TRUE(self.worker().request(parts->front().second).ok());
      parts->pop_front();
    }
    return now < end;
  };
}

/// Each mode goes both ways, or with sanitizers one way, now the one and now the other.
std::vector<Planned> every_mode_both_ways(std::uint64_t seed, Instant& end) {
  static constexpr std::array<std::uint16_t, 2> kBoth{0, 1};
  Rng rng(seed);
  std::size_t modes = 0;
  std::vector<Planned> plan;
  Instant at(milliseconds(500));
  for (const Mode& mode : all_modes()) {
    // The preamble announces these modes as the short interleaver, so stations must agree on them.
    if (mode.interleaver == Interleaver::zero && mode.rate_bps < 4800) continue;
    const auto ways = sim::kThinning > 1 ? std::span(kBoth).subspan(modes++ % 2, 1)
                                         : std::span<const std::uint16_t>(kBoth);
    for (const std::uint16_t station : ways) {
      const Duration jitter = std::chrono::nanoseconds(rng.below(40'000'000));
      TransmitBurst burst{.id = {plan.size() + 1},
                          .mode = mode,
                          .bytes = random_bytes(rng, 20 + rng.below(60)),
                          .not_before = at + jitter};
      at = burst.not_before + airtime(mode, burst.bytes.size()) + milliseconds(300);
      plan.push_back({station, std::move(burst)});
    }
  }
  end = at + seconds(1);
  return plan;
}

TEST(CableLink, bursts_of_every_mode_arrive_both_ways_with_exact_times) {
  const Cable cable;
  Instant end;
  const auto plan = every_mode_both_ways(5, end);
  LockstepStation a(cable.end(0), part_of(plan, 0, end));
  LockstepStation b(cable.end(1), part_of(plan, 1, end));
  ASSERT_TRUE(a.start().ok());
  ASSERT_TRUE(b.start().ok());
  a.join();
  b.join();
  for (const auto& [from, burst] : plan) {
    SCOPED_TRACE(to_string(burst.mode) + " from " + std::to_string(from));
    const LockstepStation& sender = from == 0 ? a : b;
    const LockstepStation& receiver = from == 0 ? b : a;
    // The burst starts at the first sample that is not before `not_before`.
    const auto started = sender.all<TransmitStarted>();
    const auto it = std::find_if(started.begin(), started.end(),
                                 [id = burst.id](const auto& e) { return e.id == id; });
    ASSERT_NE(it, started.end());
    EXPECT_EQ(it->at, sample_to_instant(instant_to_sample(burst.not_before)));
    const auto finished = sender.all<TransmitFinished>();
    const auto over = std::find_if(finished.begin(), finished.end(),
                                   [id = burst.id](const auto& e) { return e.id == id; });
    ASSERT_NE(over, finished.end());
    EXPECT_EQ(duration_to_samples(over->at - it->at),
              duration_to_samples(airtime(burst.mode, burst.bytes.size())));
    EXPECT_EQ(over->outcome, TransmitOutcome::sent);

    Bytes bytes;
    Duration first_bit = Duration::max();
    for (const auto& part : receiver.all<ReceivedBytes>()) {
      if (part.at < it->at || part.at > over->at + milliseconds(300)) continue;
      EXPECT_EQ(part.mode, burst.mode);
      append(bytes, part.bytes);
      first_bit = std::min(first_bit, part.first_bit_at - it->at);
    }
    EXPECT_EQ(bytes, burst.bytes);
    EXPECT_LT(std::chrono::abs(first_bit - preamble_duration(burst.mode)), milliseconds(2));
  }
  for (const LockstepStation* station : {&a, &b}) {
    const auto others = std::count_if(plan.begin(), plan.end(), [&](const Planned& planned) {
      return planned.station != (station == &a ? 0 : 1);
    });
    const auto downs = station->all<CarrierDown>();
    EXPECT_EQ(station->all<CarrierUp>().size(), downs.size());
    // Traffic without a preamble can be heard before its mode is known; the carrier is then
    // replaced.
    EXPECT_EQ(std::count_if(downs.begin(), downs.end(),
                            [](const CarrierDown& down) {
                              return down.reason != CarrierDownReason::replaced;
                            }),
              others);
    EXPECT_TRUE(station->all<Fault>().empty());
  }
}

/// Returns everything that station 1 was told, as text.
std::string history(std::uint64_t seed) {
  const Cable cable({.channel = CableChannel::watterson, .snr_db = 15, .seed = seed});
  std::vector<Planned> plan;
  Rng rng(1);
  for (std::uint64_t n = 0; n < 4; ++n) {
    plan.push_back({0,
                    {.id = {n},
                     .mode = {.rate_bps = 600, .interleaver = Interleaver::short_},
                     .bytes = random_bytes(rng, 60),
                     .not_before = Instant(seconds(1 + 4 * static_cast<int>(n)))}});
  }
  LockstepStation a(cable.end(0), part_of(plan, 0, Instant(seconds(18))));
  LockstepStation b(cable.end(1), part_of(plan, 1, Instant(seconds(18))));
  EXPECT_TRUE(b.start().ok());
  EXPECT_TRUE(a.start().ok());
  a.join();
  b.join();
  std::string text;
  for (const Event& event : b.events) {
    text += std::to_string(at(event).time_since_epoch().count());
    if (const auto* up = std::get_if<CarrierUp>(&event)) {
      text += " up " + std::to_string(up->snr_db) + " " + std::to_string(up->offset_hz);
    } else if (const auto* part = std::get_if<ReceivedBytes>(&event)) {
      text += " " + std::to_string(part->soft_quality) + " " + to_hex(part->bytes);
    }
    text += "\n";
  }
  return text;
}

TEST(CableLink, the_same_seed_gives_the_same_history_to_the_last_digit) {
  const std::string first = history(3);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(history(3), first);
  EXPECT_NE(history(4), first);
}

TEST(CableLink, a_station_killed_in_mid_burst_loses_its_burst_and_nothing_else) {
  const Cable cable;
  const Mode mode{.rate_bps = 300, .interleaver = Interleaver::short_};
  const auto send = [mode](std::uint64_t id) {
    return TransmitBurst{.id = {id}, .mode = mode, .bytes = Bytes(100, 0x55)};
  };
  std::atomic<bool> carrier{false};
  std::atomic<bool> carrier_lost{false};
  std::atomic<bool> done{false};
  LockstepStation survivor(cable.end(1), [&](LockstepStation& self, Instant) {
    carrier = !self.all<CarrierUp>().empty();
    carrier_lost = !self.all<CarrierDown>().empty();
    done = self.all<CarrierUp>().size() == 2 && self.all<CarrierDown>().size() == 2;
    return true;
  });
  ASSERT_TRUE(survivor.start().ok());
  auto victim =
      std::make_unique<LockstepStation>(cable.end(0), [&](LockstepStation& self, Instant now) {
        if (now == Instant(milliseconds(20))) {
          EXPECT_TRUE(self.worker().request(send(1)).ok());
        }
        return true;
      });
  ASSERT_TRUE(victim->start().ok());
  ASSERT_TRUE(eventually([&] { return carrier.load(); }));
  victim->kill();
  victim.reset();
  ASSERT_TRUE(eventually([&] { return cable.counters()[CableCounter::stations_lost] == 1; }));
  const std::uint64_t blocks = cable.counters()[CableCounter::blocks];
  // The next process finds the cable in a usable state, and another burst gets through.
  LockstepStation successor(cable.end(0), [&](LockstepStation& self, Instant) {
    if (carrier_lost && self.all<TransmitStarted>().empty()) {
      static_cast<void>(self.worker().request(send(2)));
    }
    return true;
  });
  ASSERT_TRUE(successor.start().ok());
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  successor.kill();
  survivor.kill();
  EXPECT_GE(cable.counters()[CableCounter::blocks], blocks);
  const auto downs = survivor.all<CarrierDown>();
  ASSERT_EQ(downs.size(), 2U);
  EXPECT_EQ(downs[0].reason, CarrierDownReason::lost);
  EXPECT_EQ(downs[1].reason, CarrierDownReason::end_of_message);
}

TEST(CableLink, a_hub_that_comes_back_is_found_again_by_both) {
  Cable cable;
  const Worker::Config config{.reopen_delay = milliseconds(5)};
  const auto on_and_on = [](LockstepStation&, Instant) { return true; };
  LockstepStation a(cable.end(0), on_and_on, config);
  LockstepStation b(cable.end(1), on_and_on, config);
  ASSERT_TRUE(a.start().ok());
  ASSERT_TRUE(b.start().ok());
  ASSERT_TRUE(eventually([&] { return cable.counters()[CableCounter::blocks] > 10; }));
  cable.close();
  ASSERT_TRUE(eventually([&] {
    return a.worker().state().counters[ModemCounter::device_losses] == 1 &&
           b.worker().state().counters[ModemCounter::device_losses] == 1;
  }));
  const Instant before = a.worker().now();
  cable.open();
  ASSERT_TRUE(eventually([&] { return cable.counters()[CableCounter::blocks] > 10; }));
  EXPECT_GT(a.worker().now(), before);
  a.kill();
  b.kill();
  ASSERT_EQ(a.all<Fault>().size(), 2U);
  EXPECT_EQ(a.all<Fault>()[0].kind, FaultKind::device_lost);
  EXPECT_EQ(a.all<Fault>()[1].kind, FaultKind::device_back);
}

TEST(CableLink, in_real_time_a_burst_arrives_both_ways) {
  Cable cable;
  cable.close();
  cable.open({}, cable::Pace::real);
  struct Side {
    std::unique_ptr<Worker> worker;
    Bytes received;
    std::optional<TransmitFinished> finished;
    bool ended = false;
    void drain() {
      while (auto event = worker->poll_event()) {
        if (const auto* part = std::get_if<ReceivedBytes>(&*event)) append(received, part->bytes);
        if (const auto* done = std::get_if<TransmitFinished>(&*event)) finished = *done;
        if (std::holds_alternative<CarrierDown>(*event)) ended = true;
      }
    }
  };
  std::array<Side, 2> sides;
  for (std::uint16_t n = 0; n < 2; ++n) {
    // A busy machine that gives them no time must not look like lost samples.
    const Worker::Config config{.sample_clock = {.loss_window = std::chrono::hours(1)}};
    sides[n].worker =
        std::make_unique<Worker>(config, cable.end(n), std::make_unique<NoPtt>(), [] {});
    ASSERT_TRUE(sides[n].worker->start().ok());
    EXPECT_FALSE(sides[n].worker->lockstep());
  }
  Rng rng(9);
  for (std::size_t from = 0; from < 2; ++from) {
    Side& sender = sides[from];
    Side& receiver = sides[1 - from];
    const Mode mode{.rate_bps = 2400, .interleaver = Interleaver::short_};
    const Bytes bytes = random_bytes(rng, 100);
    ASSERT_TRUE(sender.worker->request(TransmitBurst{.mode = mode, .bytes = bytes}).ok());
    EXPECT_TRUE(eventually([&] {
      sender.drain();
      receiver.drain();
      return sender.finished && receiver.ended;
    }));
    EXPECT_EQ(sender.finished->outcome, TransmitOutcome::sent);
    EXPECT_EQ(receiver.received, bytes);
  }
}

}  // namespace
}  // namespace s5066::modem
