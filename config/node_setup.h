// All that one s5066d needs to know, as the plain structs of its layers.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "modem/audio/cable_device.h"
#include "modem/audio/portaudio_device.h"
#include "modem/ptt/cm108.h"
#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_line.h"
#include "modem/remote/remote_modem.h"
#include "modem/worker/worker.h"
#include "s5066d/base/log.h"
#include "s5066d/node/node.h"
#include "s5066d/runtime/settings.h"

namespace s5066::config {

/// What the built-in modem's samples come from and go to, or a modem that has its own.
using DeviceSetup = std::variant<modem::CableDevice::Config, modem::PortAudioDevice::Config,
                                 modem::RemoteModem::Config>;
/// How the transmitter is keyed; nothing: not at all, or by the sound itself.
using KeySetup = std::variant<std::monostate, modem::RigctldPtt::Config,
                              modem::SerialLinePtt::Config, modem::Cm108Ptt::Config>;

struct NodeSetup {
  NodeConfig node;
  modem::Worker::Config worker;
  DeviceSetup device;
  KeySetup key;
  runtime::SisListenerConfig sis;
  std::optional<runtime::ControlConfig> control;
  std::optional<runtime::CaptureConfig> capture;
  LogLevel log_level = LogLevel::info;
  std::string source;  // the configuration that this was made of, for node_changes.h
};

}  // namespace s5066::config
