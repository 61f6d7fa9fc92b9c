// SPDX-License-Identifier: Apache-2.0
// The air of a simulated world with real waveforms. Each station is a modem radio, and the audio
// cable's mixer with its channel lies between them. It advances block by block on the world's
// clock.
#pragma once

#include <memory>
#include <vector>

#include "modem/audio/cable_mixer.h"
#include "modem/worker/radio.h"
#include "tests/support/air.h"
#include "tests/support/virtual_time.h"

namespace s5066::sim {

class WaveMedium final : public Air {
 public:
  WaveMedium(EventHeap& heap, const modem::CableMixer::Config& config, bool full_duplex = false);

  std::size_t add_station(Deliver deliver) override;
  void command(std::size_t station, const modem::Command& command) override;

 private:
  struct Station {
    Deliver deliver;
    std::unique_ptr<modem::Radio> radio;
    std::vector<float> sent;
    bool keyed = false;
  };
  void step();

  EventHeap& heap_;
  modem::CableMixer::Config config_;
  bool full_duplex_;
  modem::CableMixer mixer_;
  std::vector<Station> stations_;
  std::vector<std::vector<float>> heard_;
  std::uint64_t blocks_ = 0;
};

}  // namespace s5066::sim
