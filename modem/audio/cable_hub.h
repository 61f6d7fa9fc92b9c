// The audio cable's middle: a local socket where stations meet, hear each other through a channel,
// and share one sample clock (cable_protocol.h).
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
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {

class CableHub {
 public:
  struct Config {
    std::string socket_path;
    cable::Pace pace = cable::Pace::real;
    std::uint16_t block_samples = 192;
    /// The time a station has to answer at pace `real`; as much audio lies in a sound card.
    std::uint16_t delay_blocks = 10;
    CableMixer::Config mixer;        // stations and rate too
    std::size_t strangers_max = 16;  // connections that have not said hello
    Duration hello_timeout = std::chrono::seconds(2);
    /// Then a station misses blocks, at pace `real`. One that has left more than that unread, and
    /// answers all the same, is cut off.
    std::size_t unanswered_blocks_max = 50;
    Duration behind_max = std::chrono::seconds(1);  // a longer stall is not caught up; pace `real`
  };

  struct Stats {
    std::uint64_t blocks = 0;  // made so far
    std::uint64_t stations_joined = 0;
    std::uint64_t stations_lost = 0;    // for whatever reason
    std::uint64_t refused = 0;          // hellos
    std::uint64_t protocol_errors = 0;  // of stations and strangers
    std::uint64_t accept_errors = 0;    // such as no descriptor left
    std::uint64_t blocks_late = 0;      // answers that nobody heard
    std::uint64_t blocks_skipped = 0;   // not sent to a station that does not answer
    std::size_t stations_present = 0;
  };

  explicit CableHub(const Config& config);
  ~CableHub();

  /// Takes the socket path; stations may connect from now on.
  Result<void> open();
  /// Serves until stop(). A station that misbehaves is cut off and may come again. At pace `max`
  /// time stands still while one is missing; at pace `real` it goes on.
  Result<void> run();
  /// From any thread, or a signal handler.
  void stop();
  Stats stats() const;

 private:
  struct Sent {
    std::uint64_t index = 0;
    bool valid = false;
    bool keyed = false;
    std::vector<float> samples;
  };
  struct Seat {
    posix::Fd socket;
    Bytes in;                   // a block and …
    std::size_t held = 0;       // … how much of it has come
    Bytes out;                  // what the socket has not taken yet
    std::vector<float> newest;  // samples of the block just read
    std::vector<Sent> answers;  // ring, by index
    std::uint32_t late = 0;     // to be told with the next block
    std::uint64_t unanswered = 0;
    std::optional<std::uint64_t> newest_sent;  // indices on this connection
    std::optional<std::uint64_t> newest_answered;
  };
  struct Stranger {
    posix::Fd socket;
    Bytes in = Bytes(cable::kHelloBytes);
    std::size_t held = 0;
    Duration deadline{};
  };

  Result<bool> wait_for_sockets(std::optional<Duration> until);
  void accept_strangers();
  void read_stranger(Stranger& stranger);
  void drop_slow_strangers();
  void admit(Stranger& stranger, const cable::Hello& hello);
  void read_station(Seat& seat);
  bool take_answer(Seat& seat);
  void flush(Seat& seat);
  void lose(Seat& seat);
  void send_block(Seat& seat, std::span<const float> samples);
  void advance_lockstep();
  void advance_real_time(Duration now);
  Duration next_tick() const;
  std::optional<Duration> next_deadline() const;
  void make_next_block();
  Duration lasted(std::uint64_t blocks) const;
  void count(std::uint64_t Stats::*counter);

  Config config_;
  CableMixer mixer_;
  posix::Fd listener_;
  posix::Fd wake_;
  std::optional<Duration> accept_again_;  // the listener rests until then
  std::vector<pollfd> polls_;
  std::vector<Seat> seats_;
  std::vector<std::span<const float>> sent_;  // by station, for the mixer
  std::vector<std::vector<float>> heard_;     // by station, the newest block
  std::vector<Stranger> strangers_;
  std::uint64_t index_ = 0;  // of the newest block made
  std::uint64_t delay_blocks_ = 0;
  Duration utc_began_{};    // time of day when it was opened
  Duration ticks_began_{};  // pace `real`: block n is due n block times after this
  std::uint64_t ticks_ = 0;

  mutable std::mutex stats_mutex_;
  Stats stats_;
};

}  // namespace s5066::modem
