// SPDX-License-Identifier: Apache-2.0
// Runs hours of two modems on a bad channel, faster than real time: the modem's worker with its
// thread, a sound card that loses and repeats blocks and is sometimes lost itself, clocks up to 100
// ppm apart, a key that fails, and channels with noise, fading, static and outages. The bursts have
// every mode, any length and any gap, and some collide with those of the other station. All is
// drawn from the seed. Each hour prints the bursts sent, their outcome, and the memory of the
// process.
//
// The program ends with an error if a key stays down for longer than its burst, a burst has no end,
// a receiver is busy 20 s after the last signal, an event is lost or out of order, an undisturbed
// burst (fixed path, 35 dB) is lost or wrong, or memory grows after the first hour. The run does
// not test the worker's watchdog against a thread that hangs, because the watchdog is off while the
// sound card waits for us.
// for us, it is off.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/bench/common/arguments.h"
#include "tests/bench/common/machine.h"
#include "tests/bench/modem_soak/line.h"
#include "tests/bench/modem_soak/station.h"

namespace s5066::modem {
namespace {

constexpr double kSkewMaxPpm = 100;
constexpr std::size_t kBlocksInFlight = 2;
/// Limit for the least memory in use of a later hour, minus the least of the first hour.
constexpr double kGrowthMaxKib = 1024;

struct Memory {
  double resident_kib = 0;
  double in_use_kib = 0;  // the least while both stations were idle
};

double heap_in_use_kib() {
  return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) / 1024;
}

class Soak {
 public:
  explicit Soak(std::uint64_t seed)
      : rng_(seed),
        ab_(rng_.fork()),
        ba_(rng_.fork()),
        a_("a", rng_.fork(), counts_),
        b_("b", rng_.fork(), counts_) {
    begin_scene();
    const std::vector<float> silence(kBlocksInFlight * kBlockSamples);
    ab_.send(silence);
    ba_.send(silence);
  }

  /// Runs until station a's sound card has passed `until` samples.
  Memory run(std::uint64_t until) {
    Memory memory;
    memory.in_use_kib = -1;
    for (std::uint64_t steps = 0; done_ < until; ++steps) {
      if (done_ >= scene_end_) begin_scene();
      if (ba_.has(kBlockSamples)) {
        a_.step(ba_, ab_, b_);
        done_ += kBlockSamples;
      }
      if (ab_.has(kBlockSamples)) {
        b_.step(ab_, ba_, a_);
      } else if (!ba_.has(kBlockSamples)) {
        // The filters that begin with a scene hold some samples back.
        ab_.send(std::vector<float>(kBlockSamples));
      }
      if (steps % 50 != 0 || !a_.idle() || !b_.idle()) continue;
      const double in_use = heap_in_use_kib();
      if (memory.in_use_kib < 0 || in_use < memory.in_use_kib) memory.in_use_kib = in_use;
    }
    memory.resident_kib = static_cast<double>(bench::resident_kib(::getpid()));
    return memory;
  }

  void end() {
    a_.count_lost_events();
    b_.count_lost_events();
  }
  const Counts& counts() const { return counts_; }

 private:
  void begin_scene() {
    const Scene scene = draw_scene(rng_);
    const double skew = kSkewMaxPpm * (2 * rng_.uniform() - 1);
    ab_.begin(scene, skew);
    ba_.begin(scene, -skew);
    a_.set_scene(scene);
    b_.set_scene(scene);
    scene_end_ = done_ + scene.samples;
  }

  Rng rng_;
  Counts counts_;
  Line ab_;
  Line ba_;
  Station a_;
  Station b_;
  std::uint64_t done_ = 0;
  std::uint64_t scene_end_ = 0;
};

void print(double hours, const Counts& c, const Memory& memory, double x_real_time, bool json) {
  using Value = unsigned long long;
  const std::vector<std::pair<const char*, std::uint64_t>> values = {
      {"bursts", c.bursts},
      {"refused", c.refused},
      {"cut", c.cut},
      {"talked_over", c.talked_over},
      {"xruns", c.xruns},
      {"xruns_keyed", c.xruns_keyed},
      {"device_losses", c.device_losses},
      {"key_failures", c.key_failures},
      {"whole", c.whole},
      {"lost_disturbed", c.lost_disturbed},
      {"lost_undisturbed", c.lost_undisturbed},
      {"blocks", c.blocks},
      {"blocks_wrong_and_marked", c.blocks_wrong_and_marked},
      {"blocks_wrong_disturbed", c.blocks_wrong_disturbed},
      {"blocks_wrong_undisturbed", c.blocks_wrong_undisturbed},
      {"blocks_of_nothing", c.blocks_of_nothing},
      {"keys_stuck", c.keys_stuck},
      {"bursts_without_end", c.bursts_without_end},
      {"hangs", c.hangs},
      {"events_out_of_order", c.events_out_of_order},
      {"events_lost", c.events_lost},
      {"clock_errors", c.clock_errors},
  };
  std::printf(json ? "{\"bench\":\"modem_soak\",\"hours\":%.2f" : "%.2f h:", hours);
  for (const auto& [name, value] : values) {
    std::printf(json ? ",\"%s\":%llu" : " %s %llu,", name, static_cast<Value>(value));
  }
  std::printf(json ? ",\"busy_longest_s\":%.2f,\"keyed_beyond_most_s\":%.3f,\"resident_kib\":%.0f,"
                     "\"heap_in_use_kib\":%.0f,\"x_real_time\":%.1f}\n"
                   : " busy for %.2f s at most, keyed %.3f s beyond at most, resident %.0f KiB, in "
                     "use %.0f KiB, %.1f x real time\n",
              c.busy_longest_s, c.keyed_beyond_most_s, memory.resident_kib, memory.in_use_kib,
              x_real_time);
  std::fflush(stdout);
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(argc, argv, {"hours", "seed"}, {"json"});
  const double hours = arguments.number("hours", 1);
  const double step = std::min(1.0, hours / 4);
  Soak soak(static_cast<std::uint64_t>(arguments.number("seed", 1)));
  const double began = s5066::bench::now_s();
  std::vector<Memory> memory;
  for (double at = step; at < hours + step / 2; at += step) {
    memory.push_back(soak.run(static_cast<std::uint64_t>(at * 3600 * kSampleRate)));
    print(at, soak.counts(), memory.back(), 3600 * at / (s5066::bench::now_s() - began),
          arguments.has("json"));
  }
  soak.end();
  // In the first hour the buffers grow to the size that the longest burst of each mode needs.
  const double growth_kib = step < 1 ? 0 : memory.back().in_use_kib - memory.front().in_use_kib;
  const bool grows = growth_kib > kGrowthMaxKib;
  if (grows) std::fprintf(stderr, "memory in use grew by %.0f KiB\n", growth_kib);
  return soak.counts().failures() > 0 || grows ? 1 : 0;
}
