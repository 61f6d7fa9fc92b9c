// Finds STANAG 4285 transmissions by the synchronisation that each frame begins with. Nothing in it
// tells rate and interleaver: they are those of the first mode of this waveform that is listened
// for, and without one nothing is looked for.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4285/parameters.h"

namespace s5066::modem::stanag4285 {

class Listener final : public PreambleListener {
 public:
  /// `noise_share`: see Downconverter.
  explicit Listener(float noise_share);

  void set_modes(std::span<const Mode> modes) override;
  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  void restart() override;
  void forget() override;
  std::uint64_t refused() const override { return 0; }
  InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                    BurstMemory& memory) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  static constexpr std::size_t kOffsets = 15;
  static constexpr double kOffsetStepHz = 12;
  static constexpr std::size_t kPart = 8;  // symbols over which the carrier is taken as still
  static constexpr std::size_t kParts = kSyncSymbols / kPart;
  static constexpr std::size_t kCells = 2 * kFrameSymbols;
  using Row = std::array<float, kHop>;

  void add(const SampleHistory& history, std::int64_t from);
  std::optional<PreambleReading> found(const SampleHistory& history, std::int64_t from);
  float ratio_at(const SampleHistory& history, std::int64_t position, double offset_hz,
                 dsp::Complex& halves) const;

  float noise_share_;
  std::optional<Mode> mode_;
  std::vector<dsp::Complex> sync_;
  std::array<std::array<dsp::Complex, kParts>, kOffsets> turns_{};
  std::array<std::array<float, kCells>, kOffsets> sums_{};
  float top_ = 0;            // of the sums that the last hop changed
  unsigned confirm_in_ = 0;  // hops
};

}  // namespace s5066::modem::stanag4285
