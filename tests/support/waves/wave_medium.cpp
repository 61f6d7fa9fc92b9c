// SPDX-License-Identifier: Apache-2.0
#include "tests/support/waves/wave_medium.h"

namespace s5066::sim {
namespace {
constexpr std::size_t kBlockSamples = 192;
}

WaveMedium::WaveMedium(EventHeap& heap, const modem::CableMixer::Config& config, bool full_duplex)
    : heap_(heap), config_(config), full_duplex_(full_duplex), mixer_(config) {
  heard_.assign(config.stations, std::vector<float>(kBlockSamples));
  heap_.schedule(heap_.now(), [this] { step(); });
}

std::size_t WaveMedium::add_station(Deliver deliver) {
  S5066_ASSERT(stations_.size() < config_.stations);
  modem::Radio::Config radio;
  radio.block_samples = kBlockSamples;
  radio.keyed_margin = std::chrono::seconds(2);
  radio.keyed_max = std::chrono::seconds(140);
  radio.full_duplex = full_duplex_;
  stations_.push_back({std::move(deliver), std::make_unique<modem::Radio>(radio),
                       std::vector<float>(kBlockSamples), false});
  return stations_.size() - 1;
}

void WaveMedium::command(std::size_t station, const modem::Command& command) {
  stations_[station].radio->on_command(command);
}

// Runs one block: each station hears what the others sent in the block before, acts on it, and
// answers.
void WaveMedium::step() {
  std::vector<std::span<const float>> sent;
  for (const Station& station : stations_) {
    sent.push_back(station.keyed ? std::span<const float>(station.sent) : std::span<const float>());
  }
  mixer_.mix(sent, heard_);
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    Station& station = stations_[i];
    station.radio->on_received(heard_[i]);
    while (auto event = station.radio->poll_event()) station.deliver(*event);
    station.keyed = station.radio->fill(station.sent);
    while (auto event = station.radio->poll_event()) station.deliver(*event);
  }
  ++blocks_;
  const auto samples = static_cast<Duration::rep>(blocks_ * kBlockSamples);
  heap_.schedule(Instant(Duration(samples * 1'000'000'000 / modem::kSampleRate)),
                 [this] { step(); });
}

}  // namespace s5066::sim
