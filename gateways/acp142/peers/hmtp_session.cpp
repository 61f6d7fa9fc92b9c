// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/hmtp_session.h"

#include <algorithm>
#include <utility>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {

bool begins_with_hello(ByteSpan octets) {
  constexpr std::size_t kVerbOctets = 5;
  if (octets.size() < kVerbOctets) return false;
  const std::string_view verb(reinterpret_cast<const char*>(octets.data()), kVerbOctets);
  return same_but_for_case(verb, "EHLO ") || same_but_for_case(verb, "HELO ");
}

HmtpSession::HmtpSession(const Config& config, const AddressTable& table, IntakeRoom& room,
                         CounterSet<SmtpCounter>& counters)
    : config_(config), table_(table), room_(room), counters_(counters) {}

// Replies to what was cut off have no meaning for anybody.
void HmtpSession::begin(Instant now) {
  replies_.clear();
  due_ = false;
  commit_.reset();
  committing_ = false;
  server_ = std::make_unique<SmtpServerCore>(config_.server, table_, room_, counters_);
  server_->on_connected(now);
  while (server_->poll_action()) continue;  // the greeting
}

// Without a session the octets are the rest of one that has ended with an error.
void HmtpSession::on_updu(Instant now, ByteSpan updu) {
  if (begins_with_hello(updu)) begin(now);
  if (server_ == nullptr) return;
  server_->on_bytes(now, updu);
  drain();
  arm(now);
}

void HmtpSession::on_committed(Instant now, CommitOutcome outcome) {
  if (server_ == nullptr || !std::exchange(committing_, false)) return;
  server_->on_committed(now, outcome);
  drain();
  arm(now);
}

void HmtpSession::on_deadline(Instant now) {
  if (server_ != nullptr) {
    server_->on_deadline(now);
    drain();
  }
  if (reply_at_ && *reply_at_ <= now) {
    reply_at_.reset();
    due_ = !replies_.empty();
  }
}

void HmtpSession::drain() {
  while (server_ != nullptr) {
    auto action = server_->poll_action();
    if (!action) break;
    if (auto* send = std::get_if<SmtpServerCore::Send>(&*action)) {
      replies_ += send->text;
    } else if (auto* commit = std::get_if<SmtpServerCore::Commit>(&*action)) {
      commit_ = std::move(*commit);
      committing_ = true;
    } else {
      server_.reset();
      due_ = true;
    }
  }
}

// The client sends the rest of a content without waiting, so replies within it would only take the
// channel from it.
void HmtpSession::arm(Instant now) {
  reply_at_.reset();
  if (server_ != nullptr && !committing_ && !server_->in_content() && !replies_.empty()) {
    reply_at_ = now + config_.reply_after;
  }
}

std::optional<SmtpServerCore::Commit> HmtpSession::poll_commit() {
  return std::exchange(commit_, std::nullopt);
}

std::optional<std::string> HmtpSession::poll_replies() {
  if (!std::exchange(due_, false) || replies_.empty()) return std::nullopt;
  return std::exchange(replies_, {});
}

std::optional<Instant> HmtpSession::next_deadline() const {
  std::optional<Instant> next = reply_at_;
  const auto idle = server_ != nullptr ? server_->next_deadline() : std::nullopt;
  if (idle) next = next ? std::min(*next, *idle) : *idle;
  return next;
}

}  // namespace s5066::acp142
