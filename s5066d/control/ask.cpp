// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/ask.h"

#include <google/protobuf/message.h>

#include <iostream>
#include <memory>

#include "s5066d/base/log.h"
#include "s5066d/control/text.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/socket.h"

namespace s5066::control {

Result<void> ask(const std::string& socket, const std::string& request,
                 google::protobuf::Message& answer, Duration timeout, int file) {
  const auto json = posix::ask_control(socket, request, timeout, file);
  if (!json) return json.error();
  return read_answer(*json, answer);
}

void print(const google::protobuf::Message& answer, Form form) {
  std::cout << (form == Form::json ? json_of(answer) : text_of(answer)) << std::flush;
}

int print_failure(std::string_view program, const Error& error, Form form) {
  if (form == Form::json) {
    std::cout << failure_json(error) << std::flush;
  } else {
    std::cerr << program << ": " << escaped(error.detail) << "\n";
  }
  return posix::kExitEnvironment;
}

Error with_remedy(Error error, const std::string& start) {
  if (error.code == ErrorCode::link_down) {
    error.detail = "no program answers there: " + error.detail;
    if (!start.empty()) error.detail += "; start it with `" + start + "`";
  }
  return error;
}

int ask_and_print(std::string_view program, const std::string& socket, const std::string& request,
                  const google::protobuf::Message& type, Form form, const std::string& start) {
  const auto json = posix::ask_control(socket, request, kAskTimeout);
  if (!json) return print_failure(program, with_remedy(json.error(), start), form);
  const std::unique_ptr<google::protobuf::Message> answer(type.New());
  const auto read = read_answer(*json, *answer);
  // The daemon may be newer than this tool, so its JSON is printed with all its fields.
  if (form == Form::json) {
    std::cout << *json << std::flush;
    return read ? posix::kExitOk : posix::kExitEnvironment;
  }
  if (!read) return print_failure(program, read.error(), form);
  print(*answer, form);
  return posix::kExitOk;
}

}  // namespace s5066::control
