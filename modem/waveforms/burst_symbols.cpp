// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/burst_symbols.h"

#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "modem/waveforms/stanag4285/parameters.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "modem/waveforms/stanag4539/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {

namespace {

std::vector<dsp::Complex> points_of(const std::vector<std::uint8_t>& numbers,
                                    std::span<const dsp::Complex> points) {
  std::vector<dsp::Complex> out;
  out.reserve(numbers.size());
  for (const std::uint8_t number : numbers) out.push_back(points[number]);
  return out;
}

}  // namespace

std::vector<dsp::Complex> make_symbols(const Mode& mode, ByteSpan bytes,
                                       const Ms110dChoice& choice) {
  switch (mode.waveform) {
    case Waveform::ms110a:
      return points_of(ms110a::symbols(ms110a::parameters(mode), bytes),
                       framed::constellation_of_phases());
    case Waveform::stanag4539:
      return points_of(stanag4539::symbols(mode, bytes),
                       stanag4539::points(stanag4539::parameters(mode)));
    case Waveform::stanag4285:
      return points_of(stanag4285::symbols(stanag4285::parameters(mode), bytes),
                       framed::constellation_of_phases());
    case Waveform::ms110d:
      return ms110d::symbols(ms110d::parameters(mode, choice.constraint), bytes,
                             choice.super_frames);
  }
  S5066_ASSERT(false && "a waveform");
  return {};
}

}  // namespace s5066::modem
