// SPDX-License-Identifier: Apache-2.0
#include "config/parser_wording.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "s5066d/base/nearest.h"

namespace s5066::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

/// Sections lie in each other no deeper than this.
constexpr int kPartsDepthMax = 6;

struct Part {
  const Descriptor* message;
  std::string path;  // such as "sis.local"; empty for the whole file
};

void list_parts(const Part& from, int depth, std::vector<Part>& parts) {
  parts.push_back(from);
  if (depth == kPartsDepthMax) return;
  for (int i = 0; i < from.message->field_count(); ++i) {
    const FieldDescriptor& field = *from.message->field(i);
    if (field.message_type() == nullptr) continue;
    const std::string dot = from.path.empty() ? "" : ".";
    list_parts({field.message_type(), from.path + dot + field.name()}, depth + 1, parts);
  }
}

/// Returns all sections; those of the top level come first.
std::vector<Part> parts_of(const Descriptor& root) {
  std::vector<Part> parts;
  list_parts({&root, ""}, 0, parts);
  const auto depth = [](const Part& one) {
    return std::count(one.path.begin(), one.path.end(), '.') + (one.path.empty() ? 0 : 1);
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&depth](const Part& a, const Part& b) { return depth(a) < depth(b); });
  return parts;
}

std::vector<std::string> field_names(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

std::string place_of(const Part& part) {
  return part.path.empty() ? "at the top level" : "in `" + part.path + "`";
}

// A name of the same section comes first, then the same name in another section, then a similar
// name there.
std::string unknown_field(const std::string& name, const Descriptor* message,
                          const Descriptor& root) {
  const std::string unknown = name + ": unknown field";
  if (message != nullptr) {
    if (const auto meant = nearest(name, field_names(*message))) {
      return unknown + "; did you mean " + *meant + "?";
    }
  }
  const auto parts = parts_of(root);
  for (const Part& part : parts) {
    if (part.message->FindFieldByName(name) == nullptr) continue;
    return name + ": not here; this field belongs " + place_of(part);
  }
  for (const Part& part : parts) {
    if (const auto meant = nearest(name, field_names(*part.message))) {
      return unknown + "; did you mean " + *meant + " " + place_of(part) + "?";
    }
  }
  return unknown;
}

const EnumDescriptor* enum_of(const std::string& field, const Descriptor& root) {
  for (const Part& part : parts_of(root)) {
    const FieldDescriptor* const found = part.message->FindFieldByName(field);
    if (found != nullptr && found->enum_type() != nullptr) return found->enum_type();
  }
  return nullptr;
}

std::string unknown_value(const std::string& value, const std::string& field,
                          const Descriptor& root) {
  std::string text = field + ": unknown value " + value;
  const EnumDescriptor* const type = enum_of(field, root);
  if (type == nullptr) return text;
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < type->value_count(); ++i) {
    names.push_back(type->value(i)->name());
    list += (i > 0 ? ", " : "") + names.back();
  }
  return text + "; it can be " + list + did_you_mean(value, names);
}

/// Returns the text between the two marks, or nothing if one is not there.
std::optional<std::string> between(std::string_view text, std::string_view before,
                                   std::string_view behind) {
  const auto start = text.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  const auto from = start + before.size();
  const auto end = text.find(behind, from);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(from, end - from));
}

std::string in_quotes(std::string_view value) {
  return "\"" + std::string(value) + "\"";
}

}  // namespace

std::string wording_of(const ParserComplaint& complaint, const Descriptor& root) {
  const std::string_view text = complaint.text;
  const std::string name(complaint.field);
  const std::string value(complaint.value);
  if (const auto unknown = between(text, "has no field named \"", "\"")) {
    const auto type = between(text, "Message type \"", "\"");
    const auto* const message =
        type ? DescriptorPool::generated_pool()->FindMessageTypeByName(*type) : nullptr;
    return unknown_field(*unknown, message, root);
  }
  if (const auto unknown = between(text, "Unknown enumeration value of \"", "\"")) {
    return unknown_value(*unknown, between(text, "for field \"", "\"").value_or(name), root);
  }
  if (const auto twice = between(text, "Non-repeated field \"", "\"")) {
    return *twice + ": is given twice; remove one of them";
  }
  if (const auto field = between(text, "Invalid value for boolean field \"", "\"")) {
    return *field + ": " + between(text, "Value: \"", "\"").value_or(value) +
           " is neither true nor false";
  }
  if (name.empty()) return std::string(text);
  if (text.starts_with("Expected string, got:")) {
    return name + ": " + value + " must be in quotes: " + name + ": " + in_quotes(value);
  }
  if (text.starts_with("Expected integer, got:") || text.starts_with("Integer out of range")) {
    const char* const problem = text.starts_with("Integer") ? " is out of range"
                                : value.starts_with('-')    ? " is below 0, its least value"
                                                            : " is not a whole number; give one "
                                                              "without quotes";
    return name + ": " + value + problem;
  }
  if (text.starts_with("Expected double, got:")) {
    return name + ": " + value + " is not a number; give one without quotes";
  }
  if (text.starts_with("Expected \":\"")) {
    return name + ": write a colon between name and value: " + name + ": " + value;
  }
  if (text.starts_with("Expected \"{\"")) {
    return name + ": " + value + " cannot stand here; this field is a section: " + name + " { }";
  }
  return std::string(text);
}

}  // namespace s5066::config
