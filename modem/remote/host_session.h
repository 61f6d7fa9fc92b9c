// SPDX-License-Identifier: Apache-2.0
// The host's end of one user's two connections, without sockets. Received messages become commands
// for the modem, and the modem's events become lines and octets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "modem/api/port.h"
#include "modem/remote/messages.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem::remote {

class HostSession {
 public:
  struct Config {
    std::string token;
    /// Bursts of different users, or of a restarted one, may have the same number. The numbers in
    /// the modem begin at this one.
    std::uint64_t first_burst = 1;
    /// A burst whose message comes later than this after its time is aborted, because the turn may
    /// then belong to another station.
    Duration late_max = kBurstLateMax;
    /// A burst whose octets are incomplete this long after its time is aborted as well. The limit
    /// is larger because the octets may take longer.
    Duration octets_late_max = kOctetsLateMax;
    std::size_t waiting_max = 64;             // commands that wait for octets before them
    std::size_t unread_max = 4 * kOctetsMax;  // octets that the user has not taken
  };

  explicit HostSession(Config config) : config_(std::move(config)), next_(config_.first_burst) {}

  // --- In. An error ends the session; its detail is the text for Refused. ---
  /// `now` is the time of the modem.
  Result<void> on_control(Instant now, std::string_view octets);
  /// The data connection has sent the token.
  void on_data_connected();
  Result<void> on_data(Instant now, ByteSpan octets);
  Result<void> on_event(const Event& event);
  void on_clock(Instant now) { tell(Clock{.now = now}); }

  // --- Out ---
  /// Returns the first message that waits for its octets and how many it has; nothing if no message
  /// waits.
  std::optional<Incomplete> incomplete() const {
    if (waiting_.empty()) return std::nullopt;
    return Incomplete{moved_, unclaimed_.size()};
  }
  std::optional<Command> poll_command();
  std::string& control_out() { return control_out_; }
  Bytes& data_out() { return data_out_; }
  bool greeted() const { return greeted_; }
  /// Returns the version in use, once greeted.
  unsigned version() const { return version_; }
  bool ready() const { return ready_; }
  const std::string& token() const { return config_.token; }
  /// Returns true once after a burst was aborted because it was late.
  bool take_late() { return std::exchange(late_, false); }
  /// Returns the burst that was given to the modem and has not ended there.
  std::optional<BurstId> burst() const;
  /// Returns the first number for the next session's Config.
  std::uint64_t next_burst() const { return next_; }

 private:
  struct Burst {
    BurstId theirs;
    BurstId ours;
  };

  struct Waiting {
    UserMessage message;
    bool late = false;
  };
  Result<void> take(Instant now, UserMessage message);
  Result<void> check_unread() const;
  void move_waiting(Instant now);
  void give(TransmitBurst command);
  void abort(const TransmitBurst& command);
  void tell(const HostMessage& message) { control_out_ += encode(message); }

  Config config_;
  LineSplitter lines_;
  std::deque<Waiting> waiting_;
  std::uint64_t moved_ = 0;  // messages that have waited and are done
  Bytes unclaimed_;          // octets without their SEND, or not complete yet
  std::deque<Command> commands_;
  std::optional<Burst> burst_;
  std::uint64_t next_;
  std::string control_out_;
  Bytes data_out_;
  bool greeted_ = false;
  unsigned version_ = kVersionLeast;  // version in use
  bool ready_ = false;
  bool late_ = false;
};

}  // namespace s5066::modem::remote
