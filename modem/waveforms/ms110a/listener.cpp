// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/listener.h"
#include "modem/waveforms/framed/constellation.h"

#include "modem/waveforms/ms110a/burst_demodulator.h"
#include "modem/waveforms/ms110a/walsh_signal.h"
#include "modem/waveforms/walsh/demodulator.h"

namespace s5066::modem::ms110a {
namespace {
/// Factors by which another preamble must be stronger, or this one after a false start. While the
/// current preamble is confirmed, a weaker candidate may be noise, which near the noise level can
/// exceed one segment of the signal.
constexpr float kStrongerBy = 1.5F;
constexpr float kStrongerThanConfirmedBy = 2;
constexpr float kAnewBy = 4;
/// The threshold is higher because the many sets of patterns fit speech better than the probes do.
constexpr float kWalshEnough = 15;
}  // namespace

void Listener::restart() {
  search_.restart();
  decoder_.reset();
  refused_ = 0;
}

// True if the candidate is stronger than the preamble that is being decoded.
bool Listener::is_stronger(const PreambleCandidate& candidate) const {
  float by = decoder_->confirmed() ? kStrongerThanConfirmedBy : kStrongerBy;
  if (decoder_->covers(candidate)) by = kAnewBy;
  return candidate.strength > by * decoder_->strength();
}

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  const auto candidate = search_.advance(history);
  // A stronger candidate replaces a weak one, which may have been noise.
  if (candidate && (!decoder_ || is_stronger(*candidate))) {
    decoder_.emplace(*candidate, noise_share_);
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

InMemory<Demodulator> Listener::demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const {
  const Parameters p = parameters(reading.mode);
  if (p.walsh) {
    return make_in<walsh::WalshDemodulator>(
        memory, reading, make_in<WalshSignal>(memory, p, memory), noise_share_, memory);
  }
  return make_in<BurstDemodulator>(memory, reading, noise_share_, memory);
}

// Returns the patterns by which traffic is detected: the probes, which repeat with the scrambler
// every 160 or 480 symbols, or, at 75 bit/s, the sets of scrambled patterns. Modes with the same
// frame length have the same pattern.
std::vector<TrafficPattern> Listener::traffic() const {
  std::vector<TrafficPattern> patterns;
  for (const std::uint32_t rate_bps : {600U, 2400U, 75U}) {
    const Mode mode{Waveform::ms110a, rate_bps, Interleaver::short_};
    const Parameters p = parameters(mode);
    unsigned frames = 1;
    while (frames * p.frame_symbols() % kDataScramblerPeriod != 0) ++frames;
    TrafficPattern pattern{.mode = mode, .cycle = std::size_t{frames} * p.frame_symbols()};
    if (p.walsh) {
      pattern.alternatives = 4;
      pattern.memory_s = 1;
      pattern.enough = kWalshEnough;
    }
    const unsigned known = p.walsh ? p.data_symbols : p.probe_symbols;
    for (unsigned frame = 0; frame < frames; ++frame) {
      const unsigned first = frame * p.frame_symbols() + (p.walsh ? 0 : p.data_symbols);
      for (unsigned bits = 0; bits < pattern.alternatives; ++bits) {
        TrafficPattern::Part part{.start = first};
        for (unsigned i = 0; i < known; ++i) {
          const unsigned tribit = p.walsh ? walsh_pattern(p, 0, bits)[i % 8] : 0;
          part.chips.push_back(framed::phase(static_cast<std::uint8_t>(
              tribit + data_scrambler()[(first + i) % kDataScramblerPeriod])));
        }
        pattern.parts.push_back(std::move(part));
      }
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace s5066::modem::ms110a
