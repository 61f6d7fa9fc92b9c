// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/text.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "config/proto/control.pb.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/base/log.h"

namespace s5066::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kIndent = 2;
constexpr std::string_view kVersionField = "version";
constexpr std::string_view kNoteField = "note";  // a sentence for people
constexpr std::string_view kSecondsEnd = "_s";
/// Longer times are shown as a number of seconds.
constexpr double kSecondsMax = 1e12;
/// Doubles up to here are exact integers.
constexpr double kIntegerMax = 9007199254740992.0;

bool is_list(const FieldDescriptor& field) {
  return field.is_repeated() && !field.is_map() &&
         field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

std::string number_text(double value) {
  char text[64];
  if (std::abs(value) <= kIntegerMax && value == std::floor(value)) {
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

/// True for a time in seconds, which people read as "2 h 5 min" under a name without its unit.
bool is_time(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE && !field.is_repeated() &&
         field.name().ends_with(kSecondsEnd);
}

std::string title_of(const FieldDescriptor& field) {
  const std::string& name = field.name();
  return is_time(field) ? name.substr(0, name.size() - kSecondsEnd.size()) : name;
}

std::string time_text(double seconds) {
  if (!(std::abs(seconds) >= 60 && std::abs(seconds) <= kSecondsMax)) {
    return number_text(seconds) + " s";
  }
  const std::string text = duration_text(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
  return seconds < 0 ? "-" + text : text;
}

std::string scalar_text(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "yes" : "no";
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return is_time(field) ? time_text(reflection.GetDouble(message, &field))
                            : number_text(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return escaped(reflection.GetString(message, &field));
    default:
      return message.ShortDebugString();
  }
}

std::string cell(const Message& message, const FieldDescriptor& field);

/// Returns the fields of a small message as "name=value name=value".
std::string inline_text(const Message& message) {
  std::string text;
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string value = cell(message, *type.field(i));
    if (value.empty()) continue;
    text.append(text.empty() ? "" : " ").append(title_of(*type.field(i))).append("=").append(value);
  }
  return text;
}

/// Returns the entry of a map, or a pair of key and value, as "key=value".
std::string pair_text(const Message& entry) {
  const auto& type = *entry.GetDescriptor();
  if (type.field_count() != 2 || type.field(0)->name() != "key") return inline_text(entry);
  return scalar_text(entry, *type.field(0)) + "=" + scalar_text(entry, *type.field(1));
}

/// Returns a field in one line; empty if it has no value.
std::string cell(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  const bool nested = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field.is_repeated()) {
    if (field.has_presence() && !reflection.HasField(message, &field)) return {};
    return nested ? inline_text(reflection.GetMessage(message, &field))
                  : scalar_text(message, field);
  }
  std::string text;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (!text.empty()) text.append(nested ? " " : ", ");
    text.append(nested ? pair_text(reflection.GetRepeatedMessage(message, &field, i))
                       : escaped(reflection.GetRepeatedString(message, &field, i)));
  }
  return text;
}

/// True for messages that fit no row of a table, because they have lists of messages.
bool needs_block(const google::protobuf::Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (is_list(field) && field.message_type()->field_count() > 2) return true;
  }
  return false;
}

/// Returns how many characters a UTF-8 text shows.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

using Column = std::vector<std::string>;  // the first text is the title

std::vector<Column> columns_of(const Message& message, const FieldDescriptor& list) {
  const auto& reflection = *message.GetReflection();
  const auto& type = *list.message_type();
  std::vector<Column> columns;
  for (int i = 0; i < type.field_count(); ++i) {
    Column column{title_of(*type.field(i))};
    bool used = false;
    for (int row = 0; row < reflection.FieldSize(message, &list); ++row) {
      column.push_back(cell(reflection.GetRepeatedMessage(message, &list, row), *type.field(i)));
      used = used || !column.back().empty();
    }
    if (used) columns.push_back(std::move(column));
  }
  return columns;
}

std::string table(const Message& message, const FieldDescriptor& list, std::size_t indent) {
  std::vector<Column> columns = columns_of(message, list);
  if (columns.empty()) return {};
  std::string text;
  for (std::size_t row = 0; row < columns[0].size(); ++row) {
    std::string line(indent, ' ');
    for (Column& column : columns) {
      std::size_t widest = 0;
      for (const std::string& value : column) widest = std::max(widest, width_of(value));
      const std::string value = column[row].empty() ? "-" : column[row];
      line.append(value).append(widest + 2 - std::min(width_of(value), widest), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).append("\n");
  }
  return text;
}

std::string block(const Message& message, std::size_t indent);

std::string blocks(const Message& message, const FieldDescriptor& list, std::size_t indent) {
  const auto& reflection = *message.GetReflection();
  std::string text;
  for (int i = 0; i < reflection.FieldSize(message, &list); ++i) {
    if (i > 0) text.append("\n");
    text.append(block(reflection.GetRepeatedMessage(message, &list, i), indent));
  }
  return text;
}

std::string titled(const FieldDescriptor& field, const std::string& body, std::size_t indent) {
  if (body.empty()) return {};
  return std::string(indent, ' ') + field.name() + ":\n" + body;
}

std::string block(const Message& message, std::size_t indent) {
  const auto& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  std::string lines;
  std::string bodies;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.name() == kVersionField && indent == 0) continue;
    if (is_list(field)) {
      const bool as_blocks = needs_block(*field.message_type());
      bodies.append(titled(field,
                           as_blocks ? blocks(message, field, indent + kIndent)
                                     : table(message, field, indent + kIndent),
                           indent));
    } else if (!field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!reflection.HasField(message, &field)) continue;
      bodies.append(
          titled(field, block(reflection.GetMessage(message, &field), indent + kIndent), indent));
    } else if (const std::string value = cell(message, field); !value.empty()) {
      const std::string name = field.name() == kNoteField ? "" : title_of(field) + " ";
      lines.append(std::string(indent, ' ') + name + value + "\n");
    }
  }
  return lines + bodies;
}

/// Returns the only list of an answer that has nothing else to show.
const FieldDescriptor* only_list(const Message& message) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  std::erase_if(present, [](const auto* field) { return field->name() == kVersionField; });
  return present.size() == 1 && is_list(*present[0]) ? present[0] : nullptr;
}

std::string text_of_done(const proto::Done& done) {
  return done.note().empty() ? "ok\n" : "ok, but " + escaped(done.note()) + "\n";
}

}  // namespace

std::string text_of(const Message& answer) {
  if (answer.GetDescriptor() == proto::Done::descriptor()) {
    proto::Done done;
    done.CopyFrom(answer);
    return text_of_done(done);
  }
  if (const FieldDescriptor* list = only_list(answer)) {
    return needs_block(*list->message_type()) ? blocks(answer, *list, 0) : table(answer, *list, 0);
  }
  const std::string text = block(answer, 0);
  return text.empty() ? "none\n" : text;
}

}  // namespace s5066::control
