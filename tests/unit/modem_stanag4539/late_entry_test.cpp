// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/late_entry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;

constexpr std::size_t kLead = 4800;  // half-symbol samples in front of the preamble
constexpr float kNoise = 0.1F;       // amplitude, where a symbol has 1
constexpr std::int64_t kFrame = 2 * kFrameSymbols;
constexpr std::int64_t kDataStart = kLead + 2 * kPreambleSymbols;
constexpr Mode kMode{Waveform::stanag4539, 4800, Interleaver::long_};  // a block has 36 frames

struct Sending {
  Parameters parameters;
  unsigned frames = 2 * kFramesInCycle;
  double offset_hz = 0;
};

std::int64_t start_of(unsigned frame) {
  return kDataStart + frame * kFrame + frame / kFramesInCycle * 2 * kInsertedSymbols;
}

/// Returns the half-symbol samples of a transmission in noise.
std::vector<Complex> transmission(const Sending& sending) {
  const Parameters& p = sending.parameters;
  Rng rng(1);
  std::vector<Complex> symbols;
  for (const std::uint8_t number : preamble(p)) symbols.push_back(phase(number));
  const std::vector<Complex> inserted(symbols.end() - kInsertedSymbols, symbols.end());
  for (unsigned frame = 0; frame < sending.frames; ++frame) {
    if (frame > 0 && frame % kFramesInCycle == 0) {
      symbols.insert(symbols.end(), inserted.begin(), inserted.end());
    }
    for (unsigned i = 0; i < kFrameData; ++i) {
      symbols.push_back(phase(static_cast<std::uint8_t>(rng.below(8))));
    }
    const float sign = probe_is_negative(p, frame % kFramesInCycle) ? -1.0F : 1.0F;
    for (const std::uint8_t number : probe()) symbols.push_back(sign * phase(number));
  }
  std::vector<Complex> samples(kLead);
  for (const Complex& symbol : symbols) samples.insert(samples.end(), {symbol, symbol});
  const double turn = 2 * std::numbers::pi * sending.offset_hz / kHalfSymbolRate;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    samples[n] *= Complex(std::polar(1.0, turn * static_cast<double>(n)));
    samples[n] += Complex(kNoise * static_cast<float>(rng.gaussian()),
                          kNoise * static_cast<float>(rng.gaussian()));
  }
  return samples;
}

/// Replaces all samples before `frame` by noise.
std::vector<Complex> heard_from(std::vector<Complex> samples, unsigned frame) {
  Rng rng(2);
  for (std::int64_t n = 0; n < start_of(frame); ++n) {
    samples[static_cast<std::size_t>(n)] = Complex(kNoise * static_cast<float>(rng.gaussian()),
                                                   kNoise * static_cast<float>(rng.gaussian()));
  }
  return samples;
}

struct Read {
  PreambleReading reading;
  std::int64_t at;  // end of the samples heard, in half symbols
};

struct Hearing {
  std::int64_t from = 0;       // no reading is asked for before
  std::int64_t forget_at = 0;  // end of a burst that was received
  float offset_hz = 0;         // approximate carrier offset
};

/// Returns the reading of these samples and its time, if there is one.
std::optional<Read> read(std::span<const Complex> samples, const Hearing& hearing = {}) {
  LateEntry entry(1);
  SampleHistory history(50176);
  for (; samples.size() >= kHop; samples = samples.subspan(kHop)) {
    history.push(samples.first(kHop));
    if (history.end() <= hearing.forget_at) entry.forget(history.end());
    if (history.end() < hearing.from) continue;
    // A detector of traffic takes about 6 frames to notice that the frames have moved.
    const bool moved = history.end() > start_of(kFramesInCycle) + 6 * kFrame;
    const Traffic traffic{.mode = kMode,
                          .offset_hz = hearing.offset_hz,
                          .cycle_start = moved ? start_of(kFramesInCycle) : kDataStart};
    if (const auto reading = entry.enter(history, traffic)) return Read{*reading, history.end()};
  }
  return std::nullopt;
}

TEST(LateEntry, reads_every_mode_from_the_signs_of_thirty_probes) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::stanag4539) continue;
    for (const unsigned first : {5U, 21U}) {
      SCOPED_TRACE(to_string(mode) + " from " + std::to_string(first));
      const auto heard = read(heard_from(transmission({.parameters = parameters(mode)}), first));
      ASSERT_TRUE(heard);
      EXPECT_EQ(heard->reading.mode, mode);
      EXPECT_TRUE(heard->reading.late);
      EXPECT_LT(heard->at, start_of(first + 30));
      EXPECT_NEAR(heard->reading.offset_hz, 0, 0.3);
    }
  }
}

TEST(LateEntry, begins_with_the_first_block_that_was_heard_from_its_beginning) {
  const auto samples = transmission({.parameters = parameters(kMode)});
  struct Row {
    unsigned heard_from;
    unsigned block;
  };
  for (const Row& row : {Row{0, 0}, Row{4, 0}, Row{9, 36}, Row{30, 36}, Row{38, 72}, Row{60, 72}}) {
    SCOPED_TRACE(row.heard_from);
    const auto heard = read(heard_from(samples, row.heard_from));
    ASSERT_TRUE(heard);
    const PreambleReading& reading = heard->reading;
    EXPECT_EQ(reading.mode, kMode);
    EXPECT_NEAR(static_cast<double>(reading.data_start), static_cast<double>(start_of(row.block)),
                2);
    // Reception begins a little earlier, with a frame that LateEntry knows, if that frame was
    // heard.
    const std::int64_t begin = reading.data_start - reading.lead;
    const unsigned cycles = begin + 2 < start_of(kFramesInCycle) ? 0 : 1;
    const unsigned first = reading.first_frame + cycles * kFramesInCycle;
    EXPECT_NEAR(static_cast<double>(begin), static_cast<double>(start_of(first)), 2);
  }
}

// The history holds a whole cycle.
TEST(LateEntry, begins_with_the_cycle_before_when_all_of_it_was_heard) {
  const auto samples = transmission({.parameters = parameters(kMode)});
  const auto heard = read(samples, {.from = start_of(76)});
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->reading.mode, kMode);
  EXPECT_NEAR(static_cast<double>(heard->reading.data_start), kDataStart, 2);
  EXPECT_EQ(heard->reading.first_frame, 0u);
}

TEST(LateEntry, begins_behind_a_second_that_was_not_heard) {
  const auto samples = transmission({.parameters = parameters(kMode)});
  for (const unsigned first : {2U, 32U, 60U}) {
    SCOPED_TRACE(first);
    auto cut = samples;
    std::fill_n(cut.begin() + start_of(first), 10 * kFrame, Complex());
    const auto heard = read(cut, {.from = start_of(76)});
    ASSERT_TRUE(heard);
    const unsigned block = first + 10 < 36 ? 36 : 72;
    EXPECT_NEAR(static_cast<double>(heard->reading.data_start),
                static_cast<double>(start_of(block)), 2);
  }
}

// The signs of the earlier probes tell the mode. In the newest frames one path stays and the other
// is in a new place at each probe. The responses then agree by the square of the share of the power
// that the first path has.
TEST(LateEntry, begins_in_no_frames_of_which_too_little_is_alike) {
  constexpr unsigned kChanging = 40;  // first of the changing frames
  constexpr unsigned kEnd = kChanging + 9;
  const Parameters p = parameters(kMode);
  const auto still = transmission({.parameters = p, .frames = kEnd});
  for (const float share : {0.42F, 0.48F}) {
    SCOPED_TRACE(share);
    auto samples = still;
    for (unsigned frame = kChanging; frame < kEnd; ++frame) {
      const float sign = probe_is_negative(p, frame) ? -1.0F : 1.0F;
      const auto at = samples.begin() + start_of(frame) + 2 * kFrameData;
      for (unsigned i = 0; i < kFrameProbe; ++i) {
        const Complex symbol = std::sqrt(share) * phase(probe()[i]) +
                               std::sqrt(1 - share) * phase(probe()[(i + 15 - frame % 9) % 16]);
        at[2 * i] = at[2 * i + 1] = sign * symbol;
      }
    }
    samples.resize(samples.size() + kHop);
    const auto heard = read(samples, {.from = start_of(kEnd)});
    EXPECT_EQ(heard.has_value(), share > 0.45F);
  }
}

// Data that were delivered must not be delivered again.
TEST(LateEntry, leaves_what_belongs_to_a_burst_that_was_received) {
  const auto samples = transmission({.parameters = parameters(kMode)});
  for (const unsigned ended : {1U, 20U, 35U}) {
    const auto heard = read(samples, {.forget_at = start_of(ended)});
    ASSERT_TRUE(heard);
    EXPECT_NEAR(static_cast<double>(heard->reading.data_start), static_cast<double>(start_of(36)),
                2);
  }
  const auto heard = read(samples, {.forget_at = kLead});
  ASSERT_TRUE(heard);
  EXPECT_NEAR(static_cast<double>(heard->reading.data_start), kDataStart, 2);
}

// A carrier offset of half a turn from probe to probe, 4.18 Hz, changes the sign of every second
// probe.
TEST(LateEntry, reads_the_carrier_to_a_fraction_of_a_hertz) {
  for (const double offset_hz : {-75.0, -33.3, -4.2, -2.0, 2.2, 4.1, 8.4, 60.0, 75.0}) {
    SCOPED_TRACE(offset_hz);
    const auto heard =
        read(heard_from(transmission({.parameters = parameters(kMode), .offset_hz = offset_hz}), 8),
             {.offset_hz = offset_hz > 0 ? 50.0F : -50.0F});
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->reading.mode, kMode);
    EXPECT_NEAR(heard->reading.offset_hz, offset_hz, 0.3);
  }
}

TEST(LateEntry, reads_nothing_in_codes_that_are_reserved) {
  for (const unsigned rate : {0U, 7U}) {
    Parameters p = parameters(kMode);
    p.rate_code = static_cast<std::uint8_t>(rate);
    EXPECT_FALSE(read(transmission({.parameters = p})));
  }
}

TEST(LateEntry, reads_nothing_in_noise_and_in_probes_that_all_look_alike) {
  auto samples = transmission({.parameters = parameters(kMode)});
  EXPECT_FALSE(read(heard_from(samples, 2 * kFramesInCycle - 1)));
  for (unsigned frame = 0; frame < kFramesInCycle; ++frame) {
    const auto at = samples.begin() + start_of(frame) + 2 * kFrameData;
    for (unsigned i = 0; i < kFrameProbe; ++i) {
      at[2 * i] = at[2 * i + 1] = phase(probe()[i]);
    }
  }
  samples.resize(static_cast<std::size_t>(start_of(kFramesInCycle)));
  EXPECT_FALSE(read(samples));
}

}  // namespace
}  // namespace s5066::modem::stanag4539
