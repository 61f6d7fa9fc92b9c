// SPDX-License-Identifier: Apache-2.0
// Measures how many times faster than real time the modem works on one core: transmitting,
// receiving a burst, listening to noise, and detecting power in it. The reference is resampling the
// same audio from 48000/s. Times are processor time; each figure is the median of several runs.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/channel/awgn.h"
#include "modem/dsp/resampler.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "modem/waveforms/occupancy_detector.h"
#include "tests/bench/common/arguments.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kPortion = 960;
constexpr double kSnrDb = 15;

double median_seconds(int runs, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t before = std::clock();
    work();
    seconds.push_back(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  std::sort(seconds.begin(), seconds.end());
  return std::max(seconds[seconds.size() / 2], 1e-6);
}

void receive_all(std::span<const float> samples) {
  BurstReceiver receiver;
  for (std::size_t at = 0; at < samples.size(); at += kPortion) {
    receiver.process(samples.subspan(at, std::min(kPortion, samples.size() - at)));
    while (receiver.poll_event()) {
    }
  }
}

void watch_power(std::span<const float> samples) {
  OccupancyDetector detector;
  for (std::size_t at = 0; at < samples.size(); at += kPortion) {
    detector.process(samples.subspan(at, std::min(kPortion, samples.size() - at)));
  }
}

struct Row {
  std::string what;
  std::string mode;
  double audio_seconds;
  double cpu_seconds;
};

void print(const Row& row, double reference, bool json) {
  const double speed = row.audio_seconds / row.cpu_seconds;
  std::printf(json ? "{\"bench\":\"modem_speed\",\"what\":\"%s\",\"mode\":\"%s\",\"audio_s\":%.1f,"
                     "\"x_real_time\":%.1f,\"cost_to_resampling\":%.2f}\n"
                   : "%-9s %-16s %6.1f s of audio: %7.1f x real time, %.2f times the cost of "
                     "resampling\n",
              row.what.c_str(), row.mode.c_str(), row.audio_seconds, speed, reference / speed);
  std::fflush(stdout);
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(argc, argv, {"only"}, {"json", "quick"});
  const bool json = arguments.has("json");
  const double seconds = arguments.has("quick") ? 15 : 60;
  const int runs = arguments.has("quick") ? 3 : 5;
  s5066::Rng rng(1);
  const channel::Awgn noise(channel::noise_deviation(kTransmitPower, kSnrDb, kSampleRate), rng);

  std::vector<float> listening(static_cast<std::size_t>(seconds * kSampleRate), 0.0F);
  channel::Awgn(noise).process(listening);

  std::vector<float> sound(5 * listening.size(), 0.25F);
  const double resampling = median_seconds(runs, [&] {
    dsp::Resampler resampler({.rate_in = 5 * kSampleRate, .rate_out = kSampleRate});
    std::vector<float> out;
    resampler.process(sound, out);
  });
  const double reference = seconds / resampling;
  print({"resample", "48000 to 9600", seconds, resampling}, reference, json);
  print({"listen", "any", seconds, median_seconds(runs, [&] { receive_all(listening); })},
        reference, json);

  print({"occupancy", "any", seconds, median_seconds(runs, [&] { watch_power(listening); })},
        reference, json);

  const std::string only = arguments.text("only", "");
  for (const Mode& mode : all_modes()) {
    if (!to_string(mode).starts_with(only)) continue;
    s5066::Bytes octets(capacity(mode, s5066::from_seconds(seconds)));
    for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
    std::vector<float> samples;
    const double transmit = median_seconds(runs, [&] {
      BurstTransmitter transmitter(mode, octets);
      samples.resize(transmitter.total_samples());
      transmitter.read(samples);
    });
    const double audio = static_cast<double>(samples.size()) / kSampleRate;
    print({"transmit", to_string(mode), audio, transmit}, reference, json);
    channel::Awgn(noise).process(samples);
    const double receive = median_seconds(runs, [&] { receive_all(samples); });
    print({"receive", to_string(mode), audio, receive}, reference, json);
  }
  return 0;
}
