// SPDX-License-Identifier: Apache-2.0
// `hfmodem doctor` examines a device. These tests set the faults of the device.
#include "modem/tools/examination.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>

#include "modem/api/airtime.h"
#include "modem/tools/key_options.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/unit/modem_tools/hfmodem_fixture.h"

namespace s5066::modem {
namespace {

using tools::Examination;
using Verdict = LevelMeter::Verdict;

/// Sends each block back after `delay_blocks` with the gain `gain` over its own noise.
class EchoDevice final : public Device {
 public:
  double gain = 0.5;
  std::size_t delay_blocks = 3;
  std::uint64_t drop_each = 0;
  float instead = 0;          // if not 0: value of every sample
  int blocks_left = 1 << 20;  // after these the device fails
  bool silent = false;        // no block ever comes
  Duration clock{};           // grows by a block's length times `slow`
  double slow = 1;
  std::function<Duration(int)> late;  // delay from the end of a block to its delivery
  int blocks = 0;
  std::uint64_t keyed_blocks = 0;
  std::vector<float> sent;

  Result<void> open() override {
    delayed_.assign(delay_blocks, std::vector<float>(info_.block_samples));
    return {};
  }
  void close() override {}
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override {
    if (silent) return Error{ErrorCode::timed_out, "nothing"};
    if (blocks_left-- == 0) return Error{ErrorCode::link_down, "unplugged"};
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = instead != 0 ? instead : static_cast<float>(gain) * delayed_.front()[i];
    }
    delayed_.pop_front();
    ++blocks;
    clock += from_seconds(slow * static_cast<double>(samples.size()) / info_.rate_hz);
    return Received{.dropped = drop_each};
  }
  Result<void> transmit(bool keyed, std::span<const float> samples) override {
    keyed_blocks += keyed ? 1 : 0;
    for (const float sample : samples) sent.push_back(sample);
    delayed_.emplace_back(samples.begin(), samples.end());
    return {};
  }

 private:
  Info info_{.rate_hz = 48000, .block_samples = 960};
  std::deque<std::vector<float>> delayed_;
};

Result<Examination> begin(EchoDevice& device) {
  return Examination::begin(device, [&] {
    return device.clock + (device.late ? device.late(device.blocks) : Duration{});
  });
}

TEST(Examination, hears_its_own_tone_and_keys_only_during_it) {
  EchoDevice device;
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  auto sound = examination->listen(0.5);
  ASSERT_TRUE(sound.ok());
  EXPECT_EQ(sound->level.verdict(), Verdict::silent);
  EXPECT_EQ(device.keyed_blocks, 0U);
  sound = examination->send_tone(1);
  ASSERT_TRUE(sound.ok());
  EXPECT_EQ(device.keyed_blocks, 50U);
  // The signal is sent at -9 dB and comes back with half the voltage. It is missing in the first of
  // 50 blocks.
  EXPECT_NEAR(power_db(sound->level.power), -9.03 - 6.02, 0.6);
  EXPECT_EQ(sound->level.verdict(), Verdict::good);
}

TEST(Examination, measures_the_clock_and_counts_losses) {
  EchoDevice device;
  device.slow = 48000.0 / 44100;
  device.drop_each = 2;
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  const auto sound = examination->listen(2);
  ASSERT_TRUE(sound.ok());
  EXPECT_NEAR(sound->rate_hz, 44100 * 962.0 / 960, 1);
  EXPECT_NEAR(sound->rate_doubt_hz, 0, 1);
  EXPECT_EQ(sound->lost, 200U);
}

TEST(Examination, says_how_exact_the_clock_of_a_device_with_late_blocks_can_be_known) {
  EchoDevice device;
  device.late = [](int block) { return from_seconds(0.02 * ((block * 7) % 11) / 11); };
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  const auto sound = examination->listen(2);
  ASSERT_TRUE(sound.ok());
  EXPECT_NEAR(sound->rate_hz, 48000, sound->rate_doubt_hz);
  EXPECT_LT(sound->rate_doubt_hz, 240);  // half a percent
  EXPECT_GT(sound->rate_doubt_hz, 24);
  // A measurement over 0.2 s is less exact by at least the same factor.
  EXPECT_GT(examination->listen(0.2)->rate_doubt_hz, 10 * sound->rate_doubt_hz);
}

// PulseAudio gives two blocks, and then none for 0.8 s or more.
TEST(Examination, a_sound_system_that_stands_still_when_it_has_just_begun_has_a_right_clock) {
  EchoDevice device;
  device.late = [](int block) { return from_seconds(block > 2 ? 0.8 : 0); };
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  ASSERT_TRUE(examination->settle(2).ok());
  EXPECT_EQ(device.blocks, 100);
  EXPECT_EQ(device.keyed_blocks, 0U);
  const auto sound = examination->listen(2);
  ASSERT_TRUE(sound.ok());
  EXPECT_NEAR(sound->rate_hz, 48000, 1);
  EXPECT_NEAR(sound->rate_doubt_hz, 0, 1);
}

TEST(Examination, tells_clipping_and_what_is_no_number) {
  EchoDevice device;
  device.instead = 1;
  EXPECT_EQ(begin(device)->listen(0.1)->level.verdict(), Verdict::clipping);
  device.instead = std::numeric_limits<float>::quiet_NaN();
  const auto sound = begin(device)->listen(0.1);
  ASSERT_TRUE(sound.ok());
  EXPECT_EQ(sound->level.not_numbers, 5 * 960U);
}

TEST(Examination, a_burst_comes_around_with_its_delay) {
  EchoDevice device;
  const auto loop = begin(device)->send_around(*parse_mode("110a-1200-short"), 100);
  ASSERT_TRUE(loop.ok());
  EXPECT_TRUE(loop->heard);
  EXPECT_EQ(loop->octets, 100U);
  EXPECT_EQ(loop->octets_right, 100U);
  EXPECT_GT(loop->snr_db, 20);
  // The key is down for the burst and not longer.
  const double burst_s = to_seconds(airtime(*parse_mode("110a-1200-short"), 100));
  EXPECT_NEAR(static_cast<double>(device.keyed_blocks), burst_s / 0.02, 1);
  // The answer to a block is heard three blocks later, which is two blocks of 20 ms after the end
  // of that block.
  EXPECT_NEAR(loop->round_trip_ms, 40, 0.5);
  EchoDevice longer;
  longer.delay_blocks = 13;
  const auto later = begin(longer)->send_around(*parse_mode("110a-1200-short"), 100);
  ASSERT_TRUE(later.ok());
  EXPECT_NEAR(later->round_trip_ms, loop->round_trip_ms + 200, 1);
}

TEST(Examination, a_tone_fills_the_lead_before_the_burst_that_goes_around) {
  EchoDevice device;
  const auto lead = std::chrono::milliseconds(300);
  const auto loop = begin(device)->send_around(*parse_mode("110a-1200-short"), 100, lead);
  ASSERT_TRUE(loop.ok());
  EXPECT_EQ(loop->octets_right, 100U);
  EXPECT_NEAR(loop->round_trip_ms, 40, 0.5);
  const double burst_s = to_seconds(airtime(*parse_mode("110a-1200-short"), 100));
  EXPECT_NEAR(static_cast<double>(device.keyed_blocks), burst_s / 0.02 + 15, 1);
  // The tone fills the first 300 ms except for the filter delay. At 48000 samples/s, 1500 Hz repeat
  // after 32 samples.
  std::vector<float> tone(device.sent.begin() + 960, device.sent.begin() + 15 * 960);
  double power = 0;
  double repeated = 0;
  for (std::size_t i = 32; i < tone.size(); ++i) {
    power += tone[i] * tone[i];
    repeated += tone[i] * tone[i - 32];
  }
  EXPECT_NEAR(power_db(power / static_cast<double>(tone.size() - 32)), -9.03, 0.2);
  EXPECT_NEAR(repeated / power, 1, 0.01);
}

TEST(Examination, what_is_lost_while_it_sends_is_told_too) {
  EchoDevice device;
  device.drop_each = 2;
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  EXPECT_EQ(examination->send_tone(1)->lost, 100U);
  const int before = device.blocks;
  const auto loop = examination->send_around(*parse_mode("110a-1200-short"), 10);
  ASSERT_TRUE(loop.ok());
  EXPECT_EQ(loop->lost, 2U * static_cast<unsigned>(device.blocks - before));
}

TEST(Examination, a_device_that_is_far_too_slow_is_given_up) {
  EchoDevice device;
  device.slow = 100;  // 2 s per block
  auto examination = begin(device);
  ASSERT_TRUE(examination.ok());
  EXPECT_EQ(examination->listen(1).error().code, ErrorCode::timed_out);
  EXPECT_EQ(device.blocks, 4);  // 2 x 1 s + 5 s
  device.slow = 6;
  EXPECT_TRUE(examination->listen(1).ok());
  device.slow = 100;
  EXPECT_EQ(examination->send_around(*parse_mode("110a-1200-short"), 10).error().code,
            ErrorCode::timed_out);
  device.slow = 1;
  const auto keyed = device.keyed_blocks;
  EXPECT_TRUE(examination->listen(1).ok());
  EXPECT_EQ(device.keyed_blocks, keyed);
}

TEST(Examination, a_burst_that_does_not_come_back_is_given_up) {
  EchoDevice device;
  device.gain = 0;
  const auto loop = begin(device)->send_around(*parse_mode("110a-2400-short"), 10);
  ASSERT_TRUE(loop.ok());
  EXPECT_FALSE(loop->heard);
  EXPECT_EQ(loop->octets_right, 0U);
}

TEST(Examination, a_device_that_is_silent_or_fails_is_an_error) {
  EchoDevice silent;
  silent.silent = true;
  EXPECT_EQ(begin(silent)->listen(1).error().code, ErrorCode::timed_out);
  EchoDevice failing;
  failing.blocks_left = 10;
  EXPECT_EQ(begin(failing)->listen(1).error().code, ErrorCode::link_down);
}

TEST(Examination, a_device_whose_timeouts_take_long_is_given_up_after_five_seconds) {
  EchoDevice silent;
  silent.silent = true;
  auto examination =
      Examination::begin(silent, [&] { return silent.clock += std::chrono::milliseconds(500); });
  ASSERT_TRUE(examination.ok());
  const std::vector<float> made(examination->block_samples());
  EXPECT_EQ(examination->exchange(made).error().code, ErrorCode::timed_out);
  EXPECT_GE(silent.clock, std::chrono::seconds(5));
  EXPECT_LE(silent.clock, std::chrono::milliseconds(5500));
}

class Doctor : public test::Hfmodem {};

TEST_F(Doctor, refuses_figures_that_are_out_of_range) {
  for (const char* arguments :
       {"doctor --rate 7999", "doctor --seconds 11", "doctor --seconds nan",
        "doctor --tone-seconds 11", "doctor --mode none", "doctor --station 16",
        "doctor --serial-rts /dev/null --serial-dtr /dev/null", "doctor --vox --cm108 /dev/null",
        "doctor --ptt-lead-ms 2001", "doctor --ptt-tail-ms nan", "scope --interval 0.05",
        "scope --seconds -1", "scope --mode none", "scope --rate 192001"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
  }
}

TEST_F(Doctor, a_device_that_is_not_there_is_a_finding_and_the_setting_is_printed) {
  const std::string cable = " --cable " + path("none");
  EXPECT_EQ(run("doctor" + cable), 1);
  const std::string report = read("stdout");
  EXPECT_NE(report.find("BAD  device"), std::string::npos) << report;
  EXPECT_NE(report.find("cable { socket: \"" + path("none") + "\" }"), std::string::npos) << report;
  EXPECT_EQ(run("scope" + cable), 1);
  EXPECT_NE(read("stderr").find(path("none")), std::string::npos) << read("stderr");
}

TEST_F(Doctor, tries_the_key_of_a_station_whose_sound_card_is_missing) {
  s5066::test::RigctldStandIn rig;
  rig.tell_key();
  const std::string port = std::to_string(rig.port());
  EXPECT_EQ(run("doctor --cable " + path("none") + " --rigctld-port " + port), 1);
  EXPECT_NE(rig.done().find("T 1\nT 0\nt\n"), std::string::npos) << rig.done();
  EXPECT_NE(read("stdout").find("ok   key      unkeyed, confirmed: "), std::string::npos)
      << read("stdout");
}

TEST_F(Doctor, the_lead_of_what_keys_on_sound_is_in_the_setting) {
  const std::string doctor = "doctor --cable " + path("none");
  EXPECT_EQ(run(doctor + " --vox"), 1);
  EXPECT_NE(read("stdout").find("  vox {}\n  ptt_lead_ms: 300\n}"), std::string::npos)
      << read("stdout");
  EXPECT_EQ(run(doctor + " --vox --ptt-lead-ms 450 --ptt-tail-ms 20"), 1);
  EXPECT_NE(read("stdout").find("  vox {}\n  ptt_lead_ms: 450\n  ptt_tail_ms: 20\n}"),
            std::string::npos)
      << read("stdout");
  EXPECT_EQ(run(doctor), 1);
  EXPECT_EQ(read("stdout").find("ptt_"), std::string::npos) << read("stdout");
}

TEST(LeadOptions, what_keys_on_sound_has_a_lead_unless_another_is_stated) {
  EXPECT_EQ(tools::LeadOptions().lead(), Duration::zero());
  EXPECT_EQ((tools::LeadOptions{.vox = true}.lead()), std::chrono::milliseconds(300));
  EXPECT_EQ((tools::LeadOptions{.vox = true, .lead_ms = 0}.lead()), Duration::zero());
  EXPECT_EQ((tools::LeadOptions{.lead_ms = 50}.lead()), std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace s5066::modem
