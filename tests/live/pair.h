// SPDX-License-Identifier: Apache-2.0
// Two stations on one audio cable in lockstep, each an s5066d and a file relay, from the
// configuration of config/back-to-back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s5066d/base/bytes.h"
#include "tests/live/process.h"

namespace s5066::live {

/// A folder for the sockets, logs and spools of one test. It stays behind if the test has failed.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

/// Returns the number or word behind `"key": ` in JSON that the daemon printed, searched from
/// `from` on.
std::string json_value(const std::string& json, const std::string& key, std::size_t from = 0);

class Pair {
 public:
  /// Starts the cable with these additional options. The stations start at start_node().
  explicit Pair(std::vector<std::string> cable_options = {}, std::string pace = "max");
  ~Pair();

  void start_cable();
  /// Starts "alpha" (1.2.0.1) or "bravo" (1.2.0.2) and returns when the daemon answers. A second
  /// start listens on the same port as the first.
  void start_node(const std::string& name);
  /// Starts a process `NAME-modem` that holds the modem of a station that is not started yet; the
  /// node connects to it over TCP. A second start listens on the same ports as the first.
  void lend_modem(const std::string& name, const std::vector<std::string>& options = {});
  /// Adds settings such as `reopen_attempts_max` to the modem's part; call this before the node
  /// starts.
  void configure_modem(const std::string& name, const std::string& text);
  /// Adds settings to the part for the SIS port; call this before the node starts.
  void configure_sis(const std::string& name, const std::string& text);
  /// Adds settings to the node's configuration; call this before it starts.
  void configure_node(const std::string& name, const std::string& text);
  /// Adds settings to the relay's configuration; call this before it starts.
  void configure_relay(const std::string& name, const std::string& text);
  void use_sis_port(const std::string& name, std::uint16_t port) { relay_port_[name] = port; }
  void start_relay(const std::string& name, bool unprivileged = false);
  void start_all();

  Process& process(const std::string& name) { return processes_.at(name); }
  /// Sends SIGKILL and waits for the end.
  void kill(const std::string& name);

  std::string ask(const std::string& name, const std::string& request) const;
  std::uint16_t sis_port(const std::string& name) const { return port_.at(name); }
  /// Returns the U_PDU octets that the other station has acknowledged.
  double acknowledged_octets(const std::string& name) const;
  double counter(const std::string& name, const std::string& counter) const;

  Outcome relay(const std::string& name, const std::vector<std::string>& arguments) const;
  /// Runs `send` of a file from Alpha to Bravo, or from Bravo to Alpha, in the background.
  Process send(const std::string& file, const std::string& from = "alpha") const;
  std::string received(const std::string& file, const std::string& at = "bravo") const;
  bool list_shows(const std::string& name, const std::string& word) const;

  const Folder& folder() const { return folder_; }
  std::string log(const std::string& name) const { return text_of(folder_ / (name + ".log")); }
  ProcessOptions options(const std::string& log) const {
    return {.folder = folder_.path(), .log = folder_ / (log + ".log")};
  }

 private:
  void start(const std::string& name, const std::vector<std::string>& command,
             bool unprivileged = false);

  Folder folder_;
  std::vector<std::string> cable_options_;
  std::string pace_;
  std::map<std::string, std::pair<std::string, std::string>> modem_ports_;  // control and data
  std::map<std::string, std::uint16_t> port_;        // SIS ports of the nodes
  std::map<std::string, std::uint16_t> relay_port_;  // SIS port for the relay, if not its node's
  std::map<std::string, std::string> modem_text_;
  std::map<std::string, std::string> sis_text_;
  std::map<std::string, std::string> node_text_;
  std::map<std::string, std::string> relay_text_;
  std::map<std::string, Process> processes_;
};

/// Returns random octets, the same for the same seed.
std::string noise(std::size_t octets, std::uint64_t seed);

}  // namespace s5066::live
