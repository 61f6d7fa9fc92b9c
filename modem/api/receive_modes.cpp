// SPDX-License-Identifier: Apache-2.0
#include "modem/api/receive_modes.h"

#include <algorithm>

namespace s5066::modem {
namespace {

Mode with_short_interleaver(Mode mode) {
  mode.interleaver = Interleaver::short_;
  return mode;
}

bool contains(std::span<const Mode> modes, const Mode& mode) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

}  // namespace

Result<void> check_receive_modes(std::span<const Mode> modes) {
  const Mode* listened = nullptr;
  for (const Mode& mode : modes) {
    if (mode.waveform != Waveform::stanag4285) continue;
    if (listened != nullptr && mode != *listened) {
      return Error{ErrorCode::bad_field, to_string(*listened) + " and " + to_string(mode) +
                                             " cannot both be given, because the modem can listen "
                                             "for only one mode of STANAG 4285"};
    }
    listened = &mode;
  }
  return {};
}

bool tells_itself(const Mode& mode) {
  if (mode.waveform == Waveform::stanag4285) return false;
  const bool bare = mode.waveform == Waveform::ms110a && mode.interleaver == Interleaver::zero;
  return !bare || !is_supported(with_short_interleaver(mode));
}

std::vector<Mode> listen_modes(std::vector<Mode> given, const Mode& sent) {
  if (given.empty() && !tells_itself(sent)) given.push_back(sent);
  return given;
}

bool is_heard(const Mode& mode, std::span<const Mode> listened) {
  if (listened.empty()) return tells_itself(mode);
  if (!contains(listened, mode)) return false;
  if (tells_itself(mode)) return true;
  if (mode.waveform != Waveform::stanag4285) {
    return !contains(listened, with_short_interleaver(mode));
  }
  const auto same = [](const Mode& m) { return m.waveform == Waveform::stanag4285; };
  return *std::find_if(listened.begin(), listened.end(), same) == mode;
}

}  // namespace s5066::modem
