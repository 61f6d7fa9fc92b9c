// SPDX-License-Identifier: Apache-2.0
#include "modem/api/sound_level.h"

namespace s5066::modem {

std::string_view to_string(SoundLevel level) {
  switch (level) {
    case SoundLevel::unknown:
      return "unknown";
    case SoundLevel::good:
      return "good";
    case SoundLevel::silent:
      return "silent";
    case SoundLevel::too_low:
      return "too_low";
    case SoundLevel::clipping:
      return "clipping";
  }
  return "unknown";
}

}  // namespace s5066::modem
