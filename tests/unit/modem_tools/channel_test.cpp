// SPDX-License-Identifier: Apache-2.0
// These tests run `hfmodem channel` and `hfmodem ber`, and `demod` on samples without a header.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "modem/audio/wav_file.h"
#include "modem/channel/awgn.h"
#include "modem/tools/bit_errors.h"
#include "modem/tools/samples.h"
#include "tests/unit/modem_tools/hfmodem_fixture.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kWavHeader = 44;  // header of a 16-bit file by libsndfile

class Channel : public test::Hfmodem {
 protected:
  int channel(const std::string& more) const {
    return run("channel --in " + path("wav") + " --out " + path("heard") + " " + more);
  }
  int demod_heard(const std::string& more = "") const {
    return run("demod --in " + path("heard") + " --out " + path("out") + " " + more);
  }
  bool said(const std::string& stream, const std::string& text) const {
    return read(stream).find(text) != std::string::npos;
  }
  std::vector<float> samples_of(const std::string& name) const {
    auto reader = WavReader::open(path(name));
    std::vector<float> samples(1U << 20);
    samples.resize(*reader->read(samples));
    return samples;
  }
};

double power_of(const std::vector<float>& samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum / static_cast<double>(samples.size());
}

TEST_F(Channel, everything_a_path_does_is_survived_and_seen) {
  const std::string text(500, 'u');
  write("in", text);
  ASSERT_EQ(mod("110a-600-short", 48000), 0) << read("stderr");
  ASSERT_EQ(channel("--channel poor --snr-db 14 --offset-hz 40 --skew-ppm 80 --ssb-filter "
                    "--impulses-per-s 0.2 --impulse-db 6 --gain-db -6 --seed 3 --out-rate 8000"),
            0)
      << read("stderr");
  ASSERT_EQ(demod_heard("--json"), 0) << read("stderr");
  EXPECT_EQ(read("out"), text);
  const std::string json = read("stdout");
  const auto at = json.find("\"offset_hz\":");
  ASSERT_NE(at, std::string::npos) << json;
  EXPECT_NEAR(std::stod(json.substr(at + 12)), 40, 2) << json;
}

TEST_F(Channel, a_seed_repeats_the_noise_and_another_does_not) {
  write("in", "x");
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  ASSERT_EQ(channel("--snr-db 10 --gain-db -10"), 0) << read("stderr");
  const std::string first = read("heard");
  ASSERT_EQ(channel("--snr-db 10 --gain-db -10"), 0);
  EXPECT_EQ(read("heard"), first);
  ASSERT_EQ(channel("--snr-db 10 --gain-db -10 --seed 2"), 0);
  EXPECT_NE(read("heard"), first);
}

// Noise at 9600/s fills 4800 Hz. It has 2.04 dB more power than the ratio counts in 3 kHz. Pauses
// do not count as signal, because they would make the noise too weak.
TEST_F(Channel, noise_is_measured_by_the_signal_without_its_pauses) {
  std::vector<float> samples(96000, 0.0F);
  channel::Awgn(1e-4, Rng(2)).process(samples);  // a recording always has some noise
  for (std::size_t i = 0; i < 9600; ++i) {
    samples[i] = static_cast<float>(0.1 * std::sin(0.3 * static_cast<double>(i)));
  }
  ASSERT_TRUE(write_wav(path("wav"), 9600, samples).ok());
  ASSERT_EQ(channel("--snr-db 3"), 0) << read("stderr");
  EXPECT_TRUE(said("stdout", "signal -23.0 dB")) << read("stdout");
  std::vector<float> heard = samples_of("heard");
  heard.erase(heard.begin(), heard.begin() + 9700);
  EXPECT_NEAR(10 * std::log10(power_of(heard)), -23.0 - 3.0 + 2.04, 0.1);
}

// Crashes of 5 ms at twenty a second are on for a tenth of the time (0.005 in 0.055 s).
TEST_F(Channel, static_comes_as_often_and_as_loud_as_asked) {
  ASSERT_TRUE(write_wav(path("wav"), 9600, std::vector<float>(192000)).ok());
  ASSERT_EQ(channel("--signal-db -30 --snr-db 60 --impulses-per-s 20 --impulse-db 3"), 0)
      << read("stderr");
  EXPECT_NEAR(10 * std::log10(power_of(samples_of("heard"))), -30 + 3 - 10.4, 1);
}

TEST_F(Channel, says_how_much_did_not_fit_into_the_file) {
  write("in", "x");
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  ASSERT_EQ(channel("--snr-db -10"), 0);
  EXPECT_TRUE(said("stderr", "samples clipped")) << read("stderr");
  ASSERT_EQ(channel("--snr-db -10 --gain-db -20"), 0);
  EXPECT_EQ(read("stderr"), "");
}

TEST_F(Channel, refuses_figures_that_are_out_of_range_or_none) {
  write("in", "x");
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  for (const char* more : {"--snr-db nan",        "--snr-db -51",
                           "--snr-db 101",        "--delay-ms -1",
                           "--delay-ms 51",       "--doppler-hz 101",
                           "--doppler-hz 0.009",  "--doppler-hz inf",
                           "--offset-hz 501",     "--skew-ppm 1001",
                           "--impulses-per-s -1", "--impulse-db 101",
                           "--gain-db 101",       "--signal-db 21",
                           "--out-rate 7999",     "--out-rate 192001",
                           "--rate 7999",         "--channels 0",
                           "--channel pour",      "--channel poor --delay-ms 1",
                           "--snr-db ten",        "--in - --signal-db 0"}) {
    EXPECT_EQ(channel(more), 2) << more;
    EXPECT_FALSE(read("stderr").empty()) << more;
  }
  for (const char* more : {"--snr-db -50 --gain-db -60", "--snr-db 100", "--doppler-hz 0.01",
                           "--doppler-hz 100 --delay-ms 50", "--skew-ppm -1000"}) {
    EXPECT_EQ(channel(more), 0) << more << read("stderr");
  }
}

TEST_F(Channel, silence_has_no_signal_and_a_missing_file_is_named) {
  ASSERT_TRUE(write_wav(path("wav"), 9600, std::vector<float>(9600)).ok());
  EXPECT_EQ(channel(""), 1);
  EXPECT_TRUE(said("stderr", "--signal-db")) << read("stderr");
  EXPECT_EQ(channel("--signal-db -10"), 0) << read("stderr");
  EXPECT_EQ(run("channel --in " + path("none") + " --out " + path("heard")), 1);
  EXPECT_TRUE(said("stderr", path("none"))) << read("stderr");
}

TEST_F(Channel, samples_without_a_header_are_heard_from_a_file_and_from_a_pipe) {
  const std::string text(200, 'r');
  write("in", text);
  ASSERT_EQ(mod("110a-1200-short", 44100), 0);
  write("heard", read("wav").substr(kWavHeader));
  ASSERT_EQ(demod_heard("--raw s16le --rate 44100"), 0) << read("stderr");
  EXPECT_EQ(read("out"), text);
  const std::string command = "cat " + path("heard") + " | " + HFMODEM +
                              " demod --raw s16le --rate 44100 --in - --out " + path("piped") +
                              " >" + path("stdout");
  ASSERT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_EQ(read("piped"), text);
}

// The source never ends: the script holds the pipe open after a burst and twenty seconds of
// silence.
class Endless : public Channel {
 protected:
  void SetUp() override {
    Channel::SetUp();
    write("in", text);
    ASSERT_EQ(mod("110a-1200-short", 9600), 0);
    write("heard", read("wav").substr(kWavHeader) + std::string(20 * 9600 * 2, '\0'));
  }
  /// Runs a shell script in which $demod hears the samples written to descriptor 3, `source`.
  int run_script(const std::string& script) const {
    write("script", "cd " + folder_.string() +
                        "\nmkfifo source\nexec 3<>source\ndemod='timeout 60 " + HFMODEM +
                        " demod --raw s16le --rate 9600 --in - --out out'\n" + script);
    return WEXITSTATUS(std::system(("sh " + path("script")).c_str()));
  }
  const std::string text = std::string(200, 'e');
};

TEST_F(Endless, octets_and_lines_come_while_the_source_goes_on) {
  EXPECT_EQ(
      run_script("$demod <source >lines 3>&- & demodulator=$!\n"
                 "cat heard >&3\n"
                 "n=0; while [ ! -s lines ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done\n"
                 "cp out early\n"
                 "exec 3>&-; wait $demodulator\n"),
      0);
  EXPECT_EQ(read("early"), text);
}

TEST_F(Endless, ends_when_its_reader_has_gone) {
  EXPECT_EQ(run_script("cat heard >&3 & feeder=$!\n"
                       "($demod <source 2>stderr 3>&-; echo $? >status) | true\n"
                       "kill $feeder 2>&-; true\n"),
            0);
  EXPECT_EQ(read("status"), "1\n") << read("stderr");
  EXPECT_TRUE(said("stderr", "standard output")) << read("stderr");
}

TEST_F(Channel, of_raw_channels_the_first_is_taken_in_floating_point_too) {
  const std::string text(100, 'f');
  write("in", text);
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  std::string raw;
  for (const float sample : samples_of("wav")) {
    const auto bits = std::bit_cast<std::uint32_t>(sample);
    for (unsigned i = 0; i < 4; ++i) raw.push_back(static_cast<char>(bits >> (8 * i)));
    raw.append("\x12\x34\x56\x3f", 4);  // sample of the other channel
  }
  write("heard", raw);
  ASSERT_EQ(demod_heard("--raw f32le --rate 9600 --channels 2"), 0) << read("stderr");
  EXPECT_EQ(read("out"), text);
}

TEST_F(Channel, raw_samples_need_a_rate_and_an_encoding_that_exist) {
  write("heard", std::string(1000, '\0'));
  for (const char* more : {"--raw s16le", "--raw s16le --rate 7999", "--raw s16le --rate 192001",
                           "--raw s17 --rate 9600", "--raw s16le --rate 9600 --channels 65",
                           "--raw s16le --rate 9600 --channels -1"}) {
    EXPECT_EQ(demod_heard(more), 2) << more;
  }
  EXPECT_EQ(run("demod --in - --out " + path("out") + " </dev/null"), 1);
  EXPECT_EQ(demod_heard("--raw s16le --rate 8000"), 1);
  EXPECT_TRUE(said("stderr", "sound is silent")) << read("stderr");
  EXPECT_TRUE(said("stderr", "no burst found")) << read("stderr");
}

TEST_F(Channel, a_file_that_lies_about_its_rate_is_heard_at_the_true_one) {
  write("in", "truth");
  ASSERT_EQ(mod("110a-2400-short", 48000), 0);
  ASSERT_TRUE(write_wav(path("heard"), 44100, samples_of("wav")).ok());
  EXPECT_EQ(demod_heard(), 1);
  EXPECT_EQ(demod_heard("--rate 48000"), 0) << read("stderr");
  EXPECT_EQ(read("out"), "truth");
  // --rate also helps if the header gives a rate that no file may have.
  std::string header = read("heard");
  header.replace(24, 4, std::string("\xE8\x03\0\0", 4));  // 1000 samples/s
  write("heard", header);
  EXPECT_EQ(demod_heard(), 1);
  EXPECT_TRUE(said("stderr", "1000 samples/s; 8000 to 192000 can be used")) << read("stderr");
  EXPECT_EQ(demod_heard("--rate 48000"), 0) << read("stderr");
  EXPECT_EQ(read("out"), "truth");
}

TEST_F(Channel, samples_that_are_no_numbers_are_counted_and_taken_for_silence) {
  const std::string text(300, 'n');
  write("in", text);
  ASSERT_EQ(mod("110a-300-short", 48000), 0);
  std::string raw;
  const auto put = [&](float sample) {
    const auto bits = std::bit_cast<std::uint32_t>(sample);
    for (unsigned i = 0; i < 4; ++i) raw.push_back(static_cast<char>(bits >> (8 * i)));
  };
  std::size_t at = 0;
  for (const float sample : samples_of("wav")) {
    const bool bad = ++at % 5000 == 0;
    put(!bad              ? sample
        : at % 10000 == 0 ? std::numeric_limits<float>::quiet_NaN()
                          : -std::numeric_limits<float>::infinity());
  }
  write("heard", raw);
  ASSERT_EQ(demod_heard("--raw f32le --rate 48000"), 0) << read("stderr");
  EXPECT_EQ(read("out"), text);
  EXPECT_TRUE(said("stderr", "samples are not numbers")) << read("stderr");
}

TEST_F(Channel, nothing_behind_a_source_sees_what_is_no_number) {
  std::string raw;
  for (unsigned i = 0; i < 40000; ++i) {
    raw.append(i % 1000 == 999 ? std::string("\0\0\xc0\x7f", 4) : std::string(4, '\0'));
  }
  write("heard", raw);
  for (const unsigned rate : {9600U, 48000U}) {
    auto source = tools::SampleSource::open({.path = path("heard"), .raw = "f32le", .rate = rate});
    ASSERT_TRUE(source.ok());
    for (auto samples = source->read(); samples && !samples->empty(); samples = source->read()) {
      for (const float sample : *samples) ASSERT_EQ(sample, 0.0F);
    }
    EXPECT_EQ(source->take_level().not_numbers, 40U);
  }
}

TEST_F(Channel, a_mode_without_a_preamble_is_heard_when_it_is_named) {
  const std::string text(400, '4');
  write("in", text);
  ASSERT_EQ(mod("4285-1200-short", 9600), 0);
  EXPECT_EQ(demod(), 1);
  EXPECT_EQ(demod("--mode 4285-1200-short"), 0) << read("stderr");
  EXPECT_EQ(read("out"), text);
  EXPECT_EQ(demod("--mode 4285-1200-short --mode nonsense"), 2);
}

// --- hfmodem ber ---

TEST_F(Channel, the_error_rate_is_counted_with_its_bounds) {
  ASSERT_EQ(run("ber --mode 110a-4800-zero --snr-db 9 --bits 50000 --burst-s 2 --json"), 0)
      << read("stderr");
  const std::string json = read("stdout");
  const auto figure = [&](const std::string& name) {
    const auto at = json.find("\"" + name + "\":");
    return at == std::string::npos ? -1 : std::stod(json.substr(at + name.size() + 3));
  };
  EXPECT_GE(figure("bits"), 50000) << json;
  EXPECT_GT(figure("wrong_bits"), 0) << json;
  EXPECT_NEAR(figure("ber"), figure("errors") / figure("bits"), 2e-3 * figure("ber")) << json;
  EXPECT_LE(figure("ber_low"), figure("ber")) << json;
  EXPECT_GE(figure("ber_high"), figure("ber")) << json;
  EXPECT_GT(figure("frames"), figure("frame_errors")) << json;
}

TEST_F(Channel, an_error_rate_needs_a_mode_and_sensible_figures) {
  for (const char* arguments :
       {"", "--mode 110a-2400-medium", "--mode 110a-2400-short --bits 0",
        "--mode 110a-2400-short --bits nan", "--mode 110a-2400-short --burst-s 601",
        "--mode 110a-75-long --burst-s 4", "--mode 110a-2400-short --snr-db 101"}) {
    EXPECT_EQ(run(std::string("ber ") + arguments), 2) << arguments;
  }
}

// --impulse-db is relative to the signal, and the power of the signal depends on the mode.
TEST(BitErrors, crashes_of_static_are_as_strong_as_the_signal_makes_them) {
  for (const char* name : {"110a-2400-short", "4539-9600-s"}) {
    tools::BitErrorPlan plan{.mode = *parse_mode(name)};
    plan.path.impulses.emplace().deviation = 2;
    const auto path = tools::simulated_path(plan);
    EXPECT_LT(path.signal_power, 0.2);
    EXPECT_NEAR(path.impulses->deviation, 2 * std::sqrt(path.signal_power), 1e-9);
  }
}

TEST_F(Channel, does_not_write_over_what_it_reads) {
  write("in", std::string(50, 'u'));
  ASSERT_EQ(mod("110a-600-short", 8000), 0) << read("stderr");
  const std::string before = read("wav");
  for (const char* more : {"", " --signal-db -9"}) {
    EXPECT_NE(run("channel --in " + path("wav") + " --out " + path("wav") + more), 0);
    EXPECT_TRUE(said("stderr", "--out would overwrite --in")) << read("stderr");
    EXPECT_EQ(read("wav"), before);
  }
}

TEST(BitErrors, without_an_error_there_is_an_upper_bound_only) {
  const tools::BitErrorCounts clean{.bits = 100000, .frames = 100};
  EXPECT_EQ(tools::bounds_of(clean).low, 0);
  EXPECT_NEAR(tools::bounds_of(clean).high, 0.5 * 0.037,
              1e-3);  // a lost frame has half its bits wrong
}

// Wilson's interval of 10 in 100 is 0.0552 to 0.1744. A wrong frame has a tenth of its bits wrong.
TEST(BitErrors, bounds_are_wilsons_times_the_errors_of_a_wrong_frame) {
  const tools::BitErrorCounts counts{
      .bits = 100000, .wrong = 1000, .frames = 100, .frames_wrong = 10};
  EXPECT_NEAR(tools::bounds_of(counts).low, 0.00552, 1e-5);
  EXPECT_NEAR(tools::bounds_of(counts).high, 0.01744, 1e-5);
}

TEST(BitErrors, what_was_not_delivered_counts_half_and_sums_add_up) {
  tools::BitErrorCounts counts{.bits = 1000, .wrong = 10, .missing = 100};
  EXPECT_DOUBLE_EQ(counts.rate(), 0.06);
  counts.add({.bits = 1000});
  EXPECT_DOUBLE_EQ(counts.rate(), 0.03);
}

}  // namespace
}  // namespace s5066::modem
