// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/bit_errors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::tools {
namespace {

constexpr std::size_t kPortion = 960;
/// A reception that begins this long after the start of a burst missed the part before it.
constexpr double kLateSeconds = 0.05;

struct Sent {
  std::uint64_t from;
  std::uint64_t to;
  Bytes octets;
  bool heard = false;
  std::uint64_t bit_errors = 0;
  std::uint64_t bits_compared = 0;
  std::uint64_t bits_skipped = 0;  // part of bits_compared
  std::set<std::uint64_t> frames_wrong;
};

/// Returns the mean power of a long burst, to which the ratio of signal to noise applies.
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

std::uint64_t preamble_of(const BitErrorPlan& plan) {
  if (plan.mode.waveform != Waveform::ms110d) return preamble_symbols(plan.mode);
  const auto& choice = plan.ms110d;
  return ms110d::preamble_symbols(ms110d::parameters(plan.mode, choice.constraint),
                                  choice.super_frames);
}

class Run {
 public:
  explicit Run(const BitErrorPlan& plan)
      : plan_(plan), rng_(plan.seed), channel_(simulated_path(plan), rng_) {}

  BitErrorCounts all() {
    pause();
    while (static_cast<double>(totals_.bits) < plan_.bits) {
      send_burst();
      pause();
      settle();
    }
    for (int i = 0; i < 10; ++i) pause();
    current_ = nullptr;  // a reception that is still going on ends here
    settle();
    totals_.audio_seconds = static_cast<double>(at_) / kSampleRate;
    return totals_;
  }

 private:
  // A mode that does not announce itself must be named to the receiver.
  static BurstReceiver::Config told(const Mode& mode) {
    const bool zero = mode.waveform == Waveform::ms110a && mode.interleaver == Interleaver::zero;
    if (zero || mode.waveform == Waveform::stanag4285) return {.modes = {mode}};
    return {};
  }

  void send_burst() {
    Sent sent;
    sent.octets.resize(capacity(plan_.mode, from_seconds(plan_.burst_seconds)));
    for (auto& octet : sent.octets) octet = static_cast<std::uint8_t>(rng_.below(256));
    BurstTransmitter transmitter(plan_.mode, sent.octets, plan_.ms110d);
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
    channel_.process(samples);
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
        if (within && acquired->mode == plan_.mode) current_ = &sent;
      }
      if (current_ == nullptr) ++totals_.bursts_never_sent;
      placed_ = false;
    } else if (const auto* received = std::get_if<BurstBytes>(&event)) {
      if (current_ == nullptr) return;
      place(*current_, received->first_bit_sample);
      compare(*current_, *received);
    } else {
      current_ = nullptr;
    }
  }

  // A transmission whose start was missed may be received from a later block on.
  void place(Sent& sent, std::uint64_t first_bit_sample) {
    sent.heard = true;
    if (std::exchange(placed_, true)) return;
    const auto start =
        static_cast<double>(sent.from + kSampleRate / symbol_rate(plan_.mode) * preamble_of(plan_));
    const double late_s = (static_cast<double>(first_bit_sample) - start) / kSampleRate;
    if (late_s < kLateSeconds) return;
    const auto block = static_cast<double>(block_bits(plan_.mode));
    const auto bits =
        static_cast<std::uint64_t>(std::round(late_s * plan_.mode.rate_bps / block) * block);
    while (sent.bits_compared < std::min<std::uint64_t>(bits / 8 * 8, 8 * sent.octets.size())) {
      sent.frames_wrong.insert(sent.bits_compared / block_bits(plan_.mode));
      sent.bits_compared += 8;
      sent.bits_skipped += 8;
    }
  }

  void compare(Sent& sent, const BurstBytes& received) {
    constexpr auto kTenths = static_cast<float>(BitErrorCounts::kQualities);
    const auto tenth = static_cast<std::size_t>(received.soft_quality * kTenths);
    auto& alike = totals_.by_quality[std::min(tenth, BitErrorCounts::kQualities - 1)];
    for (const std::uint8_t octet : received.bytes) {
      const std::size_t at = sent.bits_compared / 8;
      if (at == sent.octets.size()) {
        ++totals_.extra_octets;
        continue;
      }
      const unsigned difference = static_cast<unsigned>(octet ^ sent.octets[at]);
      sent.bit_errors += static_cast<unsigned>(std::popcount(difference));
      ++alike.all;
      alike.wrong += difference != 0 ? 1 : 0;
      if (difference != 0) sent.frames_wrong.insert(8 * at / block_bits(plan_.mode));
      sent.bits_compared += 8;
    }
  }

  // Counts the bursts that can no longer change.
  void settle() {
    if (current_ != nullptr) return;
    for (Sent& sent : sent_) {
      totals_.wrong += sent.bit_errors;
      totals_.missing += 8 * sent.octets.size() - sent.bits_compared + sent.bits_skipped;
      totals_.bursts_missed += sent.heard ? 0 : 1;
      totals_.bursts_with_errors += sent.bit_errors > 0 ? 1 : 0;
      const std::uint64_t frames = block_count(plan_.mode, sent.octets.size());
      const bool whole = sent.bits_compared == 8 * sent.octets.size();
      // Octets extend across frames, so the last one may have begun another frame.
      const std::uint64_t received =
          whole ? frames : (sent.bits_compared + 7) / block_bits(plan_.mode);
      for (std::uint64_t frame = received; frame < frames; ++frame) sent.frames_wrong.insert(frame);
      totals_.frames += frames;
      totals_.frames_wrong += sent.frames_wrong.size();
    }
    sent_.clear();
  }

  BitErrorPlan plan_;
  Rng rng_;
  channel::SimulatedChannel channel_;
  BurstReceiver receiver_{told(plan_.mode)};
  std::uint64_t at_ = 0;
  std::deque<Sent> sent_;  // current_ points into it
  Sent* current_ = nullptr;
  bool placed_ = false;  // the place of this reception's octets in the burst is known
  BitErrorCounts totals_;
};

double speed(const BitErrorCounts& t) {
  return t.audio_seconds / std::max(t.receive_seconds, 1e-6);
}

}  // namespace

void BitErrorCounts::add(const BitErrorCounts& other) {
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
  for (std::size_t i = 0; i < kQualities; ++i) {
    by_quality[i].all += other.by_quality[i].all;
    by_quality[i].wrong += other.by_quality[i].wrong;
  }
  audio_seconds += other.audio_seconds;
  receive_seconds += other.receive_seconds;
}

channel::SimulatedChannel::Config simulated_path(const BitErrorPlan& plan) {
  channel::SimulatedChannel::Config path = plan.path;
  path.signal_power = burst_power(plan.mode);
  path.sample_rate = kSampleRate;
  if (path.impulses) path.impulses->deviation *= std::sqrt(path.signal_power);
  return path;
}

BitErrorCounts measure_bit_errors(const BitErrorPlan& plan) {
  S5066_ASSERT(capacity(plan.mode, from_seconds(plan.burst_seconds)) > 0);
  return Run(plan).all();
}

BitErrorBounds bounds_of(const BitErrorCounts& t) {
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(std::max<std::uint64_t>(t.frames, 1));
  const double share = static_cast<double>(t.frames_wrong) / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  const double in_wrong_frame = t.frames_wrong > 0 ? t.rate() / share : 0.5;
  return {std::max(0.0, (middle - reach) / scale) * in_wrong_frame,
          std::min(1.0, (middle + reach) / scale * in_wrong_frame)};
}

double delay_ms(const BitErrorPlan& plan) {
  double delay = 0;
  for (const auto& path : plan.path.paths) delay = std::max(delay, path.delay_ms);
  return delay;
}

double doppler_hz(const BitErrorPlan& plan) {
  double doppler = 0;
  for (const auto& path : plan.path.paths) doppler = std::max(doppler, path.spread_hz);
  return doppler;
}

std::string to_json(const BitErrorPlan& plan, const BitErrorCounts& t) {
  using Count = unsigned long long;
  const BitErrorBounds bounds = bounds_of(t);
  std::array<char, 1024> text{};
  std::snprintf(
      text.data(), text.size(),
      "\"waveform\":\"%s\",\"rate_bps\":%u,\"interleaver\":\"%s\",\"mode\":\"%s\","
      "\"channel\":\"%s\",\"delay_ms\":%g,\"doppler_hz\":%g,\"snr_db\":%g,\"offset_hz\":%g,"
      "\"skew_ppm\":%g,\"seed\":%llu,\"bits\":%llu,\"errors\":%.1f,\"wrong_bits\":%llu,"
      "\"missing_bits\":%llu,\"ber\":%.3g,\"ber_low\":%.3g,\"ber_high\":%.3g,\"frames\":%llu,"
      "\"frame_errors\":%llu,\"bursts\":%llu,\"bursts_missed\":%llu,"
      "\"bursts_with_errors\":%llu,\"bursts_never_sent\":%llu,\"extra_octets\":%llu,"
      "\"audio_s\":%.0f,\"receive_cpu_s\":%.1f,\"receive_x_real_time\":%.1f",
      to_string(plan.mode).substr(0, 4).c_str(), plan.mode.rate_bps,
      std::string(to_string(plan.mode.waveform, plan.mode.interleaver)).c_str(),
      to_string(plan.mode).c_str(), plan.channel.c_str(), delay_ms(plan), doppler_hz(plan),
      plan.path.snr_db, plan.path.offset_hz, plan.path.skew_ppm, Count{plan.seed}, Count{t.bits},
      t.errors(), Count{t.wrong}, Count{t.missing}, t.rate(), bounds.low, bounds.high,
      Count{t.frames}, Count{t.frames_wrong}, Count{t.bursts}, Count{t.bursts_missed},
      Count{t.bursts_with_errors}, Count{t.bursts_never_sent}, Count{t.extra_octets},
      t.audio_seconds, t.receive_seconds, speed(t));
  std::string all;
  std::string wrong;
  for (const BitErrorCounts::Octets& octets : t.by_quality) {
    all += (all.empty() ? "" : ",") + std::to_string(octets.all);
    wrong += (wrong.empty() ? "" : ",") + std::to_string(octets.wrong);
  }
  return text.data() +
         (",\"octets_by_quality\":[" + all + "],\"wrong_by_quality\":[" + wrong + "]");
}

std::string to_text(const BitErrorPlan& plan, const BitErrorCounts& t) {
  using Count = unsigned long long;
  const BitErrorBounds bounds = bounds_of(t);
  std::array<char, 1024> text{};
  std::snprintf(text.data(), text.size(),
                "%s  %s  %g dB  offset %g Hz  seed %llu: %llu bits, %llu wrong, %llu missing, "
                "BER %.3g (95 %%: %.3g to %.3g); %llu of %llu frames wrong; %llu bursts, %llu "
                "missed, %llu with errors, %llu never sent, %llu octets too many; %.0f s of "
                "audio, received in %.1f s: %.1f x real time",
                to_string(plan.mode).c_str(), plan.channel.c_str(), plan.path.snr_db,
                plan.path.offset_hz, Count{plan.seed}, Count{t.bits}, Count{t.wrong},
                Count{t.missing}, t.rate(), bounds.low, bounds.high, Count{t.frames_wrong},
                Count{t.frames}, Count{t.bursts}, Count{t.bursts_missed},
                Count{t.bursts_with_errors}, Count{t.bursts_never_sent}, Count{t.extra_octets},
                t.audio_seconds, t.receive_seconds, speed(t));
  return text.data();
}

}  // namespace s5066::modem::tools
