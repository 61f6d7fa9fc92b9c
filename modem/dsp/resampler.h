// Changes the rate of a stream of real samples by the exact ratio of two whole numbers, for sound
// cards whose rate is not the modem's: however long it runs, the output neither gains nor loses a
// sample.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace s5066::modem::dsp {

class Resampler {
 public:
  struct Config {
    unsigned rate_in = 48000;
    unsigned rate_out = 9600;
    float stopband_db = 60;  // how far aliases stay down
  };

  explicit Resampler(const Config& config);
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  /// Appends what the samples yield; the rest comes out with later ones. Where the rates are
  /// related as P to Q in lowest terms, each Q samples yield P.
  void process(std::span<const float> in, std::vector<float>& out);
  /// How much later a sample leaves than it came, counted in output samples, where they come by
  /// whole numbers of Q; up to Q later where they do not.
  double delay() const;
  /// So many zeros push out what has not left yet.
  std::size_t zeros_to_drain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace s5066::modem::dsp
