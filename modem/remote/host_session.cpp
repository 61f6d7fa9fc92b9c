// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/host_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "s5066d/base/take_front.h"

namespace s5066::modem::remote {
namespace {

bool is_late(const Send& send, Instant now, Duration late_max) {
  return send.not_before != Instant{} && send.not_before < now - late_max;
}

}  // namespace

Result<void> HostSession::on_control(Instant now, std::string_view octets) {
  if (auto added = lines_.add(octets); !added) return added;
  while (const auto line = lines_.next()) {
    auto message = parse_user_line(*line);
    if (!message) return message.error();
    if (auto taken = take(now, std::move(*message)); !taken) return taken;
  }
  return check_unread();
}

Result<void> HostSession::check_unread() const {
  if (control_out_.size() + data_out_.size() <= config_.unread_max) return {};
  return Error{ErrorCode::too_large, "the user does not read"};
}

Result<void> HostSession::take(Instant now, UserMessage message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    if (greeted_) return Error{ErrorCode::bad_field, "HELLO was sent twice"};
    if (hello->version < kVersionLeast) {
      return Error{ErrorCode::unsupported, "this host supports protocol versions 1 and 2 only"};
    }
    greeted_ = true;
    version_ = std::min(hello->version, kVersion);
    tell(Welcome{.version = version_, .token = config_.token});
    return {};
  }
  if (!greeted_) return Error{ErrorCode::bad_field, "the first line must be HELLO"};
  if (std::holds_alternative<Ping>(message)) return {};
  if (!ready_) return Error{ErrorCode::bad_field, "a command came before READY"};
  if (waiting_.size() == config_.waiting_max) {
    return Error{ErrorCode::queue_full, "too many commands before the octets of a SEND"};
  }
  // The octets may take a little longer, so a message that is already late is recorded by the time
  // of its line.
  const auto* send = std::get_if<Send>(&message);
  const bool late = send != nullptr && is_late(*send, now, config_.late_max);
  waiting_.push_back({std::move(message), late});
  move_waiting(now);
  return {};
}

void HostSession::on_data_connected() {
  ready_ = true;
  tell(Ready{});
}

Result<void> HostSession::on_data(Instant now, ByteSpan octets) {
  if (unclaimed_.size() + octets.size() > 2 * kOctetsMax) {
    return Error{ErrorCode::too_large, "octets came that no SEND has announced"};
  }
  append(unclaimed_, octets);
  move_waiting(now);
  return {};
}

/// Messages are handled in their order: those behind a SEND wait for its octets.
void HostSession::move_waiting(Instant now) {
  while (!waiting_.empty()) {
    auto& [message, late] = waiting_.front();
    if (const auto* send = std::get_if<Send>(&message)) {
      if (unclaimed_.size() < send->octets) return;
      late = late || is_late(*send, now, config_.octets_late_max);
      const auto end = unclaimed_.begin() + static_cast<std::ptrdiff_t>(send->octets);
      TransmitBurst command{.id = send->id,
                            .mode = send->mode,
                            .bytes = Bytes(unclaimed_.begin(), end),
                            .not_before = send->not_before};
      unclaimed_.erase(unclaimed_.begin(), end);
      late ? abort(command) : give(std::move(command));
      late_ = late_ || late;
    } else if (const auto* abort = std::get_if<Abort>(&message)) {
      if (burst_ && burst_->theirs == abort->id) {
        commands_.emplace_back(AbortTransmit{.id = burst_->ours});
      }
    } else if (auto* listen = std::get_if<Listen>(&message)) {
      commands_.emplace_back(SetReceiveModes{.modes = std::move(listen->modes)});
    }
    waiting_.pop_front();
    ++moved_;
  }
}

void HostSession::abort(const TransmitBurst& command) {
  tell(Happened{.event = TransmitFinished{.at = command.not_before,
                                          .id = command.id,
                                          .outcome = TransmitOutcome::aborted}});
}

/// The modem sends one burst at a time, and would refuse a second one without naming it.
void HostSession::give(TransmitBurst command) {
  if (burst_) return abort(command);
  burst_ = Burst{.theirs = command.id, .ours = {next_++}};
  command.id = burst_->ours;
  commands_.emplace_back(std::move(command));
}

Result<void> HostSession::on_event(const Event& event) {
  if (!ready_) return {};
  Happened happened{.event = event};
  if (auto* started = std::get_if<TransmitStarted>(&happened.event)) {
    if (!burst_ || burst_->ours != started->id) return {};  // the burst belongs to a previous user
    started->id = burst_->theirs;
  } else if (auto* finished = std::get_if<TransmitFinished>(&happened.event)) {
    if (!burst_ || burst_->ours != finished->id) return {};
    finished->id = burst_->theirs;
    burst_.reset();
  } else if (auto* received = std::get_if<ReceivedBytes>(&happened.event)) {
    happened.octets = received->bytes.size();
    append(data_out_, received->bytes);
    received->bytes.clear();
  } else if (std::holds_alternative<ChannelOccupancy>(happened.event)) {
    if (version_ < kVersionOfOccupancy) return {};
  } else if (const auto* fault = std::get_if<Fault>(&happened.event)) {
    // The fault concerns a burst of a previous user. Passing it on would end the burst whose octets
    // this user is sending.
    if (fault->kind == FaultKind::command_refused && !burst_) return {};
    if (fault->kind == FaultKind::command_refused) burst_.reset();
  }
  tell(happened);
  return check_unread();
}

std::optional<Command> HostSession::poll_command() {
  return take_front(commands_);
}

std::optional<BurstId> HostSession::burst() const {
  if (!burst_) return std::nullopt;
  return burst_->ours;
}

}  // namespace s5066::modem::remote
