// SPDX-License-Identifier: Apache-2.0
// A tap on a SIS connection, which forwards all octets and keeps them as packets for tshark.
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

/// Listens on a free port of its own and connects to the server's port for each client, one client
/// after another.
class SisTap {
 public:
  explicit SisTap(std::uint16_t server_port);
  ~SisTap();

  std::uint16_t port() const { return port_; }
  /// Returns the capture so far with one IP packet per primitive, because tshark 4.0 loses a
  /// primitive whose first segment is shorter than a header.
  Bytes capture() const;
  /// Returns the same primitives as our codec reads them.
  std::vector<sis::Primitive> primitives() const;
  /// Returns the octets of U_PDUs that the server has delivered to its clients.
  std::uint64_t octets_delivered() const { return octets_delivered_; }

 private:
  void serve();
  void pass_on(int client, int server);
  void keep(bool to_server, ByteSpan octets);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> octets_delivered_{0};
  mutable std::mutex mutex_;  // guards the capture
  test::SisCapture capture_;
  std::vector<sis::Primitive> primitives_;
  sis::Framer framers_[2];
  std::thread thread_;
};

/// Compares each captured primitive with its dissection; returns the number of primitives.
std::size_t expect_dissected(const SisTap& tap);

}  // namespace s5066::live
