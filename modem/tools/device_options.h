// SPDX-License-Identifier: Apache-2.0
// The options of a command line for a sound card or an audio cable.
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
  std::string cable;      // the cable replaces the sound card if this is not empty
  int station = -1;       // end of the cable; -1 takes any free end
  int round_trip_ms = 0;  // round trip of the sound card; 0 takes the latency that it reports
};

/// Adds these options to those of a subcommand.
void describe(DeviceOptions& options, boost::program_options::options_description& description);
Result<void> check(DeviceOptions& options);
std::unique_ptr<Device> make_device(const DeviceOptions& options);
/// Returns the setting for a configuration.
std::string setting_of(const DeviceOptions& options);

}  // namespace s5066::modem::tools
