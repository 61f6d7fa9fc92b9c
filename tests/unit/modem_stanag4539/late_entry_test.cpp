#include "modem/waveforms/stanag4539/late_entry.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;

constexpr std::size_t kLead = 4800;  // half-symbol samples in front of the preamble
constexpr float kNoise = 0.1F;       // amplitude, beside symbols of 1
constexpr std::int64_t kCycle = 2 * kCycleSymbols;
constexpr Mode kMode{Waveform::stanag4539, 4800, Interleaver::long_};

/// Half-symbol samples of a transmission of a cycle and a bit, in noise.
std::vector<Complex> transmission() {
  const Parameters p = parameters(kMode);
  Rng rng(1);
  std::vector<Complex> symbols;
  for (const std::uint8_t number : preamble(p)) symbols.push_back(phase(number));
  const std::vector<Complex> inserted(symbols.end() - kInsertedSymbols, symbols.end());
  for (unsigned frame = 0; frame < kFramesInCycle + 4; ++frame) {
    if (frame == kFramesInCycle) {
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
  for (Complex& sample : samples) {
    sample += Complex(kNoise * static_cast<float>(rng.gaussian()),
                      kNoise * static_cast<float>(rng.gaussian()));
  }
  return samples;
}

/// What is read of it; `forgotten_at`: half-symbol samples heard when a burst ends.
std::optional<PreambleReading> read(std::span<const Complex> samples,
                                    std::size_t forgotten_at = 0) {
  LateEntry entry(1);
  SampleHistory history(45056);
  for (; samples.size() >= kHop; samples = samples.subspan(kHop)) {
    history.push(samples.first(kHop));
    if (const auto reading = entry.advance(history)) return reading;
    if (static_cast<std::size_t>(history.end()) <= forgotten_at) entry.forget();
  }
  return std::nullopt;
}

constexpr std::int64_t kDataStart = kLead + 2 * kPreambleSymbols;

TEST(LateEntry, begins_with_the_cycle_before_when_all_of_it_was_heard) {
  const auto reading = read(transmission());
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->mode, kMode);
  EXPECT_TRUE(reading->late);
  EXPECT_NEAR(static_cast<double>(reading->data_start), kDataStart, 2);
  EXPECT_EQ(reading->read_again, kCycle);
}

TEST(LateEntry, begins_behind_what_it_has_read_when_a_second_of_the_cycle_is_missing) {
  constexpr std::size_t kFrame = std::size_t{2} * kFrameSymbols;
  for (const std::size_t first : {0U, 32U, 60U}) {
    SCOPED_TRACE(first);
    auto samples = transmission();
    std::fill_n(samples.begin() + kDataStart + static_cast<std::ptrdiff_t>(first * kFrame),
                10 * kFrame, Complex());
    const auto reading = read(samples);
    ASSERT_TRUE(reading);
    EXPECT_NEAR(static_cast<double>(reading->data_start), kDataStart + kCycle, 2);
    EXPECT_EQ(reading->read_again, 0);
  }
}

// What was delivered must not be delivered again.
TEST(LateEntry, leaves_what_belongs_to_a_burst_that_was_received) {
  for (const std::size_t ended_at : {kLead, std::size_t{20000}}) {
    const auto reading = read(transmission(), ended_at + 2 * kPreambleSymbols);
    ASSERT_TRUE(reading);
    EXPECT_NEAR(static_cast<double>(reading->data_start), kDataStart + kCycle, 2);
    EXPECT_EQ(reading->read_again, 0);
  }
  const auto reading = read(transmission(), kLead);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->read_again, kCycle);
}

}  // namespace
}  // namespace s5066::modem::stanag4539
