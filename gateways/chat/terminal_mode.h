// SPDX-License-Identifier: Apache-2.0
// The terminal on standard input, without its own line editing and echo.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>

namespace s5066::chat {

/// True if standard input and standard output are a terminal.
bool at_terminal();

/// Switches the terminal for the life of the object. Ctrl-C still sends its signal.
class TerminalMode {
 public:
  TerminalMode();
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  /// Returns the width of a line; 80 if the terminal does not tell.
  std::size_t columns() const;

 private:
  std::optional<termios> before_;
};

}  // namespace s5066::chat
