// SPDX-License-Identifier: Apache-2.0
// The sample rates that a sound file may have.
#pragma once

#include <string>

#include "s5066d/base/result.h"

namespace s5066::modem {

/// The range is from the lowest rate that holds the band of a radio to the fastest of sound cards.
inline constexpr unsigned kFileRateMin = 8000;
inline constexpr unsigned kFileRateMax = 192000;

/// An error names the rate and the range.
inline Result<void> check_file_rate(long long rate) {
  if (rate >= kFileRateMin && rate <= kFileRateMax) return {};
  return Error{ErrorCode::bad_field, std::to_string(rate) + " samples/s; " +
                                         std::to_string(kFileRateMin) + " to " +
                                         std::to_string(kFileRateMax) + " can be used"};
}

}  // namespace s5066::modem
