// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/card_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.h"

namespace s5066::modem {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;

const std::vector<std::string> kName = {"USB Audio", "USB Audio"};

/// Asks once a second whether a look is due. Each look finds no card. Returns the number of looks.
struct Seeker {
  CardSearch search{{.looks = 3, .pause = minutes(1)}};
  CardsPresent present{};
  std::vector<std::string> names = kName;
  Duration now{};

  unsigned looks_in(unsigned count) {
    unsigned looks = 0;
    for (unsigned n = 0; n < count; ++n) {
      now += seconds(1);
      if (!search.due(now, present, names)) continue;
      ++looks;
      search.on_look(now);
    }
    return looks;
  }
};

TEST(CardSearch, looks_a_few_times_and_then_seldom_for_as_long_as_it_takes) {
  Seeker seeker;
  EXPECT_EQ(seeker.looks_in(3), 3U);
  EXPECT_EQ(seeker.looks_in(59), 0U);
  EXPECT_EQ(seeker.looks_in(1), 1U);
  EXPECT_EQ(seeker.looks_in(24 * 3600), 24U * 60);
}

TEST(CardSearch, looks_anew_whenever_a_card_has_come_or_gone) {
  Seeker seeker;
  seeker.looks_in(10);
  seeker.present.cards.push_back({.number = 1, .usb_path = "usb:0000:00:14.0/1.2"});
  EXPECT_EQ(seeker.looks_in(10), 3U);
  seeker.present.cards.clear();
  EXPECT_EQ(seeker.looks_in(10), 3U);
  // The card was pulled out and came back in the same place between two looks.
  seeker.present.files_changed = fs::file_time_type(seconds(1));
  EXPECT_EQ(seeker.looks_in(10), 3U);
  EXPECT_EQ(seeker.looks_in(10), 0U);
}

TEST(CardSearch, begins_anew_with_a_card_that_was_found) {
  Seeker seeker;
  seeker.looks_in(10);
  seeker.search.on_found();
  EXPECT_EQ(seeker.looks_in(10), 3U);
}

TEST(CardSearch, of_a_usb_socket_it_knows_without_a_look_that_no_card_is_in_it) {
  Seeker seeker;
  seeker.names = {"usb:0000:00:14.0/1.2", "USB Audio"};
  EXPECT_EQ(seeker.looks_in(3), 3U);  // these looks show which cards are present
  EXPECT_EQ(seeker.looks_in(3600), 0U);
  seeker.present.cards.push_back({.number = 1, .usb_path = "usb:0000:00:14.0/1.2"});
  EXPECT_EQ(seeker.looks_in(3), 3U);
  EXPECT_EQ(seeker.looks_in(600), 10U);  // the card is present but does not open
}

TEST(CardsPresent, are_others_when_a_device_file_comes_or_goes_or_the_folder_does) {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  const fs::path files = root / "snd";
  const CardsPresent none = cards_present(root, files);
  EXPECT_EQ(none, cards_present(root, files));
  fs::create_directory(files);
  const CardsPresent some = cards_present(root, files);
  EXPECT_NE(none, some);
  EXPECT_EQ(some, cards_present(root, files));
  fs::last_write_time(files, *some.files_changed + seconds(1));
  EXPECT_NE(some, cards_present(root, files));
  fs::create_directory(root / "card3");
  EXPECT_EQ(cards_present(root, files).cards.at(0).number, 3U);
}

}  // namespace
}  // namespace s5066::modem
