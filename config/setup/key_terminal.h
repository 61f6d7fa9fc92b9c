// SPDX-License-Identifier: Apache-2.0
// Shows the trials in a terminal, and reads single keys while one runs.
#pragma once

#include <termios.h>

#include <optional>
#include <string>

#include "config/setup/trials.h"

namespace s5066::config {

/// While it exists, standard input gives each key at once and without echo, if it is a terminal.
class KeyTerminal final : public TrialView {
 public:
  /// `interactive` is false for answers from a file: then no key is read.
  explicit KeyTerminal(bool interactive);
  ~KeyTerminal() override;
  KeyTerminal(const KeyTerminal&) = delete;
  KeyTerminal& operator=(const KeyTerminal&) = delete;

  void line(const std::string& text) override;
  void live(const std::string& text) override;
  std::optional<char> pressed() override;
  bool has_person() const override { return interactive_; }

 private:
  bool interactive_;
  std::optional<termios> before_;
  bool live_shown_ = false;
};

}  // namespace s5066::config
