#include "modem/waveforms/burst_symbols.h"

#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "modem/waveforms/stanag4539/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {

BurstSymbols make_symbols(const Mode& mode, ByteSpan bytes) {
  switch (mode.waveform) {
    case Waveform::ms110a:
      return {ms110a::symbols(mode, bytes), ms110a::points()};
    case Waveform::stanag4539:
      return {stanag4539::symbols(mode, bytes), stanag4539::points(stanag4539::parameters(mode))};
  }
  S5066_ASSERT(false && "a waveform");
  return {};
}

}  // namespace s5066::modem
