// SPDX-License-Identifier: Apache-2.0
// The modes of a modem: waveform, user rate and interleaver, and the table of all modes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "s5066d/base/result.h"

namespace s5066::modem {

enum class Waveform : std::uint8_t {
  ms110a,      // MIL-STD-188-110A serial tone
  stanag4539,  // MIL-STD-188-110B and C Appendix C
  stanag4285,  // continuous, without preamble: the receiver must know the mode
  ms110d,      // MIL-STD-188-110D Appendix D at 3 kHz
};
/// A mode of 110A or STANAG 4285 has no, the short or the long interleaver. A STANAG 4539 mode has
/// one of the last six, or none if it is not coded. A 110D mode has ultra short, short, medium or
/// long.
enum class Interleaver : std::uint8_t {
  zero,
  ultra_short,
  very_short,
  short_,
  medium,
  long_,
  very_long
};

struct Mode {
  Waveform waveform = Waveform::ms110a;
  std::uint32_t rate_bps = 2400;
  Interleaver interleaver = Interleaver::short_;
  friend bool operator==(const Mode&, const Mode&) = default;
};

/// Returns every mode that the suite can send and receive.
std::span<const Mode> all_modes();
bool is_supported(const Mode& mode);

/// Returns a text such as "110a-2400-short" or "4539-9600-vl"; parse_mode takes the same text.
std::string to_string(const Mode& mode);
std::string_view to_string(Waveform waveform, Interleaver interleaver);
Result<Mode> parse_mode(std::string_view text);
/// Returns the names of all modes as text for an operator. Modes that differ only in the
/// interleaver share one name.
std::string mode_names();

}  // namespace s5066::modem
