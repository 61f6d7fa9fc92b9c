// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/comments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <sstream>

namespace s5066::tidy {
namespace {

/// Words that leave out the subject of a comment.
constexpr auto kOpenings = std::to_array<std::string_view>(
    {"As",      "Behind", "Below",    "Besides", "Between", "Beyond", "By",   "From",
     "Nobody",  "Nor",    "Not",      "Nothing", "Of",      "Same",   "So",   "Such",
     "Than",    "That",   "The same", "Those",   "To",      "Until",  "What", "Where",
     "Whether", "Who",    "Whoever",  "Whom",    "With"});

struct Metaphor {
  std::string_view word;
  const char* term;
};

/// Words that stood for a term in earlier texts, in singular, and the term to write.
constexpr std::array kMetaphors = {
    Metaphor{"stranger", "unknown station"},  Metaphor{"household", "rate-limit key"},
    Metaphor{"feeler", "trial transmission"}, Metaphor{"farewell", "last message"},
    Metaphor{"stray", "unexpected event"},    Metaphor{"road", "transport"},
};
/// The files of this check have to name the words.
constexpr std::string_view kOwnFiles = "tests/tidy/comments";

/// Returns the metaphor that a word is, in singular or plural; nullptr if it is none.
const Metaphor* metaphor_of(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found =
      std::find_if(kMetaphors.begin(), kMetaphors.end(), [&](const Metaphor& metaphor) {
        const std::string singular(metaphor.word);
        return word == singular || word == singular + "s";
      });
  return found == kMetaphors.end() ? nullptr : found;
}

bool in_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Adds a problem for each metaphor in a text that begins at `begin` in the file.
void find_metaphors(const SourceFile& file, std::size_t begin, const std::string& text,
                    Problems& problems) {
  for (auto at = text.begin(); at != text.end();) {
    const auto first = std::find_if(at, text.end(), in_identifier);
    at = std::find_if_not(first, text.end(), in_identifier);
    const std::string word(first, at);
    const Metaphor* const metaphor = metaphor_of(word);
    if (metaphor == nullptr) continue;
    const auto before = static_cast<std::size_t>(first - text.begin());
    problems.push_back({file.path, line_at(file.text, begin) + line_at(text, before) - 1,
                        "\"" + word + "\": write " + metaphor->term});
  }
}

bool only_space(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isspace(c) != 0; });
}

/// Blanks escape sequences, so that the n of "\\nword" does not count as a letter of the word.
void blank_escapes(std::string& literal) {
  for (std::size_t at = 0; (at = literal.find('\\', at)) != std::string::npos; at += 2) {
    literal.replace(at, std::min<std::size_t>(2, literal.size() - at), "  ");
  }
}

void check_cpp(const SourceFile& file, Problems& problems) {
  static const std::regex sql("\\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WHERE)\\b");
  const auto pieces = prose_of(file.text);
  for (std::size_t i = 0; i < pieces.size();) {
    const std::size_t begin = pieces[i].begin;
    std::size_t end = pieces[i].end;
    const bool literal = pieces[i].literal;
    // Adjacent literals are one string.
    for (++i; literal && i < pieces.size() && pieces[i].literal; ++i) {
      if (!only_space(std::string_view(file.text).substr(end, pieces[i].begin - end))) break;
      end = pieces[i].end;
    }
    std::string text = file.text.substr(begin, end - begin);
    if (literal && std::regex_search(text, sql)) continue;
    if (literal) blank_escapes(text);
    find_metaphors(file, begin, text, problems);
  }
}

/// Returns the page with its code spans and fenced blocks blank; lines keep their numbers.
std::string without_code(const std::string& page) {
  static const std::regex span("`[^`]*`");
  std::istringstream lines(page);
  std::string out;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    const bool fence = begin != std::string::npos && line.compare(begin, 3, "```") == 0;
    fenced = fenced != fence;
    if (!fenced && !fence) out += std::regex_replace(line, span, " ");
    out += '\n';
  }
  return out;
}

/// Returns the comments of a text in which they start with #; lines keep their numbers.
std::string hash_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('#');
    if (begin != std::string::npos) out += line.substr(begin);
    out += '\n';
  }
  return out;
}

/// Returns the first word of a comment line, or "The same"; empty if it does not begin with a
/// letter.
std::string first_word(std::string_view comment) {
  const auto begin = comment.find_first_not_of("/! ");
  if (begin == std::string_view::npos) return {};
  comment.remove_prefix(begin);
  if (comment.starts_with("The same ")) return "The same";
  const auto* const end = std::find_if(comment.begin(), comment.end(),
                                       [](unsigned char c) { return std::isalpha(c) == 0; });
  const bool whole =
      end == comment.end() || std::string_view(" ,.:;").find(*end) != std::string_view::npos;
  return whole ? std::string(comment.begin(), end) : std::string();
}

}  // namespace

Problems check_comment_openings(const SourceFile& file) {
  Problems problems;
  if (!is_cpp(file.path)) return problems;
  const std::string_view text = file.text;
  std::size_t at = 0;
  std::size_t line = 1;  // line of position `at`
  std::optional<std::size_t> line_before;
  for (const Prose& piece : prose_of(text)) {
    if (piece.literal || !text.substr(piece.begin).starts_with("//")) continue;
    const std::size_t start = text.rfind('\n', piece.begin) + 1;
    if (!only_space(text.substr(start, piece.begin - start))) continue;
    line += line_at(text.substr(at), piece.begin - at) - 1;
    at = piece.begin;
    const bool opens = !line_before || line != *line_before + 1;
    line_before = line;
    const std::string word = first_word(text.substr(piece.begin, piece.end - piece.begin));
    if (!opens || std::find(kOpenings.begin(), kOpenings.end(), word) == kOpenings.end()) continue;
    problems.push_back({file.path, line, "comment opens with \"" + word + "\""});
  }
  return problems;
}

Problems check_metaphors(const SourceFile& file) {
  Problems problems;
  const std::string_view path = file.path;
  if (path.starts_with(kOwnFiles)) return problems;
  const bool page = path.ends_with(".md") && !path.starts_with("docs/measurements/");
  if (is_cpp(path) || ends_with_any(path, {".c", ".proto"})) {
    check_cpp(file, problems);
  } else if (page) {
    find_metaphors(file, 0, without_code(file.text), problems);
  } else if (ends_with_any(path, {".py", ".cmake", "CMakeLists.txt", ".textproto", "/run"})) {
    find_metaphors(file, 0, hash_comments(file.text), problems);
  }
  return problems;
}

}  // namespace s5066::tidy
