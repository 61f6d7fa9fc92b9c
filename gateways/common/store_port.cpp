#include "gateways/common/store_port.h"

#include <array>

#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(SpoolState::count)> kNames = {
    "incoming", "active", "deferred", "delivered", "failed", "expired", "held", "corrupt"};

}  // namespace

std::string_view to_string(SpoolState state) {
  S5066_ASSERT(state < SpoolState::count);
  return kNames[static_cast<std::size_t>(state)];
}

Result<SpoolState> parse_spool_state(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<SpoolState>(i);
  }
  return Error{ErrorCode::bad_field, "spool state"};
}

bool is_final(SpoolState state) {
  return state != SpoolState::incoming && state != SpoolState::active &&
         state != SpoolState::deferred;
}

bool is_over(SpoolState state) {
  return state == SpoolState::delivered || state == SpoolState::failed ||
         state == SpoolState::expired;
}

}  // namespace s5066::gateways
