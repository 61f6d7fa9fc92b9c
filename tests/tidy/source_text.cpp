// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/source_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace s5066::tidy {
namespace {

namespace fs = std::filesystem;

bool is_ours(const fs::path& name) {
  const std::string text = name.string();
  return text.front() != '.' && !text.starts_with("build");
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void read_folder(const fs::path& root, const fs::path& folder, std::vector<SourceFile>& files) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      if (entry.path().filename() == "__pycache__") continue;  // Python writes it when a test runs
      read_folder(root, entry.path(), files);
    } else if (entry.is_regular_file()) {
      files.push_back({fs::relative(entry.path(), root).string(), read_file(entry.path())});
    }
  }
}

/// Blanks all characters of C++ text that are not code, and notes where they are.
class CodeFilter {
 public:
  explicit CodeFilter(std::string_view text) : text_(text), out_(text) {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const bool comment = starts("//") || starts("/*");
      if (starts("//")) {
        blank_to(text_.find('\n', at_));
      } else if (comment) {
        blank_past("*/", 2);
      } else if (starts("R\"") && !in_word()) {
        blank_raw_string();
      } else if (text_[at_] == '"' || (text_[at_] == '\'' && !in_word())) {
        blank_literal(text_[at_]);
      } else {
        ++at_;
        continue;
      }
      prose_.push_back({begin, at_, !comment});
    }
  }

  std::string take_code() { return std::move(out_); }
  std::vector<Prose> take_prose() { return std::move(prose_); }

 private:
  bool starts(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }
  /// A quote behind a digit or letter separates digits: 1'000.
  bool in_word() const {
    return at_ > 0 && (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0);
  }
  void blank_to(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }
  void blank_past(std::string_view closing, std::size_t skip) {
    const std::size_t found = text_.find(closing, at_ + skip);
    blank_to(found == std::string_view::npos ? found : found + closing.size());
  }
  void blank_raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_to(open);
    const std::string closing = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    blank_past(closing, 2);
  }
  void blank_literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    blank_to(end + 1);
  }

  std::string_view text_;
  std::string out_;
  std::vector<Prose> prose_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<SourceFile> read_tree(const std::string& root) {
  std::vector<SourceFile> files;
  for (const std::string& name : read_top_level(root)) {
    const fs::path path = fs::path(root) / name;
    if (fs::is_directory(path)) {
      read_folder(root, path, files);
    } else {
      files.push_back({name, read_file(path)});
    }
  }
  for (const auto& entry : fs::directory_iterator(root)) {  // .ci and similar, without .git
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name == ".ci") read_folder(root, entry.path(), files);
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> read_top_level(const std::string& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (is_ours(entry.path().filename())) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string code_only(std::string_view text) {
  return CodeFilter(text).take_code();
}

std::vector<Prose> prose_of(std::string_view text) {
  return CodeFilter(text).take_prose();
}

std::size_t line_at(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

std::vector<Include> includes_of(std::string_view text) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  std::vector<Include> found;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (line.find('#') == std::string::npos || !std::regex_match(line, match, pattern)) continue;
    found.push_back({match[2], match[1] == "\"", number});
  }
  return found;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [text](std::string_view ending) { return text.ends_with(ending); });
}

bool is_cpp(std::string_view path) {
  return ends_with_any(path, {".h", ".cpp"});
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace s5066::tidy
