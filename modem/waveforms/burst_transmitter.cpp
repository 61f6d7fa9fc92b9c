// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/burst_transmitter.h"

#include <algorithm>
#include <utility>

#include "modem/waveforms/symbol_modulator.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

std::unique_ptr<Modulator> make_modulator(const Mode& mode, ByteSpan bytes,
                                          const Ms110dChoice& choice) {
  switch (mode.waveform) {
    case Waveform::ms110a:
    case Waveform::stanag4539:
    case Waveform::stanag4285:
    case Waveform::ms110d:
      return std::make_unique<SymbolModulator>(make_symbols(mode, bytes, choice));
  }
  S5066_ASSERT(false && "a waveform");
  return nullptr;
}

}  // namespace

BurstTransmitter::BurstTransmitter(const Mode& mode, ByteSpan bytes, const Ms110dChoice& choice)
    : BurstTransmitter(make_modulator(mode, bytes, choice)) {}

BurstTransmitter::BurstTransmitter(std::unique_ptr<Modulator> modulator)
    : modulator_(std::move(modulator)) {
  S5066_ASSERT(modulator_);
}

BurstTransmitter::BurstTransmitter(std::vector<dsp::Complex> symbols)
    : BurstTransmitter(std::make_unique<SymbolModulator>(std::move(symbols))) {}

std::size_t BurstTransmitter::read(std::span<float> out) {
  const std::uint64_t left = total_samples() - position_;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left));
  modulator_->write(position_, out.first(count));
  position_ += count;
  return count;
}

}  // namespace s5066::modem
