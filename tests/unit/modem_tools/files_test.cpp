// SPDX-License-Identifier: Apache-2.0
// These tests name files that hfmodem reads, writes or refuses, and check its messages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "modem/audio/wav_file.h"
#include "tests/unit/modem_tools/hfmodem_fixture.h"

namespace s5066::modem {
namespace {

class Files : public test::Hfmodem {
 protected:
  bool said(const std::string& text) const {
    return read("stderr").find(text) != std::string::npos;
  }
  /// Makes a burst of "abc" in the file `name` below the folder.
  void make(const std::string& name, const std::string& more = "") {
    write("in", "abc");
    ASSERT_EQ(run("mod --mode 110a-2400-short " + path("in") + " --rate 9600 --out " + path(name) +
                  " " + more),
              0)
        << read("stderr");
  }
  int shell(const std::string& command) const {
    return WEXITSTATUS(std::system(("cd " + folder_.string() + "; " + command).c_str()));
  }
  /// Puts `value` as four octets, least significant first, at the place `at` of a file.
  void patch(const std::string& name, std::size_t at, std::uint32_t value) {
    std::string file = read(name);
    for (unsigned i = 0; i < 4; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
    write(name, file);
  }
};

constexpr std::size_t kRiffSize = 4;
constexpr std::size_t kRate = 24;
constexpr std::size_t kDataSize = 40;

TEST_F(Files, octets_and_samples_pass_through_pipes) {
  const std::string program = HFMODEM;
  ASSERT_EQ(shell("printf abc | " + program +
                  " mod --mode 110a-2400-short --rate 9600 --in - --out - "
                  "2>stderr | " +
                  program + " demod --raw s16le --rate 9600 - --out - >out 2>lines"),
            0)
      << read("stderr") << read("lines");
  EXPECT_EQ(read("out"), "abc");
  EXPECT_NE(read("lines").find("3 octets"), std::string::npos) << read("lines");
  EXPECT_FALSE(std::filesystem::exists(path("-")));
}

TEST_F(Files, the_ending_of_a_name_says_which_sound_file_is_written) {
  for (const auto& [name, magic] :
       std::vector<std::pair<std::string, std::string>>{{"m.flac", "fLaC"},
                                                        {"m.WAV", "RIFF"},
                                                        {"m.au", ".snd"},
                                                        {"m.aiff", "FORM"},
                                                        {"m", "RIFF"}}) {
    make(name);
    EXPECT_TRUE(read(name).starts_with(magic)) << name;
    EXPECT_EQ(run("demod " + path(name) + " --out " + path("out")), 0) << name << read("stderr");
    EXPECT_EQ(read("out"), "abc") << name;
  }
  for (const char* command : {"mod --mode 110a-2400-short --in in", "channel --in m"}) {
    EXPECT_EQ(run(std::string(command) + " --out m.mp3"), 2);
    EXPECT_TRUE(said("m.mp3: no sound file can be written with that ending")) << read("stderr");
  }
}

TEST_F(Files, what_is_not_a_sound_file_is_named_for_what_it_is) {
  std::filesystem::create_directory(path("folder"));
  write("empty", "");
  write("letter", "Dear all,\nthis is text.\n");
  write("bare", std::string("\0\1\2\3\0\5\6\7", 8));
  for (const auto& [name, words] : std::vector<std::pair<std::string, std::string>>{
           {"folder", "is a folder"},
           {"empty", "the file is empty"},
           {"letter", "this is text, not sound"},
           {"bare", "if it holds samples without a header, give --raw"},
           {"missing", "No such file"}}) {
    EXPECT_EQ(run("demod " + path(name)), 1) << name;
    EXPECT_TRUE(said(words)) << name << ": " << read("stderr");
  }
}

TEST_F(Files, a_rate_in_the_header_that_cannot_be_is_replaced_by_the_one_stated) {
  make("m.wav");
  for (const std::uint32_t rate : {0U, 4'000'000'000U, 1000U}) {
    patch("m.wav", kRate, rate);
    EXPECT_EQ(run("demod " + path("m.wav")), 1) << rate;
    EXPECT_EQ(run("demod " + path("m.wav") + " --rate 9600 --out " + path("out")), 0)
        << rate << read("stderr");
    EXPECT_EQ(read("out"), "abc");
  }
}

TEST_F(Files, a_recording_whose_recorder_was_killed_is_heard_and_that_is_said) {
  make("m.wav");
  patch("m.wav", kDataSize, 0);
  for (const std::uint32_t size : {0U, 36U, 0xFFFFFFFFU}) {
    patch("m.wav", kRiffSize, size);
    EXPECT_EQ(run("demod " + path("m.wav") + " --out " + path("out")), 0) << read("stderr");
    EXPECT_TRUE(said("as if the recorder was killed")) << read("stderr");
    EXPECT_EQ(read("out"), "abc");
  }
  patch("m.wav", kRiffSize, 1000);  // other data follow, so there are no samples
  EXPECT_EQ(run("demod " + path("m.wav")), 1);
  EXPECT_TRUE(said("no burst found")) << read("stderr");
}

TEST_F(Files, each_channel_can_be_taken_and_the_one_with_sound_is_told) {
  make("m.raw");
  const std::string mono = read("m.raw");
  std::string stereo;
  for (std::size_t at = 0; at < mono.size(); at += 2) {
    stereo += std::string(2, '\0') + mono.substr(at, 2);
  }
  write("stereo", stereo);
  const std::string demod = "demod --raw s16le --rate 9600 --channels 2 " + path("stereo");
  EXPECT_EQ(run(demod), 1);
  EXPECT_TRUE(said("read it with --take-channel 2")) << read("stderr");
  EXPECT_EQ(run(demod + " --take-channel 2 --out " + path("out")), 0) << read("stderr");
  EXPECT_EQ(read("out"), "abc");
  EXPECT_EQ(run(demod + " --take-channel 3"), 2);
  EXPECT_EQ(run(demod + " --take-channel 0"), 2);
  make("m.wav");
  EXPECT_EQ(run("demod " + path("m.wav") + " --take-channel 2"), 1);
  EXPECT_TRUE(said("no channel 2, there are 1")) << read("stderr");
}

TEST_F(Files, several_files_are_listed_by_name) {
  make("one.wav");
  make("two.wav");
  const std::string both = path("one.wav") + " " + path("two.wav");
  EXPECT_EQ(run("demod " + both + " --out " + path("out")), 0) << read("stderr");
  EXPECT_EQ(read("out"), "abcabc");
  const std::string lines = read("stdout");
  EXPECT_TRUE(lines.starts_with(path("one.wav") + "  110a-2400-short")) << lines;
  EXPECT_NE(lines.find('\n' + path("two.wav") + "  110a"), std::string::npos) << lines;
  EXPECT_EQ(run("demod --json " + both), 0);
  EXPECT_NE(read("stdout").find("\"file\":\"" + path("two.wav") + "\""), std::string::npos);
  EXPECT_EQ(run("demod " + both + " " + path("three.wav")), 1);
  EXPECT_NE(read("stdout").find("two.wav"), std::string::npos);
}

TEST_F(Files, octets_are_shown_as_text_or_hex_without_a_file_for_them) {
  make("m.wav");
  EXPECT_EQ(run("demod " + path("m.wav")), 0);
  EXPECT_TRUE(read("stdout").ends_with("end_of_message\n  abc\n")) << read("stdout");
  EXPECT_EQ(run("demod --json " + path("m.wav")), 0);
  EXPECT_NE(read("stdout").find("\"hex\":\"616263\",\"reason\":\"end_of_message\"}"),
            std::string::npos)
      << read("stdout");
  write("in", std::string("a\x1b[2J\0z", 7));
  ASSERT_EQ(run("mod --mode 110a-2400-short " + path("in") + " --out " + path("m.wav")), 0);
  EXPECT_EQ(run("demod " + path("m.wav")), 0);
  EXPECT_TRUE(read("stdout").ends_with("\n  000000 61 1b 5b 32 4a 00 7a\n")) << read("stdout");
}

TEST_F(Files, the_start_of_a_burst_is_told) {
  make("m.wav");  // the burst follows a tenth of a second of silence
  EXPECT_EQ(run("demod --json " + path("m.wav")), 0);
  EXPECT_NE(read("stdout").find("\"started_s\":0.10"), std::string::npos) << read("stdout");
}

TEST_F(Files, modes_are_listed_and_named_by_patterns) {
  ASSERT_EQ(run("modes"), 0);
  EXPECT_NE(read("stdout").find("110d-16000-l "), std::string::npos);
  ASSERT_EQ(run("modes 4285-600"), 0);
  const std::string listed = read("stdout");
  for (const char* mode : {"4285-600-zero", "4285-600-short", "4285-600-long"}) {
    EXPECT_NE(listed.find(mode), std::string::npos) << listed;
  }
  EXPECT_EQ(listed.find("4285-1200"), std::string::npos) << listed;
  EXPECT_EQ(run("modes --json '4539-*-vl'"), 0);
  EXPECT_NE(read("stdout").find("{\"mode\":\"4539-9600-vl\",\"bps\":9600,"), std::string::npos);
  EXPECT_EQ(run("modes 4286"), 2);
}

TEST_F(Files, a_mode_that_must_be_named_is_found_among_all_of_its_waveform) {
  const std::string text = "which of the many modes is this";
  write("in", text);
  ASSERT_EQ(run("mod --mode 4285-600-short --rate 9600 " + path("in") + " --out " + path("m.wav")),
            0);
  ASSERT_EQ(run("demod --mode 4285 " + path("m.wav") + " --out " + path("out")), 0)
      << read("stdout") << read("stderr");
  EXPECT_EQ(read("out"), text);
  EXPECT_TRUE(read("stdout").starts_with("4285-600-short")) << read("stdout");
}

}  // namespace
}  // namespace s5066::modem
