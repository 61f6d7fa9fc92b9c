// SPDX-License-Identifier: Apache-2.0
#include "config/text_format.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "config/parser_wording.h"

namespace s5066::config {
namespace {

using google::protobuf::TextFormat;
namespace io = google::protobuf::io;

constexpr int kNestingMax = 16;
constexpr int kRestartsMax = 64;

struct Place {
  int line = 0;  // line and column count from 0, as in Protobuf
  int column = 0;
};

struct Token {
  io::Tokenizer::TokenType type;
  std::string text;
  Place start;
  int end_column = 0;
};

struct Complaint {
  Place place;
  std::string text;
};

class Collector final : public io::ErrorCollector {
 public:
  void AddError(int line, io::ColumnNumber column, const std::string& text) override {
    complaints.push_back({{line, column}, text});
    last_error = complaints.size() - 1;
  }
  // Unknown fields come as warnings because the parser would stop at an error.
  void AddWarning(int line, io::ColumnNumber column, const std::string& text) override {
    complaints.push_back({{line, column}, text});
  }

  std::vector<Complaint> complaints;
  std::optional<std::size_t> last_error;
};

class Silence final : public io::ErrorCollector {
 public:
  void AddError(int, io::ColumnNumber, const std::string&) override {}
};

std::vector<Token> tokens_of(const std::string& text) {
  io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  Silence silence;
  io::Tokenizer tokenizer(&input, &silence);
  tokenizer.set_comment_style(io::Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(false);
  std::vector<Token> tokens;
  while (tokenizer.Next()) {
    const auto& t = tokenizer.current();
    tokens.push_back({t.type, t.text, {t.line, t.column}, t.end_column});
  }
  return tokens;
}

/// Returns the last token that starts at or before the place.
std::optional<std::size_t> token_at(const std::vector<Token>& tokens, Place place) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Place start = tokens[i].start;
    if (start.line > place.line || (start.line == place.line && start.column > place.column)) break;
    found = i;
  }
  return found;
}

bool is_behind(Place place, const Token& token) {
  return place.line > token.start.line || place.column >= token.end_column;
}

bool is_at_the_end(const std::vector<Token>& tokens, std::size_t at, const Complaint& complaint) {
  return at + 1 == tokens.size() && is_behind(complaint.place, tokens[at]);
}

// The parser reports these problems one token late: its place is the token behind the one that is
// wrong.
bool is_reported_one_token_late(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kStarts = {
      "Message type ", "Non-repeated field ", "Unknown enumeration value",
      "Invalid value for boolean field", "Field \""};
  for (const auto start : kStarts) {
    if (text.substr(0, start.size()) == start) return true;
  }
  return false;
}

std::size_t token_meant(const std::vector<Token>& tokens, const Complaint& complaint,
                        std::size_t at) {
  if (!is_reported_one_token_late(complaint.text)) return at;
  const bool at_the_end = is_behind(complaint.place, tokens[at]);
  return at_the_end || at == 0 ? at : at - 1;
}

/// Returns true if the tokens touch and are parts of one value, such as a number behind its sign.
bool is_glued(const Token& token, const Token& next) {
  static constexpr std::string_view kSeparators = "{}<>[]:,;";
  return token.start.line == next.start.line && token.end_column == next.start.column &&
         kSeparators.find(next.text.front()) == std::string_view::npos;
}

/// Returns the index of the last token of the value that starts at `at`.
std::size_t end_of_value(const std::vector<Token>& tokens, std::size_t at) {
  const std::string& first = tokens[at].text;
  if (first != "{" && first != "<" && first != "[") {
    while (at + 1 < tokens.size() && is_glued(tokens[at], tokens[at + 1])) ++at;  // 1.2.3.4, -5
    return at;
  }
  int depth = 0;
  for (std::size_t i = at; i < tokens.size(); ++i) {
    const std::string& t = tokens[i].text;
    if (t == "{" || t == "<" || t == "[") ++depth;
    if ((t == "}" || t == ">" || t == "]") && --depth == 0) return i;
  }
  return tokens.size() - 1;
}

struct TokenRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Returns the field that contains the token `at`, or the token alone when no field contains it.
TokenRange field_around(const std::vector<Token>& tokens, std::size_t at) {
  const auto is = [&](std::size_t i, std::string_view text) {
    return i < tokens.size() && tokens[i].text == text;
  };
  const auto is_name = [&](std::size_t i) {
    return i < tokens.size() && tokens[i].type == io::Tokenizer::TYPE_IDENTIFIER;
  };
  std::size_t name = at;
  if (at >= 2 && is(at - 1, ":")) {
    name = at - 2;  // name: VALUE
  } else if (at >= 3 && is(at - 1, "-") && is(at - 2, ":")) {
    name = at - 3;  // name: -VALUE
  } else if (at >= 1 && is_name(at - 1) && !(at >= 2 && is(at - 2, ":")) &&
             !(is_name(at) && (is(at + 1, ":") || is(at + 1, "{")))) {
    name = at - 1;  // name VALUE, without its colon
  }
  if (!is_name(name)) return {at, end_of_value(tokens, at)};
  const bool no_value = is(at, "}") || is(at, ">") || is(at, "]");
  if (no_value && at > name) return {name, at - 1};
  std::size_t value = name + 1;
  if (is(value, ":")) ++value;
  if (value < at) value = at;
  return {name, value < tokens.size() ? end_of_value(tokens, value) : tokens.size() - 1};
}

/// Returns the offset of a place in the text; a tab goes to the next multiple of 8 columns.
std::size_t offset_of(const std::string& text, Place place) {
  std::size_t i = 0;
  for (int line = 0; line < place.line && i < text.size(); ++i) line += text[i] == '\n';
  for (int column = 0; column < place.column && i < text.size(); ++i) {
    column = text[i] == '\t' ? column / 8 * 8 + 8 : column + 1;
  }
  return i;
}

/// Overwrites the tokens with spaces, so that the text behind them keeps its line and column.
void blank(std::string& text, const std::vector<Token>& tokens, TokenRange range) {
  const Token& last = tokens[range.last];
  const std::size_t from = offset_of(text, tokens[range.first].start);
  const std::size_t to = offset_of(text, {last.start.line, last.end_column});
  for (std::size_t i = from; i < to && i < text.size(); ++i) {
    if (text[i] != '\n' && text[i] != '\t') text[i] = ' ';
  }
}

/// Returns the text of the tokens, without the spaces between them.
std::string text_of(const std::vector<Token>& tokens, std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t i = first; i <= last && i < tokens.size(); ++i) text += tokens[i].text;
  return text;
}

/// Returns the message for an operator about the token `at`.
std::string wording(const std::vector<Token>& tokens, std::size_t at, const Complaint& complaint,
                    const google::protobuf::Descriptor& root) {
  const TokenRange range = field_around(tokens, token_meant(tokens, complaint, at));
  const bool named = tokens[range.first].type == io::Tokenizer::TYPE_IDENTIFIER;
  std::size_t value = range.first + 1;
  if (value < tokens.size() && tokens[value].text == ":") ++value;
  const std::string text =
      value <= range.last ? text_of(tokens, value, end_of_value(tokens, value)) : "";
  if (!named || text.empty()) return wording_of({complaint.text, {}, {}}, root);
  return wording_of({complaint.text, tokens[range.first].text, text}, root);
}

/// True for the tokenizer's complaint about 1.2.3.4 without quotes, if the parser complains of it
/// as well.
bool is_said_again(const Complaint& complaint, const std::vector<Complaint>& all) {
  if (complaint.text.rfind("Already saw decimal point", 0) != 0) return false;
  return std::any_of(all.begin(), all.end(), [&complaint](const Complaint& other) {
    return other.place.line == complaint.place.line && other.text.rfind("Expected", 0) == 0;
  });
}

void report(const std::vector<Token>& tokens, const Complaint& complaint,
            const google::protobuf::Descriptor& root, Problems& problems) {
  Place place = complaint.place;
  const bool late = is_reported_one_token_late(complaint.text);
  const auto at = token_at(tokens, place);
  if (at && late) place = tokens[token_meant(tokens, complaint, *at)].start;
  const bool at_the_end = !late && (!at || is_at_the_end(tokens, *at, complaint));
  const bool cut_off = at_the_end && complaint.text.rfind("Expected", 0) == 0;
  const std::string text = cut_off ? "the text ends here, but a field or block is not complete"
                           : at    ? wording(tokens, *at, complaint, root)
                                   : complaint.text;
  problems.add(place.line + 1, place.column + 1, text);
}

/// Blanks the field that has the problem and returns its first token. The result is empty when the
/// text ends inside a field, because then there is nothing to blank.
std::optional<std::string> leave_out(std::string& text, const std::vector<Token>& tokens,
                                     const Complaint& complaint) {
  const auto at = token_at(tokens, complaint.place);
  if (!at) return std::nullopt;
  if (is_at_the_end(tokens, *at, complaint) && !is_reported_one_token_late(complaint.text)) {
    return std::nullopt;
  }
  const TokenRange range = field_around(tokens, token_meant(tokens, complaint, *at));
  const std::string before = text;
  blank(text, tokens, range);
  if (text == before) return std::nullopt;
  return tokens[range.first].text;
}

}  // namespace

ParsedText parse_text(const std::string& original, google::protobuf::Message& message,
                      Problems& problems) {
  ParsedText parsed;
  std::string text = original;
  for (int restarts = 0; restarts <= kRestartsMax; ++restarts) {
    Collector collector;
    parsed.places = std::make_unique<FieldPlaces>();
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kNestingMax);
    parser.WriteLocationsTo(parsed.places.get());
    parsed.reached_end = parser.ParseFromString(text, &message);

    const std::vector<Token> tokens = tokens_of(text);
    for (const Complaint& complaint : collector.complaints) {
      if (is_said_again(complaint, collector.complaints)) continue;
      if (problems.full()) {
        problems.add(complaint.place.line + 1, complaint.place.column + 1, complaint.text);
        break;
      }
      report(tokens, complaint, *message.GetDescriptor(), problems);
    }
    if (parsed.reached_end || !collector.last_error) break;
    const auto left_out = leave_out(text, tokens, collector.complaints[*collector.last_error]);
    if (!left_out) break;
    parsed.left_out.insert(*left_out);
  }
  return parsed;
}

}  // namespace s5066::config
