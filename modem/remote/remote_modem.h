// A modem at the other end of two TCP connections: another machine's `hfmodem serve`, or whatever
// else speaks docs/REMOTE_MODEM.md. A connection that is lost ends what was going on, as the loss
// of a sound card does, and is made again for as long as it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "modem/api/modem.h"
#include "modem/remote/messages.h"
#include "modem/remote/streams.h"
#include "modem/remote/user_session.h"
#include "s5066d/base/log.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

/// Instant{} is when the object was made. The time is that of this machine; what the host tells in
/// its own is set into it, later by what the network takes.
class RemoteModem final : public Modem {
 public:
  struct Config {
    std::string address = "127.0.0.1";
    std::uint16_t control_port = 5067;
    std::uint16_t data_port = 5068;
    std::vector<Mode> receive_modes;  // empty: what the host listens for
    /// Then the host is gone.
    Duration silence_max = std::chrono::seconds(3);
    /// So long without one of the octets that it announced, or without taking any of what it is
    /// told.
    Duration stalled_max = std::chrono::seconds(3);
    /// So long after it was told to end a burst without telling that it has.
    Duration abort_max = std::chrono::seconds(3);
    Duration ping_interval = std::chrono::milliseconds(500);
    Duration connect_timeout = std::chrono::seconds(3);
    Duration reconnect_delay = std::chrono::milliseconds(200);  // doubled at each attempt …
    Duration reconnect_delay_max = std::chrono::seconds(5);     // … up to this
    std::size_t events_max = 1024;
    std::size_t commands_max = 16;
  };

  /// `log`, if any, is written to by a thread of this object.
  RemoteModem(Config config, std::function<void()> notify, LogSink* log = nullptr);
  ~RemoteModem() override;
  RemoteModem(const RemoteModem&) = delete;
  RemoteModem& operator=(const RemoteModem&) = delete;

  /// Whether there is a host turns out later, and is told as a Fault.
  Result<void> start() override;
  /// The host unkeys when the connection ends.
  void stop() override;
  Result<void> request(Command command) override;
  std::optional<Event> poll_event() override;
  Instant now() const override;
  bool finished() const override;
  ModemStats stats() const override;
  bool lockstep() const override { return false; }
  void release(Instant) override {}
  Duration utc_began() const override { return {}; }

 private:
  struct Link {
    posix::Fd control;
    posix::Fd data;
    remote::UserSession session;
    remote::ClockMatch clocks;
    Instant heard_at{};
    Instant pinged_at{};
    remote::StallWatches stalls;
  };

  void run();
  bool stopping() const;
  void pause(Duration duration);
  Result<void> converse(unsigned version);
  Result<void> exchange(Link& link);
  Result<void> check(Link& link, Instant present);
  void on_connected(Link& link);
  void give_commands(Link& link);
  Result<void> take(Link& link, const remote::HostMessage& message);
  Result<void> take_event(const Link& link, Event event);
  void log_if_not_sent(TransmitOutcome outcome) const;
  void on_lost(const Error& error);
  void queue(Event event);

  const Config config_;
  const std::function<void()> notify_;
  const Duration began_;
  LogSink* const log_;
  remote::Wakeup wakeup_;
  std::thread thread_;
  bool turned_away_ = false;  // the thread's own: our last greeting

  mutable std::mutex mutex_;  // guards all below
  bool stopping_ = false;
  bool finished_ = false;
  bool connected_ = false;
  std::deque<Command> commands_;
  std::deque<Event> events_;
  std::optional<BurstId> burst_;  // requested, and its end not told
  bool started_ = false;          // it has
  std::optional<Instant> abort_asked_at_;
  bool carrier_ = false;
  bool occupied_ = false;
  std::string lost_told_;           // why, until it is back
  std::vector<Mode> listen_modes_;  // as wanted now; told to each new host
  Instant newest_{};                // `at` of the last event
  ModemStats stats_;
  bool device_lost_ = false;  // the host's
};

}  // namespace s5066::modem
