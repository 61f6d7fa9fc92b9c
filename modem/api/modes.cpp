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

std::string_view to_string(Waveform waveform, Interleaver interleaver) {
  const bool brief = waveform == Waveform::stanag4539;
  switch (interleaver) {
    case Interleaver::zero:
      return "zero";
    case Interleaver::ultra_short:
      return "us";
    case Interleaver::very_short:
      return "vs";
    case Interleaver::short_:
      return brief ? "s" : "short";
    case Interleaver::medium:
      return "m";
    case Interleaver::long_:
      return brief ? "l" : "long";
    case Interleaver::very_long:
      return "vl";
  }
  return "unknown";
}

std::string to_string(const Mode& mode) {
  std::string text = mode.waveform == Waveform::ms110a ? "110a-" : "4539-";
  text += std::to_string(mode.rate_bps) + '-';
  return text.append(to_string(mode.waveform, mode.interleaver));
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
