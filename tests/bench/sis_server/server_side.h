// SPDX-License-Identifier: Apache-2.0
// The server under test: two nodes with their SIS ports on loopback TCP, joined by the simulated
// medium, in one thread. The clock is virtual and advances as fast as the work gets done: time
// passes when no socket has data. If there is no work, it runs like the wall clock.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>

#include "s5066d/base/ids.h"
#include "s5066d/base/log.h"
#include "s5066d/base/rng.h"
#include "tests/support/sim_medium.h"
#include "tests/support/virtual_time.h"

namespace s5066::bench {

/// Addresses of the two stations.
inline constexpr Address kStations[] = {Address{0x01010001}, Address{0x01020002}};

class ServerSide {
 public:
  /// Commands of one octet come through `commands`: h(old) stops the clock, g(o) lets it run.
  ServerSide(int commands, LogSink& log);
  ~ServerSide();

  std::uint16_t port(std::size_t station) const;
  /// Runs until the other end of `commands` is closed.
  void run();

 private:
  class Station;
  bool step();
  void rest();
  void read_command();

  boost::asio::io_context io_;
  boost::asio::posix::stream_descriptor commands_;
  boost::asio::steady_timer wake_;
  sim::EventHeap heap_;
  Rng rng_{1};
  sim::Medium medium_;
  std::array<std::unique_ptr<Station>, 2> stations_;
  char command_ = 0;
  bool held_ = false;
  bool over_ = false;
};

}  // namespace s5066::bench
