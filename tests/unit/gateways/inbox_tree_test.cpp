// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/inbox_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;

class InboxTreeTest : public testing::Test {
 protected:
  InboxTreeTest() {
    write("one.txt", "1");
    write("folder/two.txt", "22");
    write(".incoming/3.part", "333");
    std::ofstream(folder.path() / "secret") << "secret";
    fs::create_symlink(folder.path() / "secret", inbox / "link");
    fs::create_directory_symlink(folder.path(), inbox / "way-out");
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((inbox / name).parent_path());
    std::ofstream(inbox / name) << text;
  }
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> found;
    const auto entries = tree.list(path);
    EXPECT_TRUE(entries);
    if (!entries) return found;
    for (const auto& entry : *entries) found.push_back(entry.name + (entry.folder ? "/" : ""));
    return found;
  }

  test::TemporaryFolder folder;
  fs::path inbox{folder.make("inbox")};
  InboxTree tree{inbox.string()};
};

TEST_F(InboxTreeTest, a_list_shows_files_and_folders_and_neither_links_nor_hidden_names) {
  EXPECT_EQ(names(""), (std::vector<std::string>{"folder/", "one.txt"}));
  EXPECT_EQ(names("/folder//"), (std::vector<std::string>{"two.txt"}));
}

TEST_F(InboxTreeTest, no_path_leads_out_of_the_inbox) {
  for (const std::string path : {"..", "../secret", "folder/../../secret", "link", "way-out/secret",
                                 ".incoming/3.part", "folder/.", "/etc/passwd", ""}) {
    EXPECT_FALSE(tree.read(path, 1000)) << path;
    EXPECT_FALSE(tree.remove(path)) << path;
    EXPECT_FALSE(tree.stat(path)) << path;
  }
  for (const std::string path : {"..", "way-out", ".incoming", "one.txt"}) {
    EXPECT_FALSE(tree.list(path)) << path;
  }
  EXPECT_TRUE(fs::exists(folder.path() / "secret"));
  EXPECT_TRUE(fs::exists(fs::symlink_status(inbox / "link")));
}

TEST_F(InboxTreeTest, a_file_is_read_up_to_the_limit_and_removed_once) {
  EXPECT_EQ(*tree.read("folder/two.txt", 2), (Bytes{'2', '2'}));
  EXPECT_EQ(tree.read("folder/two.txt", 1).error().code, ErrorCode::too_large);
  EXPECT_FALSE(tree.remove("folder")) << "it is not empty";
  EXPECT_TRUE(tree.remove("folder/two.txt"));
  EXPECT_EQ(tree.remove("folder/two.txt").error().code, ErrorCode::not_found);
  EXPECT_TRUE(tree.remove("folder"));
}

TEST_F(InboxTreeTest, names_from_the_air_become_safe_one_by_one) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(InboxTree::safe_names("a/b.txt", "f"), (Names{"a", "b.txt"}));
  EXPECT_EQ(InboxTree::safe_names("/../../etc/passwd", "f").back(), "passwd");
  for (const std::string& name : InboxTree::safe_names("/../../etc/passwd", "f")) {
    EXPECT_NE(name, "..");
    EXPECT_NE(name[0], '.');
  }
  EXPECT_EQ(InboxTree::safe_names("", "f"), (Names{"f"}));
  EXPECT_EQ(InboxTree::safe_names("///", "f"), (Names{"f"}));
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "d/";
  EXPECT_EQ(InboxTree::safe_names(deep + "end", "f").size(), InboxTree::kDepthMax);
  EXPECT_EQ(InboxTree::safe_names(deep + "end", "f").back(), "end");
}

}  // namespace
}  // namespace s5066::gateways
