// SPDX-License-Identifier: Apache-2.0
#include "tests/live/pair.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "s5066d/base/rng.h"
#include "s5066d/posix/socket.h"

namespace s5066::live {

namespace fs = std::filesystem;

// The folder is in /tmp and not in the build tree, because paths of Unix sockets are short.
Folder::Folder() {
  char name[] = "/tmp/s5066-live-XXXXXX";
  if (const char* made = ::mkdtemp(name)) path_ = made;
  ::chmod(path_.c_str(), 0777);  // also for processes that run as nobody
}

Folder::~Folder() {
  if (testing::Test::HasFailure()) {
    std::printf("logs stay in %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(*this / name, std::ios::binary) << text;
}

std::string json_value(const std::string& json, const std::string& key, std::size_t from) {
  const std::string quoted = "\"" + key + "\": ";
  const auto at = json.find(quoted, from);
  if (at == std::string::npos) return {};
  const auto start = at + quoted.size();
  std::string value = json.substr(start, json.find_first_of(",\n", start) - start);
  if (!value.empty() && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

namespace {
/// Counts how often a relay has started to serve.
std::size_t starts_logged(const std::string& log) {
  std::size_t count = 0;
  for (auto at = log.find("relay_started"); at != std::string::npos;
       at = log.find("relay_started", at + 1)) {
    ++count;
  }
  return count;
}
}  // namespace

Pair::Pair(std::vector<std::string> cable_options, std::string pace)
    : cable_options_(std::move(cable_options)), pace_(std::move(pace)) {
  for (const char* directory : {"alpha-spool", "alpha-inbox", "bravo-spool", "bravo-inbox"}) {
    ::mkdir((folder_ / directory).c_str(), 0777);
    ::chmod((folder_ / directory).c_str(), 0777);
  }
  start_cable();
}

// Stops the relays first, because a relay whose node has stopped would try to connect again.
Pair::~Pair() {
  for (const char* name :
       {"alpha-relay", "bravo-relay", "alpha", "bravo", "alpha-modem", "bravo-modem", "cable"}) {
    processes_.erase(name);
  }
}

void Pair::start(const std::string& name, const std::vector<std::string>& command,
                 bool unprivileged) {
  ProcessOptions how = options(name);
  how.unprivileged = unprivileged;
  processes_.erase(name);
  processes_.emplace(name, Process(command, how));
}

void Pair::start_cable() {
  fs::remove(folder_ / "cable.sock");
  std::vector<std::string> command = {S5066_HFMODEM, "cable",  "--socket",
                                      "cable.sock",  "--pace", pace_};
  command.insert(command.end(), cable_options_.begin(), cable_options_.end());
  start("cable", command);
  ASSERT_TRUE(await([&] { return fs::exists(folder_ / "cable.sock"); }));
}

void Pair::start_node(const std::string& name) {
  std::string text = text_of(S5066_SOURCE_DIR "/config/back-to-back/" + name + "-node.textproto");
  if (port_.count(name)) {
    text = std::regex_replace(text, std::regex("port: 0"), "port: " + std::to_string(port_[name]));
  }
  if (modem_ports_.count(name)) {
    const auto& [control, data] = modem_ports_[name];
    text = std::regex_replace(
        text, std::regex("cable \\{[^}]*\\}"),
        "remote { address: \"127.0.0.1\" control_port: " + control + " data_port: " + data + " }");
  }
  text = std::regex_replace(text, std::regex("modem \\{"), "modem {\n" + modem_text_[name]);
  text = std::regex_replace(text, std::regex("sis \\{"), "sis {\n" + sis_text_[name]);
  folder_.write(name + "-node.textproto", text + node_text_[name]);
  start(name, {S5066_S5066D, "--config", name + "-node.textproto", "--capture", name + ".pcap"});
  ASSERT_TRUE(await([&] { return !ask(name, "status").empty() || !process(name).running(); }));
  ASSERT_TRUE(process(name).running()) << log(name);
  port_[name] = static_cast<std::uint16_t>(std::stoi(json_value(ask(name, "status"), "sis_port")));
}

void Pair::lend_modem(const std::string& name, const std::vector<std::string>& options) {
  const std::string process_name = name + "-modem";
  auto& used = modem_ports_.try_emplace(name, "0", "0").first->second;
  const std::size_t logged = log(process_name).size();
  std::vector<std::string> command = {S5066_HFMODEM,    "serve",     "--cable",
                                      "cable.sock",     "--station", name == "alpha" ? "0" : "1",
                                      "--control-port", used.first,  "--data-port",
                                      used.second};
  command.insert(command.end(), options.begin(), options.end());
  start(process_name, command);
  std::smatch ports;
  ASSERT_TRUE(await([&] {
    const std::string text = log(process_name).substr(logged);
    const std::regex line("control_port=([0-9]+) data_port=([0-9]+)");
    if (!std::regex_search(text, ports, line)) return !process(process_name).running();
    used = {ports[1], ports[2]};
    return true;
  }));
  ASSERT_TRUE(process(process_name).running()) << log(process_name);
}

void Pair::configure_modem(const std::string& name, const std::string& text) {
  modem_text_[name] += text + "\n";
}

void Pair::configure_sis(const std::string& name, const std::string& text) {
  sis_text_[name] += text + "\n";
}

void Pair::configure_node(const std::string& name, const std::string& text) {
  node_text_[name] += text + "\n";
}

void Pair::configure_relay(const std::string& name, const std::string& text) {
  relay_text_[name] += text + "\n";
}

void Pair::start_relay(const std::string& name, bool unprivileged) {
  const std::uint16_t port = relay_port_.count(name) ? relay_port_[name] : port_.at(name);
  const std::string text =
      text_of(S5066_SOURCE_DIR "/config/back-to-back/" + name + "-relay.textproto");
  folder_.write(name + "-relay.textproto", std::regex_replace(text, std::regex("port: [0-9]+"),
                                                              "port: " + std::to_string(port)) +
                                               relay_text_[name]);
  // User nobody has no access to the build tree, so it runs a copy of the program.
  const std::string program = unprivileged ? folder_ / "s5066-relay" : S5066_RELAY;
  if (unprivileged) fs::copy_file(S5066_RELAY, program);
  const std::size_t starts = starts_logged(log(name + "-relay"));
  start(name + "-relay", {program, "run", "--config", name + "-relay.textproto"}, unprivileged);
  ASSERT_TRUE(await([&] {
    return starts_logged(log(name + "-relay")) > starts || !process(name + "-relay").running();
  }));
  ASSERT_TRUE(process(name + "-relay").running()) << log(name + "-relay");
}

void Pair::start_all() {
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(start_node(name));
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(start_relay(name));
}

void Pair::kill(const std::string& name) {
  processes_.at(name).kill();
}

std::string Pair::ask(const std::string& name, const std::string& request) const {
  const auto answer = posix::ask_control(folder_ / (name + ".control"), request, kPatience);
  return answer ? *answer : std::string();
}

double Pair::acknowledged_octets(const std::string& name) const {
  const std::string value = json_value(ask(name, "status"), "acknowledged_octets");
  return value.empty() ? 0 : std::stod(value);
}

double Pair::counter(const std::string& name, const std::string& counter) const {
  const std::string counters = ask(name, "counters");
  const auto at = counters.find("\"name\": \"" + counter + "\"");
  const std::string value = json_value(counters, "value", at);
  return value.empty() ? -1 : std::stod(value);
}

Outcome Pair::relay(const std::string& name, const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {S5066_RELAY, arguments.front(), "--config",
                                      name + "-relay.textproto"};
  command.insert(command.end(), arguments.begin() + 1, arguments.end());
  return run(command, options("command"));
}

Process Pair::send(const std::string& file, const std::string& from) const {
  const bool alpha = from == "alpha";
  return Process({S5066_RELAY, "send", "--config", from + "-relay.textproto", "--to",
                  alpha ? "1.2.0.2" : "1.2.0.1", file, "--wait", "--progress"},
                 options(alpha ? "send" : from + "-send"));
}

std::string Pair::received(const std::string& file, const std::string& at) const {
  return text_of(folder_ / (at + "-inbox/" + file));
}

bool Pair::list_shows(const std::string& name, const std::string& word) const {
  return relay(name, {"list"}).output.find(word) != std::string::npos;
}

std::string noise(std::size_t octets, std::uint64_t seed) {
  Rng rng(seed);
  std::string text(octets, '\0');
  for (char& c : text) c = static_cast<char>(rng.below(256));
  return text;
}

}  // namespace s5066::live
