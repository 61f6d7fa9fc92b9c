// SPDX-License-Identifier: Apache-2.0
// Measures how often a transmission is found and its mode recognised, at the lowest signal-to-noise
// ratio that a standard asks of the mode, with any start, up to 75 Hz and 100 ppm off; and how
// often the receiver reports a signal although none was sent. The receiver gets only samples,
// except that it is configured with the mode of STANAG 4285, which does not announce it. --only
// keeps the rows whose mode begins with this text; --hours 0 leaves out the time without signals.
//
// A burst counts as found, and its mode as right, by the reports within half a second behind its
// preamble. If the mode was not right then, the receiver goes on: `later` counts the bursts whose
// mode it reported correctly within 6 s more, `misread` those for which it reported another
// mode at any time. A transmission that is detected by its probes and reported as of its waveform
// has no reported mode. In rows named `joined` the receiver hears the transmission only from some
// moment within the first nine seconds of data on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/channel/awgn.h"
#include "modem/channel/impairments.h"
#include "modem/channel/watterson.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "tests/bench/common/arguments.h"

namespace s5066::modem {
namespace {

struct Row {
  const char* mode;
  double delay_ms;
  double doppler_hz;
  double snr_db;
  bool joined = false;
};

constexpr Row kRows[] = {
    {"110a-4800-zero", 0, 0, 17},    {"110a-2400-short", 0, 0, 10},
    {"110a-2400-long", 0, 0, 10},    {"110a-2400-long", 2, 1, 18},
    {"110a-2400-long", 2, 5, 30},    {"110a-1200-long", 2, 1, 11},
    {"110a-600-long", 2, 1, 7},      {"110a-300-long", 5, 5, 7},
    {"110a-150-long", 5, 5, 5},      {"110a-75-long", 5, 5, 2},
    {"110a-75-long", 0, 0, -9},      {"110a-75-long", 10, 0.5, 0},
    {"110a-75-long", 10, 5, -1},     {"110a-75-long", 10, 20, -1},
    {"110a-75-long", 10, 50, 0},     {"110a-75-short", 0, 0, -5},
    {"110a-600-short", 2, 1, 10},    {"4539-3200-vl", 0, 0, 9},
    {"4539-3200-vl", 2, 1, 14},      {"4539-4800-vl", 2, 1, 19},
    {"4539-6400-vl", 2, 1, 23},      {"4539-8000-vl", 2, 1, 27},
    {"4539-9600-vl", 0, 0, 21},      {"4539-9600-vl", 2, 1, 31},
    {"4539-12800-zero", 0, 0, 27},   {"110d-75-l", 0, 0, -6},
    {"110d-75-l", 2, 1, -1},         {"110d-150-l", 0, 0, -3},
    {"110d-150-l", 2, 1, 3},         {"110d-300-l", 2, 1, 5},
    {"110d-600-l", 2, 1, 7},         {"110d-1200-l", 2, 1, 10},
    {"110d-3200-l", 2, 1, 14},       {"110d-9600-l", 2, 1, 31},
    {"110d-16000-l", 0, 0, 30},      {"4285-75-short", 0, 0, -3},
    {"4285-600-short", 0, 0, 4},     {"4285-1200-long", 0, 0, 6},
    {"4285-2400-long", 0, 0, 11},    {"4285-75-long", 2, 1, 2},
    {"4285-600-long", 2, 1, 9},      {"4285-1200-long", 2, 1, 12},
    {"4285-2400-long", 2, 1, 20},    {"4539-3200-vl", 0, 0, 9, true},
    {"4539-3200-vl", 2, 1, 9, true}, {"4539-3200-us", 2, 1, 14, true},
    {"4539-9600-s", 2, 1, 31, true},
};

/// Time limit behind a preamble.
constexpr double kAtOnceSeconds = 0.5;
/// Time limit for STANAG 4285, which has no preamble: 16 frames, as far as its receiver can look
/// back.
constexpr double kWithoutPreambleSeconds = 1.7;
constexpr double kLaterSeconds = 6;
constexpr double kJoinedSeconds = 9;
/// Length of a burst; it includes one more block of the longest interleaver.
constexpr Duration kBurst = from_seconds(kLaterSeconds + kJoinedSeconds + 9);

struct Counts {
  unsigned trials = 0;
  unsigned found = 0;
  unsigned right = 0;
  unsigned later = 0;
  unsigned misread = 0;
};

std::size_t samples_in(double seconds) {
  return static_cast<std::size_t>(seconds * kSampleRate);
}

class Trial {
 public:
  Trial(const Row& row, Rng& rng)
      : mode_(*parse_mode(row.mode)),
        lead_(samples_in(0.3 + rng.uniform())),
        transmitter_(mode_, Bytes(std::max<std::size_t>(3, capacity(mode_, kBurst)))),
        skew_(200 * rng.uniform() - 100),
        path_({.paths = paths_of(row), .offset_hz = 150 * rng.uniform() - 75}, rng.fork()),
        noise_(channel::noise_deviation(kTransmitPower, row.snr_db, kSampleRate), rng.fork()),
        receiver_({.modes = told(mode_)}) {
    if (!row.joined) return;
    const double missed = to_seconds(preamble_duration(mode_)) + kJoinedSeconds * rng.uniform();
    std::vector<float> unheard(samples_in(missed));
    transmitter_.read(unheard);
  }

  void add_to(Counts& counts) {
    std::vector<float> silence(lead_, 0.0F);
    pass(silence);
    const bool preamble = mode_.waveform != Waveform::stanag4285;
    hear(preamble ? to_seconds(preamble_duration(mode_)) + kAtOnceSeconds
                  : kWithoutPreambleSeconds);
    ++counts.trials;
    counts.found += found_ ? 1 : 0;
    counts.right += right_ ? 1 : 0;
    if (!right_) {
      hear(kLaterSeconds);
      counts.later += right_ ? 1 : 0;
    }
    counts.misread += misread_ ? 1 : 0;
  }

 private:
  static std::vector<channel::Path> paths_of(const Row& row) {
    std::vector<channel::Path> paths = {{.spread_hz = row.doppler_hz}};
    if (row.delay_ms > 0) paths.push_back({.delay_ms = row.delay_ms, .spread_hz = row.doppler_hz});
    return paths;
  }
  static std::vector<Mode> told(const Mode& mode) {
    if (mode.waveform == Waveform::stanag4285) return {mode};
    return {};
  }

  // The portions are small, so that an event matches the receiver's counters at that time.
  void hear(double seconds) {
    std::vector<float> samples;
    for (std::size_t left = samples_in(seconds); left > 0; left -= samples.size()) {
      samples.assign(std::min<std::size_t>(left, kSampleRate / 100), 0.0F);
      transmitter_.read(samples);
      pass(samples);
    }
  }

  void pass(std::span<const float> samples) {
    skewed_.clear();
    skew_.process(samples, skewed_);
    path_.process(skewed_);
    noise_.process(skewed_);
    receiver_.process(skewed_);
    while (const auto event = receiver_.poll_event()) {
      const auto* const acquired = std::get_if<BurstAcquired>(&*event);
      if (acquired == nullptr) continue;
      found_ = true;
      const bool noticed_only = receiver_.counters()[ReceiverCounter::bursts_joined] > joined_;
      joined_ = receiver_.counters()[ReceiverCounter::bursts_joined];
      if (acquired->mode == mode_) {
        right_ = true;
      } else if (!noticed_only) {
        misread_ = true;
      }
    }
  }

  Mode mode_;
  std::size_t lead_;
  BurstTransmitter transmitter_;
  channel::ClockSkew skew_;
  channel::Watterson path_;
  channel::Awgn noise_;
  BurstReceiver receiver_;
  std::vector<float> skewed_;
  std::uint64_t joined_ = 0;
  bool found_ = false;
  bool right_ = false;
  bool misread_ = false;
};

Counts acquire(const Row& row, unsigned trials, std::uint64_t seed) {
  Rng rng(seed);
  Counts counts;
  for (unsigned trial = 0; trial < trials; ++trial) Trial(row, rng).add_to(counts);
  return counts;
}

// Writes voiced and unvoiced syllables of gliding pitch.
void speak(std::span<float> samples, Rng& rng) {
  double phase = 0;
  double pitch = 120;
  double formant = 800;
  bool voiced = true;
  std::size_t left = 0;
  for (float& x : samples) {
    if (left-- == 0) {
      left = static_cast<std::size_t>((0.05 + 0.25 * rng.uniform()) * kSampleRate);
      voiced = rng.chance(0.7);
      pitch = 90 + 150 * rng.uniform();
      formant = 300 + 2200 * rng.uniform();
    }
    phase += 2 * std::numbers::pi * pitch / kSampleRate;
    double value = 0;
    for (int h = 1; voiced && h * pitch < 3000; ++h) {
      const double away = (h * pitch - formant) / 250;
      value += std::sin(h * phase) / (1 + away * away);
    }
    x += static_cast<float>(0.1 * (voiced ? value : rng.gaussian()));
  }
}

unsigned false_alarms(double hours, bool speech, std::uint64_t seed) {
  Rng rng(seed);
  channel::Awgn noise(speech ? 0.003 : 0.1, rng.fork());
  BurstReceiver receiver({.modes = {all_modes().begin(), all_modes().end()}});
  unsigned count = 0;
  for (double second = 0; second < 3600 * hours; ++second) {
    std::vector<float> samples(kSampleRate, 0.0F);
    if (speech) speak(samples, rng);
    noise.process(samples);
    receiver.process(samples);
    while (const auto event = receiver.poll_event()) {
      count += std::holds_alternative<BurstAcquired>(*event) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(argc, argv, {"trials", "hours", "seed", "only"},
                                          {"json", "quick"});
  const bool json = arguments.has("json");
  const bool quick = arguments.has("quick");
  const auto trials = static_cast<unsigned>(arguments.number("trials", quick ? 20 : 1000));
  const double hours = arguments.number("hours", quick ? 0.2 : 10);
  const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 1));
  const std::string only = arguments.text("only", "");
  for (const Row& row : kRows) {
    if (!std::string_view(row.mode).starts_with(only)) continue;
    const char* const joined = json ? ",\"joined\":true" : ", joined";
    const Counts c = acquire(row, trials, seed);
    std::printf(json ? "{\"bench\":\"modem_acquisition\",\"mode\":\"%s\",\"delay_ms\":%g,"
                       "\"doppler_hz\":%g,\"snr_db\":%g,\"trials\":%u,\"found\":%u,"
                       "\"right_mode\":%u,\"later\":%u,\"misread\":%u%s}\n"
                     : "%-16s %4g ms %4g Hz %5g dB: of %u trials %u found, %u with the right mode, "
                       "%u later, %u misread%s\n",
                row.mode, row.delay_ms, row.doppler_hz, row.snr_db, c.trials, c.found, c.right,
                c.later, c.misread, row.joined ? joined : "");
    std::fflush(stdout);
  }
  for (const bool speech : {false, true}) {
    if (hours == 0) break;
    const unsigned count = false_alarms(speech ? hours / 5 : hours, speech, seed);
    std::printf(json ? "{\"bench\":\"modem_acquisition\",\"input\":\"%s\",\"hours\":%g,"
                       "\"false_alarms\":%u}\n"
                     : "%s, %g h: %u false alarms\n",
                speech ? "speech" : "noise", speech ? hours / 5 : hours, count);
    std::fflush(stdout);
  }
  return 0;
}
