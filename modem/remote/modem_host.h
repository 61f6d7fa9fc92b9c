// SPDX-License-Identifier: Apache-2.0
// Provides a modem to one user at a time over TCP (docs/operate/remote_modem.md). A user that loses
// a connection, sends an impossible message or is silent loses the modem, and the transmitter is
// unkeyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "modem/api/modem.h"
#include "modem/remote/host_session.h"
#include "modem/remote/streams.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

class ModemHost {
 public:
  struct Config {
    std::string address = "127.0.0.1";
    std::uint16_t control_port = 5067;  // 0 takes any free port
    std::uint16_t data_port = 5068;
    std::vector<Mode> receive_modes;  // the default, unless the user states others
    std::function<void()> on_turn;    // called in each loop of run(); may be empty
    /// After this time of silence the user counts as gone.
    Duration silence_max = std::chrono::seconds(3);
    /// A user may be this long without sending an octet that a SEND needs, or without taking one
    /// that is sent to it.
    Duration stalled_max = std::chrono::seconds(3);
    // The user must have made both connections this long after the first.
    Duration greeting_max = std::chrono::seconds(5);
    Duration clock_interval = std::chrono::milliseconds(200);
    /// A listener that fails, mostly because there are no descriptors, is not used for this time.
    Duration accept_retry = std::chrono::seconds(1);
    /// The two limits are those of HostSession::Config.
    Duration late_max = kBurstLateMax;
    Duration octets_late_max = remote::kOctetsLateMax;
  };
  using Factory = std::function<std::unique_ptr<Modem>(std::function<void()> notify)>;

  ModemHost(Config config, const Factory& make_modem, LogSink& log);
  ~ModemHost();

  /// Listens and starts the modem.
  Result<void> open();
  std::uint16_t control_port() const { return control_port_; }
  std::uint16_t data_port() const { return data_port_; }
  /// Runs until stop() or until the modem has ended.
  Result<void> run();
  /// May be called from any thread.
  void stop();

  // --- For Config::on_turn only, which runs in the thread of run(). ---
  ModemState modem() const { return modem_->state(); }
  /// Returns the address of the user; empty while nobody has the modem.
  std::string user() const { return user_ && user_->data ? user_->peer : std::string(); }

 private:
  struct User {
    remote::HostSession session;
    std::string peer;  // address of the user
    posix::Fd control;
    posix::Fd data;
    posix::Fd without_token;  // a data connection that has not sent the token yet
    std::string shown;
    remote::StallWatches stalls;
    Duration came_at{};
    Duration heard_at{};
    Duration clock_sent_at{};
  };

  struct Listener {
    posix::Fd socket;
    Duration rests_until{};
  };

  void wait();
  posix::Fd accept(Listener& listener);
  void accept_control();
  void accept_data();
  Result<void> serve_user();
  Result<void> let_data_in();
  Result<void> check_user();
  void end_user(const Error& error);
  void give_commands();
  void take_events();
  Result<void> give(TransmitBurst burst);
  void abort(BurstId burst);
  void abort_what_is_told_to_be_refused();
  void listen_for(std::vector<Mode> modes);
  void insist();
  static std::string token();

  const Config config_;
  LogSink& log_;
  remote::Wakeup wakeup_;
  std::atomic<bool> stopping_{false};
  Listener control_listener_;
  Listener data_listener_;
  std::uint16_t control_port_ = 0;
  std::uint16_t data_port_ = 0;
  std::optional<User> user_;
  std::uint64_t next_burst_ = 1;
  // These commands are sent once the modem has room for them.
  std::optional<BurstId> to_abort_;
  std::optional<std::vector<Mode>> to_listen_;
  std::optional<CarrierUp> carrier_;
  std::optional<ChannelOccupancy> occupied_;
  std::optional<Fault> lost_;
  std::optional<Fault> key_failed_;
  std::unique_ptr<Modem> modem_;  // the last member, because its thread wakes us
};

}  // namespace s5066::modem
