// SPDX-License-Identifier: Apache-2.0
// Files on their way into the spool: handed over by a command, or dropped into a watched directory.
#include "gateways/file_relay/handover.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gateways/file_relay/folder_watch.h"
#include "gateways/file_relay/transfer_commands.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::file_relay {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(FilesToPut, a_folder_stands_for_its_files_without_links_and_hidden_ones) {
  test::TemporaryFolder folder;
  const fs::path charts = folder.path() / "charts";
  write_text(charts / "one.png", "1");
  write_text(charts / "deep/two.png", "2");
  write_text(charts / ".hidden", "3");
  write_text(folder.path() / "secret", "4");
  fs::create_symlink(folder.path() / "secret", charts / "link");
  fs::create_directory_symlink(folder.path(), charts / "way-out");
  for (const std::string& path : {charts.string(), charts.string() + "/"}) {
    const auto files = files_to_put({path});
    ASSERT_TRUE(files);
    std::vector<std::string> names;
    for (const FileToPut& file : *files) names.push_back(file.name);
    EXPECT_EQ(names, (std::vector<std::string>{"charts/deep/two.png", "charts/one.png"}));
  }
  EXPECT_EQ(files_to_put({(charts / "one.png").string()})->at(0).name, "one.png");
}

TEST(FileToSend, a_file_that_changes_while_it_is_read_is_read_again) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "log.txt").string();
  std::ofstream(path) << "half";
  int reads = 0;
  const auto file = read_file_to_send(path, 1000, true, [&] {
    if (++reads == 1) std::ofstream(path, std::ios::app) << " and the rest";
  });
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(std::string(file->content.begin(), file->content.end()), "half and the rest");
}

TEST(FileToSend, a_file_that_never_rests_is_refused) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "log.txt").string();
  std::ofstream(path) << "line\n";
  int reads = 0;
  const auto file = read_file_to_send(path, 1000, true, [&] {
    ++reads;
    std::ofstream(path, std::ios::app) << "line\n";
  });
  EXPECT_EQ(reads, 3);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::refused);
  EXPECT_EQ(file.error().detail, path + ": the file changes while it is read");
}

class FolderWatchTest : public testing::Test {
 protected:
  std::vector<std::string> look() {
    return watch->look(1000, [this](const WatchFolder&, const HandedFile& file, bool maybe_again) {
      if (refuses) return Result<void>(Error{ErrorCode::queue_full, "the spool is full"});
      accepted.push_back(file.name + (maybe_again ? " maybe again" : ""));
      return Result<void>();
    });
  }
  test::TemporaryFolder folder;
  fs::path outbox{folder.make("outbox")};
  WatchFolder rule{.directory = outbox.string(), .to = {Address{1}}, .priority = {}, .keep = false};
  std::optional<FolderWatch> watch{FolderWatch(rule)};
  std::vector<std::string> accepted;
  bool refuses = false;
};

using Names = std::vector<std::string>;

TEST_F(FolderWatchTest, a_file_goes_when_two_looks_find_it_unchanged) {
  write_text(outbox / "f", "half");
  look();
  write_text(outbox / "f", "half and the rest");
  look();
  EXPECT_EQ(accepted, Names());
  look();
  EXPECT_EQ(accepted, (Names{"f"}));
  EXPECT_FALSE(fs::exists(outbox / "f"));
  look();
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(FolderWatchTest, a_file_that_is_refused_stays_and_the_reason_is_told_once) {
  refuses = true;
  write_text(outbox / "f", "text");
  look();
  EXPECT_EQ(look(), (Names{"the spool is full"}));
  EXPECT_EQ(look(), Names());
  EXPECT_TRUE(fs::exists(outbox / ".sending/f"));
  refuses = false;
  look();
  EXPECT_EQ(accepted, (Names{"f maybe again"})) << "another destination may have had room";
  write_text(outbox / "f", "another text");
  for (int i = 0; i < 2; ++i) look();
  EXPECT_EQ(accepted, (Names{"f maybe again", "f"}));
}

TEST_F(FolderWatchTest, a_kept_file_is_in_the_folder_for_sent_ones) {
  rule.keep = true;
  watch.emplace(rule);
  write_text(outbox / "f", "text");
  look();
  look();
  EXPECT_TRUE(fs::exists(outbox / "sent/f"));
}

TEST_F(FolderWatchTest, a_file_that_cannot_leave_the_folder_is_sent_once) {
  rule.keep = true;
  watch.emplace(rule);
  fs::create_directory_symlink(folder.path(), outbox / "sent");
  write_text(outbox / "f", "text");
  for (int i = 0; i < 5; ++i) look();
  EXPECT_EQ(std::count(accepted.begin(), accepted.end(), "f"), 1);
}

TEST_F(FolderWatchTest, links_and_hidden_files_do_not_go) {
  write_text(folder.path() / "secret", "text");
  fs::create_symlink(folder.path() / "secret", outbox / "link");
  write_text(outbox / ".hidden", "text");
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(accepted, Names());
}

TEST_F(FolderWatchTest, a_folder_for_taken_files_that_others_may_write_into_is_refused) {
  write_text(outbox / ".sending/f", "text");
  fs::permissions(outbox / ".sending", fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(look().size(), 1u);
  EXPECT_EQ(accepted, Names());
  fs::permissions(outbox / ".sending", fs::perms::group_write, fs::perm_options::remove);
  look();
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(FolderWatchTest, after_a_restart_a_file_that_was_being_sent_may_be_in_the_spool) {
  write_text(outbox / ".sending/f", "text");
  look();
  EXPECT_EQ(accepted, (Names{"f maybe again"}));
}

}  // namespace
}  // namespace s5066::file_relay
