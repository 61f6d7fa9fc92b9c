// SPDX-License-Identifier: Apache-2.0
// Asks a running daemon over its control socket, for command-line tools and other programs.
#pragma once

#include <string>
#include <string_view>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/control/json.h"

namespace s5066::control {

inline constexpr Duration kAskTimeout = std::chrono::seconds(10);

/// Sends a request and reads the answer. The error is link_down if no daemon listens there, the
/// daemon's own if it refused the request, and otherwise tells why there is no answer. The
/// descriptor `file` goes with the request; -1 is none.
Result<void> ask(const std::string& socket, const std::string& request,
                 google::protobuf::Message& answer, Duration timeout = kAskTimeout, int file = -1);

template <typename Answer>
Result<Answer> ask(const std::string& socket, const std::string& request,
                   Duration timeout = kAskTimeout, int file = -1) {
  Answer answer;
  if (auto asked = ask(socket, request, answer, timeout, file); !asked) return asked.error();
  return Result<Answer>(std::move(answer));
}

/// Forms in which a tool prints an answer.
enum class Form { text, json };

/// Prints an answer on standard output: its text for people, or the JSON as the daemon wrote it.
void print(const google::protobuf::Message& answer, Form form);
/// Prints an error on standard error as "PROGRAM: TEXT", or as JSON on standard output, and returns
/// kExitEnvironment.
int print_failure(std::string_view program, const Error& error, Form form);

/// Adds to the error link_down of ask() by which command the program is started; `start` may be
/// empty. Leaves other errors alone.
Error with_remedy(Error error, const std::string& start);

/// Sends a request, prints the answer, and returns the exit status. `answer` is of the type that
/// answers. `start` is the command that starts the daemon, if it is known.
int ask_and_print(std::string_view program, const std::string& socket, const std::string& request,
                  const google::protobuf::Message& type, Form form, const std::string& start = {});

}  // namespace s5066::control
