// SPDX-License-Identifier: Apache-2.0
// Settings of the shell around a node: plain values, so that the loader needs no Asio.
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

/// Clients that may connect, and their rights. The first entry that fits a client applies.
struct AllowEntry {
  std::string address;      // "192.0.2.7", "192.0.2.0/24", "2001:db8::/32"; empty: any
  std::string certificate;  // a name in the client's certificate; empty: any
  /// Rights; if empty, the node's bind policy decides.
  std::optional<sap::ClientAccess> access;
  std::uint8_t priority_max = sap::kPriorityMax;  // higher priorities of U_PDUs are lowered to it
};

/// PEM files.
struct TlsConfig {
  std::string certificate_file;  // ours, with the chain up to the root
  std::string key_file;
  std::string ca_file;  // authorities that sign the certificates of clients
  Duration handshake_timeout = std::chrono::seconds(10);
};

/// A Unix socket for clients on this machine.
struct LocalListenerConfig {
  std::string socket_path;
  bool group_too = false;  // members of the process's group may connect, not only its user
  /// Rights; if empty, the node's bind policy decides.
  std::optional<sap::ClientAccess> access;
  std::size_t connections_per_process_max = 16;
  std::size_t connections_per_user_max = 32;
  std::uint32_t connects_per_process_second_max = 20;  // this many may come at once
  std::uint32_t connects_per_user_second_max = 60;     // this many may come at once
};

struct SisListenerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = sis::kDefaultPort;
  /// If empty, every client that can reach the address may connect.
  std::vector<AllowEntry> allow;
  std::optional<TlsConfig> tls;  // empty: plain TCP
  std::optional<LocalListenerConfig> local;
  /// Largest number of connections. The node serves as many of them as it allows; the others are in
  /// their handshake or are being closed. An IPv6 network of 64 bits counts as one address.
  std::size_t connections_max = 64;
  std::size_t connections_per_address_max = 32;
  /// Connections of one address; so many may come at once.
  std::uint32_t connects_per_second_max = 20;
  std::size_t read_octets_max = 16 * 1024;  // octets read from a socket at a time
  /// A client that does not take its last primitives in this time loses them.
  Duration linger = std::chrono::seconds(5);
  /// A peer that does not answer the TCP layer for about this long is gone.
  Duration dead_peer_timeout = std::chrono::seconds(120);
};

/// Capture of D_PDUs for tshark. A full file becomes FILE.1, that one FILE.2, and so on.
struct CaptureConfig {
  std::string path;
  std::uint64_t file_octets_max = std::uint64_t{64} << 20;
  unsigned files_max = 4;  // includes the file being written; the oldest is deleted
};

}  // namespace s5066::runtime
