// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/json.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "config/proto/control.pb.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/log.h"

namespace s5066::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// JSON that nests deeper, or is larger, is none of ours.
constexpr std::size_t kAnswerOctetsMax = std::size_t{16} << 20;
constexpr ErrorCode kLastCode = ErrorCode::io;

/// Escapes a text that is not UTF-8, because Protobuf would drop it. Other texts stay as they are.
std::string valid(const std::string& text) {
  if (is_utf8(text)) return text;
  return escaped(text);
}

void make_valid(Message& message);

void make_valid(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (!field.is_repeated()) return make_valid(*reflection.MutableMessage(&message, &field));
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      make_valid(*reflection.MutableRepeatedMessage(&message, &field, i));
    }
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    if (!field.is_repeated()) {
      return reflection.SetString(&message, &field, valid(reflection.GetString(message, &field)));
    }
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      reflection.SetRepeatedString(&message, &field, i,
                                   valid(reflection.GetRepeatedString(message, &field, i)));
    }
  }
}

void make_valid(Message& message) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (const FieldDescriptor* field : present) make_valid(message, *field);
}

std::optional<ErrorCode> code_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(kLastCode); ++i) {
    if (code_name(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

bool parse(std::string_view json, Message& to) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const google::protobuf::StringPiece text(json.data(), json.size());
  return google::protobuf::util::JsonStringToMessage(text, &to, options).ok();
}

}  // namespace

std::string json_of(const Message& message) {
  const std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  make_valid(*copy);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(*copy, &json, options);
  S5066_ASSERT(status.ok());
  return json;
}

std::string code_name(ErrorCode code) {
  std::string name(to_string(code));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '/'; }, '_');
  return name;
}

std::string done_json(const std::string& note) {
  proto::Done done;
  done.set_done(true);
  done.set_note(note);
  return answer_json(std::move(done));
}

std::string failure_json(const Error& error) {
  proto::Failure failure;
  failure.mutable_error()->set_code(code_name(error.code));
  failure.mutable_error()->set_text(error.detail);
  return answer_json(std::move(failure));
}

Result<void> read_answer(std::string_view json, Message& to) {
  const Error unreadable{ErrorCode::bad_field, "the answer is not JSON of the control interface"};
  proto::Failure failure;
  if (json.size() > kAnswerOctetsMax || !parse(json, failure)) return unreadable;
  if (failure.has_error()) {
    const auto code = code_of(failure.error().code());
    return Error{code.value_or(ErrorCode::refused), failure.error().text()};
  }
  if (!parse(json, to)) return unreadable;
  return {};
}

}  // namespace s5066::control
