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
  /// The first message that waits for its octets and what it has of them; none: none.
  std::optional<Incomplete> incomplete() const {
    if (waiting_.empty()) return std::nullopt;
    return Incomplete{moved_, unclaimed_.size()};
  }
  /// With which the data connection is to begin, once.
  std::optional<std::string> poll_token() { return std::exchange(token_, std::nullopt); }
  bool ready() const { return ready_; }
  /// That holds; 0 before the host's WELCOME.
  unsigned version_agreed() const { return agreed_; }
  /// Somebody else uses the host's modem.
  bool in_use() const { return in_use_; }
  /// Clocks and events in the order of the host, in its time.
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
  std::deque<HostMessage> waiting_;  // behind octets that have not come
  std::uint64_t moved_ = 0;          // messages that waited, and do no more
  std::deque<HostMessage> done_;
  Bytes unclaimed_;
  std::string control_out_;
  Bytes data_out_;
};

/// Puts the host's clock into the user's time. A network that is full for a while makes every
/// reading late, so more time passes here than for a sound card until a host is believed to have
/// stood still.
class ClockMatch {
 public:
  void on_reading(Instant ours, Instant theirs);
  Instant to_ours(Instant theirs) const { return theirs - host_.ahead(); }
  Instant to_theirs(Instant ours) const { return ours + host_.ahead(); }

 private:
  ClockFollower host_{{.loss_window = std::chrono::seconds(5)}};
};

}  // namespace s5066::modem::remote
