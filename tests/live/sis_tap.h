// A wire tap on a SIS connection: passes everything on and keeps it, as packets for tshark.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "s5066d/base/bytes.h"
#include "sis/framer.h"
#include "sis/primitives.h"
#include "tests/support/sis_capture.h"

namespace s5066::live {

/// Listens on a free port of its own and connects to the server's for each client that comes; one
/// after another, since only one is expected at a time.
class SisTap {
 public:
  explicit SisTap(std::uint16_t server_port);
  ~SisTap();

  std::uint16_t port() const { return port_; }
  /// What has passed so far, one IP packet for each primitive: tshark 4.0 loses one whose first
  /// segment is shorter than a header.
  Bytes capture() const;
  /// The same primitives, as our codec reads them.
  std::vector<sis::Primitive> primitives() const;

 private:
  void serve();
  void pass_on(int client, int server);
  void keep(bool to_server, ByteSpan octets);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // guards what was kept
  test::SisCapture capture_;
  std::vector<sis::Primitive> primitives_;
  sis::Framer framers_[2];
  std::thread thread_;
};

/// Holds every primitive that passed against its dissection; returns how many there were.
std::size_t expect_dissected(const SisTap& tap);

}  // namespace s5066::live
