// SPDX-License-Identifier: Apache-2.0
#include "config/obstacles.h"

#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <variant>

#include "s5066d/base/loopback.h"

namespace s5066::config {
namespace {

constexpr const char* kTunDevice = "/dev/net/tun";
constexpr unsigned kCapNetAdmin = 12;  // linux/capability.h

/// True if a connection to the address and port would reach a program of this machine that listens
/// at `ours`.
bool reaches(const std::string& address, std::uint16_t port, const std::string& ours,
             std::uint16_t our_port) {
  const bool any = ours == "0.0.0.0" || ours == "::";
  return port != 0 && port == our_port &&
         (address == ours || (any && is_loopback(address)) ||
          (is_loopback(address) && is_loopback(ours)));
}

void check_device(const Section& modem, const NodeSetup& setup, Places& places) {
  if (const auto* cable = std::get_if<modem::CableDevice::Config>(&setup.device)) {
    places.other_socket(modem.nested("cable"), "socket", cable->socket_path);
  }
  if (const auto* remote = std::get_if<modem::RemoteModem::Config>(&setup.device)) {
    const Section section = modem.nested("remote");
    for (const auto& [field, port] :
         {std::pair{"control_port", remote->control_port}, {"data_port", remote->data_port}}) {
      if (reaches(remote->address, port, setup.sis.address, setup.sis.port)) {
        section.complain(
            field, std::to_string(port) + " is the port of `sis`; give that of the modem's host");
      }
    }
    if (remote->control_port == remote->data_port) {
      section.complain("data_port", "is also control_port; give the port of the modem's data");
    }
  }
  if (modem.has("serial_rts")) {
    const Section key = modem.nested("serial_rts");
    places.device(key, "path", std::get<modem::SerialLinePtt::Config>(setup.key).path);
  }
  if (modem.has("serial_dtr")) {
    const Section key = modem.nested("serial_dtr");
    places.device(key, "path", std::get<modem::SerialLinePtt::Config>(setup.key).path);
  }
  if (const auto* chip = std::get_if<modem::Cm108Ptt::Config>(&setup.key)) {
    places.device(modem.nested("cm108"), "path", chip->path);
  }
  if (const auto* rigctld = std::get_if<modem::RigctldPtt::Config>(&setup.key)) {
    if (reaches("127.0.0.1", rigctld->port, setup.sis.address, setup.sis.port)) {
      modem.nested("rigctld").complain(
          "port", std::to_string(rigctld->port) + " is the port of `sis`; give that of rigctld");
    }
  }
}

template <typename Config>
void check_backup(const Section& section, const Config& setup, Places& places) {
  places.folder(section.nested("backup"), "directory", setup.backup.directory);
}

/// True if the line CapEff of /proc/self/status has the bit.
bool has_capability(unsigned number) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("CapEff:", 0) != 0) continue;
    const unsigned long long set = std::strtoull(line.c_str() + 7, nullptr, 16);
    return (set >> number & 1) != 0;
  }
  return true;
}

void check_interface(const Section& client, const ip_client::IpConfig& setup, Scope scope) {
  const Section section = client.nested("interface");
  const std::string& name = setup.interface;
  if (name.empty() || name.size() >= IFNAMSIZ) return;
  const bool exists = ::if_nametoindex(name.c_str()) != 0;
  const std::string tun_flags = "/sys/class/net/" + name + "/tun_flags";
  if (exists && ::access(tun_flags.c_str(), F_OK) != 0) {
    section.complain("name", name + " is an interface of another kind; choose another name");
    return;
  }
  const bool may = has_capability(kCapNetAdmin);
  if (::access(kTunDevice, R_OK | W_OK) != 0 && errno == ENOENT) {
    section.complain(
        "name", name + " cannot be made, because " + kTunDevice + " does not exist: modprobe tun");
  } else if (!exists && !may) {
    const std::string text =
        name +
        " cannot be made without CAP_NET_ADMIN; the unit s5066-ip@.service has it, or: ip "
        "tuntap add dev " +
        name + " mode tun user USER";
    // The unit has a capability that the user who checks need not have.
    if (scope == Scope::start) {
      section.complain("name", text);
    } else {
      section.warn("name", text);
    }
  }
}

}  // namespace

void find_obstacles(const Section& node, const NodeSetup& setup, Scope scope) {
  Places places(scope);
  const Section sis = node.nested("sis");
  if (setup.control) places.own_socket(node.nested("control"), "socket", setup.control->path);
  if (setup.sis.local) {
    places.own_socket(sis.nested("local"), "socket", setup.sis.local->socket_path);
  }
  places.port(sis, "listen", setup.sis.address, setup.sis.port);
  if (const auto& tls = setup.sis.tls) {
    places.tls(sis.nested("tls"), {tls->certificate_file, tls->key_file, tls->ca_file});
  }
  check_device(node.nested("modem"), setup, places);
  if (setup.capture) places.new_file(node.nested("capture"), "file", setup.capture->path);
}

void find_obstacles(const Section& relay, const file_relay::RelayConfig& setup, Scope scope) {
  Places places(scope);
  places.folder(relay, "spool_directory", setup.spool_directory);
  places.folder(relay, "inbox_directory", setup.inbox_directory);
  check_backup(relay, setup, places);
  places.own_socket(relay.nested("control"), "socket", setup.control_socket);
  const Section sis = relay.nested("sis");
  if (sis.has("socket")) places.other_socket(sis, "socket", setup.sis_host);
  places.other_socket(relay.nested("node_control"), "socket", setup.node_control_socket);
}

void find_obstacles(const Section& gateway, const acp142::MailConfig& setup, Scope scope) {
  Places places(scope);
  places.folder(gateway, "spool_directory", setup.spool_directory);
  check_backup(gateway, setup, places);
  places.own_socket(gateway.nested("control"), "socket", setup.control_socket);
  const Section sis = gateway.nested("sis");
  if (sis.has("socket")) {
    places.other_socket(sis, "socket", setup.sis_host);
  } else if (reaches(setup.sis_host, setup.sis_port, setup.smtp.address, setup.smtp.port)) {
    gateway.nested("smtp").complain(
        "port", std::to_string(setup.smtp.port) + " is the port of `sis`; give each its own");
  }
  const Section smtp = gateway.nested("smtp");
  places.port(smtp, "address", setup.smtp.address, setup.smtp.port);
  if (const auto& tls = setup.smtp.tls) {
    places.tls(smtp.nested("tls"), {tls->certificate_file, tls->key_file, tls->ca_file});
  }
  if (const auto& tls = setup.mail_server.tls) {
    places.tls(gateway.nested("mail_server").nested("tls"), {{}, {}, tls->ca_file});
  }
}

void find_obstacles(const Section& client, const ip_client::IpConfig& setup, Scope scope) {
  Places places(scope);
  places.own_socket(client.nested("control"), "socket", setup.control_socket);
  const Section sis = client.nested("sis");
  if (sis.has("socket")) places.other_socket(sis, "socket", setup.sis_host);
  check_interface(client, setup, scope);
}

}  // namespace s5066::config
