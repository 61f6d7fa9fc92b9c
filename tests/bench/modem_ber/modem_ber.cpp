// Bit error rate of the modem over a simulated channel: bursts of random octets with pauses between
// them go through the channel into one receiver, which is given samples and nothing else.
//
// What counts: a wrong bit is one error. Bits that were never delivered, because a burst was missed
// or cut short, count one half each, which is what guessing them would cost. Octets beyond the end
// of a burst, and bursts nobody sent, are reported beside the rate. A frame is an interleaver
// block.
//
// --rows runs the rows of the standard's minimum performance, at its ratio and at the one we ask of
// ourselves; --seconds tells how long, 3000 s over the Doppler spread and three seeds being full.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <set>
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
};

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
        fading_({.paths = paths(plan), .offset_hz = plan.offset_hz}, rng_.fork()),
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
  static std::vector<channel::Path> paths(const Plan& plan) {
    if (plan.channel == "awgn") return {channel::Path{}};
    if (plan.channel == "two-path") return {channel::Path{}, channel::Path{.delay_ms = 2}};
    return channel::paths_by_name(plan.channel);
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
  BurstReceiver receiver_;
  std::uint64_t at_ = 0;
  std::vector<Sent> sent_;
  Sent* current_ = nullptr;
  Totals totals_;
};

const StandardRow* standard_of(const Plan& plan) {
  for (const StandardRow& row : kStandardRows) {
    if (row.mode == to_string(plan.mode) && row.channel == plan.channel) return &row;
  }
  return nullptr;
}

/// The part of a row that is the same for every benchmark of this kind. The margin is the distance
/// to the standard's ratio, where the standard's rate was met.
void print_shape(const Plan& plan, const Totals& t) {
  double delay_ms = 0;
  double doppler_hz = 0;
  for (const auto& path : channel::paths_by_name(plan.channel)) {
    delay_ms = std::max(delay_ms, path.delay_ms);
    doppler_hz = std::max(doppler_hz, path.spread_hz);
  }
  std::printf(
      "{\"bench\":\"modem_ber\",\"waveform\":\"%s\",\"rate_bps\":%u,"
      "\"interleaver\":\"%s\",\"delay_ms\":%g,\"doppler_hz\":%g,\"errors\":%.1f,"
      "\"frames\":%llu,\"frame_errors\":%llu,",
      plan.mode.waveform == Waveform::ms110a ? "110a" : "4539", plan.mode.rate_bps,
      std::string(to_string(plan.mode.waveform, plan.mode.interleaver)).c_str(), delay_ms,
      doppler_hz, t.errors(), static_cast<unsigned long long>(t.frames),
      static_cast<unsigned long long>(t.frames_wrong));
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

void run_rows(double seconds, std::uint64_t seed, bool json) {
  for (const StandardRow& row : kStandardRows) {
    Plan plan{.mode = *parse_mode(row.mode), .channel = std::string(row.channel), .seed = seed};
    plan.bits = plan.mode.rate_bps * seconds;
    for (const double snr_db : {row.snr_db, row.sought_db}) {
      plan.snr_db = snr_db;
      print(plan, Run(plan).all(), json);
      if (row.sought_db == row.snr_db) break;
    }
  }
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(
      argc, argv, {"mode", "snr-db", "bits", "channel", "seed", "offset-hz", "burst-s", "seconds"},
      {"json", "quick", "rows"});
  if (arguments.has("rows")) {
    run_rows(arguments.number("seconds", arguments.has("quick") ? 30 : 3000),
             static_cast<std::uint64_t>(arguments.number("seed", 1)), arguments.has("json"));
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
