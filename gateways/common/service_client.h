// SPDX-License-Identifier: Apache-2.0
// The commands of an operator ask the running service by this class, and print errors by it.
#pragma once

#include <string>
#include <utility>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/control/ask.h"
#include "s5066d/posix/socket.h"

namespace s5066::gateways {

class ServiceClient {
 public:
  struct Config {
    std::string program;
    std::string socket;  // path of the control socket
    std::string start;   // command that starts the service, for errors
    control::Form form = control::Form::text;
  };
  explicit ServiceClient(Config config) : config_(std::move(config)) {}

  control::Form form() const { return config_.form; }
  bool text() const { return config_.form == control::Form::text; }

  /// Sends a request and reads the answer; `file` goes with it, if it is not -1. Errors are those
  /// of control::ask().
  template <typename Answer>
  Result<Answer> ask(const std::string& request, Duration timeout = control::kAskTimeout,
                     int file = -1) const {
    return control::ask<Answer>(config_.socket, request, timeout, file);
  }
  /// Sends a request and returns the JSON that came, also if it refuses the request. An error says
  /// that no answer came.
  Result<std::string> exchange(const std::string& request, Duration timeout, int file) const {
    return posix::ask_control(config_.socket, request, timeout, file);
  }
  /// Sends a request, prints the answer, and returns the exit status.
  int ask_and_print(const std::string& request, const google::protobuf::Message& type) const {
    return control::ask_and_print(config_.program, config_.socket, request, type, config_.form,
                                  config_.start);
  }
  /// Prints an error, and returns the exit status.
  int fail(const Error& error) const {
    return control::print_failure(config_.program, control::with_remedy(error, config_.start),
                                  config_.form);
  }

 private:
  Config config_;
};

}  // namespace s5066::gateways
