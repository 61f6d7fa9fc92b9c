// SPDX-License-Identifier: Apache-2.0
#include "config/setup/key_terminal.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

namespace s5066::config {

// Signals of the terminal stay on, so Ctrl-C ends the program; the key is then released as after a
// crash (modem/ptt/crash_guard.h).
KeyTerminal::KeyTerminal(bool interactive) : interactive_(interactive) {
  termios settings{};
  if (!interactive || ::tcgetattr(STDIN_FILENO, &settings) != 0) return;
  before_ = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

KeyTerminal::~KeyTerminal() {
  if (live_shown_) std::cout << std::endl;
  // Keys that came too late for the trial must not answer the next question.
  if (before_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &*before_);
}

void KeyTerminal::line(const std::string& text) {
  if (std::exchange(live_shown_, false)) std::cout << "\n";
  std::cout << text << std::endl;
}

void KeyTerminal::live(const std::string& text) {
  if (!interactive_) return;
  live_shown_ = true;
  std::cout << "\r\033[K" << text << std::flush;
}

std::optional<char> KeyTerminal::pressed() {
  if (!interactive_) return std::nullopt;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char key = 0;
  if (::poll(&input, 1, 0) <= 0) return std::nullopt;
  const ssize_t octets = ::read(STDIN_FILENO, &key, 1);
  if (octets == 1) return key;
  return '\n';  // the terminal is gone, so nobody would end the trial
}

}  // namespace s5066::config
