#include "modem/api/port.h"

namespace s5066::modem {

Instant at(const Event& event) {
  return std::visit([](const auto& e) { return e.at; }, event);
}

}  // namespace s5066::modem
