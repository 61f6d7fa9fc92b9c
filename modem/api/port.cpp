// SPDX-License-Identifier: Apache-2.0
#include "modem/api/port.h"

namespace s5066::modem {

Instant at(const Event& event) {
  return std::visit([](const auto& e) { return e.at; }, event);
}

LogLevel severity_of(FaultKind kind) {
  using enum FaultKind;
  if (kind == level_bad) return LogLevel::warning;
  const bool over = kind == device_back || kind == ptt_back || kind == level_good;
  return over ? LogLevel::info : LogLevel::error;
}

}  // namespace s5066::modem
