// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_client_core.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;

/// The extension that a server must have offered before it gets the parameter.
std::string_view extension_of(std::string_view keyword) {
  if (keyword == "RET" || keyword == "ENVID" || keyword == "NOTIFY" || keyword == "ORCPT") {
    return "dsn";
  }
  if (keyword == "BODY") return "8bitmime";
  if (keyword == "MT-PRIORITY") return "mt-priority";
  return keyword == "BY" ? "deliverby" : "";
}

}  // namespace

SmtpClientCore::SmtpClientCore(const Config& config, std::shared_ptr<const Mail> mail)
    : config_(config),
      mail_(std::move(mail)),
      replies_({.line_octets_max = config.reply_octets_max, .lines_max = config.reply_lines_max}),
      lines_(check_lines(mail_->content)),
      outcomes_(mail_->envelope.recipients.size()) {
  const std::string* body = find_parameter(mail_->envelope.from.parameters, "BODY");
  binary_ = body != nullptr && lower_case(*body).rfind("binary", 0) == 0;
}

// --- Events in -----------------------------------------------------------------------------------

void SmtpClientCore::on_connected(Instant now) {
  deadline_ = now + config_.reply_wait;
}

void SmtpClientCore::on_bytes(Instant now, ByteSpan octets) {
  input_.append(reinterpret_cast<const char*>(octets.data()), octets.size());
  std::size_t at = 0;
  while (reading()) {
    const std::size_t end = input_.find('\n', at);
    if (end == std::string::npos) break;
    std::string_view line = std::string_view(input_).substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    on_line(now, line);
    at = end + 1;
  }
  input_.erase(0, at);
  if (phase_ == Phase::handshake) {
    // Octets that follow in the clear could be taken for a part of what comes inside TLS.
    if (!input_.empty())
      return settle(Kind::deferred, "4.7.0",
                    "the mail server sent unencrypted octets after STARTTLS");
    actions_.push_back(StartTls{});
    deadline_ = now + config_.reply_wait;
  }
  if (phase_ != Phase::done && input_.size() > config_.reply_octets_max) {
    settle(Kind::deferred, "4.5.0", "a reply of the mail server has no end");
  }
}

// After STARTTLS nothing counts that the server offered in the clear (RFC 3207 4.2).
void SmtpClientCore::on_tls(Instant now) {
  if (phase_ != Phase::handshake) return;
  secure_ = true;
  say_hello(now);
}

void SmtpClientCore::on_disconnected(Instant, std::string why) {
  if (phase_ != Phase::done) settle(Kind::deferred, "4.4.2", why);
}

void SmtpClientCore::on_deadline(Instant now) {
  if (deadline_ && now >= *deadline_ && phase_ != Phase::done) {
    settle(Kind::deferred, "4.4.2", "the mail server does not answer");
  }
}

std::optional<SmtpClientCore::Action> SmtpClientCore::poll_action() {
  return take_front(actions_);
}

// --- Replies -------------------------------------------------------------------------------------

void SmtpClientCore::on_line(Instant now, std::string_view line) {
  const auto read = replies_.on_line(line);
  if (!read) return settle(Kind::deferred, "4.5.0", read.error().detail);
  if (phase_ == Phase::hello) {
    offered_.push_back(lower_case(line.substr(std::min<std::size_t>(4, line.size()))));
  }
  if (*read) on_reply(now, **read);
}

void SmtpClientCore::on_reply(Instant now, const Reply& reply) {
  switch (phase_) {
    case Phase::greeting:
      if (reply.code / 100 != 2) return settle(reply);
      return say_hello(now);
    case Phase::hello:
    case Phase::plain_hello:
      return on_hello_reply(now, reply);
    case Phase::starttls:
      return on_starttls_reply(now, reply);
    case Phase::envelope:
      return on_envelope_reply(now, reply);
    case Phase::content:
      return on_content_reply(reply);
    case Phase::handshake:
    case Phase::done:
      return;
  }
}

void SmtpClientCore::say_hello(Instant now) {
  offered_.clear();
  phase_ = Phase::hello;
  send(now, (config_.lmtp ? "LHLO " : "EHLO ") + config_.hostname + "\r\n", config_.reply_wait);
}

void SmtpClientCore::on_hello_reply(Instant now, const Reply& reply) {
  if (reply.code / 100 == 2) {
    if (config_.tls == Tls::never || secure_) return begin(now);
    if (offers("starttls")) {
      phase_ = Phase::starttls;
      return send(now, "STARTTLS\r\n", config_.reply_wait);
    }
    if (config_.tls == Tls::where_offered) return begin(now);
    return settle(Kind::deferred, "4.7.4", "the mail server does not offer STARTTLS");
  }
  if (phase_ == Phase::plain_hello || config_.lmtp || reply.code / 100 != 5) return settle(reply);
  offered_.clear();
  phase_ = Phase::plain_hello;
  send(now, "HELO " + config_.hostname + "\r\n", config_.reply_wait);
}

void SmtpClientCore::on_starttls_reply(Instant now, const Reply& reply) {
  if (reply.code == 220) {
    phase_ = Phase::handshake;
  } else if (config_.tls == Tls::where_offered) {
    begin(now);
  } else {
    settle(Kind::deferred, "4.7.0", "the mail server refuses STARTTLS: " + reply.text);
  }
}

bool SmtpClientCore::offers(std::string_view keyword) const {
  return std::any_of(offered_.begin(), offered_.end(), [&](const std::string& line) {
    return line == keyword || line.rfind(std::string(keyword) + " ", 0) == 0;
  });
}

// A message that the server cannot take is refused here, because to convert it would break
// signatures.
void SmtpClientCore::begin(Instant now) {
  by_chunk_ = binary_ && offers("binarymime") && offers("chunking");
  if (binary_ && !by_chunk_) {
    return settle(Kind::failed, "5.6.1", "the mail server does not accept binary content");
  }
  if (!binary_ && (lines_.bare || lines_.zero)) {
    return settle(Kind::failed, "5.6.0", "a text message has zero octets, or CR or LF alone");
  }
  if (lines_.eight_bit && !binary_ && !offers("8bitmime")) {
    return settle(Kind::failed, "5.6.3", "the mail server does not accept 8-bit content");
  }
  if (!offers("mt-priority")) keep_priority_in_header();
  phase_ = Phase::envelope;
  unsent_.push_back({Command::Kind::mail, 0});
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    unsent_.push_back({Command::Kind::recipient, i});
  }
  if (!by_chunk_) unsent_.push_back({Command::Kind::data, 0});
  send_next(now);
}

void SmtpClientCore::keep_priority_in_header() {
  if (auto content = with_priority_field(*mail_)) {
    mail_ = std::make_shared<Mail>(Mail{mail_->envelope, *std::move(content)});
  }
}

// PIPELINING lets all of it go out in one piece, DATA last (RFC 2920).
void SmtpClientCore::send_next(Instant now) {
  std::string text;
  while (!unsent_.empty() && (text.empty() || offers("pipelining"))) {
    const Command command = unsent_.front();
    unsent_.pop_front();
    switch (command.kind) {
      case Command::Kind::mail:
        text += "MAIL FROM:" + filtered(mail_->envelope.from, false) + "\r\n";
        break;
      case Command::Kind::recipient:
        text += "RCPT TO:" + filtered(mail_->envelope.recipients[command.recipient], true) + "\r\n";
        break;
      case Command::Kind::data:
        if (!offers("pipelining") && accepted_.empty()) return finish();
        text += "DATA\r\n";
        break;
    }
    unanswered_.push_back(command);
  }
  if (!text.empty()) send(now, std::move(text), config_.reply_wait);
}

std::string SmtpClientCore::filtered(const Path& path, bool recipient) const {
  Path kept{path.address, {}};
  for (const Parameter& p : path.parameters) {
    const std::string_view extension = extension_of(p.keyword);
    if (!extension.empty() && offers(extension)) kept.parameters.push_back(p);
  }
  if (!recipient) {
    if (offers("size")) {
      kept.parameters.push_back({"SIZE", std::to_string(mail_->content.size())});
    }
    if (lines_.eight_bit && !find_parameter(kept.parameters, "BODY")) {
      kept.parameters.push_back({"BODY", "8BITMIME"});
    }
  }
  return to_string(kept);
}

void SmtpClientCore::on_envelope_reply(Instant now, const Reply& reply) {
  if (unanswered_.empty())
    return settle(Kind::deferred, "4.5.0", "the mail server sent a reply without a command");
  const Command command = unanswered_.front();
  unanswered_.pop_front();
  const bool taken = reply.code / 100 == 2;
  switch (command.kind) {
    case Command::Kind::mail:
      if (taken) break;
      // Its replies to the rest of the envelope do not matter any more.
      return settle(reply);
    case Command::Kind::recipient:
      if (taken) {
        accepted_.push_back(command.recipient);
      } else {
        const Kind kind = reply.code / 100 == 5 ? Kind::failed : Kind::deferred;
        outcomes_[command.recipient] = {kind, status_of(reply.code, reply.text), reply.text,
                                        reply.code};
      }
      break;
    case Command::Kind::data:
      if (reply.code == 354 && accepted_.empty()) {
        // It wants a message for nobody; end it there (RFC 2920 3.1).
        return finish();
      }
      if (reply.code == 354) return send_content(now);
      return accepted_.empty() ? finish() : settle(reply);
  }
  if (!unanswered_.empty()) return;
  if (!unsent_.empty()) return send_next(now);
  if (by_chunk_) return accepted_.empty() ? finish() : send_content(now);
}

void SmtpClientCore::send_content(Instant now) {
  phase_ = Phase::content;
  answers_ = config_.lmtp ? accepted_.size() : 1;
  if (by_chunk_) {
    const Bytes& content = mail_->content;
    std::string text = "BDAT " + std::to_string(content.size()) + " LAST\r\n";
    text.append(content.begin(), content.end());
    return send(now, std::move(text), config_.final_wait);
  }
  send(now, stuffed(mail_->content), config_.final_wait);
}

void SmtpClientCore::on_content_reply(const Reply& reply) {
  polite_ = answers_ <= 1;
  if (!config_.lmtp) return settle(reply);
  const std::size_t index = accepted_[accepted_.size() - answers_];
  outcomes_[index] = {kind_of(reply.code), status_of(reply.code, reply.text), reply.text,
                      reply.code};
  if (--answers_ == 0) finish();
}

// --- The end -------------------------------------------------------------------------------------

/// For every recipient that has no outcome yet.
void SmtpClientCore::settle(Kind kind, std::string status, const std::string& text, int code) {
  for (auto& outcome : outcomes_) {
    if (!outcome) outcome = RecipientOutcome{kind, status, text, code};
  }
  finish();
}

void SmtpClientCore::settle(const Reply& reply) {
  // Only the reply to the content says that something was delivered.
  const Kind kind = kind_of(reply.code);
  if (kind == Kind::delivered && phase_ != Phase::content) {
    return settle(Kind::deferred, "4.5.0", reply.text, reply.code);
  }
  settle(kind, status_of(reply.code, reply.text), reply.text, reply.code);
}

void SmtpClientCore::finish() {
  phase_ = Phase::done;
  deadline_.reset();
  Done done;
  done.reports = offers("dsn");
  for (auto& outcome : outcomes_) done.outcomes.push_back(outcome.value_or(RecipientOutcome{}));
  actions_.push_back(std::move(done));
  if (polite_) actions_.push_back(Send{"QUIT\r\n"});
  actions_.push_back(Close{});
}

void SmtpClientCore::send(Instant now, std::string text, Duration wait) {
  actions_.push_back(Send{std::move(text)});
  deadline_ = now + wait;
}

}  // namespace s5066::acp142
