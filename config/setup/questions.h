// SPDX-License-Identifier: Apache-2.0
// The questions of `s5066 setup` to a person. The answers are the same message that an answers file
// fills.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/proto/setup.pb.h"
#include "config/setup/dialogue.h"

namespace s5066::config {

/// A sound device that the operator may choose, with the text by which a configuration names it.
struct CardChoice {
  std::string setting;  // "usb:…", "pulse:…", or the name
  std::string text;     // text for people
  unsigned channels = 1;
};

/// The devices of the machine. The lists are arguments so that tests can make them up.
struct Surroundings {
  std::vector<CardChoice> inputs;
  std::vector<CardChoice> outputs;
  std::vector<std::string> serial_ports;
};

/// Lists the sound cards, the devices of the sound server and the serial ports.
Surroundings look_around();

/// Asks for all that prepares the trials: station, card, key. Throws InputEnded.
void ask_before_trials(Dialogue& dialogue, const Surroundings& around,
                       proto::SetupAnswers& answers);
enum class AfterFault { try_again, go_on, stop };
/// Asks how to go on after a trial has found a fault. Throws InputEnded.
AfterFault ask_after_fault(Dialogue& dialogue);
/// Asks for the peers and what happens with the files. Throws InputEnded.
void ask_after_trials(Dialogue& dialogue, proto::SetupAnswers& answers);

/// Returns what is wrong with a field of a station in the address book: "name", "call_sign" or
/// "address".
std::optional<std::string> station_problem(const std::string& field, const std::string& text);

}  // namespace s5066::config
