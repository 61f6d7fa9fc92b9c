// SPDX-License-Identifier: Apache-2.0
// Standard input of a program on an io_context.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

namespace s5066::sis_tools {

/// Reads standard input without blocking; restores the descriptor's mode.
class StandardInput {
 public:
  explicit StandardInput(boost::asio::io_context& io)
      : flags_(::fcntl(STDIN_FILENO, F_GETFL)), descriptor_(io, ::dup(STDIN_FILENO)) {}
  ~StandardInput() { ::fcntl(STDIN_FILENO, F_SETFL, flags_); }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  template <typename Handler>
  void read(boost::asio::mutable_buffer buffer, Handler handler) {
    descriptor_.async_read_some(buffer, std::move(handler));
  }
  void cancel() { descriptor_.cancel(); }

 private:
  int flags_;
  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace s5066::sis_tools
