// SPDX-License-Identifier: Apache-2.0
// Measures the gain of adaptation on fading channels: bulk ARQ for an hour on each of ten seeded
// traces, between two data transfer sublayers that measure their receptions and know nothing else,
// against
//
// - every fixed mode, both ways;
// - an oracle, which before each transmission knows the trace during it and takes the mode with the
//   most octets per second, and does so for each acknowledgement as well;
// - a random mode for each transmission;
// - the same adaptation by agreement (C.6.4), between stations that offer no extension of the
//   standard.
//
// The receiver's requirements and measurements are off by a seeded amount that neither side knows.
//
// --seed N adds N to the seeds, --trace NAME runs one trace, --fit compares the channel with
// measurements of the modem, --svg draws the adaptation on one trace, --log lists its
// transmissions, each with the share of it that the trace lets through and the oracle's choice.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/dts/data_transfer.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sim_medium.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using sim::FadingPart;

constexpr double kHour = 3600;
constexpr std::size_t kCpduOctets = 2054;
constexpr std::size_t kWaitingOctets = 1'500'000;
constexpr modem::Mode kStart{modem::Waveform::ms110a, 300, modem::Interleaver::short_};
constexpr double kWanderDb = 1.5;

struct Trace {
  std::string name;
  std::uint64_t seed;
  std::vector<FadingPart> parts;
};

std::vector<Trace> traces() {
  const auto good = [](Duration d, double snr) { return FadingPart{d, snr, 0.1, 0.5}; };
  const auto moderate = [](Duration d, double snr) { return FadingPart{d, snr, 0.5, 1}; };
  const auto poor = [](Duration d, double snr) { return FadingPart{d, snr, 1, 2}; };
  const auto disturbed = [](Duration d, double snr) { return FadingPart{d, snr, 1, 7}; };
  return {
      {"good-24", 1, {good(1h, 24)}},
      {"good-14", 2, {good(1h, 14)}},
      {"moderate-20", 3, {moderate(1h, 20)}},
      {"moderate-10", 4, {moderate(1h, 10)}},
      {"poor-22", 5, {poor(1h, 22)}},
      {"poor-12", 6, {poor(1h, 12)}},
      {"poor-4", 7, {poor(1h, 4)}},
      {"disturbed-15", 8, {disturbed(1h, 15)}},
      {"steps-25-8", 9, {good(10min, 25), poor(10min, 8)}},
      {"steps-18-2", 10, {good(15min, 18), poor(15min, 2)}},
  };
}

std::shared_ptr<sim::FadingChannel> channel_of(const Trace& trace) {
  Rng rng(trace.seed);
  std::vector<FadingPart> hour;
  for (Duration lasted{}; lasted < 70min;) {
    for (const FadingPart& part : trace.parts) {
      hour.push_back(part);
      lasted += part.lasting;
    }
  }
  auto channel = std::make_shared<sim::FadingChannel>(hour, kWanderDb, rng.fork());
  channel->needs_more_db = 3 * rng.uniform() - 1;
  channel->reads_more_db = 3 * rng.uniform() - 1.5;
  return channel;
}

/// Two stations; station 0 always has more data for station 1.
class Pair {
 public:
  struct Sent {
    Instant at{};
    modem::Mode mode;
    std::size_t octets = 0;
    std::size_t by = 0;  // index of the sending station
  };

  Pair(std::shared_ptr<const sim::FadingChannel> channel, const dts::Config& config)
      : channel_(std::move(channel)), rng_(7), medium_(heap_, rng_.fork(), {.fading = channel_}) {
    for (std::size_t i = 0; i < 2; ++i) {
      dts::Config own = config;
      own.address = address(i);
      Station& self = stations_[i];
      self.dts = std::make_unique<dts::DataTransfer>(own, rng_, self.counters, self.trace);
      self.port = medium_.add_station([this, &self](const modem::Event& event) {
        self.dts->on_modem_event(heap_.now(), event);
        drain(self);
      });
    }
    heap_.run_until(heap_.now() + 10s);
    made_ = heap_.now();
    for (std::size_t i = 0; i < 2; ++i) make(i);
  }

  /// Called in each pause between two transmissions.
  std::function<void()> in_pause;

  void run() {
    const Instant end = heap_.now() + from_seconds(kHour);
    bool pausing = false;
    while (heap_.now() < end) {
      feed();
      const bool silent = !stations_[0].dts->transmitting() && !stations_[1].dts->transmitting();
      if (in_pause && silent && !pausing) in_pause();
      pausing = silent;
      heap_.run_until(heap_.now() + 50ms);
    }
  }

  static Address address(std::size_t i) { return {0x01020300u + static_cast<std::uint32_t>(i)}; }
  Instant now() const { return heap_.now(); }
  void set_mode(std::size_t at, const modem::Mode& mode) {
    stations_[at].dts->set_data_rate(heap_.now(), address(1 - at), mode);
    drain(stations_[at]);
  }
  /// Returns the rate of octets received for the first time, even if an older one is still missing.
  double goodput_bps() const {
    const auto octets = stations_[1].counters[Counter::user_octets_received];
    return 8.0 * static_cast<double>(octets) / kHour;
  }
  std::uint64_t counted(Counter counter) const { return stations_[0].counters[counter]; }
  const std::vector<Sent>& sent() const { return sent_; }
  std::size_t links_lost() const { return links_lost_; }

 private:
  struct Station {
    explicit Station(sim::EventHeap& heap) : timer(heap) {}

    Counters counters;
    NullTrace trace;
    std::unique_ptr<dts::DataTransfer> dts;
    std::size_t port = 0;
    sim::Timer timer;
  };

  void make(std::size_t at) {
    stations_[at].dts->on_connection_made(heap_.now(), address(1 - at));
    drain(stations_[at]);
  }
  void feed() {
    Station& from = stations_[0];
    while (from.dts->queued_octets(address(1)) < kWaitingOctets) {
      dts::CpduRequest request;
      request.id = {++ids_};
      request.destination = address(1);
      request.cpdu.assign(kCpduOctets, static_cast<std::uint8_t>(ids_));
      from.dts->request_cpdu(heap_.now(), std::move(request));
      drain(from);
      if (lost_) return again();
    }
    if (lost_) again();
  }
  /// Makes a lost connection again at once on both sides, as link control would.
  void again() {
    lost_ = false;
    ++links_lost_;
    for (std::size_t i = 0; i < 2; ++i) {
      stations_[i].dts->on_connection_terminated(heap_.now(), address(1 - i));
      drain(stations_[i]);
    }
    lost_ = false;
    for (std::size_t i = 0; i < 2; ++i) make(i);
  }
  void drain(Station& station) {
    const auto take = [&](dts::Action& action) {
      if (auto* command = std::get_if<modem::Command>(&action)) {
        const auto* burst = std::get_if<modem::TransmitBurst>(command);
        const auto by = static_cast<std::size_t>(&station - stations_.data());
        if (burst) sent_.push_back({heap_.now(), burst->mode, burst->bytes.size(), by});
        medium_.command(station.port, *command);
      } else if (std::holds_alternative<dts::ConnectionLost>(action)) {
        lost_ = true;
      }
    };
    sim::take_all([&] { return station.dts->poll_action(); }, take);
    station.timer.arm(station.dts->next_deadline(), [this, &station] {
      station.dts->on_deadline(heap_.now());
      drain(station);
    });
  }

  std::shared_ptr<const sim::FadingChannel> channel_;
  sim::EventHeap heap_;
  Rng rng_;
  sim::Medium medium_;
  std::array<Station, 2> stations_{Station(heap_), Station(heap_)};
  Instant made_{};
  std::uint64_t ids_ = 0;
  std::size_t links_lost_ = 0;
  bool lost_ = false;
  std::vector<Sent> sent_;
};

/// Returns the number of octets that a transmission beginning at `begin` will bring across this
/// trace.
double brings(const sim::FadingChannel& channel, const modem::Mode& mode, Instant begin,
              std::size_t octets) {
  constexpr double kFrameBits = 8 * 500;
  constexpr double kEventBits = 4.5;
  if (!channel.found(mode, begin)) return 0;
  const Instant data = begin + modem::preamble_duration(mode);
  const std::size_t blocks = modem::block_count(mode, octets);
  double whole = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const double errors =
        channel.bit_errors(mode, data + modem::data_duration_of_blocks(mode, block),
                           data + modem::data_duration_of_blocks(mode, block + 1));
    whole += std::exp(-errors / kEventBits *
                      std::min<double>(kFrameBits, 8.0 * static_cast<double>(octets)));
  }
  return static_cast<double>(octets) * whole / static_cast<double>(blocks);
}

modem::Mode oracle(const sim::FadingChannel& channel, const std::vector<modem::Mode>& modes,
                   Instant now, bool bulk) {
  modem::Mode best = modes.front();
  double most = -1;
  for (const modem::Mode& mode : modes) {
    const std::size_t octets = bulk ? modem::capacity(mode, dts::kTransmissionMax) : 40;
    const double seconds = to_seconds(modem::airtime(mode, octets)) + (bulk ? 3.0 : 6.0);
    const double rate = brings(channel, mode, now + 200ms, octets) / seconds;
    if (rate > most) {
      best = mode;
      most = rate;
    }
  }
  return best;
}

struct Outcome {
  double goodput_bps = 0;
  std::uint64_t changes = 0;
  std::uint64_t fallbacks = 0;
  std::size_t links_lost = 0;
  std::vector<Pair::Sent> sent;
};

Outcome outcome_of(Pair& pair) {
  pair.run();
  return {pair.goodput_bps(), pair.counted(Counter::rates_changed),
          pair.counted(Counter::fallbacks), pair.links_lost(), pair.sent()};
}

Outcome fixed(const Trace& trace, const modem::Mode& mode) {
  Pair pair(channel_of(trace), {.mode = mode});
  return outcome_of(pair);
}

Outcome adaptive(const Trace& trace, bool extensions) {
  dts::Config config{.mode = kStart};
  config.offer_extensions = extensions;
  config.adaptation.emplace();
  Pair pair(channel_of(trace), config);
  return outcome_of(pair);
}

Outcome informed(const Trace& trace, const std::vector<modem::Mode>& modes) {
  const auto channel = channel_of(trace);
  Pair pair(channel, {.mode = kStart});
  pair.in_pause = [&] {
    pair.set_mode(0, oracle(*channel, modes, pair.now(), true));
    pair.set_mode(1, oracle(*channel, modes, pair.now(), false));
  };
  return outcome_of(pair);
}

Outcome at_random(const Trace& trace, const std::vector<modem::Mode>& modes) {
  Pair pair(channel_of(trace), {.mode = kStart});
  Rng rng(trace.seed);
  pair.in_pause = [&] {
    for (std::size_t i = 0; i < 2; ++i) {
      pair.set_mode(i, modes[rng.below(static_cast<std::uint32_t>(modes.size()))]);
    }
  };
  return outcome_of(pair);
}

void print(bool json, const Trace& trace, const char* strategy, const std::string& mode,
           const Outcome& outcome, double oracle_bps) {
  std::printf(
      json ? "{\"trace\":\"%s\",\"seed\":%llu,\"strategy\":\"%s\",\"mode\":\"%s\",\"goodput_bps\":"
             "%.1f,\"share_of_oracle\":%.3f,\"changes\":%llu,\"fallbacks\":%llu,\"links_lost\":%zu}"
             "\n"
           : "%-13s seed %llu  %-10s %-15s %7.1f bit/s  %.3f of the oracle  %llu changes  %llu "
             "fallbacks  %zu links lost\n",
      trace.name.c_str(), static_cast<unsigned long long>(trace.seed), strategy, mode.c_str(),
      outcome.goodput_bps, outcome.goodput_bps / oracle_bps,
      static_cast<unsigned long long>(outcome.changes),
      static_cast<unsigned long long>(outcome.fallbacks), outcome.links_lost);
  std::fflush(stdout);
}

void measure(const Trace& trace, const std::vector<modem::Mode>& modes, bool json, bool quick) {
  const Outcome best = informed(trace, modes);
  print(json, trace, "oracle", "", best, best.goodput_bps);
  print(json, trace, "adaptive", "", adaptive(trace, true), best.goodput_bps);
  print(json, trace, "agreement", "", adaptive(trace, false), best.goodput_bps);
  print(json, trace, "random", "", at_random(trace, modes), best.goodput_bps);
  for (const modem::Mode& mode : modes) {
    if (quick && mode.interleaver == modem::Interleaver::short_) continue;
    print(json, trace, "fixed", to_string(mode), fixed(trace, mode), best.goodput_bps);
  }
}

/// Prints the share of blocks with an error on the simulated channel beside that of the modem.
void fit() {
  struct Measured {
    const char* mode;
    double snr_db;
    double spread_hz;
    double share;
  };
  constexpr std::array kMeasured = {
      Measured{"110a-600-short", 4, 1, 25. / 600},
      Measured{"110a-1200-short", 7, 1, 28. / 600},
      Measured{"110a-2400-short", 12, 1, 30. / 600},
      Measured{"110a-2400-short", 15, 1, 7. / 600},
      Measured{"4539-3200-s", 10, 1, 25. / 275},
      Measured{"4539-3200-s", 14, 1, 3. / 275},
      Measured{"4539-3200-l", 10, 1, 2. / 78},
      Measured{"4539-4800-s", 17, 1, 8. / 330},
      Measured{"4539-4800-l", 14, 1, 5. / 78},
      Measured{"4539-6400-l", 18, 1, 3. / 78},
      Measured{"4539-8000-l", 21, 1, 0. / 78},
      Measured{"4539-9600-l", 22, 1, 10. / 78},
      Measured{"4539-9600-s", 28, 1, 3. / 330},
      Measured{"110a-2400-short", 14, 0.1, 13. / 600},
      Measured{"110a-2400-long", 14, 0.1, 1. / 72},
      Measured{"110a-1200-short", 9, 0.5, 22. / 600},
  };
  for (const Measured& row : kMeasured) {
    const auto mode = modem::parse_mode(row.mode);
    sim::FadingChannel channel({{2h, row.snr_db, row.spread_hz, 1}}, 0, Rng(1));
    const Duration block = modem::data_duration_of_blocks(*mode, 1);
    double wrong = 0;
    double blocks = 0;
    for (Instant t{}; t < Instant{2h}; t += block, ++blocks) {
      const double errors = channel.bit_errors(*mode, t, t + block);
      wrong += 1 - std::exp(-errors / 4.5 * static_cast<double>(modem::block_bits(*mode)));
    }
    std::printf(
        "{\"mode\":\"%s\",\"snr_db\":%.0f,\"spread_hz\":%.1f,\"measured\":%.3f,\"model\":%.3f}\n",
        row.mode, row.snr_db, row.spread_hz, row.share, wrong / blocks);
  }
}

/// Draws the mean ratio of half minutes at the top, and the rate of each transmission below.
void draw(const Trace& trace) {
  const auto channel = channel_of(trace);
  const Outcome outcome = adaptive(trace, true);
  const auto x = [](Instant at) { return 40 + to_seconds(at.time_since_epoch()) / 5; };
  std::printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\" height=\"330\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<polyline fill=\"none\" "
      "stroke=\"#888\" points=\"");
  for (Instant t{}; t < Instant{1h}; t += 30s) {
    std::printf("%.0f,%.0f ", x(t), 130 - 3.5 * channel->snr_db(t, t + 30s));
  }
  std::printf("\"/>\n<polyline fill=\"none\" stroke=\"#06c\" points=\"");
  const auto y = [](const modem::Mode& mode) { return 310 - 22 * std::log2(mode.rate_bps / 75.0); };
  double last = -1;
  for (const auto& sent : outcome.sent) {
    if (sent.at > Instant{1h}) break;
    if (sent.by != 0) continue;
    if (last >= 0) std::printf("%.1f,%.0f ", x(sent.at), last);
    last = y(sent.mode);
    std::printf("%.1f,%.0f ", x(sent.at), last);
  }
  std::printf("\"/>\n");
  for (const int db : {0, 10, 20, 30}) {
    std::printf("<text x=\"2\" y=\"%.0f\">%d dB</text>\n", 134 - 3.5 * db, db);
  }
  for (const int bps : {75, 300, 1200, 4800, 9600}) {
    std::printf("<text x=\"2\" y=\"%.0f\">%d</text>\n", 314 - 22 * std::log2(bps / 75.0), bps);
  }
  std::printf(
      "<text x=\"40\" y=\"328\">%s: ratio in 3 kHz (grey), bit/s of each transmission "
      "(blue), one hour</text>\n</svg>\n",
      trace.name.c_str());
}

void log(const Trace& trace, const std::vector<modem::Mode>& modes, bool extensions) {
  const auto channel = channel_of(trace);
  for (const auto& sent : adaptive(trace, extensions).sent) {
    const Instant end = sent.at + modem::airtime(sent.mode, sent.octets);
    const modem::Mode best = oracle(*channel, modes, sent.at, sent.by == 0);
    std::printf(
        "%8.1f %zu %-15s %6zu octets  %5.1f dB  %.2f  oracle %s\n",
        to_seconds(sent.at.time_since_epoch()), sent.by, to_string(sent.mode).c_str(), sent.octets,
        channel->snr_db(sent.at, end),
        brings(*channel, sent.mode, sent.at, sent.octets) / static_cast<double>(sent.octets),
        to_string(best).c_str());
  }
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"trace", "seed"},
                                   {"json", "quick", "fit", "svg", "log", "agreement"});
  if (arguments.has("fit")) {
    fit();
    return 0;
  }
  const auto modes = dts::modes_to_choose_from(kStart, {});
  for (Trace trace : traces()) {
    trace.seed += static_cast<std::uint64_t>(arguments.number("seed", 0));
    if (arguments.has("trace") && arguments.text("trace", "") != trace.name) continue;
    if (arguments.has("log")) {
      log(trace, modes, !arguments.has("agreement"));
    } else if (arguments.has("svg")) {
      draw(trace);
    } else {
      measure(trace, modes, arguments.has("json"), arguments.has("quick"));
    }
  }
}
