#include "modem/audio/cable_mixer.h"

#include <algorithm>

#include "modem/audio/cable_protocol.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {

class CablePath {
 public:
  void process(std::span<const float> sent, std::span<float> heard) {
    std::copy(sent.begin(), sent.end(), heard.begin());
  }
};

class CableNoise {
 public:
  void add(std::span<float>) {}
};

Result<CableChannel> parse_cable_channel(std::string_view text) {
  if (text == "clean") return CableChannel::clean;
  if (text == "awgn") return CableChannel::awgn;
  if (text == "two-path") return CableChannel::two_path;
  if (text == "watterson") return CableChannel::watterson;
  return Error{ErrorCode::bad_field, "channel is clean, awgn, two-path or watterson"};
}

CableMixer::CableMixer(const Config& config)
    : stations_(config.stations), paths_(config.stations * config.stations) {
  for (std::size_t from = 0; from < stations_; ++from) {
    for (std::size_t to = 0; to < stations_; ++to) {
      if (from != to) paths_[from * stations_ + to] = std::make_unique<CablePath>();
    }
  }
}

CableMixer::~CableMixer() = default;
CableMixer::CableMixer(CableMixer&&) noexcept = default;

void CableMixer::mix(std::span<const std::span<const float>> sent,
                     std::span<std::vector<float>> heard) {
  S5066_ASSERT(sent.size() == stations_ && heard.size() == stations_);
  silence_.assign(heard.front().size(), 0.0F);
  scratch_.resize(heard.front().size());
  for (std::size_t to = 0; to < stations_; ++to) {
    std::vector<float>& sum = heard[to];
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (std::size_t from = 0; from < stations_; ++from) {
      if (from == to) continue;
      const auto samples = sent[from].empty() ? std::span<const float>(silence_) : sent[from];
      S5066_ASSERT(samples.size() == sum.size());
      paths_[from * stations_ + to]->process(samples, scratch_);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += scratch_[i];
    }
    for (float& sample : sum) sample = std::clamp(sample, -cable::kLevelMax, cable::kLevelMax);
  }
}

}  // namespace s5066::modem
