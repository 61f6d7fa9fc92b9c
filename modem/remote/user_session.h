// SPDX-License-Identifier: Apache-2.0
// The user's end of the two connections to a host's modem, without sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "modem/api/port.h"
#include "modem/remote/messages.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/clock_follower.h"
#include "s5066d/base/result.h"

namespace s5066::modem::remote {

class UserSession {
 public:
  explicit UserSession(unsigned version = kVersion)
      : version_(version), control_out_(encode(UserMessage(Hello{.version = version}))) {}

  // --- In. An error ends the session. ---
  Result<void> on_control(std::string_view octets);
  Result<void> on_data(ByteSpan octets);
  void request(const Command& command);
  void ping() { tell(Ping{}); }

  // --- Out ---
  /// Returns the first message that waits for its octets and how many it has; nothing if no message
  /// waits.
  std::optional<Incomplete> incomplete() const {
    if (waiting_.empty()) return std::nullopt;
    return Incomplete{moved_, unclaimed_.size()};
  }
  /// Returns the token with which the data connection begins, once.
  std::optional<std::string> poll_token() { return std::exchange(token_, std::nullopt); }
  bool ready() const { return ready_; }
  /// Returns the version in use; 0 before the host's WELCOME.
  unsigned version_agreed() const { return agreed_; }
  /// Returns true when another user has the host's modem.
  bool in_use() const { return in_use_; }
  /// Returns clocks and events in the order and in the time of the host.
  std::optional<HostMessage> poll();
  std::string& control_out() { return control_out_; }
  Bytes& data_out() { return data_out_; }

 private:
  Result<void> take(HostMessage message);
  void move_waiting();
  void tell(const UserMessage& message) { control_out_ += encode(message); }

  unsigned version_;
  LineSplitter lines_;
  std::optional<std::string> token_;
  unsigned agreed_ = 0;
  bool in_use_ = false;
  bool ready_ = false;
  std::deque<HostMessage> waiting_;  // messages that wait for octets that have not come
  std::uint64_t moved_ = 0;          // messages that have waited and are done
  std::deque<HostMessage> done_;
  Bytes unclaimed_;
  std::string control_out_;
  Bytes data_out_;
};

/// Converts the host's clock to the user's time. A busy network delays every reading for a while,
/// so the host counts as having stood still only after a longer time than a sound card does.
class ClockMatch {
 public:
  void on_reading(Instant ours, Instant theirs);
  Instant to_ours(Instant theirs) const { return theirs - host_.ahead(); }
  Instant to_theirs(Instant ours) const { return ours + host_.ahead(); }

 private:
  ClockFollower host_{{.loss_window = std::chrono::seconds(5)}};
};

}  // namespace s5066::modem::remote
