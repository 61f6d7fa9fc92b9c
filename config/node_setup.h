// SPDX-License-Identifier: Apache-2.0
// The configuration of one s5066d as the plain structs of its layers.
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
#include "s5066d/base/address_book.h"
#include "s5066d/base/log.h"
#include "s5066d/control/socket_config.h"
#include "s5066d/node/node.h"
#include "s5066d/runtime/settings.h"

namespace s5066::config {

/// The setup of the built-in modem's sample device, or of a remote modem, which has its own device.
using DeviceSetup = std::variant<modem::CableDevice::Config, modem::PortAudioDevice::Config,
                                 modem::RemoteModem::Config>;
/// The setup of the transmitter's key. Without one nothing is keyed, or the transceiver keys on
/// sound.
using KeySetup = std::variant<std::monostate, modem::RigctldPtt::Config,
                              modem::SerialLinePtt::Config, modem::Cm108Ptt::Config>;

struct NodeSetup {
  NodeConfig node;
  modem::Worker::Config worker;
  DeviceSetup device;
  KeySetup key;
  runtime::SisListenerConfig sis;
  std::optional<control::SocketConfig> control;
  std::optional<runtime::CaptureConfig> capture;
  AddressBook book;
  LogLevel log_level = LogLevel::info;
  std::string source;  // the serialised configuration message, for node_changes.h
};

}  // namespace s5066::config
