#include "modem/api/modes.h"

#include <algorithm>
#include <array>

namespace s5066::modem {
namespace {
constexpr std::array kModes = {
    Mode{Waveform::ms110a, 300, Interleaver::short_},
    Mode{Waveform::ms110a, 300, Interleaver::long_},
    Mode{Waveform::ms110a, 600, Interleaver::short_},
    Mode{Waveform::ms110a, 600, Interleaver::long_},
    Mode{Waveform::ms110a, 1200, Interleaver::short_},
    Mode{Waveform::ms110a, 1200, Interleaver::long_},
    Mode{Waveform::ms110a, 2400, Interleaver::short_},
    Mode{Waveform::ms110a, 2400, Interleaver::long_},
};
}

std::span<const Mode> all_modes() {
  return kModes;
}

bool is_supported(const Mode& mode) {
  return std::find(kModes.begin(), kModes.end(), mode) != kModes.end();
}

std::string to_string(const Mode& mode) {
  return "110a-" + std::to_string(mode.rate_bps) +
         (mode.interleaver == Interleaver::short_ ? "-short" : "-long");
}

Result<Mode> parse_mode(std::string_view text) {
  const auto found = std::find_if(kModes.begin(), kModes.end(),
                                  [&](const Mode& mode) { return to_string(mode) == text; });
  if (found == kModes.end()) {
    return Error{ErrorCode::bad_field, "no such mode, for example 110a-2400-short"};
  }
  return *found;
}

}  // namespace s5066::modem
