// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/user_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "s5066d/base/take_front.h"

namespace s5066::modem::remote {
namespace {

/// The limit counts messages that wait for octets before them.
constexpr std::size_t kWaitingMax = 4096;

}  // namespace

Result<void> UserSession::on_control(std::string_view octets) {
  if (auto added = lines_.add(octets); !added) return added;
  while (const auto line = lines_.next()) {
    auto message = parse_host_line(*line);
    if (!message) return message.error();
    if (auto taken = take(std::move(*message)); !taken) return taken;
  }
  return {};
}

Result<void> UserSession::take(HostMessage message) {
  if (const auto* refused = std::get_if<Refused>(&message)) {
    in_use_ = refused->why == kInUse;
    return Error{ErrorCode::refused, "the modem's host says: " + refused->why};
  }
  if (auto* welcome = std::get_if<Welcome>(&message)) {
    if (agreed_ != 0) return Error{ErrorCode::bad_field, "WELCOME was sent twice"};
    if (welcome->version < kVersionLeast || welcome->version > version_) {
      return Error{ErrorCode::unsupported,
                   "the modem's host uses another protocol version; update it or this program"};
    }
    agreed_ = welcome->version;
    token_ = std::move(welcome->token);
    return {};
  }
  if (agreed_ == 0) return Error{ErrorCode::bad_field, "the host's first line must be WELCOME"};
  if (std::holds_alternative<Ready>(message)) {
    ready_ = true;
    return {};
  }
  if (!ready_) return Error{ErrorCode::bad_field, "the host's second line must be READY"};
  if (waiting_.size() == kWaitingMax) {
    return Error{ErrorCode::queue_full, "the host announces octets and does not send them"};
  }
  waiting_.push_back(std::move(message));
  move_waiting();
  return {};
}

Result<void> UserSession::on_data(ByteSpan octets) {
  if (unclaimed_.size() + octets.size() > 2 * kOctetsMax) {
    return Error{ErrorCode::too_large, "octets came that the host has not announced"};
  }
  append(unclaimed_, octets);
  move_waiting();
  return {};
}

void UserSession::move_waiting() {
  for (; !waiting_.empty(); waiting_.pop_front(), ++moved_) {
    HostMessage& message = waiting_.front();
    if (auto* happened = std::get_if<Happened>(&message)) {
      if (unclaimed_.size() < happened->octets) return;
      if (auto* received = std::get_if<ReceivedBytes>(&happened->event)) {
        const auto end = unclaimed_.begin() + static_cast<std::ptrdiff_t>(happened->octets);
        received->bytes.assign(unclaimed_.begin(), end);
        unclaimed_.erase(unclaimed_.begin(), end);
      }
    }
    done_.push_back(std::move(message));
  }
}

void UserSession::request(const Command& command) {
  if (const auto* burst = std::get_if<TransmitBurst>(&command)) {
    tell(Send{.id = burst->id,
              .mode = burst->mode,
              .not_before = burst->not_before,
              .octets = burst->bytes.size()});
    append(data_out_, burst->bytes);
  } else if (const auto* abort = std::get_if<AbortTransmit>(&command)) {
    tell(Abort{.id = abort->id});
  } else if (const auto* modes = std::get_if<SetReceiveModes>(&command)) {
    tell(Listen{.modes = modes->modes});
  }
}

std::optional<HostMessage> UserSession::poll() {
  return take_front(done_);
}

void ClockMatch::on_reading(Instant ours, Instant theirs) {
  host_.fall_back(host_.on_reading(ours.time_since_epoch(), theirs.time_since_epoch()));
}

}  // namespace s5066::modem::remote
