// SPDX-License-Identifier: Apache-2.0
// s5066-chat, the HFCHAT client of STANAG 5066 Annex F.7.
#include <boost/asio/io_context.hpp>
#include <boost/program_options/errors.hpp>
#include <iostream>

#include "gateways/chat/chat_options.h"
#include "gateways/chat/chat_session.h"
#include "s5066d/posix/main_tail.h"

namespace {

using namespace s5066;

int run(int argc, char** argv) {
  const bool terminal = chat::at_terminal();
  chat::Instead instead;
  const auto options = chat::read_command_line(argc, argv, terminal, instead);
  if (!instead.problem.empty()) {
    std::cerr << "s5066-chat: " << instead.problem << "\n";
    return posix::kExitUsage;
  }
  if (!options) {
    std::cout << instead.help;
    return posix::kExitOk;
  }
  boost::asio::io_context io;
  chat::ChatSession session(io, *options, terminal && !options->json);
  session.start();
  io.run();
  return session.exit_status();
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<boost::program_options::error>("s5066-chat", run, argc, argv);
}
