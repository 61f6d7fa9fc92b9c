// The tables of MIL-STD-188-110D Appendix D at a bandwidth of 3 kHz: what distinguishes its
// waveform numbers and interleavers, the preamble, the probes and the scramblers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "modem/dsp/interleaver.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::ms110d {

inline constexpr unsigned kChannelSymbol = 32;  // symbols
inline constexpr unsigned kFixedDibits = 9;
inline constexpr unsigned kCountDibits = 4;
inline constexpr unsigned kNumberDibits = 5;
inline constexpr unsigned kSuperFrameDibits = kFixedDibits + kCountDibits + kNumberDibits;
inline constexpr unsigned kSuperFrameSymbols = kSuperFrameDibits * kChannelSymbol;
/// Ours. A receiver takes what the count tells, up to the most that it can.
inline constexpr unsigned kSuperFrames = 3;
inline constexpr unsigned kSuperFramesMax = 32;
/// Ours, of the code. A receiver takes 7 as well, as the preamble tells.
inline constexpr unsigned kConstraint = 9;
/// Symbols of the longest probe.
inline constexpr unsigned kProbeMax = 48;

/// Which bits of the first and of the second output of the encoder are sent, pair by pair, over and
/// over: '1' is.
struct Puncturing {
  std::string_view first = "1";
  std::string_view second = "1";
};

struct Parameters {
  unsigned number = 0;                // of the waveform, 0 to 13
  unsigned interleaver_code = 0;      // 0 to 3
  unsigned constraint = kConstraint;  // length of the code, 7 or 9
  bool walsh = false;                 // number 0: sets of 32 symbols that stand for two bits
  unsigned bits_per_symbol = 1;
  unsigned data_symbols = 0;   // of a frame
  unsigned probe_symbols = 0;  // behind them
  unsigned frames_per_block = 0;
  unsigned frames_per_cycle = 0;  // of the long interleaver: probes mark its end whichever is used
  unsigned block_user_bits = 0;
  unsigned repetition = 1;  // how often each coded pair is sent
  Puncturing puncturing;
  dsp::Interleaver::Steps interleaver;

  unsigned frame_symbols() const { return data_symbols + probe_symbols; }
  unsigned frame_bits() const { return walsh ? 2 : data_symbols * bits_per_symbol; }
  unsigned block_coded_bits() const { return frames_per_block * frame_bits(); }
  bool phases_only() const { return bits_per_symbol <= 3; }
};

Parameters parameters(const Mode& mode, unsigned constraint = kConstraint);

/// Dibits of the super-frame that so many others follow.
std::array<std::uint8_t, kSuperFrameDibits> super_frame(const Parameters& p, unsigned remaining);
/// The fixed ones of them, with which each begins.
const std::array<std::uint8_t, kFixedDibits>& fixed_dibits();
/// Phases of a channel symbol that stands at this place of a super-frame.
std::array<std::uint8_t, kChannelSymbol> channel_symbol(unsigned place, unsigned dibit);

/// What waveform numbers said; none where their checks fail.
struct Announced {
  Mode mode;
  unsigned constraint = kConstraint;
};
std::optional<Announced> announced(std::span<const std::uint8_t> dibits);

/// The probe behind a frame; `marker` behind the last but one of a cycle.
FixedVector<dsp::Complex, kProbeMax> probe(const Parameters& p, bool marker);
bool is_marker(const Parameters& p, std::uint64_t frame);

/// Added to the phases of a frame, or exclusive-ored to its numbers.
std::span<const std::uint8_t> scrambler(const Parameters& p);
/// The same for number 0: 2048 phases, starting again with each block.
std::span<const std::uint8_t> walsh_scrambler();
/// Phases of two bits at number 0, before scrambling; the last of a block has sets of its own.
const std::array<std::uint8_t, 8>& walsh_pattern(bool last, unsigned bits);

/// Symbols of the preamble and the probe behind it.
inline unsigned preamble_symbols(const Parameters& p, unsigned super_frames) {
  return super_frames * kSuperFrameSymbols + p.probe_symbols;
}
/// The symbols of a whole transmission. Octets go out least significant bit first.
std::vector<dsp::Complex> symbols(const Parameters& p, std::span<const std::uint8_t> bytes,
                                  unsigned super_frames = kSuperFrames);

}  // namespace s5066::modem::ms110d
