// SPDX-License-Identifier: Apache-2.0
// Reads source files of the tree as text, and blanks comments and literals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace s5066::tidy {

struct SourceFile {
  std::string path;  // path from the repository root
  std::string text;
};

struct Include {
  std::string name;
  bool quoted = false;
  std::size_t line = 0;
};

/// Returns every file of the tree that is not built, hidden or version control.
std::vector<SourceFile> read_tree(const std::string& root);
/// Returns the names at the top level without hidden entries and build folders.
std::vector<std::string> read_top_level(const std::string& root);

/// Returns the same text with comments and the insides of literals blank; lines keep their numbers.
std::string code_only(std::string_view text);
std::vector<Include> includes_of(std::string_view text);

/// A comment or a literal in C++ text, its delimiters included.
struct Prose {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool literal = false;
};
/// Returns the comments and literals of C++ text in their order. Each // starts a comment of its
/// own.
std::vector<Prose> prose_of(std::string_view text);
/// Returns the number of the line, from 1 on, that contains a position.
std::size_t line_at(std::string_view text, std::size_t at);

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings);
bool is_cpp(std::string_view path);
/// Returns the path without its last part; empty if that is all.
std::string folder_of(const std::string& path);

}  // namespace s5066::tidy
