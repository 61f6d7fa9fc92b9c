// SPDX-License-Identifier: Apache-2.0
// Common parts of the modem's wave tests: bursts on a tape, a channel over it, and a receiver at
// its end.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "modem/channel/awgn.h"
#include "modem/channel/watterson.h"
#include "modem/waveforms/burst_receiver.h"
#include "modem/waveforms/burst_transmitter.h"

namespace s5066::modem {

inline Bytes random_octets(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  Bytes bytes(count);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

/// Audio under construction.
class Tape {
 public:
  std::uint64_t size() const { return samples_.size(); }
  std::vector<float>& samples() { return samples_; }

  Tape& silence(double seconds) {
    samples_.resize(samples_.size() + static_cast<std::size_t>(seconds * kSampleRate), 0.0F);
    return *this;
  }
  /// Returns the burst's first sample on the tape.
  std::uint64_t burst(const Mode& mode, ByteSpan octets, float gain = 1) {
    return burst(make_symbols(mode, octets), gain);
  }
  std::uint64_t burst(std::vector<dsp::Complex> symbols, float gain = 1) {
    const std::size_t start = samples_.size();
    BurstTransmitter transmitter(std::move(symbols));
    samples_.resize(start + transmitter.total_samples());
    transmitter.read(std::span(samples_).subspan(start));
    for (std::size_t i = start; i < samples_.size(); ++i) samples_[i] *= gain;
    return start;
  }
  Tape& through(const channel::Watterson::Config& config, std::uint64_t seed) {
    channel::Watterson(config, Rng(seed)).process(samples_);
    return *this;
  }
  /// Adds noise; the ratio is relative to a burst with gain 1.
  Tape& noise(double snr_db, std::uint64_t seed) {
    const double deviation = channel::noise_deviation(kTransmitPower, snr_db, kSampleRate);
    channel::Awgn(deviation, Rng(seed)).process(samples_);
    return *this;
  }

 private:
  std::vector<float> samples_;
};

/// Returns voiced and unvoiced syllables with gliding pitch, formants and pauses.
inline std::vector<float> speech_like(double seconds, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> samples;
  double phase = 0;
  while (samples.size() < static_cast<std::size_t>(seconds * kSampleRate)) {
    const auto length = static_cast<std::size_t>((0.05 + 0.25 * rng.uniform()) * kSampleRate);
    const bool voiced = rng.chance(0.7);
    const bool pause = rng.chance(0.15);
    double pitch = 90 + 150 * rng.uniform();
    const double glide = 1 + 2e-5 * (rng.uniform() - 0.5);
    const double formant = 300 + 2200 * rng.uniform();
    for (std::size_t i = 0; i < length; ++i) {
      pitch *= glide;
      phase += 2 * std::numbers::pi * pitch / kSampleRate;
      double value = 0;
      if (voiced) {
        for (int h = 1; h * pitch < 3000; ++h) {
          const double away = (h * pitch - formant) / 250;
          value += std::sin(h * phase) / (1 + away * away);
        }
      } else {
        value = rng.gaussian();
      }
      const double envelope =
          std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(length));
      samples.push_back(pause ? 0.0F : static_cast<float>(0.1 * envelope * value));
    }
  }
  return samples;
}

/// A BurstBytes event that owns its octets.
struct HeardBytes {
  explicit HeardBytes(const BurstBytes& e)
      : at_sample(e.at_sample),
        first_bit_sample(e.first_bit_sample),
        bytes(e.bytes.begin(), e.bytes.end()),
        soft_quality(e.soft_quality),
        channel(e.channel) {}

  std::uint64_t at_sample;
  std::uint64_t first_bit_sample;
  Bytes bytes;
  float soft_quality;
  ChannelEstimate channel;
};

struct HeardBurst {
  BurstAcquired acquired;
  std::vector<HeardBytes> portions;
  std::optional<BurstEnded> ended;

  Bytes octets() const {
    Bytes all;
    for (const HeardBytes& portion : portions) append(all, portion.bytes);
    return all;
  }
};

/// Sorts events into bursts.
class Listener {
 public:
  void drain(BurstReceiver& receiver) {
    while (const auto event = receiver.poll_event()) take(*event);
  }
  const std::vector<HeardBurst>& bursts() const { return bursts_; }
  unsigned unexpected() const { return unexpected_; }  // events that belong to no burst

 private:
  void take(const BurstEvent& event) {
    if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
      unexpected_ += open() ? 1 : 0;
      bursts_.push_back({*acquired, {}, {}});
    } else if (!open()) {
      ++unexpected_;
    } else if (const auto* received = std::get_if<BurstBytes>(&event)) {
      bursts_.back().portions.emplace_back(*received);
    } else {
      bursts_.back().ended = std::get<BurstEnded>(event);
    }
  }
  bool open() const { return !bursts_.empty() && !bursts_.back().ended; }

  std::vector<HeardBurst> bursts_;
  unsigned unexpected_ = 0;
};

inline std::vector<HeardBurst> listen(BurstReceiver& receiver, std::span<const float> samples) {
  Listener listener;
  for (std::size_t at = 0; at < samples.size(); at += kSampleRate) {
    const std::size_t count = std::min<std::size_t>(kSampleRate, samples.size() - at);
    receiver.process(samples.subspan(at, count));
    listener.drain(receiver);
  }
  return listener.bursts();
}

inline std::vector<HeardBurst> listen(Tape& tape) {
  BurstReceiver receiver;
  return listen(receiver, tape.samples());
}

/// True if the preamble does not announce the mode, so that the receiver must be configured with
/// it.
inline bool must_be_told(const Mode& mode) {
  return mode.waveform == Waveform::stanag4285 ||
         (mode.waveform == Waveform::ms110a && mode.interleaver == Interleaver::zero);
}

/// Receives with a receiver for this mode only.
inline std::vector<HeardBurst> listen_for(const Mode& mode, Tape& tape) {
  BurstReceiver receiver({.modes = {mode}});
  return listen(receiver, tape.samples());
}

inline std::size_t bit_errors(const Bytes& a, const Bytes& b) {
  std::size_t errors = 8 * (std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    for (unsigned difference = static_cast<unsigned>(a[i] ^ b[i]); difference != 0;
         difference &= difference - 1) {
      ++errors;
    }
  }
  return errors;
}

inline Mode mode_of(const char* text) {
  return *parse_mode(text);
}

/// Expects that exactly one burst was heard, and that it is this one from end to end.
inline void expect_whole(const std::vector<HeardBurst>& bursts, const Mode& mode,
                         const Bytes& octets) {
  ASSERT_EQ(bursts.size(), 1u) << to_string(mode);
  EXPECT_EQ(bursts[0].acquired.mode, mode);
  EXPECT_EQ(bit_errors(bursts[0].octets(), octets), 0u) << to_string(mode);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::end_of_message) << to_string(mode);
}

/// The channel of a burst between transmitter and receiver.
struct Air {
  channel::Watterson::Config channel;
  double snr_db = 30;  // ratio for a burst with gain 1
  std::uint64_t seed = 1;
};

/// Sends this number of random octets through the air and expects that they arrive whole.
inline std::vector<HeardBurst> expect_whole_through(const Mode& mode, std::size_t octets_count,
                                                    const Air& air) {
  const Bytes octets = random_octets(octets_count, air.seed);
  Tape tape;
  tape.silence(0.5).burst(mode, octets);
  tape.silence(0.5).through(air.channel, air.seed).noise(air.snr_db, air.seed + 1);
  auto bursts = must_be_told(mode) ? listen_for(mode, tape) : listen(tape);
  expect_whole(bursts, mode, octets);
  return bursts;
}

}  // namespace s5066::modem
