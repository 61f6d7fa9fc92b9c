// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/device_options.h"

#include "modem/audio/cable_device.h"
#include "modem/tools/options.h"

namespace s5066::modem::tools {

namespace po = boost::program_options;

void describe(DeviceOptions& o, po::options_description& description) {
  description.add_options()  //
      ("input", po::value(&o.card.input_name),
       "sound card for input: part of its name, usb:PATH, or pulse:NAME of the sound server")  //
      ("input-channel", po::value(&o.card.input_channel)->default_value(0),
       "input channel, 1 or 2; 0: the one with sound")  //
      ("output", po::value(&o.card.output_name),
       "sound card for output: part of its name, usb:PATH, or pulse:NAME of the sound server")  //
      ("round-trip-ms", po::value(&o.round_trip_ms)->default_value(0),
       "delay of the sound card, as `doctor --loop` measures it; 0: the value that the card "
       "reports")  //
      ("rate", po::value(&o.card.rate_hz)->default_value(48000),
       "samples per second of the sound card")                                                  //
      ("cable", po::value(&o.cable), "use the audio cable with this socket, not a sound card")  //
      ("station", po::value(&o.station)->default_value(-1), "end of the cable; -1: any free end");
}

Result<void> check(DeviceOptions& o) {
  if (auto good = check_within("--rate", o.card.rate_hz, 8000, 192000); !good) return good;
  if (auto good = check_within("--input-channel", o.card.input_channel, 0, 2); !good) return good;
  if (auto good = check_within("--station", o.station, -1, 15); !good) return good;
  if (auto good = check_within("--round-trip-ms", o.round_trip_ms, 0, 2000); !good) return good;
  o.card.block_samples = o.card.rate_hz / 50;
  o.card.round_trip = std::chrono::milliseconds(o.round_trip_ms);
  return {};
}

std::unique_ptr<Device> make_device(const DeviceOptions& o) {
  if (o.cable.empty()) return std::make_unique<PortAudioDevice>(o.card);
  CableDevice::Config cable;
  cable.socket_path = o.cable;
  if (o.station >= 0) cable.station = static_cast<std::uint16_t>(o.station);
  return std::make_unique<CableDevice>(cable);
}

std::string setting_of(const DeviceOptions& o) {
  if (!o.cable.empty()) {
    return "cable { socket: \"" + o.cable + "\"" +
           (o.station >= 0 ? " station: " + std::to_string(o.station) : "") + " }";
  }
  const auto named = [](const char* field, const std::string& name) {
    return name.empty() ? "" : std::string(field) + ": \"" + name + "\" ";
  };
  return "sound_card { " + named("input", o.card.input_name) + named("output", o.card.output_name) +
         (o.card.input_channel > 0 ? "input_channel: " + std::to_string(o.card.input_channel) + " "
                                   : "") +
         "rate_hz: " + std::to_string(o.card.rate_hz) +
         (o.round_trip_ms > 0 ? " round_trip_ms: " + std::to_string(o.round_trip_ms) : "") + " }";
}

}  // namespace s5066::modem::tools
