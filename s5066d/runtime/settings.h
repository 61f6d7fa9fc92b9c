// What the shell around a node can be told: plain values, so that the loader needs no Asio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/base/time.h"
#include "s5066d/sap/config.h"
#include "sis/primitives.h"

namespace s5066::runtime {

/// Clients that may connect, and what they may do. The first entry that fits a client is its entry.
struct AllowEntry {
  std::string address;      // "192.0.2.7", "192.0.2.0/24", "2001:db8::/32"; empty: any
  std::string certificate;  // a name in the client's certificate; empty: any
  /// None: what the node's bind policy says.
  std::optional<sap::ClientAccess> access;
  std::uint8_t priority_max = sap::kPriorityMax;  // U_PDUs above it are lowered to it
};

/// Files in PEM.
struct TlsConfig {
  std::string certificate_file;  // ours, and what is between it and the root
  std::string key_file;
  std::string ca_file;  // who signs the certificates of clients
  Duration handshake_timeout = std::chrono::seconds(10);
};

/// A Unix socket for clients on this machine.
struct LocalListenerConfig {
  std::string socket_path;
  bool group_too = false;  // members of the process's group may connect, besides its user
  /// None: what the node's bind policy says.
  std::optional<sap::ClientAccess> access;
  std::size_t connections_per_process_max = 16;
  std::size_t connections_per_user_max = 32;
  std::uint32_t connects_per_process_second_max = 20;  // as many may come at once
  std::uint32_t connects_per_user_second_max = 60;     // likewise
};

struct SisListenerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = sis::kDefaultPort;
  /// Empty: every client that can reach the address.
  std::vector<AllowEntry> allow;
  std::optional<TlsConfig> tls;  // none: plain TCP
  std::optional<LocalListenerConfig> local;
  /// Of which the node serves as many as it likes; the others are in their handshake or on their
  /// way out. An IPv6 network of 64 bits counts as one address.
  std::size_t connections_max = 64;
  std::size_t connections_per_address_max = 32;
  std::uint32_t connects_per_second_max = 20;  // from one address; as many may come at once
  std::size_t read_octets_max = 16 * 1024;     // taken from a socket at a time
  /// A client that does not take its last primitives in this time has lost them.
  Duration linger = std::chrono::seconds(5);
  /// A peer that does not answer the TCP layer for about this long is gone.
  Duration dead_peer_timeout = std::chrono::seconds(120);
};

struct ControlConfig {
  std::string socket_path;
  std::size_t clients_max = 8;
  std::size_t request_octets_max = 256;
  Duration request_timeout = std::chrono::seconds(5);
};

/// Of D_PDUs, for tshark. A full file becomes FILE.1, that one FILE.2, and so on.
struct CaptureConfig {
  std::string path;
  std::uint64_t file_octets_max = std::uint64_t{64} << 20;
  unsigned files_max = 4;  // the one that is written to included; the oldest goes
};

}  // namespace s5066::runtime
