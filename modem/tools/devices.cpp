// SPDX-License-Identifier: Apache-2.0
// `hfmodem devices` lists the sound cards that PortAudio finds, by the names and USB paths that a
// configuration uses, and the devices of the sound server.
#include <cstdio>
#include <iostream>

#include "modem/audio/portaudio_device.h"
#include "modem/audio/sound_server_list.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "s5066d/base/json_text.h"

namespace s5066::modem::tools {

namespace {

void print_json(const std::vector<PortAudioDevice::Listed>& devices) {
  for (const auto& device : devices) {
    std::printf(
        "{\"name\":%s,\"system\":%s,\"usb_path\":%s,\"inputs\":%u,\"outputs\":%u,"
        "\"rate_hz\":%.0f,\"input_latency_s\":%.4f,\"output_latency_s\":%.4f}\n",
        json_quoted(device.name).c_str(), json_quoted(device.api).c_str(),
        json_quoted(device.usb_path).c_str(), device.inputs, device.outputs, device.rate_hz,
        to_seconds(device.input_latency), to_seconds(device.output_latency));
  }
}

}  // namespace

int run_devices(const std::vector<std::string>& arguments) {
  boost::program_options::options_description description;
  description.add_options()("json", boost::program_options::bool_switch(),
                            "print one JSON object per sound card");
  const ParsedOptions parsed = parse_options("devices", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto devices = PortAudioDevice::list();
  if (!devices) {
    std::cerr << "hfmodem devices: " << devices.error().detail << '\n';
    return kExitFailed;
  }
  if (parsed.values["json"].as<bool>()) {
    print_json(*devices);
    return kExitOk;
  }
  std::printf("%3s %3s %8s %8s %8s  %s\n", "in", "out", "rate", "in_ms", "out_ms",
              "name (system)  USB path");
  for (const auto& device : *devices) {
    std::printf("%3u %3u %8.0f %8.1f %8.1f  %s (%s)%s%s\n", device.inputs, device.outputs,
                device.rate_hz, 1000 * to_seconds(device.input_latency),
                1000 * to_seconds(device.output_latency), device.name.c_str(), device.api.c_str(),
                device.usb_path.empty() ? "" : "  ", device.usb_path.c_str());
  }
  const auto of_server = list_server_devices();
  if (of_server) {
    std::puts("\nDevices of the sound server:");
    for (const ServerDevice& device : *of_server) {
      std::printf("%-6s  %s%s  (%s)\n", device.input ? "input" : "output",
                  std::string(kServerPrefix).c_str(), device.name.c_str(),
                  device.description.c_str());
    }
  }
  if (devices->empty() && !of_server) std::puts("There is no sound card.");
  return kExitOk;
}

}  // namespace s5066::modem::tools
