// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/inbox.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "gateways/common/file_name.h"
#include "s5066d/base/rng.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

const Bytes kHello{'h', 'e', 'l', 'l', 'o'};

TEST(FileName, a_name_with_colons_stays_whole) {
  const auto safe = [](std::string_view name) { return safe_file_name(name, "unnamed"); };
  EXPECT_EQ(safe("config-router-2026-06-30_18:55:00.xml"), "config-router-2026-06-30_18:55:00.xml");
  EXPECT_EQ(safe("disk:file"), "disk:file");
  EXPECT_EQ(safe("1:2"), "1:2");
  EXPECT_EQ(safe(":"), ":");
  EXPECT_EQ(safe("C:\\orders\\18:55.doc"), "18:55.doc");
  EXPECT_EQ(safe("C:today.doc"), "today.doc");
  EXPECT_EQ(safe("c:/today.doc"), "today.doc");
  EXPECT_EQ(safe("C:"), "unnamed");
  EXPECT_EQ(safe("C:.."), "unnamed");
  EXPECT_EQ(without_colons("18:55:00.xml"), "18_55_00.xml");
}

TEST(FileName, what_cannot_stand_in_a_name_is_replaced_one_by_one) {
  const auto safe = [](std::string_view name) { return safe_file_name(name, "unnamed"); };
  EXPECT_EQ(safe("a\"b*c<d>e?f|g"), "a_b_c_d_e_f_g");
  EXPECT_EQ(safe("two\nlines\x7F"), "two_lines_");
  EXPECT_EQ(safe("a\0b"s), "a_b");
  EXPECT_EQ(safe("\xC2\x85next"), "_next");              // a control character of two octets
  EXPECT_EQ(safe("a\xE2\x80\xAEtxt.exe"), "a_txt.exe");  // right-to-left override
  EXPECT_EQ(safe(".profile"), "_profile");
  EXPECT_EQ(safe("..hidden"), "_.hidden");
  EXPECT_EQ(safe("\x01.\x7F.bashrc"), "_._.bashrc");
}

TEST(FileName, a_number_goes_in_front_of_the_ending) {
  EXPECT_EQ(numbered_name("one.txt", 0), "one.txt");
  EXPECT_EQ(numbered_name("one.txt", 1), "one.1.txt");
  EXPECT_EQ(numbered_name("archive.tar.gz", 12), "archive.12.tar.gz");
  EXPECT_EQ(numbered_name("x.7z", 2), "x.2.7z");
  EXPECT_EQ(numbered_name("18:55:00.xml", 1), "18:55:00.1.xml");
  for (const char* whole : {"README", ".profile", "_profile", "v1.2", "a.", "Mr. Smith", ".tar",
                            "name.too-long", "name.12345678901234567a"}) {
    EXPECT_EQ(numbered_name(whole, 1), std::string(whole) + ".1");
  }
  EXPECT_EQ(numbered_name(".tar.gz", 1), ".tar.1.gz");
}

TEST(FileName, only_the_last_plain_component_remains) {
  const auto safe = [](std::string_view name) { return safe_file_name(name, "unnamed"); };
  EXPECT_EQ(safe("A.TXT"), "A.TXT");
  EXPECT_EQ(safe("../x"), "x");
  EXPECT_EQ(safe("/etc/passwd"), "passwd");
  EXPECT_EQ(safe("C:\\orders\\today.doc"), "today.doc");
  EXPECT_EQ(safe("a.b..c."), "a.b..c.");
  for (const std::string& none : {""s, "."s, ".."s, "a/.."s, "a/"s, "..."s, "...\\"s}) {
    EXPECT_EQ(safe(none), "unnamed") << none;
  }
}

TEST(FileName, what_is_not_utf8_is_replaced_octet_by_octet) {
  const auto safe = [](std::string_view name) { return safe_file_name(name, "unnamed"); };
  EXPECT_EQ(safe("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(safe("gr\xFC"), "gr\xEF\xBF\xBD");
  EXPECT_EQ(safe("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong '/'
  EXPECT_EQ(safe("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // a surrogate
}

TEST(FileName, holds_255_octets_and_cuts_between_characters) {
  EXPECT_EQ(safe_file_name(std::string(255, 'a'), "u"), std::string(255, 'a'));
  EXPECT_EQ(safe_file_name(std::string(256, 'a'), "u"), std::string(255, 'a'));
  EXPECT_EQ(safe_file_name(std::string(254, 'a') + "\xC3\xBC", "u"), std::string(254, 'a'));
  EXPECT_EQ(numbered_name(std::string(255, 'a'), 12), std::string(252, 'a') + ".12");
  EXPECT_EQ(numbered_name(std::string(251, 'a') + ".txt", 12), std::string(248, 'a') + ".12.txt");
  EXPECT_EQ(numbered_name(std::string(247, 'a') + "\xC3\xBC\xC3\xBC.txt", 12),
            std::string(247, 'a') + ".12.txt");
}

TEST(FileName, no_octets_at_all_lead_out_of_the_folder) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string wire(rng.below(12), ' ');
    for (char& c : wire) c = "./\\:a\x00\xC0\xAF\x2E"[rng.below(9)];
    const std::string name = safe_file_name(wire, "unnamed");
    ASSERT_FALSE(name.empty());
    ASSERT_NE(name[0], '.');
    ASSERT_EQ(name.find_first_of("/\0"s), std::string::npos);
  }
}

class InboxTest : public testing::Test {
 protected:
  std::string publish(const std::string& name, const Bytes& content = kHello) {
    const auto temporary = inbox.write_temporary(content);
    EXPECT_TRUE(temporary);
    const auto taken = inbox.publish(*temporary, name);
    EXPECT_TRUE(taken);
    return taken ? *taken : "";
  }

  test::TemporaryFolder folder;
  std::string directory = folder.make("inbox");
  Inbox inbox{directory};
};

TEST_F(InboxTest, a_file_appears_whole_and_leaves_nothing_temporary) {
  EXPECT_EQ(publish("a.txt"), "a.txt");
  EXPECT_EQ(test::visible_files(directory).at("a.txt"), kHello);
  EXPECT_TRUE(inbox.temporaries()->empty());
}

TEST_F(InboxTest, a_temporary_file_gets_the_attributes_of_the_file_that_uses_it) {
  const auto temporary = inbox.write_temporary(kHello, {1'500'000'000, 0755});
  ASSERT_TRUE(temporary);
  const fs::path path = fs::path(directory) / Inbox::kTemporaryFolder / *temporary;
  ASSERT_TRUE(inbox.set_temporary(*temporary, {1'600'000'000, 0604}));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mtime, 1'600'000'000);
  EXPECT_EQ(status.st_mode & 0777, 0604u);
  ASSERT_TRUE(inbox.set_temporary(*temporary, {}));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_GT(status.st_mtime, 1'600'000'000);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(InboxTest, an_existing_file_is_never_overwritten) {
  EXPECT_EQ(publish("a.txt", {1}), "a.txt");
  EXPECT_EQ(publish("a.txt", {2}), "a.1.txt");
  EXPECT_EQ(publish("a.txt", {3}), "a.2.txt");
  EXPECT_EQ(test::visible_files(directory),
            (std::map<std::string, Bytes>{{"a.1.txt", {2}}, {"a.2.txt", {3}}, {"a.txt", {1}}}));
}

// The file system decides whether two names are one. Where they are, the later file gets a number.
TEST_F(InboxTest, names_that_differ_in_case_or_unicode_form_only_never_share_a_file) {
  const std::string composed = "caf\xC3\xA9.txt";     // NFC
  const std::string decomposed = "cafe\xCC\x81.txt";  // NFD
  EXPECT_EQ(publish("chart.png", {1}), "chart.png");
  EXPECT_EQ(publish("Chart.PNG", {2}), "Chart.PNG");
  EXPECT_EQ(publish(composed, {3}), composed);
  EXPECT_EQ(publish(decomposed, {4}), decomposed);
  EXPECT_EQ(test::visible_files(directory),
            (std::map<std::string, Bytes>{
                {"chart.png", {1}}, {"Chart.PNG", {2}}, {composed, {3}}, {decomposed, {4}}}));

  Inbox folding(directory, {}, [&](const std::string& name) {
    return name == "CHART.png" || name == composed ? EEXIST : 0;
  });
  for (const auto& [name, expected] : std::map<std::string, std::string>{
           {"CHART.png", "CHART.1.png"}, {composed, "caf\xC3\xA9.1.txt"}}) {
    const auto temporary = folding.write_temporary(Bytes{5});
    ASSERT_TRUE(temporary);
    EXPECT_EQ(*folding.publish(*temporary, name), expected);
  }
  const auto files = test::visible_files(directory);
  EXPECT_EQ(files.size(), 6u);
  EXPECT_EQ(files.at("chart.png"), Bytes{1});
  EXPECT_EQ(files.at(composed), Bytes{3});
}

TEST_F(InboxTest, a_planted_link_is_neither_followed_nor_replaced) {
  const fs::path outside = folder.path() / "outside";
  fs::create_symlink(outside, fs::path(directory) / "a.txt");
  EXPECT_EQ(publish("a.txt"), "a.1.txt");
  EXPECT_FALSE(fs::exists(outside));
  EXPECT_TRUE(fs::is_symlink(fs::path(directory) / "a.txt"));
}

TEST_F(InboxTest, a_link_in_place_of_the_temporary_folder_is_refused) {
  fs::create_symlink(folder.make("elsewhere"), fs::path(directory) / Inbox::kTemporaryFolder);
  EXPECT_FALSE(inbox.write_temporary(kHello));
  EXPECT_TRUE(fs::is_empty(folder.path() / "elsewhere"));
}

// A file that cannot be named would be sent again for ever.
TEST_F(InboxTest, a_file_system_without_colons_gets_another_character) {
  Inbox fat(directory, {}, [](const std::string& name) {
    return name.find(':') == std::string::npos ? 0 : EINVAL;
  });
  for (const char* expected : {"18_55.xml", "18_55.1.xml"}) {
    const auto temporary = fat.write_temporary(kHello);
    ASSERT_TRUE(temporary);
    EXPECT_EQ(*fat.publish(*temporary, "18:55.xml"), expected);
  }
  Inbox none(directory, {}, [](const std::string&) { return EINVAL; });
  const auto temporary = none.write_temporary(kHello);
  const auto refused = none.publish(*temporary, "18:55.xml");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "inbox " + directory + " refuses the name 18_55.xml");
}

TEST_F(InboxTest, the_longest_name_fits_twice) {
  EXPECT_EQ(publish(std::string(255, 'a')), std::string(255, 'a'));
  EXPECT_EQ(publish(std::string(255, 'a')), std::string(253, 'a') + ".1");
}

TEST_F(InboxTest, a_failed_write_leaves_nothing_and_says_why) {
  for (const Inbox::Step step : {Inbox::Step::write, Inbox::Step::sync_file}) {
    Inbox full(directory, [&](Inbox::Step now) { return now == step ? ENOSPC : 0; });
    const auto written = full.write_temporary(kHello);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::io);
    EXPECT_NE(written.error().detail.find("No space left"), std::string::npos);
    EXPECT_TRUE(full.temporaries()->empty());
  }
}

TEST_F(InboxTest, a_missing_inbox_is_reported_and_not_created) {
  Inbox missing((folder.path() / "nowhere").string());
  EXPECT_FALSE(missing.check_writable());
  EXPECT_FALSE(fs::exists(folder.path() / "nowhere"));
  EXPECT_TRUE(inbox.check_writable());
  EXPECT_TRUE(inbox.temporaries()->empty());
}

TEST_F(InboxTest, when_the_hidden_folder_is_gone_nothing_is_taken_for_published) {
  const auto temporary = inbox.write_temporary(kHello);
  fs::remove_all(fs::path(directory) / Inbox::kTemporaryFolder);
  EXPECT_FALSE(inbox.find_temporary(*temporary));
}

}  // namespace
}  // namespace s5066::gateways
