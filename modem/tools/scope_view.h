// SPDX-License-Identifier: Apache-2.0
// The display of `hfmodem scope`: a line with level and burst, which is updated in place on a
// terminal. Each burst keeps its last line, however short it was, with the way in which it ended.
#pragma once

#include <cstdio>
#include <optional>

#include "modem/audio/level_meter.h"
#include "modem/tools/burst_record.h"

namespace s5066::modem::tools {

class ScopeView {
 public:
  /// `one_line` is true on a terminal.
  ScopeView(std::FILE* to, bool one_line) : to_(to), one_line_(one_line) {}

  /// `level` is the newest reading.
  void take(const BurstEvent& event, const LevelMeter::Reading& level);
  void print(const LevelMeter::Reading& level) const;
  /// Prints the last line, which may describe a burst that goes on.
  void end(const LevelMeter::Reading& level);

 private:
  std::FILE* to_;
  bool one_line_;
  std::optional<BurstRecord> burst_;
};

}  // namespace s5066::modem::tools
