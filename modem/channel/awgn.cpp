// SPDX-License-Identifier: Apache-2.0
#include "modem/channel/awgn.h"

#include <cmath>

namespace s5066::modem::channel {

double noise_deviation(double signal_power, double snr_db, double sample_rate) {
  const double in_bandwidth = signal_power / std::pow(10.0, snr_db / 10);
  return std::sqrt(in_bandwidth * (sample_rate / 2) / kNoiseBandwidthHz);
}

void Awgn::process(std::span<float> samples) {
  for (float& x : samples) x += static_cast<float>(deviation_ * rng_.gaussian());
}

}  // namespace s5066::modem::channel
