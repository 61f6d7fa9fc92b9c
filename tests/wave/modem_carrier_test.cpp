// SPDX-License-Identifier: Apache-2.0
// Tests when the channel counts as busy: transmissions joined in the middle, several at once, and
// sounds that are no transmissions.
#include <gtest/gtest.h>

#include <string>

#include "modem/api/airtime.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

TEST(ModemCarrier, a_station_that_missed_the_preamble_knows_that_the_channel_is_busy) {
  for (const char* text : {"110a-75-long", "110a-150-long", "110a-600-short", "110a-1200-long",
                           "110a-2400-long", "110a-2400-short", "4539-9600-vl", "4539-3200-s"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Tape burst;
    burst.burst(mode, random_octets(capacity(mode, std::chrono::seconds(20)), 1));
    const auto missed =
        static_cast<std::ptrdiff_t>((to_seconds(preamble_duration(mode)) + 2.1) * kSampleRate);
    Tape tape;
    tape.silence(1);
    tape.samples().insert(tape.samples().end(), burst.samples().begin() + missed,
                          burst.samples().end());
    const auto end = tape.size();
    tape.silence(6)
        .through({.offset_hz = 33}, 1)
        .noise(mode.waveform == Waveform::ms110a ? 3 : 6, 2);
    const auto bursts = listen(tape);
    // STANAG 4539 is decoded from the next inserted preamble on, without a gap in the carrier.
    const bool entered = mode.waveform == Waveform::stanag4539;
    ASSERT_EQ(bursts.size(), entered ? 2u : 1u);
    EXPECT_LT(bursts[0].acquired.at_sample, 2.5 * kSampleRate);
    EXPECT_TRUE(bursts[0].acquired.joined);
    EXPECT_EQ(bursts[0].acquired.mode.waveform, mode.waveform);
    EXPECT_TRUE(bursts[0].portions.empty());
    ASSERT_TRUE(bursts[0].ended);
    const HeardBurst& last = bursts.back();
    ASSERT_TRUE(last.ended);
    if (entered) {
      EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::replaced);
      EXPECT_EQ(bursts[0].ended->at_sample, last.acquired.at_sample);
      EXPECT_EQ(last.acquired.mode, mode);
    } else {
      EXPECT_EQ(last.ended->reason, CarrierDownReason::lost);
    }
    EXPECT_LT(last.ended->at_sample, end + 3 * kSampleRate);
    EXPECT_NEAR(static_cast<double>(last.ended->ended_sample), static_cast<double>(end),
                1.2 * kSampleRate);
  }
}

TEST(ModemCarrier, a_burst_that_was_received_leaves_the_channel_free_at_once) {
  for (const char* text : {"110a-75-short", "110a-600-short", "110a-2400-short"}) {
    Tape tape;
    tape.silence(0.3).burst(mode_of(text), random_octets(30, 1));
    const auto end = tape.size();
    const auto bursts = listen(tape.silence(5).noise(12, 1));
    ASSERT_EQ(bursts.size(), 1u) << text;
    ASSERT_TRUE(bursts[0].ended);
    EXPECT_LT(bursts[0].ended->at_sample, end + kSampleRate / 10) << text;
  }
}

// A receiver that tracks the channel by its own decisions can decode a tone as any data.
TEST(ModemCarrier, a_tone_behind_a_burst_that_was_cut_off_does_not_keep_it_up) {
  for (const char* text : {"110a-150-short", "110a-300-short", "110a-600-short", "110a-600-zero",
                           "110a-2400-short", "4539-3200-vs", "4285-600-short", "110d-600-s"}) {
    for (const double frequency : {1800.0, 1803.0, 1650.0}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(frequency));
      const Mode mode = mode_of(text);
      Tape tape;
      tape.silence(0.3).burst(mode, random_octets(mode.rate_bps, 1));
      const std::size_t cut = 5 * kSampleRate;
      tape.samples().resize(cut);
      tape.silence(20);
      for (std::size_t i = cut; i < tape.size(); ++i) {
        const double angle =
            2 * std::numbers::pi * frequency * static_cast<double>(i) / kSampleRate;
        tape.samples()[i] = static_cast<float>(std::sqrt(2 * kTransmitPower) * std::sin(angle));
      }
      const auto bursts = listen_for(mode, tape.noise(20, 2));
      ASSERT_FALSE(bursts.empty());
      ASSERT_TRUE(bursts[0].ended);
      EXPECT_LT(bursts[0].ended->at_sample, cut + 5 * kSampleRate);
    }
  }
}

TEST(ModemCarrier, speech_does_not_make_the_channel_busy) {
  BurstReceiver receiver;
  Listener listener;
  for (std::uint64_t minute = 0; minute < 10; ++minute) {
    receiver.process(speech_like(60, minute));
    listener.drain(receiver);
  }
  for (const HeardBurst& burst : listener.bursts()) {
    ADD_FAILURE() << to_string(burst.acquired.mode) << " at "
                  << burst.acquired.at_sample / kSampleRate << " s, " << burst.acquired.snr_db
                  << " dB";
  }
}

// The differences of these tones fit the cycles of some waveforms.
TEST(ModemCarrier, two_steady_tones_and_a_square_wave_are_no_transmission) {
  const auto expect_nothing = [](const std::string& name, auto&& sound) {
    SCOPED_TRACE(name);
    Tape tape;
    tape.silence(12);
    for (std::size_t i = 0; i < tape.size(); ++i) {
      const double seconds = static_cast<double>(i) / kSampleRate;
      tape.samples()[i] = static_cast<float>(0.2 * sound(2 * std::numbers::pi * seconds));
    }
    const auto bursts = listen(tape.noise(30, 3));
    EXPECT_TRUE(bursts.empty()) << to_string(bursts[0].acquired.mode);
  };
  for (const double apart : {300.0, 150.0, 75.0}) {
    expect_nothing("tones " + std::to_string(apart), [apart](double turns) {
      return std::sin(turns * (1800 - apart / 2)) + std::sin(turns * (1800 + apart / 2));
    });
  }
  for (const double hz : {50.0, 75.0, 100.0, 150.0, 200.0, 300.0}) {
    expect_nothing("square " + std::to_string(hz),
                   [hz](double turns) { return std::sin(turns * hz) > 0 ? 1.0 : -1.0; });
  }
}

TEST(ModemCarrier, a_new_preamble_is_heard_although_the_last_transmission_was_joined_late) {
  const Bytes octets = random_octets(100, 2);
  Tape burst;
  burst.burst(mode_of("110a-600-short"), random_octets(500, 1));
  Tape tape;
  tape.samples().assign(burst.samples().begin() + kSampleRate, burst.samples().end());
  tape.silence(0.05).burst(mode_of("110a-1200-short"), octets);
  const auto bursts = listen(tape.silence(1).noise(15, 1));
  ASSERT_EQ(bursts.size(), 2u);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_TRUE(bursts[0].portions.empty());
  EXPECT_EQ(bursts[1].octets(), octets);
}

// The weaker of two stations is noise to the stronger.
TEST(ModemCarrier, of_two_stations_at_once_the_stronger_is_received) {
  const Mode mode = mode_of("110a-600-short");
  const Bytes octets = random_octets(300, 1);
  for (const double later : {-1.0, 0.05, 2.0}) {
    Tape strong;
    strong.silence(2).burst(mode, octets);
    strong.silence(4);
    Tape weak;
    weak.silence(2 + later).burst(mode, random_octets(200, 2), 0.2F);
    weak.silence(10);
    for (std::size_t i = 0; i < strong.size(); ++i) strong.samples()[i] += weak.samples()[i];
    const auto bursts = listen(strong.noise(20, 3));
    bool whole = false;
    for (const HeardBurst& burst : bursts) whole = whole || burst.octets() == octets;
    EXPECT_TRUE(whole) << later;
    for (const HeardBurst& burst : bursts) EXPECT_TRUE(burst.ended) << later;
  }
}

TEST(ModemCarrier, a_preamble_inside_a_preamble_begins_the_later_burst) {
  const Bytes octets = random_octets(200, 5);
  Tape first;
  first.burst(mode_of("110a-600-long"), random_octets(50, 1), 0.3F);
  for (const double into : {1.07, 3.5}) {
    Tape tape;
    tape.silence(0.2);
    tape.samples().insert(
        tape.samples().end(), first.samples().begin(),
        first.samples().begin() + static_cast<std::ptrdiff_t>(into * kSampleRate));
    tape.burst(mode_of("110a-1200-short"), octets);
    const auto bursts = listen(tape.silence(1).noise(20, 2));
    ASSERT_FALSE(bursts.empty()) << into;
    EXPECT_EQ(bursts.back().octets(), octets) << into;
    for (const HeardBurst& burst : bursts) EXPECT_TRUE(burst.ended) << into;
  }
}

}  // namespace
}  // namespace s5066::modem
