// Bit error rate of the modem over a simulated channel: bursts of random octets with pauses between
// them go through the channel into one receiver, which is given samples and nothing else.
//
// What counts: a wrong bit is one error. Bits that were never delivered, because a burst was missed
// or cut short, count one half each, which is what guessing them would cost. Octets beyond the end
// of a burst, and bursts nobody sent, are reported beside the rate. A frame is an interleaver
// block.
//
// The channel is a name, or --delay-ms and --doppler-hz: two paths of equal mean power, or one.
//
// --rows runs the rows of the standards' minimum performance, at their ratio and at the one we ask
// of ourselves, with as many seeds as --seeds says (3) put together; --seconds tells how long each,
// 3000 s over the Doppler spread being full; --only keeps the rows whose mode begins so.
//
// The rate's bounds hold with 95 % if frames fail independently of each other: those of the share
// of wrong frames, by Wilson, times the errors of a wrong frame. Without an error there is an upper
// bound only, as if the next frame had one error in a thousand of its bits.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/channel/awgn.h"
#include "modem/channel/watterson.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/modem_ber/standard.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kPortion = 960;

struct Plan {
  Mode mode;
  std::string channel = "awgn";
  std::vector<channel::Path> paths = {channel::Path{}};
  double snr_db = 10;
  double offset_hz = 0;
  double bits = 1e6;
  double burst_seconds = 60;
  double pause_seconds = 0.7;
  std::uint64_t seed = 1;
};

struct Sent {
  std::uint64_t from;
  std::uint64_t to;
  Bytes octets;
  bool heard = false;
  std::uint64_t bit_errors = 0;
  std::uint64_t bits_compared = 0;
  std::set<std::uint64_t> frames_wrong;
};

struct Totals {
  std::uint64_t bits = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missing = 0;
  std::uint64_t bursts = 0;
  std::uint64_t bursts_missed = 0;
  std::uint64_t bursts_with_errors = 0;
  std::uint64_t bursts_never_sent = 0;
  std::uint64_t extra_octets = 0;
  std::uint64_t frames = 0;
  std::uint64_t frames_wrong = 0;
  double audio_seconds = 0;
  double receive_seconds = 0;  // processor time

  double errors() const { return static_cast<double>(wrong) + 0.5 * static_cast<double>(missing); }
  double rate() const { return errors() / static_cast<double>(bits); }

  void add(const Totals& other) {
    bits += other.bits;
    wrong += other.wrong;
    missing += other.missing;
    bursts += other.bursts;
    bursts_missed += other.bursts_missed;
    bursts_with_errors += other.bursts_with_errors;
    bursts_never_sent += other.bursts_never_sent;
    extra_octets += other.extra_octets;
    frames += other.frames;
    frames_wrong += other.frames_wrong;
    audio_seconds += other.audio_seconds;
    receive_seconds += other.receive_seconds;
  }
};

struct Bounds {
  double low = 0;
  double high = 1;
};

Bounds bounds_of(const Totals& t) {
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(std::max<std::uint64_t>(t.frames, 1));
  const double share = static_cast<double>(t.frames_wrong) / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  const double in_wrong_frame = t.frames_wrong > 0 ? t.rate() / share : 1e-3;
  return {std::max(0.0, (middle - reach) / scale) * in_wrong_frame,
          std::min(1.0, (middle + reach) / scale * in_wrong_frame)};
}

/// Mean power of a long burst, which the ratio of signal to noise is meant for.
double burst_power(const Mode& mode) {
  Rng rng(1);
  Bytes octets(capacity(mode, std::chrono::seconds(20)));
  for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
  BurstTransmitter transmitter(mode, octets);
  std::vector<float> samples(transmitter.total_samples());
  transmitter.read(samples);
  double energy = 0;
  for (const float x : samples) energy += static_cast<double>(x) * static_cast<double>(x);
  return energy / static_cast<double>(samples.size());
}

class Run {
 public:
  explicit Run(const Plan& plan)
      : plan_(plan),
        rng_(plan.seed),
        fading_({.paths = plan.paths, .offset_hz = plan.offset_hz}, rng_.fork()),
        noise_(channel::noise_deviation(burst_power(plan.mode), plan.snr_db, kSampleRate),
               rng_.fork()) {}

  Totals all() {
    pause();
    while (static_cast<double>(totals_.bits) < plan_.bits) {
      send_burst();
      pause();
      settle();
    }
    for (int i = 0; i < 10; ++i) pause();
    settle();
    totals_.audio_seconds = static_cast<double>(at_) / kSampleRate;
    return totals_;
  }

 private:
  // A mode that does not tell itself must be listened for by name.
  static BurstReceiver::Config told(const Mode& mode) {
    const bool zero = mode.waveform == Waveform::ms110a && mode.interleaver == Interleaver::zero;
    if (zero || mode.waveform == Waveform::stanag4285) return {.modes = {mode}};
    return {};
  }

  void send_burst() {
    Sent sent;
    sent.octets.resize(capacity(plan_.mode, from_seconds(plan_.burst_seconds)));
    for (auto& octet : sent.octets) octet = static_cast<std::uint8_t>(rng_.below(256));
    BurstTransmitter transmitter(plan_.mode, sent.octets);
    sent.from = at_;
    sent.to = at_ + transmitter.total_samples();
    totals_.bits += 8 * sent.octets.size();
    ++totals_.bursts;
    sent_.push_back(std::move(sent));
    std::vector<float> samples(kPortion);
    while (!transmitter.finished()) {
      samples.resize(kPortion);
      samples.resize(transmitter.read(samples));
      pass(samples);
    }
  }

  void pause() {
    std::vector<float> samples(static_cast<std::size_t>(plan_.pause_seconds * kSampleRate), 0.0F);
    pass(samples);
  }

  void pass(std::vector<float>& samples) {
    if (plan_.channel != "awgn" || plan_.offset_hz != 0) fading_.process(samples);
    noise_.process(samples);
    const std::clock_t before = std::clock();
    receiver_.process(samples);
    const std::clock_t after = std::clock();
    totals_.receive_seconds += static_cast<double>(after - before) / CLOCKS_PER_SEC;
    at_ += samples.size();
    while (const auto event = receiver_.poll_event()) take(*event);
  }

  void take(const BurstEvent& event) {
    if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
      current_ = nullptr;
      for (Sent& sent : sent_) {
        const bool within = acquired->at_sample > sent.from && acquired->at_sample <= sent.to;
        if (within && !sent.heard && acquired->mode == plan_.mode) current_ = &sent;
      }
      if (current_ == nullptr) ++totals_.bursts_never_sent;
      if (current_ != nullptr) current_->heard = true;
    } else if (const auto* received = std::get_if<BurstBytes>(&event)) {
      if (current_ != nullptr) compare(*current_, received->bytes);
    } else {
      current_ = nullptr;
    }
  }

  void compare(Sent& sent, const Bytes& octets) {
    for (const std::uint8_t octet : octets) {
      const std::size_t at = sent.bits_compared / 8;
      if (at == sent.octets.size()) {
        ++totals_.extra_octets;
        continue;
      }
      const unsigned difference = static_cast<unsigned>(octet ^ sent.octets[at]);
      sent.bit_errors += static_cast<unsigned>(std::popcount(difference));
      if (difference != 0) sent.frames_wrong.insert(8 * at / block_bits(plan_.mode));
      sent.bits_compared += 8;
    }
  }

  // Bursts that can no longer change.
  void settle() {
    if (current_ != nullptr) return;
    for (const Sent& sent : sent_) {
      totals_.wrong += sent.bit_errors;
      totals_.missing += 8 * sent.octets.size() - sent.bits_compared;
      totals_.bursts_missed += sent.heard ? 0 : 1;
      totals_.bursts_with_errors += sent.bit_errors > 0 ? 1 : 0;
      const std::uint64_t frames = block_count(plan_.mode, sent.octets.size());
      const bool whole = sent.bits_compared == 8 * sent.octets.size();
      const std::uint64_t received = whole ? frames : sent.bits_compared / block_bits(plan_.mode);
      totals_.frames += frames;
      totals_.frames_wrong += sent.frames_wrong.size() + frames - received;
    }
    sent_.clear();
  }

  Plan plan_;
  Rng rng_;
  channel::Watterson fading_;
  channel::Awgn noise_;
  BurstReceiver receiver_{told(plan_.mode)};
  std::uint64_t at_ = 0;
  std::vector<Sent> sent_;
  Sent* current_ = nullptr;
  Totals totals_;
};

double delay_ms(const Plan& plan) {
  double delay = 0;
  for (const auto& path : plan.paths) delay = std::max(delay, path.delay_ms);
  return delay;
}

double doppler_hz(const Plan& plan) {
  double doppler = 0;
  for (const auto& path : plan.paths) doppler = std::max(doppler, path.spread_hz);
  return doppler;
}

const StandardRow* standard_of(const Plan& plan) {
  for (const StandardRow& row : kStandardRows) {
    if (row.mode == to_string(plan.mode) && row.delay_ms == delay_ms(plan) &&
        row.doppler_hz == doppler_hz(plan)) {
      return &row;
    }
  }
  return nullptr;
}

/// The part of a row that is the same for every benchmark of this kind. The margin is the distance
/// to the standard's ratio, where the standard's rate was met.
void print_shape(const Plan& plan, const Totals& t) {
  std::printf(
      "{\"bench\":\"modem_ber\",\"waveform\":\"%s\",\"rate_bps\":%u,"
      "\"interleaver\":\"%s\",\"delay_ms\":%g,\"doppler_hz\":%g,\"errors\":%.1f,"
      "\"frames\":%llu,\"frame_errors\":%llu,",
      to_string(plan.mode).substr(0, 4).c_str(), plan.mode.rate_bps,
      std::string(to_string(plan.mode.waveform, plan.mode.interleaver)).c_str(), delay_ms(plan),
      doppler_hz(plan), t.errors(), static_cast<unsigned long long>(t.frames),
      static_cast<unsigned long long>(t.frames_wrong));
  const Bounds bounds = bounds_of(t);
  std::printf("\"ber_low\":%.3g,\"ber_high\":%.3g,", bounds.low, bounds.high);
  const StandardRow* const row = standard_of(plan);
  if (row == nullptr) return;
  std::printf("\"standard_snr_db\":%g,", row->snr_db);
  if (t.rate() <= row->ber) std::printf("\"margin_db\":%g,", row->snr_db - plan.snr_db);
}

void print(const Plan& plan, const Totals& t, bool json) {
  if (json) print_shape(plan, t);
  const char* const format =
      json ? "\"mode\":\"%s\",\"channel\":\"%s\",\"snr_db\":%g,"
             "\"offset_hz\":%g,\"seed\":%llu,\"bits\":%llu,\"wrong_bits\":%llu,"
             "\"missing_bits\":%llu,\"ber\":%.3g,\"bursts\":%llu,\"bursts_missed\":%llu,"
             "\"bursts_with_errors\":%llu,\"bursts_never_sent\":%llu,\"extra_octets\":%llu,"
             "\"audio_s\":%.0f,\"receive_cpu_s\":%.1f,\"receive_x_real_time\":%.1f}\n"
           : "%s  %s  %g dB  offset %g Hz  seed %llu: %llu bits, %llu wrong, %llu missing, "
             "BER %.3g; %llu bursts, %llu missed, %llu with errors, %llu never sent, "
             "%llu octets too many; %.0f s of audio, received in %.1f s: %.1f x real time\n";
  using Count = unsigned long long;
  std::printf(format, to_string(plan.mode).c_str(), plan.channel.c_str(), plan.snr_db,
              plan.offset_hz, Count{plan.seed}, Count{t.bits}, Count{t.wrong}, Count{t.missing},
              t.rate(), Count{t.bursts}, Count{t.bursts_missed}, Count{t.bursts_with_errors},
              Count{t.bursts_never_sent}, Count{t.extra_octets}, t.audio_seconds, t.receive_seconds,
              t.audio_seconds / t.receive_seconds);
  std::fflush(stdout);
}

std::vector<channel::Path> two_paths(double delay, double spread_hz) {
  std::vector<channel::Path> paths = {{.spread_hz = spread_hz}};
  if (delay > 0) paths.push_back({.delay_ms = delay, .spread_hz = spread_hz});
  return paths;
}

std::string name_of(double delay, double spread_hz) {
  if (delay == 0 && spread_hz == 0) return "awgn";
  if (delay == 2 && spread_hz == 1) return "poor";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%gms-%ghz", delay, spread_hz);
  return text.data();
}

struct Rows {
  double seconds = 3000;
  std::uint64_t first_seed = 1;
  unsigned seeds = 3;
  std::string only;
  bool json = false;
};

void run_rows(const Rows& rows) {
  for (const StandardRow& row : kStandardRows) {
    if (!row.mode.starts_with(rows.only)) continue;
    Plan plan{.mode = *parse_mode(row.mode),
              .channel = name_of(row.delay_ms, row.doppler_hz),
              .paths = two_paths(row.delay_ms, row.doppler_hz)};
    plan.bits = plan.mode.rate_bps * rows.seconds;
    // Several fades and several preambles even where the exposure is short.
    plan.burst_seconds = std::clamp(rows.seconds / 2, 20.0, 60.0);
    for (const double snr_db : {row.snr_db, row.sought_db}) {
      plan.snr_db = snr_db;
      Totals all;
      for (unsigned i = 0; i < rows.seeds; ++i) {
        plan.seed = rows.first_seed + i;
        all.add(Run(plan).all());
      }
      plan.seed = rows.first_seed;
      print(plan, all, rows.json);
      if (row.sought_db == row.snr_db) break;
    }
  }
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(
      argc, argv,
      {"mode", "snr-db", "bits", "channel", "delay-ms", "doppler-hz", "seed", "seeds", "offset-hz",
       "burst-s", "seconds", "only"},
      {"json", "quick", "rows"});
  if (arguments.has("rows")) {
    const bool quick = arguments.has("quick");
    run_rows({.seconds = arguments.number("seconds", quick ? 30 : 3000),
              .first_seed = static_cast<std::uint64_t>(arguments.number("seed", 1)),
              .seeds = static_cast<unsigned>(arguments.number("seeds", quick ? 1 : 3)),
              .only = arguments.text("only", ""),
              .json = arguments.has("json")});
    return 0;
  }
  Plan plan;
  const auto mode = parse_mode(arguments.text("mode", "110a-2400-long"));
  plan.channel = arguments.text("channel", "awgn");
  const bool known = plan.channel == "awgn" || plan.channel == "two-path" ||
                     !channel::paths_by_name(plan.channel).empty();
  if (!mode || !known) {
    std::fprintf(stderr, "%s; channels: awgn two-path",
                 mode ? "no such channel" : mode.error().detail.c_str());
    for (const auto name : channel::channel_names()) std::fprintf(stderr, " %s", name.data());
    std::fputc('\n', stderr);
    return 2;
  }
  plan.mode = *mode;
  if (arguments.has("delay-ms") || arguments.has("doppler-hz")) {
    const double delay = arguments.number("delay-ms", 0);
    const double doppler = arguments.number("doppler-hz", 0);
    plan.paths = two_paths(delay, doppler);
    plan.channel = name_of(delay, doppler);
  } else if (plan.channel == "two-path") {
    plan.paths = two_paths(2, 0);
  } else if (plan.channel != "awgn") {
    plan.paths = channel::paths_by_name(plan.channel);
  }
  plan.snr_db = arguments.number("snr-db", 10);
  plan.offset_hz = arguments.number("offset-hz", 0);
  plan.burst_seconds = arguments.number("burst-s", 60);
  plan.bits = arguments.number("bits", arguments.has("quick") ? 1e5 : 1e6);
  plan.seed = static_cast<std::uint64_t>(arguments.number("seed", 1));
  if (capacity(plan.mode, s5066::from_seconds(plan.burst_seconds)) == 0) {
    std::fprintf(stderr, "--burst-s is too short for this mode\n");
    return 2;
  }
  print(plan, Run(plan).all(), arguments.has("json"));
  return 0;
}
