// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/terminal_mode.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace s5066::chat {

bool at_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

TerminalMode::TerminalMode() {
  termios mode{};
  if (::tcgetattr(STDIN_FILENO, &mode) != 0) return;
  before_ = mode;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

TerminalMode::~TerminalMode() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
}

std::size_t TerminalMode::columns() const {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

}  // namespace s5066::chat
