// SPDX-License-Identifier: Apache-2.0
// Measures how many times faster than real time two whole modems run in lockstep on one audio
// cable, idle and with one of them always sending. The reference is the bare cable: blocks of
// silence without any modem. Times are wall time, because hub and modems share the processors; each
// figure is the median of several runs.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/audio/cable_device.h"
#include "modem/audio/cable_hub.h"
#include "modem/ptt/ptt.h"
#include "modem/worker/worker.h"
#include "tests/bench/common/arguments.h"

namespace s5066::modem {
namespace {

const Mode kMode{.rate_bps = 2400, .interleaver = Interleaver::short_};
constexpr std::size_t kBurstOctets = 1500;

struct Hub {
  explicit Hub(CableChannel channel) {
    std::string pattern = "/tmp/s5066-bench-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    hub = std::make_unique<CableHub>(CableHub::Config{.socket_path = directory + "/cable",
                                                      .pace = cable::Pace::max,
                                                      .mixer = {.channel = channel, .snr_db = 20}});
    if (!hub->open()) std::abort();
    thread = std::thread([this] { static_cast<void>(hub->run()); });
  }
  ~Hub() {
    hub->stop();
    thread.join();
    std::filesystem::remove_all(directory);
  }
  std::unique_ptr<Device> end(std::uint16_t station) const {
    return std::make_unique<CableDevice>(
        CableDevice::Config{.socket_path = directory + "/cable", .station = station});
  }

  std::string directory;
  std::unique_ptr<CableHub> hub;
  std::thread thread;
};

void run_both(const std::function<void(std::uint16_t)>& station) {
  std::thread other([&] { station(1); });
  station(0);
  other.join();
}

void bare_station(Device& device, Instant end) {
  if (!device.open()) std::abort();
  std::vector<float> block(device.info().block_samples);
  const auto blocks = end.time_since_epoch() / std::chrono::milliseconds(20);
  for (auto n = blocks; n > 0;) {
    if (!device.receive(block)) continue;
    std::fill(block.begin(), block.end(), 0.0F);
    if (!device.transmit(false, block)) std::abort();
    --n;
  }
}

/// Runs a node that releases its worker at once, and sends burst after burst if `sends`.
void modem_station(std::unique_ptr<Device> device, bool sends, Instant end) {
  std::mutex mutex;
  std::condition_variable wake;
  bool notified = false;
  Worker worker({}, std::move(device), std::make_unique<NoPtt>(), [&] {
    const std::lock_guard lock(mutex);
    notified = true;
    wake.notify_one();
  });
  if (!worker.start()) std::abort();
  bool sending = false;
  for (Instant now; now < end; now = worker.now()) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return notified; });
      notified = false;
    }
    while (auto event = worker.poll_event()) {
      if (std::holds_alternative<TransmitFinished>(*event)) sending = false;
    }
    if (sends && !sending) {
      sending = worker.request(TransmitBurst{.mode = kMode, .bytes = Bytes(kBurstOctets)}).ok();
    }
    worker.release(worker.now());
  }
}

struct Row {
  std::string what;
  CableChannel channel = CableChannel::clean;
  bool modems = true;
  bool busy = false;
};

double speed(const Row& row, double audio_s, int runs) {
  std::vector<double> speeds;
  const Instant end{from_seconds(audio_s)};
  for (int n = 0; n < runs; ++n) {
    const Hub hub(row.channel);
    const auto before = std::chrono::steady_clock::now();
    run_both([&](std::uint16_t station) {
      if (row.modems) {
        modem_station(hub.end(station), row.busy && station == 0, end);
      } else {
        bare_station(*hub.end(station), end);
      }
    });
    speeds.push_back(audio_s / to_seconds(std::chrono::steady_clock::now() - before));
  }
  std::sort(speeds.begin(), speeds.end());
  return speeds[speeds.size() / 2];
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  const double audio_s = arguments.has("quick") ? 60 : 600;
  const int runs = arguments.has("quick") ? 3 : 5;
  const std::vector<Row> rows = {
      {.what = "bare cable", .modems = false},
      {.what = "idle"},
      {.what = "busy", .busy = true},
      {.what = "idle, watterson", .channel = CableChannel::watterson},
      {.what = "busy, watterson", .channel = CableChannel::watterson, .busy = true},
  };
  double reference = 0;
  for (const Row& row : rows) {
    const double times = speed(row, audio_s, runs);
    if (reference == 0) reference = times;
    std::printf(arguments.has("json")
                    ? "{\"bench\":\"cable_speed\",\"what\":\"%s\",\"audio_s\":"
                      "%.0f,\"x_real_time\":%.1f,\"to_bare_cable\":%.3f}\n"
                    : "%-16s %4.0f s: %7.1f x real time, %.3f of the bare cable\n",
                row.what.c_str(), audio_s, times, times / reference);
    std::fflush(stdout);
  }
  return 0;
}
