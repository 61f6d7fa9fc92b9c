// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/counter_set.h"

#include <gtest/gtest.h>

namespace s5066 {
namespace {

enum class Post : std::uint8_t { letters, waiting, count };

constexpr CounterTable<Post> kPost({
    {Post::letters, "post_letters", "letters", "letters taken"},
    {Post::waiting, "post_waiting", "letters", "letters that wait now", CounterKind::gauge},
});

const CounterTable<Post>& counter_table(Post) {
  return kPost;
}

TEST(CounterSet, counts_each_counter_for_itself) {
  CounterSet<Post> post;
  post.add(Post::letters);
  post.add(Post::letters, 4);
  post.set(Post::waiting, 2);
  EXPECT_EQ(post[Post::letters], 5u);
  EXPECT_EQ(post[Post::waiting], 2u);
}

TEST(CounterSet, lists_name_unit_help_kind_labels_and_value) {
  CounterSet<Post> post;
  post.set(Post::waiting, 7);
  CounterRows rows;
  post.list(rows, {{"office", "north"}});
  post.list(rows);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].name, "post_waiting");
  EXPECT_EQ(rows[1].unit, "letters");
  EXPECT_EQ(rows[1].help, "letters that wait now");
  EXPECT_EQ(rows[1].kind, CounterKind::gauge);
  EXPECT_EQ(rows[1].labels, (std::vector<CounterLabel>{{"office", "north"}}));
  EXPECT_EQ(rows[1].value, 7u);
  EXPECT_EQ(rows[0].kind, CounterKind::counter);
  EXPECT_TRUE(rows[2].labels.empty());
}

TEST(CounterSet, writes_labels_in_braces) {
  CounterRow row{.name = "n", .unit = "u", .help = "h", .labels = {}};
  EXPECT_EQ(full_name(row), "n");
  row.labels = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(full_name(row), "n{a=1,b=2}");
}

TEST(CounterSet, of_an_object_that_ends_can_be_added_to_that_of_its_successor) {
  CounterSet<Post> earlier;
  CounterSet<Post> later;
  earlier.add(Post::letters, 3);
  later.add(Post::letters, 4);
  later.add(earlier);
  EXPECT_EQ(later[Post::letters], 7u);
}

TEST(CounterSet, names_are_in_snake_case) {
  for (const char* good : {"a", "a_b", "octets2", "p_mul_acks"}) EXPECT_TRUE(is_snake_case(good));
  for (const char* bad : {"", "_", "a_", "_a", "a__b", "A", "aB", "a-b", "a b", "2_a", "a_2"}) {
    EXPECT_FALSE(is_snake_case(bad)) << bad;
  }
}

}  // namespace
}  // namespace s5066
