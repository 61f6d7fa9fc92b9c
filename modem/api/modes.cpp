// SPDX-License-Identifier: Apache-2.0
#include "modem/api/modes.h"

#include <algorithm>
#include <array>

namespace s5066::modem {
namespace {
constexpr std::array kModes = {
    Mode{Waveform::ms110a, 75, Interleaver::zero},
    Mode{Waveform::ms110a, 75, Interleaver::short_},
    Mode{Waveform::ms110a, 75, Interleaver::long_},
    Mode{Waveform::ms110a, 150, Interleaver::zero},
    Mode{Waveform::ms110a, 150, Interleaver::short_},
    Mode{Waveform::ms110a, 150, Interleaver::long_},
    Mode{Waveform::ms110a, 300, Interleaver::zero},
    Mode{Waveform::ms110a, 300, Interleaver::short_},
    Mode{Waveform::ms110a, 300, Interleaver::long_},
    Mode{Waveform::ms110a, 600, Interleaver::zero},
    Mode{Waveform::ms110a, 600, Interleaver::short_},
    Mode{Waveform::ms110a, 600, Interleaver::long_},
    Mode{Waveform::ms110a, 1200, Interleaver::zero},
    Mode{Waveform::ms110a, 1200, Interleaver::short_},
    Mode{Waveform::ms110a, 1200, Interleaver::long_},
    Mode{Waveform::ms110a, 2400, Interleaver::zero},
    Mode{Waveform::ms110a, 2400, Interleaver::short_},
    Mode{Waveform::ms110a, 2400, Interleaver::long_},
    Mode{Waveform::ms110a, 4800, Interleaver::zero},
    Mode{Waveform::stanag4539, 3200, Interleaver::ultra_short},
    Mode{Waveform::stanag4539, 3200, Interleaver::very_short},
    Mode{Waveform::stanag4539, 3200, Interleaver::short_},
    Mode{Waveform::stanag4539, 3200, Interleaver::medium},
    Mode{Waveform::stanag4539, 3200, Interleaver::long_},
    Mode{Waveform::stanag4539, 3200, Interleaver::very_long},
    Mode{Waveform::stanag4539, 4800, Interleaver::ultra_short},
    Mode{Waveform::stanag4539, 4800, Interleaver::very_short},
    Mode{Waveform::stanag4539, 4800, Interleaver::short_},
    Mode{Waveform::stanag4539, 4800, Interleaver::medium},
    Mode{Waveform::stanag4539, 4800, Interleaver::long_},
    Mode{Waveform::stanag4539, 4800, Interleaver::very_long},
    Mode{Waveform::stanag4539, 6400, Interleaver::ultra_short},
    Mode{Waveform::stanag4539, 6400, Interleaver::very_short},
    Mode{Waveform::stanag4539, 6400, Interleaver::short_},
    Mode{Waveform::stanag4539, 6400, Interleaver::medium},
    Mode{Waveform::stanag4539, 6400, Interleaver::long_},
    Mode{Waveform::stanag4539, 6400, Interleaver::very_long},
    Mode{Waveform::stanag4539, 8000, Interleaver::ultra_short},
    Mode{Waveform::stanag4539, 8000, Interleaver::very_short},
    Mode{Waveform::stanag4539, 8000, Interleaver::short_},
    Mode{Waveform::stanag4539, 8000, Interleaver::medium},
    Mode{Waveform::stanag4539, 8000, Interleaver::long_},
    Mode{Waveform::stanag4539, 8000, Interleaver::very_long},
    Mode{Waveform::stanag4539, 9600, Interleaver::ultra_short},
    Mode{Waveform::stanag4539, 9600, Interleaver::very_short},
    Mode{Waveform::stanag4539, 9600, Interleaver::short_},
    Mode{Waveform::stanag4539, 9600, Interleaver::medium},
    Mode{Waveform::stanag4539, 9600, Interleaver::long_},
    Mode{Waveform::stanag4539, 9600, Interleaver::very_long},
    Mode{Waveform::stanag4539, 12800, Interleaver::zero},
    Mode{Waveform::stanag4285, 75, Interleaver::zero},
    Mode{Waveform::stanag4285, 75, Interleaver::short_},
    Mode{Waveform::stanag4285, 75, Interleaver::long_},
    Mode{Waveform::stanag4285, 150, Interleaver::zero},
    Mode{Waveform::stanag4285, 150, Interleaver::short_},
    Mode{Waveform::stanag4285, 150, Interleaver::long_},
    Mode{Waveform::stanag4285, 300, Interleaver::zero},
    Mode{Waveform::stanag4285, 300, Interleaver::short_},
    Mode{Waveform::stanag4285, 300, Interleaver::long_},
    Mode{Waveform::stanag4285, 600, Interleaver::zero},
    Mode{Waveform::stanag4285, 600, Interleaver::short_},
    Mode{Waveform::stanag4285, 600, Interleaver::long_},
    Mode{Waveform::stanag4285, 1200, Interleaver::zero},
    Mode{Waveform::stanag4285, 1200, Interleaver::short_},
    Mode{Waveform::stanag4285, 1200, Interleaver::long_},
    Mode{Waveform::stanag4285, 2400, Interleaver::zero},
    Mode{Waveform::stanag4285, 2400, Interleaver::short_},
    Mode{Waveform::stanag4285, 2400, Interleaver::long_},
    Mode{Waveform::stanag4285, 3600, Interleaver::zero},
    Mode{Waveform::ms110d, 75, Interleaver::short_},
    Mode{Waveform::ms110d, 75, Interleaver::medium},
    Mode{Waveform::ms110d, 75, Interleaver::long_},
    Mode{Waveform::ms110d, 150, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 150, Interleaver::short_},
    Mode{Waveform::ms110d, 150, Interleaver::medium},
    Mode{Waveform::ms110d, 150, Interleaver::long_},
    Mode{Waveform::ms110d, 300, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 300, Interleaver::short_},
    Mode{Waveform::ms110d, 300, Interleaver::medium},
    Mode{Waveform::ms110d, 300, Interleaver::long_},
    Mode{Waveform::ms110d, 600, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 600, Interleaver::short_},
    Mode{Waveform::ms110d, 600, Interleaver::medium},
    Mode{Waveform::ms110d, 600, Interleaver::long_},
    Mode{Waveform::ms110d, 1200, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 1200, Interleaver::short_},
    Mode{Waveform::ms110d, 1200, Interleaver::medium},
    Mode{Waveform::ms110d, 1200, Interleaver::long_},
    Mode{Waveform::ms110d, 1600, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 1600, Interleaver::short_},
    Mode{Waveform::ms110d, 1600, Interleaver::medium},
    Mode{Waveform::ms110d, 1600, Interleaver::long_},
    Mode{Waveform::ms110d, 2400, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 2400, Interleaver::short_},
    Mode{Waveform::ms110d, 2400, Interleaver::medium},
    Mode{Waveform::ms110d, 2400, Interleaver::long_},
    Mode{Waveform::ms110d, 3200, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 3200, Interleaver::short_},
    Mode{Waveform::ms110d, 3200, Interleaver::medium},
    Mode{Waveform::ms110d, 3200, Interleaver::long_},
    Mode{Waveform::ms110d, 4800, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 4800, Interleaver::short_},
    Mode{Waveform::ms110d, 4800, Interleaver::medium},
    Mode{Waveform::ms110d, 4800, Interleaver::long_},
    Mode{Waveform::ms110d, 6400, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 6400, Interleaver::short_},
    Mode{Waveform::ms110d, 6400, Interleaver::medium},
    Mode{Waveform::ms110d, 6400, Interleaver::long_},
    Mode{Waveform::ms110d, 8000, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 8000, Interleaver::short_},
    Mode{Waveform::ms110d, 8000, Interleaver::medium},
    Mode{Waveform::ms110d, 8000, Interleaver::long_},
    Mode{Waveform::ms110d, 9600, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 9600, Interleaver::short_},
    Mode{Waveform::ms110d, 9600, Interleaver::medium},
    Mode{Waveform::ms110d, 9600, Interleaver::long_},
    Mode{Waveform::ms110d, 12000, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 12000, Interleaver::short_},
    Mode{Waveform::ms110d, 12000, Interleaver::medium},
    Mode{Waveform::ms110d, 12000, Interleaver::long_},
    Mode{Waveform::ms110d, 16000, Interleaver::ultra_short},
    Mode{Waveform::ms110d, 16000, Interleaver::short_},
    Mode{Waveform::ms110d, 16000, Interleaver::medium},
    Mode{Waveform::ms110d, 16000, Interleaver::long_},
};

std::string_view name_of(Waveform waveform) {
  switch (waveform) {
    case Waveform::ms110a:
      return "110a-";
    case Waveform::stanag4539:
      return "4539-";
    case Waveform::stanag4285:
      return "4285-";
    case Waveform::ms110d:
      return "110d-";
  }
  return "unknown-";
}

}  // namespace

std::span<const Mode> all_modes() {
  return kModes;
}

bool is_supported(const Mode& mode) {
  return std::find(kModes.begin(), kModes.end(), mode) != kModes.end();
}

std::string_view to_string(Waveform waveform, Interleaver interleaver) {
  const bool brief = waveform == Waveform::stanag4539 || waveform == Waveform::ms110d;
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
  std::string text(name_of(mode.waveform));
  text += std::to_string(mode.rate_bps) + '-';
  return text.append(to_string(mode.waveform, mode.interleaver));
}

Result<Mode> parse_mode(std::string_view text) {
  const auto found = std::find_if(kModes.begin(), kModes.end(),
                                  [&](const Mode& mode) { return to_string(mode) == text; });
  if (found == kModes.end()) {
    return Error{ErrorCode::bad_field,
                 "unknown mode; an example is 110a-2400-short, and `hfmodem modes` lists all"};
  }
  return *found;
}

std::string mode_names() {
  std::string names;
  const Mode* last = nullptr;
  for (const Mode& mode : kModes) {
    const bool same =
        last != nullptr && last->waveform == mode.waveform && last->rate_bps == mode.rate_bps;
    if (same) {
      names.append("|").append(to_string(mode.waveform, mode.interleaver));
    } else {
      names.append(names.empty() ? "" : " ").append(to_string(mode));
    }
    last = &mode;
  }
  return names;
}

}  // namespace s5066::modem
