// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/functions.h"

#include <cctype>
#include <map>
#include <optional>

namespace s5066::tidy {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct Token {
  std::string_view text;
  std::size_t line = 0;
};

/// Splits code without comments and literals into words and single signs; "&&", "||", "::" and
/// "->" stay whole. Lines of the preprocessor are left out.
std::vector<Token> tokens_of(std::string_view code) {
  std::vector<Token> tokens;
  std::size_t line = 1;
  bool at_line_start = true;
  for (std::size_t at = 0; at < code.size();) {
    const char c = code[at];
    if (c == '#' && at_line_start) {
      while (at < code.size() && (code[at] != '\n' || code[at - 1] == '\\')) {
        if (code[at] == '\n') ++line;
        ++at;
      }
      continue;
    }
    if (c == '\n') ++line;
    at_line_start = c == '\n' || (at_line_start && c == ' ');
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (is_word(c)) {
      while (end < code.size() && (is_word(code[end]) || code[end] == '\'')) ++end;
    } else if (const auto two = code.substr(at, 2);
               two == "&&" || two == "||" || two == "::" || two == "->") {
      end = at + 2;
    }
    tokens.push_back({code.substr(at, end - at), line});
    at = end;
  }
  return tokens;
}

bool is_branch(std::string_view token) {
  return token == "if" || token == "for" || token == "while" || token == "case" ||
         token == "catch" || token == "?" || token == "&&" || token == "||";
}

/// Reads declarations one after the other and keeps those that open a function.
class FunctionFinder {
 public:
  explicit FunctionFinder(std::string_view text)
      : code_(code_only(text)), tokens_(tokens_of(code_)) {}

  std::vector<Function> run() {
    std::size_t begin = 0;  // of the declaration that is being read
    int parentheses = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto token = tokens_[i].text;
      if (token == "(") ++parentheses;
      if (token == ")") --parentheses;
      if (parentheses > 0) continue;
      if (token == ";" || token == "}") begin = i + 1;
      if (token != "{") continue;
      if (const auto name = function_name(begin, i)) {
        const std::size_t end = past_block(i);
        add(*name, begin, i, end);
        i = end - 1;
        begin = end;
      } else if (opens_scope(begin, i)) {
        begin = i + 1;
      } else {
        i = past_block(i) - 1;  // an initialiser: the declaration goes on behind it
      }
    }
    return std::move(functions_);
  }

 private:
  bool has(std::size_t begin, std::size_t end, std::string_view word) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].text == word) return true;
    }
    return false;
  }
  /// True if [begin, end) has a "=" outside parentheses, where it is no default argument.
  bool assigns(std::size_t begin, std::size_t end) const {
    int parentheses = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].text == "(") ++parentheses;
      if (tokens_[i].text == ")") --parentheses;
      if (tokens_[i].text == "=" && parentheses == 0) return true;
    }
    return false;
  }
  bool opens_scope(std::size_t begin, std::size_t end) const {
    return has(begin, end, "namespace") || has(begin, end, "class") || has(begin, end, "struct") ||
           has(begin, end, "union") || has(begin, end, "enum") || has(begin, end, "extern");
  }
  std::size_t past_block(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i].text == "{") ++depth;
      if (tokens_[i].text == "}" && --depth == 0) return i + 1;
    }
    return tokens_.size();
  }
  /// Returns the name before the first parameter list, if [begin, brace) declares a function and
  /// `brace` opens its body.
  std::optional<std::string> function_name(std::size_t begin, std::size_t brace) const {
    const bool is_operator = has(begin, brace, "operator");
    if (!is_operator && assigns(begin, brace)) return std::nullopt;
    std::size_t list = begin;
    int angles = 0;  // a template's own parameters may hold parentheses
    for (; list < brace; ++list) {
      const auto token = tokens_[list].text;
      if (token == "<" && !is_operator) ++angles;
      if (token == ">" && !is_operator) --angles;
      if (token == "(" && angles == 0) break;
    }
    if (list == brace || list == begin) return std::nullopt;
    // An initialiser of a member in a constructor's list, `: member_{…}`, opens no body.
    if (is_word(tokens_[brace - 1].text.front()) && has(list, brace, ":") &&
        tokens_[brace - 1].text != "const" && tokens_[brace - 1].text != "noexcept") {
      return std::nullopt;
    }
    std::string name;
    for (std::size_t i = list; i-- > begin;) {
      const auto token = tokens_[i].text;
      if (!is_word(token.front()) && token != "::" && token != "~") break;
      const bool joined =
          name.empty() || token == "::" || name.starts_with("::") || name.starts_with("~");
      if (!joined) break;
      name.insert(0, token);
    }
    return name.empty() ? "operator" : name;
  }
  void add(std::string name, std::size_t begin, std::size_t brace, std::size_t end) {
    Function function{std::move(name), tokens_[begin].line, 0, 0};
    function.lines = tokens_[end - 1].line - function.line + 1;
    for (std::size_t i = brace; i < end; ++i) {
      if (is_branch(tokens_[i].text) && !is_reference(i)) ++function.branches;
    }
    functions_.push_back(std::move(function));
  }
  /// True for the "&&" of `auto&& x` and `T&&`, which is no branch.
  bool is_reference(std::size_t i) const {
    if (tokens_[i].text != "&&" || i == 0) return false;
    const auto before = tokens_[i - 1];
    return before.text.data() + before.text.size() == tokens_[i].text.data() &&
           (before.text == "auto" || before.text == ">" ||
            std::isupper(static_cast<unsigned char>(before.text.front())) != 0);
  }

  std::string code_;
  std::vector<Token> tokens_;
  std::vector<Function> functions_;
};

}  // namespace

std::vector<Function> functions_of(std::string_view text) {
  return FunctionFinder(text).run();
}

Problems check_functions(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  Problems problems;
  for (const Function& function : functions_of(file.text)) {
    if (function.lines > kFunctionLinesMax) {
      problems.push_back({file.path, function.line,
                          function.name + " has " + std::to_string(function.lines) + " lines"});
    }
    if (function.branches > kFunctionBranchesMax) {
      problems.push_back(
          {file.path, function.line,
           function.name + " has " + std::to_string(function.branches) + " branches"});
    }
  }
  return problems;
}

Problems check_classes(const std::vector<SourceFile>& tree) {
  Problems problems;
  std::map<std::string, std::string> found;  // folder and class to the source that came first
  for (const auto& file : tree) {
    if (!file.path.ends_with(".cpp")) continue;
    for (const Function& function : functions_of(file.text)) {
      const auto colons = function.name.find("::");
      if (colons == std::string::npos) continue;
      const std::string name = function.name.substr(0, colons);
      const auto [first, is_new] = found.emplace(folder_of(file.path) + '/' + name, file.path);
      if (is_new || first->second == file.path) continue;
      problems.push_back(
          {file.path, function.line, function.name + ": its class is in " + first->second});
      first->second = file.path;  // one report for each further source
    }
  }
  return problems;
}

}  // namespace s5066::tidy
