// SPDX-License-Identifier: Apache-2.0
// Tests the rules on this source tree.
#include <gtest/gtest.h>

#include "tests/tidy/comments.h"
#include "tests/tidy/conformance.h"
#include "tests/tidy/docs.h"
#include "tests/tidy/functions.h"
#include "tests/tidy/glossary.h"
#include "tests/tidy/log_events.h"
#include "tests/tidy/rules.h"

namespace s5066::tidy {
namespace {

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(S5066_SOURCE_DIR);
  return files;
}

void expect_none(const Problems& problems) {
  for (const Problem& problem : problems) ADD_FAILURE() << to_string(problem);
}

TEST(Tree, has_exactly_the_top_level_of_the_design) {
  expect_none(check_top_level(read_top_level(S5066_SOURCE_DIR)));
}

TEST(Tree, is_read_at_all) {
  EXPECT_GT(tree().size(), 50u);
}

TEST(Tree, includes_nothing_upward) {
  expect_none(check_includes(tree()));
}

TEST(Tree, keeps_clocks_threads_and_exceptions_out_of_cores) {
  for (const auto& file : tree()) expect_none(check_banned_tokens(file));
}

TEST(Tree, has_no_long_lines) {
  for (const auto& file : tree()) expect_none(check_length(file));
}

TEST(Tree, has_no_long_or_tangled_functions) {
  for (const auto& file : tree()) expect_none(check_functions(file));
}

TEST(Tree, defines_each_class_in_one_source) {
  expect_none(check_classes(tree()));
}

TEST(Tree, has_nothing_left_over) {
  for (const auto& file : tree()) expect_none(check_leftovers(file));
}

TEST(Tree, has_no_binary_file) {
  for (const auto& file : tree()) expect_none(check_binary(file));
}

TEST(Tree, opens_each_header_with_its_purpose) {
  for (const auto& file : tree()) expect_none(check_header_opening(file));
}

TEST(Tree, names_the_licence_in_each_source) {
  for (const auto& file : tree()) expect_none(check_licence(file));
}

TEST(Tree, defines_each_constant_in_one_header) {
  expect_none(check_constants(tree()));
}

TEST(Tree, has_a_target_for_every_folder) {
  expect_none(check_targets(tree()));
}

TEST(Tree, keeps_its_conformance_tables) {
  expect_none(check_conformance(tree()));
}

TEST(Tree, explains_every_log_event) {
  expect_none(check_log_events(tree()));
}

TEST(Tree, has_no_dead_links_in_its_pages) {
  expect_none(check_links(tree()));
}

TEST(Tree, names_no_page_that_is_not_there) {
  expect_none(check_page_names(tree()));
}

TEST(Tree, links_each_abbreviation_to_the_glossary) {
  expect_none(check_glossary(tree()));
}

TEST(Tree, has_pages_that_are_short) {
  expect_none(check_page_words(tree()));
}

TEST(Tree, opens_no_comment_with_a_pronoun) {
  for (const auto& file : tree()) expect_none(check_comment_openings(file));
}

TEST(Tree, uses_no_metaphor_for_a_term) {
  for (const auto& file : tree()) expect_none(check_metaphors(file));
}

}  // namespace
}  // namespace s5066::tidy
