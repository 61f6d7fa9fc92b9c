// SPDX-License-Identifier: Apache-2.0
// A modem at the other end of two TCP connections: `hfmodem serve` of another machine, or any
// program with the protocol of docs/operate/remote_modem.md. A lost connection ends transmission
// and reception, as the loss of a sound card does. The modem then connects again without a limit of
// attempts.
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

/// Instant{} is the time at which the object was made. Time is that of this machine. The host's
/// times are converted to it; the delay of the network makes them later.
class RemoteModem final : public Modem {
 public:
  struct Config {
    std::string address = "127.0.0.1";
    std::uint16_t control_port = 5067;
    std::uint16_t data_port = 5068;
    std::vector<Mode> receive_modes;  // empty: the host's own list
    /// After this time of silence the host counts as gone.
    Duration silence_max = std::chrono::seconds(3);
    /// The host may be this long without sending an octet that it announced, or without taking one
    /// that is sent to it.
    Duration stalled_max = std::chrono::seconds(3);
    /// The host may be this long without reporting the end of a burst that it was told to abort.
    Duration abort_max = std::chrono::seconds(3);
    Duration ping_interval = std::chrono::milliseconds(500);
    Duration connect_timeout = std::chrono::seconds(3);
    Duration reconnect_delay = std::chrono::milliseconds(200);  // doubled at each attempt …
    Duration reconnect_delay_max = std::chrono::seconds(5);     // … up to this
    std::size_t events_max = 1024;
    std::size_t commands_max = 16;
  };

  /// A thread of this object writes to `log`, if there is one.
  RemoteModem(Config config, std::function<void()> notify, LogSink* log = nullptr);
  ~RemoteModem() override;
  RemoteModem(const RemoteModem&) = delete;
  RemoteModem& operator=(const RemoteModem&) = delete;

  /// Succeeds also without a host; whether there is one is reported later as a Fault.
  Result<void> start() override;
  /// The host unkeys when the connection ends.
  void stop() override;
  Result<void> request(Command command) override;
  std::optional<Event> poll_event() override;
  Instant now() const override;
  bool finished() const override;
  ModemState state() const override;
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
  bool refused_ = false;  // used by the thread: the host refused our last greeting

  mutable std::mutex mutex_;  // guards all below
  bool stopping_ = false;
  bool finished_ = false;
  bool connected_ = false;
  std::deque<Command> commands_;
  std::deque<Event> events_;
  std::optional<BurstId> burst_;  // requested, and its end not reported
  bool started_ = false;          // the burst has started
  std::optional<Instant> abort_asked_at_;
  bool carrier_ = false;
  bool occupied_ = false;
  std::string lost_told_;           // the reason, until the host is back
  std::vector<Mode> listen_modes_;  // the modes wanted now; they are sent to each new host
  Instant newest_{};                // `at` of the last event
  ModemCounters counters_;
  bool device_lost_ = false;  // state of the host's device
};

}  // namespace s5066::modem
