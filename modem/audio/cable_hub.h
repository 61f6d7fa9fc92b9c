// SPDX-License-Identifier: Apache-2.0
// The hub of the audio cable. It is a local socket to which stations connect, receive each other
// through a channel, and share one sample clock (cable_protocol.h).
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/audio/cable_mixer.h"
#include "modem/audio/cable_protocol.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {

enum class CableCounter : std::uint8_t {
  blocks,
  stations_present,
  stations_joined,
  stations_lost,
  hellos_refused,
  protocol_errors,
  accept_errors,
  blocks_late,
  blocks_skipped,
  count
};
const CounterTable<CableCounter>& counter_table(CableCounter);
using CableCounters = CounterSet<CableCounter>;

class CableHub {
 public:
  struct Config {
    std::string socket_path;
    cable::Pace pace = cable::Pace::real;
    std::uint16_t block_samples = 192;
    /// This is the time that a station has to answer at pace `real`; a sound card buffers as much.
    std::uint16_t delay_blocks = 10;
    CableMixer::Config mixer;      // includes the number of stations and the rate
    std::size_t pending_max = 16;  // connections that have not sent their hello
    Duration hello_timeout = std::chrono::seconds(2);
    /// After this many unanswered blocks a station misses blocks, at pace `real`. A station that
    /// has more than that unread and still answers is disconnected.
    std::size_t unanswered_blocks_max = 50;
    // A longer stall is not caught up at pace `real`.
    Duration behind_max = std::chrono::seconds(1);
  };

  explicit CableHub(const Config& config);
  ~CableHub();

  /// Creates the socket; stations may connect from now on.
  Result<void> open();
  /// Serves until stop(). A station that violates the protocol is disconnected and may come again.
  /// At pace `max` time stands still while a station is missing; at pace `real` it goes on.
  Result<void> run();
  /// May be called from any thread or a signal handler.
  void stop();
  CableCounters counters() const;

 private:
  struct Sent {
    std::uint64_t index = 0;
    bool valid = false;
    bool keyed = false;
    std::vector<float> samples;
  };
  struct Station {
    posix::Fd socket;
    Bytes in;                   // a block and …
    std::size_t held = 0;       // … the number of its octets that have come
    Bytes out;                  // octets that the socket has not taken yet
    std::vector<float> newest;  // samples of the newest block read
    std::vector<Sent> answers;  // a ring, addressed by index
    std::uint32_t late = 0;     // late blocks to be reported with the next block
    std::uint64_t unanswered = 0;
    std::optional<std::uint64_t> newest_sent;  // indices on this connection
    std::optional<std::uint64_t> newest_answered;
  };
  struct PendingConnection {
    posix::Fd socket;
    Bytes in = Bytes(cable::kHelloBytes);
    std::size_t held = 0;
    Duration deadline{};
  };

  Result<bool> wait_for_sockets(std::optional<Duration> until);
  void accept_connections();
  void read_hello(PendingConnection& connection);
  void drop_slow_connections();
  void admit(PendingConnection& connection, const cable::Hello& hello);
  void read_station(Station& station);
  bool take_answer(Station& station);
  void flush(Station& station);
  void lose(Station& station);
  void send_block(Station& station, std::span<const float> samples);
  void advance_lockstep();
  void advance_real_time(Duration now);
  Duration next_tick() const;
  std::optional<Duration> next_deadline() const;
  void make_next_block();
  Duration lasted(std::uint64_t blocks) const;
  void count(CableCounter counter);

  Config config_;
  CableMixer mixer_;
  posix::Fd listener_;
  posix::Fd wake_;
  std::optional<Duration> accept_again_;  // the listener is not used until then
  std::vector<pollfd> polls_;
  std::vector<Station> stations_;
  std::vector<std::span<const float>> sent_;  // input of the mixer, one span for each station
  std::vector<std::vector<float>> heard_;     // the newest block, one for each station
  std::vector<PendingConnection> pending_;
  std::uint64_t index_ = 0;  // index of the newest block made
  std::uint64_t delay_blocks_ = 0;
  Duration utc_began_{};    // time of day at open()
  Duration ticks_began_{};  // pace `real`: block n is due n block times after this
  std::uint64_t ticks_ = 0;

  mutable std::mutex counters_mutex_;
  CableCounters counters_;
};

}  // namespace s5066::modem
