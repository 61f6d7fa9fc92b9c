// SPDX-License-Identifier: Apache-2.0
// These tests check the lines of `hfmodem scope`.
#include "modem/tools/scope_view.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace s5066::modem::tools {
namespace {

const Mode kMode{.rate_bps = 2400, .interleaver = Interleaver::short_};
const Bytes kOctets(50);

struct Screen {
  explicit Screen(bool terminal) : file(std::tmpfile()), view(file, terminal) {}
  ~Screen() { std::fclose(file); }
  void take(const BurstEvent& event) { view.take(event, {.samples = 1, .power = 0.1}); }
  void print() { view.print({.samples = 1, .power = 0.1}); }
  void end() { view.end({.samples = 1, .power = 0.1}); }
  /// Returns all lines that were written. The last one may have no end of line.
  std::vector<std::string> lines() const {
    std::rewind(file);
    std::vector<std::string> all(1);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      if (c == '\n') {
        all.emplace_back();
      } else {
        all.back().push_back(static_cast<char>(c));
      }
    }
    return all;
  }

  std::FILE* file;
  ScopeView view;
};

bool has(const std::string& line, const std::string& words) {
  return line.find(words) != std::string::npos;
}

BurstBytes bytes(float quality) {
  return {.mode = kMode, .bytes = kOctets, .soft_quality = quality, .channel = {.snr_db = 17}};
}

TEST(ScopeView, two_bursts_between_two_lines_have_one_each_that_says_how_it_ended) {
  for (const bool terminal : {false, true}) {
    Screen screen(terminal);
    screen.take(BurstAcquired{.mode = kMode});
    screen.take(bytes(0.9F));
    screen.take(bytes(0.5F));
    screen.take(BurstEnded{.reason = CarrierDownReason::replaced});
    screen.take(BurstAcquired{.mode = kMode});
    screen.take(BurstEnded{.reason = CarrierDownReason::lost});
    const auto lines = screen.lines();
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_TRUE(has(lines[0], "110a-2400-short  SNR 17.0 dB")) << lines[0];
    EXPECT_TRUE(has(lines[0], "quality 0.70  100 octets  ended: replaced")) << lines[0];
    EXPECT_TRUE(has(lines[1], "0 octets  ended: lost")) << lines[1];
  }
}

TEST(ScopeView, of_a_transmission_without_its_preamble_the_waveform_alone_is_told) {
  Screen screen(false);
  screen.take(BurstAcquired{.mode = kMode, .joined = true});
  screen.print();
  EXPECT_TRUE(has(screen.lines()[0], "110a of an unknown mode")) << screen.lines()[0];
  EXPECT_FALSE(has(screen.lines()[0], "SNR")) << screen.lines()[0];
}

TEST(ScopeView, what_was_noticed_before_the_same_transmission_was_acquired_has_no_line) {
  Screen screen(false);
  screen.take(BurstAcquired{.mode = kMode, .joined = true});
  screen.take(BurstEnded{.reason = CarrierDownReason::replaced, .same_signal = true});
  screen.take(BurstAcquired{.mode = kMode});
  screen.take(BurstEnded{.reason = CarrierDownReason::end_of_message});
  EXPECT_EQ(screen.lines().size(), 2U);
}

TEST(ScopeView, one_line_is_kept_up_to_date_and_that_of_a_burst_stays_at_the_end) {
  Screen screen(true);
  screen.print();
  screen.take(BurstAcquired{.mode = kMode});
  screen.print();
  EXPECT_EQ(screen.lines().size(), 1U);
  screen.take(bytes(0.5F));
  screen.end();
  const auto lines = screen.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(has(lines[0], "quality 0.50  50 octets")) << lines[0];
  EXPECT_FALSE(has(lines[0], "ended"));
}

}  // namespace
}  // namespace s5066::modem::tools
