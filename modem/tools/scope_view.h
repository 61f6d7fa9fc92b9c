// What `hfmodem scope` shows: a line of level and burst, which is kept up to date on a terminal.
// Each burst has a last line that stays, however short it was, and says how it ended.
#pragma once

#include <cstdio>
#include <optional>

#include "modem/audio/level_meter.h"
#include "modem/tools/burst_record.h"

namespace s5066::modem::tools {

class ScopeView {
 public:
  /// `one_line`: it is a terminal.
  ScopeView(std::FILE* to, bool one_line) : to_(to), one_line_(one_line) {}

  /// `level` is the newest that there is.
  void take(const BurstEvent& event, const LevelMeter::Reading& level);
  void print(const LevelMeter::Reading& level) const;
  /// The last line, which may be of a burst that goes on.
  void end(const LevelMeter::Reading& level);

 private:
  std::FILE* to_;
  bool one_line_;
  std::optional<BurstRecord> burst_;
};

}  // namespace s5066::modem::tools
