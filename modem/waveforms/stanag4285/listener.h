// SPDX-License-Identifier: Apache-2.0
// Finds STANAG 4285 transmissions by the synchronisation at the beginning of each frame. It does
// not announce rate and interleaver, which are those of the first mode of this waveform in the
// list. Without such a mode the listener does nothing.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "modem/dsp/least_squares.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4285/parameters.h"

namespace s5066::modem::stanag4285 {

class Listener final : public PreambleListener {
 public:
  /// `noise_share` is that of Downconverter.
  explicit Listener(float noise_share);

  void set_modes(std::span<const Mode> modes) override;
  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  void restart() override;
  void forget() override;
  void begin_at(std::int64_t sample) override { heard_from_ = sample - kEndSlack; }
  std::uint64_t refused() const override { return 0; }
  InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                    BurstMemory& memory) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  /// Another burst may come over another path; the slack is in half-symbol samples.
  static constexpr std::int64_t kEndSlack = 32;
  static constexpr std::size_t kOffsets = 15;
  static constexpr double kOffsetStepHz = 12;
  // Symbols over which the carrier's phase counts as constant.
  static constexpr std::size_t kPart = 8;
  static constexpr std::size_t kParts = kSyncSymbols / kPart;
  static constexpr std::size_t kCells = 2 * kFrameSymbols;
  using Row = std::array<float, kHop>;

  void add(const SampleHistory& history, std::int64_t from);
  std::optional<PreambleReading> found(const SampleHistory& history, std::int64_t from);
  /// The synchronisation at a position: its power, the ratio of that to the rest at this place,
  /// which is 1 for noise, and the turn of its second half relative to the first.
  struct Sync {
    float power = 0;
    float ratio = 0;
    dsp::Complex halves;
  };
  Sync sync_at(const SampleHistory& history, std::int64_t position, double offset_hz) const;
  struct Beginning {
    std::int64_t position = 0;  // position of the first synchronisation, in half-symbol samples
    bool begun_before = false;  // other synchronisations may precede it
    float ratio_now = 0;        // ratio of the last synchronisation
    dsp::Complex turn;          // turn from half to half, over all synchronisations
  };
  Beginning begin_of(const SampleHistory& history, std::int64_t last, double offset_hz,
                     float noise) const;
  dsp::WideResponse response_at(const SampleHistory& history, std::int64_t position,
                                double offset_hz) const;

  float noise_share_;
  std::optional<Mode> mode_;
  std::vector<dsp::Complex> sync_;
  std::array<std::array<dsp::Complex, kParts>, kOffsets> turns_{};
  std::array<std::array<float, kCells>, kOffsets> sums_{};
  // No frame before this belongs to a burst that is yet to be found.
  std::int64_t heard_from_ = 0;
  float top_ = 0;            // highest of the sums that the last hop changed
  unsigned confirm_in_ = 0;  // hops until a candidate is confirmed
};

}  // namespace s5066::modem::stanag4285
