// SPDX-License-Identifier: Apache-2.0
// The load: SIS clients, or bare echo clients, in one thread on sockets that never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::bench {

struct LoadOptions {
  std::size_t clients = 16;
  std::size_t updu_octets = 256;
  /// Round trips that each client has under way; 0: as many as `per_second` gives.
  std::size_t outstanding = 1;
  double per_second = 0;
  Duration warm_up = std::chrono::seconds(1);
  Duration time = std::chrono::seconds(5);
};

struct LoadResult {
  double seconds = 0;
  std::uint64_t round_trips = 0;
  double server_cpu_seconds = 0;
  std::vector<double> latencies_us;  // ascending
  bool failed = false;               // a connection ended, or a wrong primitive came

  double percentile_us(double percent) const;
};

enum class RoundTrip : std::uint8_t {
  echo,     // request at A, indication at B, sent back by B's client, indication at A
  confirm,  // request at A, indication at B, confirmation of B's client's delivery at A
  bare,     // the same octets to and from a server that only sends back what it reads
  relayed,  // as `echo`, through a server that only relays what it reads
};

/// Runs the load. `ports` are those of the two nodes, or of the bare server, of which `bare` uses
/// the first. `server` is the process whose processor time is read.
LoadResult run_load(RoundTrip kind, const std::uint16_t (&ports)[2], int server,
                    const LoadOptions& options);

/// Returns the octets of an S_UNIDATA_REQUEST with its frame.
std::size_t request_octets(std::size_t updu_octets);

/// Clients that are bound and send nothing.
class IdleClients {
 public:
  IdleClients(std::uint16_t port, std::size_t clients);
  ~IdleClients();
  /// Sends U_PDUs of `octets` to the other station until none of the sockets takes any more.
  void fill(std::size_t octets);

 private:
  std::vector<int> sockets_;
};

double cpu_seconds(int process);
double resident_mib(int process);

}  // namespace s5066::bench
