// SPDX-License-Identifier: Apache-2.0
// One run of s5066-chat: joins the core to a SIS client, to standard input and output, and to the
// clock.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateways/chat/chat_core.h"
#include "gateways/chat/chat_options.h"
#include "gateways/chat/line_input.h"
#include "gateways/chat/terminal_mode.h"
#include "sis/client.h"
#include "sis/tools/standard_input.h"

namespace s5066::chat {

class ChatSession {
 public:
  ChatSession(boost::asio::io_context& io, const Options& options, bool terminal);

  void start();
  /// Valid when the io_context has run out of work.
  int exit_status() const { return exit_status_; }

 private:
  void on_event(const sis::Event& event);
  void on_input(std::string_view octets);
  void on_input_end();
  void take_lines();
  void read();
  void drain();
  void submit(ChatCore::Submit submit);
  void print(const Line& line);
  void draw();
  void finish_if_done();
  void leave(int exit_status, const std::string& why);

  const Options options_;
  sis_tools::StandardInput input_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer linger_;
  sis::Client client_;
  ChatCore core_;
  std::optional<TerminalMode> terminal_;
  LineInput keys_{LineInput::Config{}};
  std::array<char, 4096> piece_{};
  std::string waiting_;    // input that the core has not taken, at most a piece and a line
  bool skipping_ = false;  // the rest of a line that was too long
  bool reading_ = false;
  bool at_end_ = false;
  bool lingering_ = false;
  bool left_ = false;
  int exit_status_ = 0;
};

}  // namespace s5066::chat
