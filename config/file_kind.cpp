// SPDX-License-Identifier: Apache-2.0
#include "config/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <utility>
#include <vector>

#include "config/proto/address_book.pb.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "s5066d/base/nearest.h"

namespace s5066::config {
namespace {

constexpr std::string_view kForm = "; a configuration has lines like `address: \"1.2.3.4\"`";

/// Walks through a text by characters and knows what is a comment and what is quoted.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return text_[at_]; }
  std::string_view rest() const { return text_.substr(at_); }
  bool in_comment() const { return comment_; }
  bool in_quotes() const { return quote_ != 0; }
  int line() const { return line_; }
  int column() const { return column_; }

  void step() {
    const char c = text_[at_++];
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues) ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
      comment_ = false;
      quote_ = 0;  // a text in quotes ends with its line
    } else if (comment_) {
      return;
    } else if (quote_ != 0) {
      if (c == '\\' && !at_end() && here() != '\n') {
        ++at_;
        ++column_;
      } else if (c == quote_) {
        quote_ = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '#') {
      comment_ = true;
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  char quote_ = 0;
  bool comment_ = false;
};

/// Returns the text from its first character that is neither white space nor in a comment.
std::string_view content_of(std::string_view text) {
  Walk walk(text);
  while (!walk.at_end() && (walk.in_comment() || walk.here() == '#' ||
                            std::isspace(static_cast<unsigned char>(walk.here())) != 0)) {
    walk.step();
  }
  return walk.rest();
}

std::optional<FileFinding> find_binary(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> kMagics = {{
      {"SQLite format 3", "this is a database, such as a spool"},
      {"RIFF", "this is a sound file"},
      {"\x7F"
       "ELF",
       "this is a program"},
      {"\x1F\x8B", "this file is compressed"},
      {"PK\x03\x04", "this is a ZIP archive or an office document"},
      {"%PDF", "this is a PDF document"},
  }};
  for (const auto& [magic, kind] : kMagics) {
    if (text.starts_with(magic)) {
      return FileFinding{.text = std::string(kind) + ", not a configuration; give the .textproto"};
    }
  }
  Walk walk(text);
  for (; !walk.at_end(); walk.step()) {
    if (walk.here() != '\0') continue;
    return FileFinding{walk.line(), walk.column(),
                       "a zero octet: this is a binary file, not a configuration; give the "
                       ".textproto"};
  }
  return std::nullopt;
}

bool is_json_key(std::string_view text) {
  text = content_of(text);
  if (!text.starts_with('"')) return false;
  const auto quote = text.find('"', 1);
  if (quote == std::string_view::npos) return false;
  return content_of(text.substr(quote + 1)).starts_with(':');
}

std::optional<FileFinding> find_other_language(std::string_view text) {
  const std::string_view content = content_of(text);
  const auto found = [](std::string_view kind) {
    return FileFinding{.text = std::string(kind).append(kForm)};
  };
  if (content.starts_with('{')) {
    return found(is_json_key(content.substr(1)) || content.size() < 3
                     ? "this is JSON: remove the outer braces, the commas and the quotes around "
                       "names"
                     : "a configuration has no braces around it");
  }
  if (content.starts_with("<?xml") || content.starts_with("<!")) return found("this is XML");
  if (content.starts_with("-----BEGIN ")) {
    return found("this is a certificate or key in PEM form");
  }
  if (content.starts_with("---\n")) return found("this is YAML");
  if (text.starts_with("#!")) return found("this is a script");
  if (content.starts_with('[') && content.substr(0, content.find('\n')).find(']') != content.npos) {
    const bool unit = content.starts_with("[Unit]") || content.starts_with("[Service]");
    return found(unit ? "this is a unit of systemd" : "this is an INI file, TOML or JSON");
  }
  // OPTIONS='--listen ...'
  const auto name_end = content.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (name_end != 0 && name_end != content.npos && content[name_end] == '=') {
    return found("this is a file of shell variables, as hfmodem@.service reads");
  }
  return std::nullopt;
}

/// Returns the character of two or three octets at the start of the text, else its first octet.
char32_t character_at(std::string_view text) {
  const auto octet = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = octet(0);
  if (first >= 0xE0 && first < 0xF0) {
    return (first & 0xFu) << 12 | (octet(1) & 0x3Fu) << 6 | (octet(2) & 0x3Fu);
  }
  if (first >= 0xC2 && first < 0xE0) return (first & 0x1Fu) << 6 | (octet(1) & 0x3Fu);
  return first;
}

/// Returns how to write a character that word processors put in place of one of ASCII.
const char* plain_form(char32_t c) {
  switch (c) {
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0xAB:
    case 0xBB:
    case 0x2033:
      return "a typographic quotation mark; type a plain one, \"";
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x2032:
      return "a typographic quotation mark; type a plain one, '";
    case 0x2013:
    case 0x2014:
    case 0x2212:
      return "a dash; type a plain hyphen, -";
    case 0xA0:
    case 0x202F:
    case 0x2009:
      return "a space that does not break; type a plain space";
    case 0xFEFF:
    case 0x200B:
    case 0x200E:
    case 0x200F:
      return "an invisible character; remove it";
    default:
      return nullptr;
  }
}

/// Finds the first such character outside comments and texts in quotes, and counts the others.
std::optional<FileFinding> find_typographic(std::string_view text) {
  std::optional<FileFinding> first;
  int others = 0;
  for (Walk walk(text); !walk.at_end(); walk.step()) {
    const auto octet = static_cast<unsigned char>(walk.here());
    const bool begins = octet >= 0xC0;  // a character of several octets
    if (walk.in_comment() || walk.in_quotes() || !begins) continue;
    const char32_t c = character_at(walk.rest());
    const char* const form = plain_form(c);
    if (form == nullptr || (first && ++others > 0)) continue;
    char code[16];
    std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(c));
    first = FileFinding{walk.line(), walk.column(), std::string(code) + " is " + form};
  }
  if (first && others > 0) {
    first->text += "; " + std::to_string(others) + " more of that kind follow";
  }
  return first;
}

/// Returns the names of the fields at the top level of a text.
std::vector<std::pair<std::string, FileFinding>> top_names(std::string_view text) {
  std::vector<std::pair<std::string, FileFinding>> names;
  int depth = 0;
  Walk walk(text);
  std::string word;
  bool ended = false;  // a space followed the word
  FileFinding place;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (; !walk.at_end(); walk.step()) {
    if (walk.in_comment() || walk.in_quotes()) continue;
    const char c = walk.here();
    if (is_word(c)) {
      if (ended) word.clear();
      if (word.empty()) place = {walk.line(), walk.column(), {}};
      word.push_back(c);
      ended = false;
      continue;
    }
    if (c == ' ' || c == '\t') {
      ended = true;
      continue;
    }
    ended = false;
    if (depth == 0 && !word.empty() && (c == ':' || c == '{')) names.emplace_back(word, place);
    word.clear();
    if (c == '{' || c == '<' || c == '[') ++depth;
    if (c == '}' || c == '>' || c == ']') --depth;
  }
  return names;
}

struct Kind {
  const google::protobuf::Descriptor* message;
  const char* program;
};

std::vector<Kind> kinds() {
  return {{proto::Node::descriptor(), "s5066d"},
          {proto::Relay::descriptor(), "s5066-relay"},
          {proto::MailGateway::descriptor(), "s5066-acp142"},
          {proto::IpClient::descriptor(), "s5066-ip"}};
}

/// True if the name is nearly that of a row of an address book. The mail gateway has `stations`,
/// which is a mistyped `station` there.
bool is_mistyped_row(const std::string& name, const google::protobuf::Descriptor& wanted) {
  return &wanted == proto::AddressBook::descriptor() && nearest(name, {"station", "group"});
}

}  // namespace

std::optional<FileFinding> find_foreign_text(std::string_view text) {
  if (auto found = find_binary(text)) return found;
  if (auto found = find_other_language(text)) return found;
  return find_typographic(text);
}

// A text whose every name another program knows, and this one does not, was given to the wrong
// program. Text with a mistake in a name gets the usual messages.
std::optional<FileFinding> find_other_program(std::string_view text,
                                              const google::protobuf::Descriptor& wanted) {
  const auto names = top_names(text);
  const auto unknown_to = [&names](const google::protobuf::Descriptor& message) {
    return std::find_if(names.begin(), names.end(), [&message](const auto& name) {
      return message.FindFieldByName(name.first) == nullptr;
    });
  };
  const auto unknown = unknown_to(wanted);
  if (unknown == names.end() || is_mistyped_row(unknown->first, wanted)) return std::nullopt;
  const char* reader = "this program";
  for (const Kind& kind : kinds()) {
    if (kind.message == &wanted) reader = kind.program;
  }
  for (const Kind& kind : kinds()) {
    if (kind.message == &wanted || unknown_to(*kind.message) != names.end()) continue;
    FileFinding found = unknown->second;
    found.text = unknown->first + ": this is a configuration of " + kind.program + ", not of " +
                 reader + "; give it to " + kind.program;
    return found;
  }
  return std::nullopt;
}

}  // namespace s5066::config
