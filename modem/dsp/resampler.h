// Changes the rate of a stream of real samples by any ratio, for sound cards whose rate is not the
// modem's. The length of the output follows the ratio exactly in the long run.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace s5066::modem::dsp {

class Resampler {
 public:
  struct Config {
    double rate_in = 48000;
    double rate_out = 9600;
    float stopband_db = 60;  // how far aliases stay down
  };

  explicit Resampler(const Config& config);
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  /// Appends what the samples yield; the rest comes out with later ones.
  void process(std::span<const float> in, std::vector<float>& out);
  /// How much later a sample leaves than it came, counted in output samples.
  double delay() const;
  double ratio() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace s5066::modem::dsp
