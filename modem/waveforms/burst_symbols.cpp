#include "modem/waveforms/burst_symbols.h"

#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {

BurstSymbols make_symbols(const Mode& mode, ByteSpan bytes) {
  S5066_ASSERT(is_supported(mode));
  return {ms110a::symbols(mode, bytes), ms110a::points()};
}

}  // namespace s5066::modem
