// Which waveform, user rate and interleaver a modem uses: values only, and the table of what
// exists.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "s5066d/base/result.h"

namespace s5066::modem {

enum class Waveform : std::uint8_t { ms110a };  // MIL-STD-188-110A serial tone
enum class Interleaver : std::uint8_t { short_, long_ };

struct Mode {
  Waveform waveform = Waveform::ms110a;
  std::uint32_t rate_bps = 2400;
  Interleaver interleaver = Interleaver::short_;
  friend bool operator==(const Mode&, const Mode&) = default;
};

/// Every mode the suite can send and receive.
std::span<const Mode> all_modes();
bool is_supported(const Mode& mode);

/// "110a-2400-short"; parse_mode takes the same text.
std::string to_string(const Mode& mode);
Result<Mode> parse_mode(std::string_view text);

}  // namespace s5066::modem
