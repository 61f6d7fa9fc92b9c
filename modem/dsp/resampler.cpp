#include "modem/dsp/resampler.h"

#include <liquid/liquid.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {
constexpr std::size_t kPortion = 256;
}

struct Resampler::State {
  explicit State(const Config& config)
      : ratio(config.rate_out / config.rate_in),
        filter(msresamp_rrrf_create(static_cast<float>(ratio), config.stopband_db)),
        portion(kPortion),
        output(static_cast<std::size_t>(std::ceil(ratio * kPortion)) + 64) {
    S5066_ASSERT(filter != nullptr);
  }
  ~State() { msresamp_rrrf_destroy(filter); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  double ratio;
  msresamp_rrrf filter;
  std::vector<float> portion;  // the library wants writable input
  std::vector<float> output;
};

Resampler::Resampler(const Config& config) : state_(std::make_unique<State>(config)) {}
Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

void Resampler::process(std::span<const float> in, std::vector<float>& out) {
  State& s = *state_;
  while (!in.empty()) {
    const std::size_t count = std::min(in.size(), kPortion);
    std::copy_n(in.begin(), count, s.portion.begin());
    in = in.subspan(count);
    unsigned written = 0;
    msresamp_rrrf_execute(s.filter, s.portion.data(), static_cast<unsigned>(count), s.output.data(),
                          &written);
    S5066_ASSERT(written <= s.output.size());
    out.insert(out.end(), s.output.begin(), s.output.begin() + written);
  }
}

double Resampler::delay() const {
  return state_->ratio * msresamp_rrrf_get_delay(state_->filter);
}
double Resampler::ratio() const {
  return state_->ratio;
}

}  // namespace s5066::modem::dsp
