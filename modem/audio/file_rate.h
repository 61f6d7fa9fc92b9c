// Which sample rates a sound file may have, whoever reads or writes it.
#pragma once

#include <string>

#include "s5066d/base/result.h"

namespace s5066::modem {

/// From the least that has room for the band of a radio up to the fastest of sound cards.
inline constexpr unsigned kFileRateMin = 8000;
inline constexpr unsigned kFileRateMax = 192000;

/// Says the rate and the range.
inline Result<void> check_file_rate(long long rate) {
  if (rate >= kFileRateMin && rate <= kFileRateMax) return {};
  return Error{ErrorCode::bad_field, std::to_string(rate) + " samples/s; " +
                                         std::to_string(kFileRateMin) + " to " +
                                         std::to_string(kFileRateMax) + " can be used"};
}

}  // namespace s5066::modem
