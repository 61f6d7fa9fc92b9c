// SPDX-License-Identifier: Apache-2.0
// These tests use hfmodem as a user does: exit codes, messages, and bytes through a WAV file and
// back.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "modem/audio/wav_file.h"
#include "modem/channel/awgn.h"
#include "s5066d/base/version.h"
#include "tests/unit/modem_tools/hfmodem_fixture.h"

namespace s5066::modem {
namespace {

using test::Hfmodem;

TEST_F(Hfmodem, brings_bytes_through_a_wav_file_at_any_card_rate) {
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  write("in", text);
  for (const unsigned rate : {8000U, 9600U, 44100U, 48000U}) {
    ASSERT_EQ(mod("110a-1200-short", rate), 0) << read("stderr");
    ASSERT_EQ(demod(), 0) << read("stderr");
    EXPECT_EQ(read("out"), text) << rate;
    EXPECT_NE(read("stdout").find("110a-1200-short"), std::string::npos);
    EXPECT_NE(read("stdout").find("256 octets"), std::string::npos);
  }
}

TEST_F(Hfmodem, says_in_json_what_it_heard) {
  write("in", "abc");
  ASSERT_EQ(mod("110a-300-long", 48000), 0);
  ASSERT_EQ(demod("--json"), 0);
  const std::string line = read("stdout");
  EXPECT_NE(line.find("\"mode\":\"110a-300-long\""), std::string::npos) << line;
  EXPECT_NE(line.find("\"octets\":3"), std::string::npos) << line;
  EXPECT_NE(line.find("\"reason\":\"end_of_message\""), std::string::npos) << line;
  EXPECT_EQ(read("out"), "abc");
}

TEST_F(Hfmodem, sends_110d_with_either_constraint_length) {
  write("in", "abc");
  ASSERT_EQ(mod("110d-2400-s", 48000), 0) << read("stderr");
  const std::string nine = read("wav");
  ASSERT_EQ(mod("110d-2400-s", 48000, "--constraint-length-7"), 0) << read("stderr");
  EXPECT_NE(read("wav"), nine);
  ASSERT_EQ(demod(), 0);
  EXPECT_EQ(read("out"), "abc");
}

TEST_F(Hfmodem, sends_an_empty_file_as_an_empty_burst) {
  write("in", "");
  ASSERT_EQ(mod("110a-2400-short", 48000), 0);
  ASSERT_EQ(demod(), 0);
  EXPECT_EQ(read("out"), "");
}

TEST_F(Hfmodem, refuses_a_command_line_that_makes_no_sense_with_2) {
  write("in", "abc");
  EXPECT_EQ(run(""), 2);
  EXPECT_EQ(run("modulate"), 2);
  EXPECT_EQ(run("mod --in x"), 2);
  EXPECT_EQ(run("demod --in a --out b --loud"), 2);
  EXPECT_EQ(mod("110a-2400-medium", 48000), 2);
  EXPECT_NE(read("stderr").find("110a-2400-zero|short|long"), std::string::npos);
  EXPECT_EQ(mod("110a-2400-short", 7999), 2);
  EXPECT_EQ(mod("110a-2400-short", 8000), 0);
  EXPECT_EQ(run("--help"), 0);
  EXPECT_EQ(run("--version"), 0);
  EXPECT_TRUE(read("stdout").starts_with("hfmodem " + std::string(version()))) << read("stdout");
  EXPECT_EQ(run("mod --help"), 0);
}

TEST_F(Hfmodem, a_number_below_0_is_no_count) {
  for (const char* arguments :
       {"ber --mode 110a-2400-short --bits 1 --seed -1", "cable --socket x --seed -1",
        "mod --mode 110a-2400-short --in a --out b --rate -4294919296"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_NE(read("stderr").find("must not be below 0"), std::string::npos) << read("stderr");
  }
}

TEST_F(Hfmodem, one_mode_of_stanag_4285_is_listened_for_at_a_time) {
  const std::string one = " --mode 4285-600-long --mode 110a-75-short";
  const std::string two = one + " --mode 4285-600-short";
  for (const char* subcommand : {"scope --cable x", "serve --cable x"}) {
    EXPECT_EQ(run(subcommand + two), 2) << subcommand;
    EXPECT_NE(read("stderr").find("4285-600-long and 4285-600-short cannot both be given"),
              std::string::npos)
        << read("stderr");
    EXPECT_EQ(run(subcommand + one), 1) << subcommand;
  }
}

TEST_F(Hfmodem, does_not_write_over_what_it_reads) {
  write("in", std::string(50, 'u'));
  ASSERT_EQ(mod("110a-600-short", 8000), 0) << read("stderr");
  std::filesystem::create_symlink(path("in"), path("in_too"));
  std::filesystem::create_hard_link(path("wav"), path("wav_too"));
  const std::string octets = read("in");
  const std::string samples = read("wav");
  for (const std::string& arguments :
       {"mod --mode 110a-600-short --in " + path("in") + " --out " + path("in"),
        "mod --mode 110a-600-short --in " + path("in") + " --out " + path("in_too"),
        "demod --in " + path("wav") + " --out " + path("wav"),
        "demod --in " + path("wav") + " --out " + path("wav_too"),
        "demod --raw s16le --rate 8000 --in - --out " + path("wav") + " <" + path("wav"),
        "channel --in " + path("wav") + " --out " + path("wav")}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_NE(read("stderr").find("--out would overwrite --in"), std::string::npos)
        << arguments << read("stderr");
    EXPECT_EQ(read("in"), octets) << arguments;
    EXPECT_EQ(read("wav"), samples) << arguments;
  }
}

TEST_F(Hfmodem, fails_with_1_and_names_the_file_when_a_file_is_bad) {
  EXPECT_EQ(demod(), 1);
  EXPECT_NE(read("stderr").find(path("wav")), std::string::npos);
  EXPECT_EQ(mod("110a-2400-short", 48000), 1);
  EXPECT_NE(read("stderr").find(path("in")), std::string::npos);

  write("wav", "RIFF, but nothing that belongs behind it");
  EXPECT_EQ(demod(), 1);
  EXPECT_NE(read("stderr").find(path("wav")), std::string::npos);
  write("wav", "");
  EXPECT_EQ(demod(), 1);
}

TEST_F(Hfmodem, every_cut_of_a_wav_file_ends_in_an_exit_code) {
  write("in", "abc");
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  const std::string whole = read("wav");
  for (const std::size_t length : {4, 20, 43, 44, 45, 1000}) {
    write("wav", whole.substr(0, length));
    EXPECT_EQ(demod(), 1) << length;
    EXPECT_FALSE(read("stderr").empty());
  }
  write("wav", whole.substr(0, 12000));  // the file ends in the preamble
  EXPECT_EQ(demod(), 1);
  EXPECT_NE(read("stdout").find("input_ended"), std::string::npos);
}

TEST_F(Hfmodem, a_transmission_cut_in_half_fails_with_1_and_yields_only_what_was_sent) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text.push_back(static_cast<char>(i * i % 251));
  write("in", text);
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  const std::string whole = read("wav");
  write("wav", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(demod("--json"), 1);
  EXPECT_NE(read("stderr").find("1 of 1 bursts"), std::string::npos) << read("stderr");
  const std::string out = read("out");
  EXPECT_GT(out.size(), 1000U);
  EXPECT_EQ(out, text.substr(0, out.size()));
  std::string line = read("stdout");
  EXPECT_TRUE(line.ends_with("\"reason\":\"input_ended\"}\n")) << line;
  EXPECT_NE(line.find("\"octets\":" + std::to_string(out.size())), std::string::npos) << line;
  // If silence follows, the burst is lost before the input ends.
  write("wav", whole.substr(44, whole.size() / 2) + std::string(2 * 9600 * 10, '\0'));
  EXPECT_EQ(demod("--json --raw s16le --rate 9600"), 1);
  line = read("stdout");
  EXPECT_NE(line.find("\"reason\":\"lost\""), std::string::npos) << line;
}

// The signs of its probes tell the mode of STANAG 4539 if the preamble is missing.
TEST_F(Hfmodem, has_one_line_for_a_transmission_without_its_beginning_and_fails_with_1) {
  write("in", std::string(6000, 'j'));
  ASSERT_EQ(mod("4539-3200-us", 9600), 0);
  const std::string whole = read("wav");
  // The samples start after the preamble. The next inserted preamble comes after 8.64 s.
  write("wav", whole.substr(0, 44) + whole.substr(44 + 2 * 9600 * 2));
  EXPECT_EQ(demod("--json"), 1);
  const std::string lines = read("stdout");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
  EXPECT_EQ(lines.find("{\"mode\":\"4539-3200-us\",\"mode_known\":true"), 0u) << lines;
  EXPECT_NE(lines.find("\"reason\":\"end_of_message\""), std::string::npos) << lines;
  EXPECT_NE(read("stderr").find("1 of 1 bursts"), std::string::npos) << read("stderr");
}

TEST_F(Hfmodem, says_of_a_transmission_that_cannot_be_read_no_more_than_its_waveform) {
  write("in", std::string(2000, 'j'));
  ASSERT_EQ(mod("110a-2400-short", 9600), 0);
  const std::string whole = read("wav");
  // The samples start after the preamble.
  write("wav", whole.substr(0, 44) + whole.substr(44 + 2 * 9600));
  EXPECT_EQ(demod("--json"), 1);
  const std::string lines = read("stdout");
  EXPECT_EQ(lines.find("{\"mode\":\"110a\",\"mode_known\":false"), 0u) << lines;
  EXPECT_NE(lines.find("\"snr_db\":null,\"offset_hz\":null"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"octets\":0,"), std::string::npos) << lines;
  EXPECT_EQ(demod(""), 1);
  const std::string text = read("stdout");
  EXPECT_EQ(text.find("110a of an unknown mode  noticed "), 0u) << text;
  EXPECT_EQ(text.find("SNR"), std::string::npos) << text;
}

// Transmitters of other makers send zeros and an unfinished block after the mark.
TEST_F(Hfmodem, a_transmitter_that_goes_on_behind_its_message_has_one_line_and_0) {
  const std::string text = "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG 1234567890";
  for (const char* const mode : {"110a-300-short", "110a-2400-short", "4539-3200-us"}) {
    write("in", text + "\xD2\xA6\xA5\x4D" + std::string(2000, '\0'));
    ASSERT_EQ(mod(mode, 9600), 0);
    const std::string whole = read("wav");
    write("wav", whole.substr(0, 44 + 2 * 9600 * 33 / 10));
    EXPECT_EQ(demod("--json"), 0) << mode << ' ' << read("stderr");
    EXPECT_EQ(read("out"), text) << mode;
    const std::string lines = read("stdout");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
  }
}

/// Returns the number `name` of the last line of JSON that was printed.
double figure(const std::string& lines, const std::string& name) {
  const std::size_t at = lines.rfind('"' + name + "\":");
  return at == std::string::npos ? 0 : std::strtod(lines.c_str() + at + name.size() + 3, nullptr);
}

// The end of the preamble is enough to find the burst, but too short to measure the ratio.
TEST_F(Hfmodem, measures_the_ratio_by_the_octets_and_not_by_a_preamble_that_was_cut_short) {
  write("in", std::string(100, 'j'));
  for (const char* const mode : {"110a-600-short", "110a-2400-long", "4539-3200-s", "110d-600-s"}) {
    ASSERT_EQ(mod(mode, 9600), 0);
    std::string samples = read("wav");
    ASSERT_EQ(demod("--json"), 0) << mode;
    const double snr_db = figure(read("stdout"), "snr_db");
    for (const std::size_t ms : {20U, 60U, 100U, 140U}) {
      std::fill_n(samples.begin() + 44, 2 * 9600 * ms / 1000, '\0');
      write("wav", samples);
      demod("--json");
      const std::string line = read("stdout");
      if (figure(line, "octets") < 100) continue;  // too little of the preamble is left
      EXPECT_NEAR(figure(line, "snr_db"), snr_db, 3) << mode << ' ' << ms;
    }
  }
}

TEST_F(Hfmodem, tells_the_quality_of_all_octets_and_of_the_worst) {
  write("in", std::string(2000, 'q'));
  ASSERT_EQ(mod("110a-1200-short", 9600), 0);
  std::string samples = read("wav");
  // A crash of noise lasts for a second in the middle.
  Rng rng(1);
  for (std::size_t i = samples.size() / 2; i < samples.size() / 2 + 2 * 9600; ++i) {
    samples[i] = static_cast<char>(rng.below(256));
  }
  write("wav", samples);
  demod("--json");
  const std::string line = read("stdout");
  const auto value = [&](const std::string& name) {
    return std::stod(line.substr(line.find("\"" + name + "\":") + name.size() + 3));
  };
  EXPECT_GT(value("soft_quality"), value("soft_quality_min") + 0.1) << line;
  EXPECT_LT(value("soft_quality"), 0.99) << line;
}

TEST_F(Hfmodem, the_longest_burst_is_modulated_and_a_longer_one_refused) {
  // The limit is three hours at 300 bit/s, in whole blocks of 180 bits, with a preamble of 0.6 s
  // and a trailer of 176 bits. The error about the file shows the decision without three hours of
  // samples.
  const std::size_t longest = (17999U * 180 - 176) / 8;
  const std::string nowhere = path("missing/wav");
  const auto mod_to_nowhere = [&](std::size_t octets) {
    write("in", std::string(octets, 'x'));
    return run("mod --mode 110a-300-short --in " + path("in") + " --out " + nowhere);
  };
  EXPECT_EQ(mod_to_nowhere(longest), 1);
  EXPECT_NE(read("stderr").find(nowhere), std::string::npos) << read("stderr");
  EXPECT_EQ(mod_to_nowhere(longest + 1), 1);
  EXPECT_NE(read("stderr").find("3 hours"), std::string::npos) << read("stderr");
}

TEST_F(Hfmodem, reads_16_mib_and_refuses_one_octet_more_unread) {
  const std::uintmax_t most = std::uintmax_t{16} << 20;
  write("in", "");
  std::filesystem::resize_file(path("in"), most);
  EXPECT_EQ(mod("110a-2400-long", 48000), 1);
  EXPECT_NE(read("stderr").find("3 hours"), std::string::npos) << read("stderr");
  std::filesystem::resize_file(path("in"), most + 1);
  EXPECT_EQ(mod("110a-2400-long", 48000), 1);
  EXPECT_NE(read("stderr").find("more than 16777216 octets"), std::string::npos) << read("stderr");
  EXPECT_FALSE(std::filesystem::exists(path("wav")));
}

#ifndef SANITIZED  // sanitizers reserve more address space than the limit
TEST_F(Hfmodem, fails_with_1_when_there_is_not_enough_memory) {
  write("in", std::string(2'000'000, 'x'));
  const std::string command = "sh -c 'ulimit -v 50000; exec " + std::string(HFMODEM) +
                              " mod --mode 110a-2400-short --in " + path("in") + " --out " +
                              path("wav") + " 2>" + path("stderr") + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_NE(read("stderr").find("hfmodem: "), std::string::npos) << read("stderr");
}
#endif

TEST_F(Hfmodem, a_burst_that_cannot_be_written_was_found_all_the_same) {
  write("in", "abc");
  ASSERT_EQ(mod("110a-1200-short", 9600), 0);
  EXPECT_EQ(run("demod --in " + path("wav") + " --out " + path("nowhere/out")), 1);
  EXPECT_NE(read("stderr").find("nowhere/out"), std::string::npos) << read("stderr");
  EXPECT_EQ(read("stderr").find("no burst found"), std::string::npos) << read("stderr");
}

TEST_F(Hfmodem, fails_with_1_when_there_is_no_burst_in_the_file) {
  std::vector<float> samples(96000, 0.0F);
  channel::Awgn(0.1, Rng(1)).process(samples);
  ASSERT_TRUE(write_wav(path("wav"), 9600, samples).ok());
  EXPECT_EQ(demod(), 1);
  EXPECT_NE(read("stderr").find("no burst found"), std::string::npos);
}

}  // namespace
}  // namespace s5066::modem
