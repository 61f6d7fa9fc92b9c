// Which sound card or audio cable, as a command line describes it.
#pragma once

#include <boost/program_options.hpp>
#include <memory>
#include <string>

#include "modem/audio/device.h"
#include "modem/audio/portaudio_device.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

struct DeviceOptions {
  PortAudioDevice::Config card;
  std::string cable;      // not empty: this, and no sound card
  int station = -1;       // of the cable; any that is free
  int round_trip_ms = 0;  // of the sound card; 0: what it says of itself
};

/// Adds them to what a subcommand takes.
void describe(DeviceOptions& options, boost::program_options::options_description& description);
Result<void> check(DeviceOptions& options);
std::unique_ptr<Device> make_device(const DeviceOptions& options);
/// Of a configuration.
std::string setting_of(const DeviceOptions& options);

}  // namespace s5066::modem::tools
