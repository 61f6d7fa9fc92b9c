// SPDX-License-Identifier: Apache-2.0
#include "config/setup/questions.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "config/address_book.h"
#include "modem/api/modes.h"
#include "modem/audio/portaudio_device.h"
#include "modem/audio/sound_cards.h"
#include "modem/audio/sound_server_list.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPeersMax = 100;
constexpr std::size_t kListedMax = 40;

void add_card(std::vector<CardChoice>& list, CardChoice choice) {
  const bool known = std::any_of(list.begin(), list.end(), [&](const CardChoice& one) {
    return one.setting == choice.setting;
  });
  if (!known && list.size() < kListedMax) list.push_back(std::move(choice));
}

std::string checked_name(Dialogue& dialogue, const std::string& question, const std::string& field,
                         const std::string& otherwise, bool optional = false) {
  return dialogue.ask(question, otherwise,
                      [&](const std::string& answer) -> std::optional<std::string> {
                        if (optional && answer.empty()) return std::nullopt;
                        return station_problem(field, answer);
                      });
}

void ask_station(Dialogue& dialogue, const std::string& whose, proto::BookStation& station) {
  station.set_name(checked_name(dialogue, "Name of " + whose + ", such as shore", "name", ""));
  const std::string call =
      checked_name(dialogue, "Call sign, empty for none", "call_sign", "", true);
  if (!call.empty()) station.set_call_sign(call);
  station.set_address(checked_name(dialogue, "Address, such as 1.2.0.1", "address", ""));
}

/// Returns true for a source or sink of the sound server, except for the monitor of a sink, which
/// is no input of a card.
bool is_card_of_server(const CardChoice& card) {
  return card.setting.starts_with(modem::kServerPrefix) && !card.setting.ends_with(".monitor");
}

/// Offers the card `like`, else the first one of the sound server, because a server keeps the cards
/// open that it has, else the first one.
std::size_t choose_card(Dialogue& dialogue, const std::string& question,
                        const std::vector<CardChoice>& cards, const std::string& like) {
  std::vector<std::string> lines;
  for (const CardChoice& card : cards) lines.push_back(card.text);
  auto otherwise = std::find_if(cards.begin(), cards.end(),
                                [&](const CardChoice& card) { return card.setting == like; });
  if (otherwise == cards.end()) {
    otherwise = std::find_if(cards.begin(), cards.end(), is_card_of_server);
  }
  if (otherwise == cards.end()) otherwise = cards.begin();
  return dialogue.choose(question, lines, static_cast<std::size_t>(otherwise - cards.begin()));
}

void ask_card(Dialogue& dialogue, const Surroundings& around, proto::Modem::SoundCard& card) {
  const CardChoice& input =
      around.inputs[choose_card(dialogue, "The input that hears the receiver", around.inputs, "")];
  card.set_input(input.setting);
  const std::size_t output =
      choose_card(dialogue, "The output that feeds the transmitter", around.outputs, input.setting);
  card.set_output(around.outputs[output].setting);
  if (input.channels < 2) return;
  const std::size_t channel =
      dialogue.choose("The input has two channels",
                      {"take the one with sound", "the first (left)", "the second (right)"}, 0);
  if (channel > 0) card.set_input_channel(static_cast<unsigned>(channel));
}

std::string ask_path(Dialogue& dialogue, const std::string& question,
                     const std::string& otherwise) {
  return dialogue.ask(question, otherwise,
                      [](const std::string& answer) -> std::optional<std::string> {
                        std::error_code ignored;
                        if (!answer.empty() && fs::exists(answer, ignored)) return std::nullopt;
                        return "there is no such file";
                      });
}

void ask_key(Dialogue& dialogue, const Surroundings& around, proto::SetupAnswers& answers) {
  const auto hid = modem::hid_of_card(answers.sound_card().output());
  const std::size_t way =
      dialogue.choose("How the transmitter is keyed",
                      {"rigctld of hamlib", "RTS of a serial port", "DTR of a serial port",
                       hid ? "the key pin of the sound card's own chip (CM108), " + *hid
                           : "the key pin of a CM108 sound chip",
                       "by sound (VOX)", "not at all"},
                      hid ? 3 : 0);
  const std::string port = around.serial_ports.empty() ? "" : around.serial_ports.front();
  switch (way) {
    case 0: {
      auto& rigctld = *answers.mutable_rigctld();
      rigctld.set_port(static_cast<unsigned>(
          dialogue.ask_number("Port of rigctld on this machine", 4532, 1, 65535)));
      if (dialogue.ask_yes_no("Does the radio take sound only at its data input", false)) {
        rigctld.set_data_input(true);
      }
      break;
    }
    case 1:
      answers.mutable_serial_rts()->set_path(ask_path(dialogue, "Serial port", port));
      break;
    case 2:
      answers.mutable_serial_dtr()->set_path(ask_path(dialogue, "Serial port", port));
      break;
    case 3:
      answers.mutable_cm108()->set_path(
          ask_path(dialogue, "Device of the chip", hid ? *hid : "/dev/hidraw0"));
      break;
    case 4:
      answers.mutable_vox();
      break;
    default:
      answers.mutable_no_key();
  }
  if (way < 4) {
    answers.set_ptt_lead_ms(static_cast<unsigned>(
        dialogue.ask_number("Milliseconds from key to power, mostly 20 to 100", 50, 0, 2000)));
  }
}

}  // namespace

std::optional<std::string> station_problem(const std::string& field, const std::string& text) {
  std::string quoted = text;
  std::replace_if(
      quoted.begin(), quoted.end(), [](char c) { return c == '"' || c == '\\'; }, '?');
  const auto value = [&](const char* name, const char* good) {
    return std::string(name) + ": \"" + (field == name ? quoted : good) + "\" ";
  };
  const std::string row = "station { " + value("name", "x") + value("call_sign", "ABC") +
                          value("address", "1.2.3.4") + "}";
  const auto parsed = parse_address_book("", row);
  if (parsed.value) return std::nullopt;
  const std::string& problem = parsed.problems.front().text;
  const std::string prefix = field + ": ";
  return problem.starts_with(prefix) ? problem.substr(prefix.size()) : problem;
}

Surroundings look_around() {
  Surroundings around;
  if (const auto listed = modem::PortAudioDevice::list()) {
    for (const auto& device : *listed) {
      const bool usb = !device.usb_path.empty();
      const std::string setting = usb ? device.usb_path : device.name;
      const std::string text = device.name + (usb ? "  (" + device.usb_path + ")" : "");
      if (device.inputs > 0) add_card(around.inputs, {setting, text, device.inputs});
      if (device.outputs > 0) add_card(around.outputs, {setting, text, device.outputs});
    }
  }
  if (const auto listed = modem::list_server_devices(); listed) {
    for (const auto& device : *listed) {
      if (!modem::is_server_device_name(device.name)) continue;
      // Two cards of one type have the same description.
      const std::string setting = std::string(modem::kServerPrefix) + device.name;
      add_card(device.input ? around.inputs : around.outputs,
               {setting, device.description + "  (" + setting + ")", 2});
    }
  }
  std::error_code none;
  for (fs::directory_iterator at("/dev", none); at != fs::directory_iterator();
       at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("ttyUSB") || name.starts_with("ttyACM")) {
      around.serial_ports.push_back(at->path().string());
    }
  }
  std::sort(around.serial_ports.begin(), around.serial_ports.end());
  return around;
}

void ask_before_trials(Dialogue& dialogue, const Surroundings& around,
                       proto::SetupAnswers& answers) {
  ask_station(dialogue, "this station", *answers.mutable_station());
  ask_card(dialogue, around, *answers.mutable_sound_card());
  ask_key(dialogue, around, answers);
  dialogue.say("");
  auto& trials = *answers.mutable_trials();
  trials.set_listen_s(2);
  if (dialogue.ask_yes_no("Send a tone of up to 10 s to set the level; use a dummy load", true)) {
    trials.set_tone_s(10);
  }
  trials.set_round_trip(dialogue.ask_yes_no(
      "Measure the round trip; a cable joins output and input, and nothing is keyed", false));
}

AfterFault ask_after_fault(Dialogue& dialogue) {
  const std::size_t way = dialogue.choose(
      "The trials found what is marked BAD above",
      {"try again, after it is mended", "go on with these answers", "stop and write nothing"}, 0);
  constexpr std::array kWays = {AfterFault::try_again, AfterFault::go_on, AfterFault::stop};
  return kWays.at(way);
}

void ask_after_trials(Dialogue& dialogue, proto::SetupAnswers& answers) {
  dialogue.say("");
  while (answers.peers_size() < static_cast<int>(kPeersMax) &&
         dialogue.ask_yes_no(answers.peers_size() == 0
                                 ? "Give a name to a station that this one talks to"
                                 : "Another one",
                             answers.peers_size() == 0)) {
    ask_station(dialogue, "that station", *answers.add_peers());
  }
}

}  // namespace s5066::config
