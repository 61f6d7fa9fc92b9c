// SPDX-License-Identifier: Apache-2.0
#include "config/setup/station_plan.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "config/address_book.h"
#include "config/load.h"
#include "sis/primitives.h"

namespace s5066::config {
namespace {

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

/// Returns true for names that differ in capitals at most.
bool is_same_name(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Returns the first entry with the same name or address, or the end.
std::vector<AddressBook::Entry>::const_iterator like(const AddressBook::Entry& entry,
                                                     const std::vector<AddressBook::Entry>& among) {
  return std::find_if(among.begin(), among.end(), [&](const auto& one) {
    return is_same_name(one.name, entry.name) || one.address == entry.address;
  });
}

std::string book_text(const proto::SetupAnswers& answers, const AddressBook& known) {
  std::vector<AddressBook::Entry> given = {entry_of(answers.station())};
  for (const auto& peer : answers.peers()) given.push_back(entry_of(peer));
  const std::vector<AddressBook::Entry> told = given;
  // Known rows keep their places, so that a book which has all of these rows stays as it is.
  std::string stations, groups;
  for (const auto& entry : known.entries()) {
    const auto fresh = like(entry, given);
    if (fresh != given.end()) {
      stations += row_of("station", *fresh);
      given.erase(fresh);
    } else if (like(entry, told) != told.end()) {
      continue;  // a second row of one that is above
    } else if (entry.address.group) {
      groups += row_of("group", entry);
    } else {
      stations += row_of("station", entry);
    }
  }
  for (const auto& entry : given) stations += row_of("station", entry);
  return "# proto-message: s5066.proto.AddressBook\n#\n"
         "# Names and call signs that may stand wherever the address of a station may.\n\n" +
         stations + groups;
}

proto::Modem modem_of(const proto::SetupAnswers& answers) {
  proto::Modem modem;
  if (answers.has_mode()) modem.set_mode(answers.mode());
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

/// Returns what the path of each socket begins with. A station beside another one has its own.
std::string socket_prefix(const proto::SetupAnswers& answers, const UsedPlaces& used) {
  const std::string folder = run_folder(answers) + "/";
  const bool taken =
      used.sockets.contains(folder + "sis") || used.sockets.contains(folder + "control");
  return taken ? folder + answers.station().name() + "-" : folder;
}

std::string node_text(const proto::SetupAnswers& answers, const std::string& sockets) {
  const std::string& name = answers.station().name();
  const std::string port =
      answers.has_sis_port() ? "port: " + std::to_string(answers.sis_port()) + " " : "";
  return "# proto-message: s5066.proto.Node\n#\n"
         "# `s5066 setup` made this file. s5066d@" +
         name + ".service serves with it;\n# s5066-node.textproto(5) shows every setting.\n\n" +
         "address: " + quoted(name) + "  # by the address book, the file `stations`\n\nmodem {\n" +
         printed(modem_of(answers)) + "}\n\nsis { " + port +
         "local { socket: " + quoted(sockets + "sis") + " group_too: true } }\n" +
         "control { socket: " + quoted(sockets + "control") + " group_too: true }\n";
}

std::string relay_text(const proto::SetupAnswers& answers, const std::string& sockets) {
  const std::string& name = answers.station().name();
  const std::string state =
      (answers.has_state_folder() ? answers.state_folder() : "/var/lib/s5066") + "/" + name;
  return "# proto-message: s5066.proto.Relay\n#\n"
         "# `s5066 setup` made this file. s5066-relay@" +
         name + ".service serves with it;\n# s5066-relay.textproto(5) shows every setting.\n\n" +
         "sis { socket: " + quoted(sockets + "sis") + " }\n" +
         "spool_directory: " + quoted(state + "/spool") + "\n" +
         "inbox_directory: " + quoted(state + "/inbox") + "\n" +
         "control { socket: " + quoted(sockets + "relay-control") + " group_too: true }\n" +
         "node_control { socket: " + quoted(sockets + "control") + " }\n";
}

/// Returns true if the unit's folder of this station has the path of a usual socket.
bool is_name_of_socket(const std::string& name) {
  constexpr std::array<std::string_view, 6> kSockets = {
      "sis", "control", "relay-control", "mail-control", "ip-control", "cable"};
  return std::find(kSockets.begin(), kSockets.end(), name) != kSockets.end();
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

UsedPlaces places_of_others(const proto::SetupAnswers& answers) {
  namespace fs = std::filesystem;
  UsedPlaces used;
  std::error_code none;
  for (fs::directory_iterator at(folder_of(answers), none); at != fs::directory_iterator();
       at.increment(none)) {
    const fs::path& file = at->path();
    if (file.extension() != ".textproto" || file.stem() == answers.station().name()) continue;
    const auto node = load_node(file.string());
    if (!node.value) continue;  // the configuration is that of a gateway, or not complete
    if (node.value->control) used.sockets.insert(node.value->control->path);
    const auto& sis = node.value->sis;
    if (sis.local) used.sockets.insert(sis.local->socket_path);
    if (sis.port != 0) used.ports.insert(sis.port);
  }
  return used;
}

Result<std::vector<PlannedFile>> plan_station(const proto::SetupAnswers& answers,
                                              const AddressBook& known, const UsedPlaces& used) {
  if (is_name_of_socket(answers.station().name())) {
    return Error{ErrorCode::bad_field, "station: /run/s5066/" + answers.station().name() +
                                           " is a socket; choose another name"};
  }
  if (answers.has_sis_port() && used.ports.contains(answers.sis_port())) {
    return Error{ErrorCode::bad_field, "sis_port: another station has " +
                                           std::to_string(answers.sis_port()) +
                                           " already; give each its own"};
  }
  proto::SetupAnswers own = answers;
  if (!own.has_sis_port() && used.ports.contains(sis::kDefaultPort)) own.set_sis_port(0);
  const std::string sockets = socket_prefix(answers, used);
  const std::string station = folder_of(answers) + "/" + answers.station().name();
  const std::vector<PlannedFile> files = {
      {folder_of(answers) + "/stations", book_text(answers, known)},
      {station + ".textproto", node_text(own, sockets)},
      {station + "-relay.textproto", relay_text(answers, sockets)}};
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
