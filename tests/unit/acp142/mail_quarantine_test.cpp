// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_quarantine.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.h"

namespace s5066::acp142 {
namespace {

constexpr Address kShip{0x01020002};
constexpr Address kTug{0x01020003};

class MailQuarantineTest : public testing::Test {
 protected:
  MailQuarantineTest() { config.directory = (folder.path() / "quarantine").string(); }
  std::size_t files() const {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(config.directory, none)) {
      count += entry.is_regular_file();
    }
    return count;
  }

  test::TemporaryFolder folder;
  MailQuarantine::Config config;
};

TEST_F(MailQuarantineTest, the_octets_are_kept_once_for_each_station) {
  const MailQuarantine quarantine(config);
  const Bytes octets{1, 2, 3, 0, 255};
  const auto name = quarantine.keep(kShip, octets);
  ASSERT_TRUE(name) << to_string(name.error());
  std::ifstream file(config.directory + "/" + name->name, std::ios::binary);
  const Bytes there{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(there, octets);
  EXPECT_EQ(quarantine.keep(kShip, octets)->name, name->name) << "a repeat";
  EXPECT_EQ(files(), 1u);
  EXPECT_NE(quarantine.keep(kTug, octets)->name, name->name);
  EXPECT_EQ(files(), 2u);
}

TEST_F(MailQuarantineTest, a_full_folder_takes_no_more_and_says_so) {
  config.files_max = 2;
  config.octets_max = 100;
  const MailQuarantine quarantine(config);
  const auto takes = [&](Address from, const Bytes& octets) {
    const auto kept = quarantine.keep(from, octets);
    EXPECT_TRUE(kept);
    return kept && kept->full.empty();
  };
  EXPECT_TRUE(takes(kShip, Bytes(60, 1)));
  EXPECT_FALSE(takes(kShip, Bytes(41, 2)));
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(takes(kShip, Bytes(40, 3)));
  EXPECT_FALSE(takes(kShip, Bytes{}));
  EXPECT_TRUE(takes(kShip, Bytes(60, 1))) << "what is there is known";
  std::filesystem::remove_all(config.directory);
  EXPECT_TRUE(takes(kShip, Bytes(41, 2)));
}

TEST_F(MailQuarantineTest, one_station_does_not_fill_the_folder_for_the_others) {
  config.station_files_max = 2;
  config.station_octets_max = 100;
  const MailQuarantine quarantine(config);
  const auto full = [&](Address from, const Bytes& octets) {
    return quarantine.keep(from, octets)->full;
  };
  EXPECT_EQ(full(kShip, Bytes(60, 1)), "");
  EXPECT_NE(full(kShip, Bytes(41, 2)).find("60 octets of this station"), std::string::npos);
  EXPECT_EQ(full(kShip, Bytes(40, 3)), "");
  EXPECT_NE(full(kShip, Bytes{}).find("2 files"), std::string::npos);
  EXPECT_EQ(full(kTug, Bytes(100, 4)), "");
  EXPECT_EQ(files(), 3u);
}

TEST_F(MailQuarantineTest, a_disk_that_cannot_be_written_leaves_nothing_behind) {
  config.inbox_hook = [](gateways::Inbox::Step) { return ENOSPC; };
  EXPECT_FALSE(MailQuarantine(config).keep(kShip, Bytes{1}));
  EXPECT_EQ(files(), 0u);
  config.inbox_hook = {};
  EXPECT_TRUE(MailQuarantine(config).keep(kShip, Bytes{1}));
}

}  // namespace
}  // namespace s5066::acp142
