// SPDX-License-Identifier: Apache-2.0
// The answers of the control interface: messages of config/proto/control.proto in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "s5066d/base/result.h"

namespace google::protobuf {
class Message;
}

namespace s5066::control {

/// `version` of each answer. Fields are added without a new version. It grows when a field is
/// removed or gets another meaning.
inline constexpr std::uint32_t kInterfaceVersion = 1;

/// Returns a message as JSON. Texts that are not UTF-8 are escaped as in the log.
std::string json_of(const google::protobuf::Message& message);

/// Returns the JSON of an answer, with the version of the interface.
template <typename Answer>
std::string answer_json(Answer answer) {
  answer.set_version(kInterfaceVersion);
  return json_of(answer);
}

/// Returns the answer to a request that was carried out; `note` tells people a consequence.
std::string done_json(const std::string& note = {});

/// Returns the answer to a request that failed: {"error": {"code": …, "text": …}, "version": …}.
std::string failure_json(const Error& error);

/// Returns the name of an error code in answers, such as "not_found".
std::string code_name(ErrorCode code);

/// Reads an answer and skips fields that the message does not have. If the daemon refused the
/// request, the error is the daemon's.
Result<void> read_answer(std::string_view json, google::protobuf::Message& to);

template <typename Answer>
Result<Answer> read_answer(std::string_view json) {
  Answer answer;
  if (auto read = read_answer(json, answer); !read) return read.error();
  return Result<Answer>(std::move(answer));
}

}  // namespace s5066::control
