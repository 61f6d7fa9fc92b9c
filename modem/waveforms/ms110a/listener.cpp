#include "modem/waveforms/ms110a/listener.h"

#include "modem/waveforms/ms110a/burst_demodulator.h"
#include "modem/waveforms/ms110a/walsh_demodulator.h"

namespace s5066::modem::ms110a {
namespace {
/// So much stronger is another preamble, or this one after a false start.
constexpr float kStrongerBy = 1.5F;
constexpr float kAnewBy = 4;
}  // namespace

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  const auto candidate = search_.advance(history);
  // A stronger candidate ends the reading of a weak one, which may have been noise.
  if (candidate) {
    const float by = decoder_ && decoder_->covers(*candidate) ? kAnewBy : kStrongerBy;
    if (!decoder_ || candidate->strength > by * decoder_->strength()) {
      decoder_.emplace(*candidate, noise_share_);
    }
  }
  if (!decoder_) return std::nullopt;
  const auto progress = decoder_->advance(history);
  if (progress == PreambleDecoder::Progress::pending) return std::nullopt;
  const PreambleReading reading = decoder_->reading();
  decoder_.reset();
  if (progress == PreambleDecoder::Progress::decided) return reading;
  ++refused_;
  return std::nullopt;
}

std::unique_ptr<Demodulator> Listener::demodulator(const PreambleReading& reading) const {
  if (parameters(reading.mode).walsh) {
    return std::make_unique<WalshDemodulator>(reading, noise_share_);
  }
  return std::make_unique<BurstDemodulator>(reading, noise_share_);
}

}  // namespace s5066::modem::ms110a
