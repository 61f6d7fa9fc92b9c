// A wire tap on a SIS connection: passes everything on and keeps it, as packets for tshark.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "s5066d/base/bytes.h"

namespace s5066::live {

/// Listens on a free port of its own and connects to the server's for each client that comes; one
/// after another, since only one is expected at a time.
class SisTap {
 public:
  explicit SisTap(std::uint16_t server_port);
  ~SisTap();

  std::uint16_t port() const { return port_; }
  /// What has passed so far, one IP packet for each read from a socket.
  Bytes capture() const;

 private:
  void serve();
  void pass_on(int client, int server);
  void keep(bool to_server, ByteSpan octets);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  std::uint16_t client_port_ = 40000;  // another for each connection, as tshark tells them apart
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // guards the two below
  Bytes file_;
  std::uint32_t sent_[2] = {1, 1};
  std::thread thread_;
};

}  // namespace s5066::live
