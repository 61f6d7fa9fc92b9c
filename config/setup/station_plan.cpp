// SPDX-License-Identifier: Apache-2.0
#include "config/setup/station_plan.h"

#include <google/protobuf/text_format.h>

#include <algorithm>

#include "config/address_book.h"
#include "config/load.h"
#include "modem/api/receive_modes.h"

namespace s5066::config {
namespace {

constexpr const char* kMode = "110a-300-long";

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string row_of(const char* kind, const AddressBook::Entry& entry) {
  std::string row = std::string(kind) + " { name: " + quoted(entry.name);
  if (!entry.call_sign.empty()) row += " call_sign: " + quoted(entry.call_sign);
  return row + " address: \"" + to_string(entry.address) + "\" }\n";
}

AddressBook::Entry entry_of(const proto::BookStation& station) {
  const auto address = parse_address(station.address());
  return {station.name(), station.call_sign(), address ? *address : Address{}};
}

std::string book_text(const proto::SetupAnswers& answers, const AddressBook& known) {
  std::vector<AddressBook::Entry> given = {entry_of(answers.station())};
  for (const auto& peer : answers.peers()) given.push_back(entry_of(peer));
  std::string stations, groups;
  for (const auto& entry : given) stations += row_of("station", entry);
  for (const auto& entry : known.entries()) {
    const bool replaced = std::any_of(given.begin(), given.end(),
                                      [&](const auto& one) { return one.name == entry.name; });
    if (replaced) continue;
    if (entry.address.group) {
      groups += row_of("group", entry);
    } else {
      stations += row_of("station", entry);
    }
  }
  return "# proto-message: s5066.proto.AddressBook\n#\n"
         "# Names and call signs that may stand wherever the address of a station may.\n\n" +
         stations + groups;
}

proto::Modem modem_of(const proto::SetupAnswers& answers) {
  proto::Modem modem;
  modem.set_mode(answers.has_mode() ? answers.mode() : kMode);
  if (answers.has_sound_card()) *modem.mutable_sound_card() = answers.sound_card();
  if (answers.has_cable()) *modem.mutable_cable() = answers.cable();
  if (answers.has_rigctld()) *modem.mutable_rigctld() = answers.rigctld();
  if (answers.has_serial_rts()) *modem.mutable_serial_rts() = answers.serial_rts();
  if (answers.has_serial_dtr()) *modem.mutable_serial_dtr() = answers.serial_dtr();
  if (answers.has_cm108()) *modem.mutable_cm108() = answers.cm108();
  if (answers.has_vox()) modem.mutable_vox();
  if (answers.has_ptt_lead_ms()) modem.set_ptt_lead_ms(answers.ptt_lead_ms());
  if (answers.has_transmit_level_db()) modem.set_transmit_level_db(answers.transmit_level_db());
  return modem;
}

std::string printed(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetInitialIndentLevel(1);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

std::string run_folder(const proto::SetupAnswers& answers) {
  return answers.has_run_folder() ? answers.run_folder() : "/run/s5066";
}

std::string node_text(const proto::SetupAnswers& answers) {
  const std::string& name = answers.station().name();
  const proto::Modem modem = modem_of(answers);
  const auto mode = modem::parse_mode(modem.mode());
  // Only a mode that announces itself may change on a link.
  const bool adapts = mode && modem::tells_itself(*mode);
  const std::string port =
      answers.has_sis_port() ? "port: " + std::to_string(answers.sis_port()) + " " : "";
  return "# proto-message: s5066.proto.Node\n#\n"
         "# `s5066 setup` made this file. s5066d@" +
         name + ".service serves with it;\n# s5066-node.textproto(5) shows every setting.\n\n" +
         "address: " + quoted(name) + "  # by the address book, the file `stations`\n\nmodem {\n" +
         printed(modem) + "}\n\n" +
         (adapts ? "data_transfer { adaptation { enabled: true } }\n" : "") + "sis { " + port +
         "local { socket: " + quoted(run_folder(answers) + "/sis") + " group_too: true } }\n" +
         "control { socket: " + quoted(run_folder(answers) + "/control") + " group_too: true }\n";
}

std::string relay_text(const proto::SetupAnswers& answers) {
  const std::string& name = answers.station().name();
  const std::string run = run_folder(answers);
  const std::string state =
      (answers.has_state_folder() ? answers.state_folder() : "/var/lib/s5066") + "/" + name;
  return "# proto-message: s5066.proto.Relay\n#\n"
         "# `s5066 setup` made this file. s5066-relay@" +
         name + ".service serves with it;\n# s5066-relay.textproto(5) shows every setting.\n\n" +
         "sis { socket: " + quoted(run + "/sis") + " }\n" +
         "spool_directory: " + quoted(state + "/spool") + "\n" +
         "inbox_directory: " + quoted(state + "/inbox") + "\n" +
         "control { socket: " + quoted(run + "/relay-control") + " group_too: true }\n" +
         "node_control { socket: " + quoted(run + "/control") + " }\n";
}

void append_problems(const std::vector<Problem>& problems, std::string& text) {
  for (const Problem& problem : problems) {
    text.append(text.empty() ? "" : "\n").append(to_string(problem));
  }
}

}  // namespace

std::string folder_of(const proto::SetupAnswers& answers) {
  return answers.has_folder() ? answers.folder() : kConfigurationFolder;
}

Result<std::vector<PlannedFile>> plan_station(const proto::SetupAnswers& answers,
                                              const AddressBook& known) {
  const std::string station = folder_of(answers) + "/" + answers.station().name();
  const std::vector<PlannedFile> files = {
      {folder_of(answers) + "/stations", book_text(answers, known)},
      {station + ".textproto", node_text(answers)},
      {station + "-relay.textproto", relay_text(answers)}};
  std::string problems;
  const auto book = parse_address_book(files[0].path, files[0].text);
  append_problems(book.problems, problems);
  if (book.value) {
    append_problems(parse_node(files[1].path, files[1].text, *book.value).problems, problems);
    append_problems(parse_relay(files[2].path, files[2].text, *book.value).problems, problems);
  }
  if (!problems.empty()) return Error{ErrorCode::bad_field, problems};
  return files;
}

}  // namespace s5066::config
