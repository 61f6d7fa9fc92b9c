#include "modem/api/receive_modes.h"

namespace s5066::modem {

Result<void> check_receive_modes(std::span<const Mode> modes) {
  const Mode* listened = nullptr;
  for (const Mode& mode : modes) {
    if (mode.waveform != Waveform::stanag4285) continue;
    if (listened != nullptr && mode != *listened) {
      return Error{ErrorCode::bad_field, "not both " + to_string(*listened) + " and " +
                                             to_string(mode) +
                                             ": one of STANAG 4285 is listened for at a time"};
    }
    listened = &mode;
  }
  return {};
}

}  // namespace s5066::modem
