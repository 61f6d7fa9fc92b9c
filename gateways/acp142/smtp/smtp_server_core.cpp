// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_server_core.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/take_front.h"

namespace s5066::acp142 {
namespace {

constexpr CounterTable<SmtpCounter> kSmtpCounters({
    {SmtpCounter::commands, "smtp_commands", "commands", "commands of mail programs"},
    {SmtpCounter::messages, "smtp_messages", "messages", "messages taken over from mail programs"},
    {SmtpCounter::bare_line_ends, "smtp_bare_line_ends", "connections",
     "connections ended because of a CR or LF alone"},
    {SmtpCounter::lines_too_long, "smtp_lines_too_long", "lines",
     "commands and messages with a line that is too long"},
    {SmtpCounter::messages_too_large, "smtp_messages_too_large", "messages",
     "messages refused because of their size"},
    {SmtpCounter::messages_refused, "smtp_messages_refused", "messages",
     "messages refused because of zero octets or a CR or LF alone in them"},
    {SmtpCounter::no_room, "smtp_no_room", "messages",
     "messages put off because memory or spool is full"},
    {SmtpCounter::recipients_refused, "smtp_recipients_refused", "recipients",
     "recipients refused: too many, or without a route"},
    {SmtpCounter::syntax_errors, "smtp_syntax_errors", "commands",
     "commands refused as wrong or out of place"},
    {SmtpCounter::too_many_errors, "smtp_too_many_errors", "connections",
     "connections ended after too many errors, or commands without a message"},
    {SmtpCounter::timeouts, "smtp_timeouts", "connections",
     "connections ended because nothing came for too long"},
    {SmtpCounter::loops, "smtp_loops", "messages", "messages refused because they go in circles"},
    {SmtpCounter::precedences_lowered, "smtp_precedences_lowered", "messages",
     "messages whose MT-PRIORITY was above what the sender may use"},
    {SmtpCounter::tls, "smtp_tls", "connections", "connections that use TLS"},
    {SmtpCounter::tls_failed, "smtp_tls_failed", "connections",
     "connections whose TLS handshake failed"},
    {SmtpCounter::connections_refused, "smtp_connections_refused", "connections",
     "connections refused: too many, or not from an allowed address"},
});

/// "MAIL FROM: <a@b>": what is behind the colon, without the space that some put there.
std::optional<std::string_view> behind(std::string_view text, std::string_view word) {
  if (text.size() < word.size() || !same_but_for_case(text.substr(0, word.size()), word)) {
    return std::nullopt;
  }
  text.remove_prefix(word.size());
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ByteSpan octets_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

const CounterTable<SmtpCounter>& counter_table(SmtpCounter) {
  return kSmtpCounters;
}

SmtpServerCore::SmtpServerCore(const Config& config, const AddressTable& table, IntakeRoom& room,
                               CounterSet<SmtpCounter>& counters)
    : config_(config), table_(table), room_(room), counters_(counters) {}

SmtpServerCore::~SmtpServerCore() {
  room_.octets -= charged_;
}

// --- Events in -----------------------------------------------------------------------------------

void SmtpServerCore::on_connected(Instant now) {
  progress_at_ = now;
  reply("220 " + config_.hostname + (config_.lmtp ? " LMTP" : " ESMTP"));
}

void SmtpServerCore::on_bytes(Instant now, ByteSpan octets) {
  if (phase_ == Phase::closed) return;
  input_.append(reinterpret_cast<const char*>(octets.data()), octets.size());
  work(now);
}

void SmtpServerCore::on_committed(Instant now, CommitOutcome outcome, std::string_view said) {
  if (phase_ != Phase::committing) return;
  const std::size_t replies = std::exchange(replies_, 1);
  for (std::size_t i = 0; i < replies; ++i) {
    switch (outcome) {
      case CommitOutcome::committed:
        reply("250 2.0.0 " + std::string(said));
        break;
      case CommitOutcome::full:
        reply("452 4.3.1 The spool is full, try again later");
        break;
      case CommitOutcome::failed:
        reply("451 4.3.0 The message could not be stored, try again later");
        break;
    }
  }
  if (outcome == CommitOutcome::committed) {
    counters_.add(SmtpCounter::messages);
    commands_ = 0;
  } else if (outcome == CommitOutcome::full) {
    counters_.add(SmtpCounter::no_room);
  }
  enter(Phase::command);
  reset_transaction();
  progress(now, config_.progress_octets);
  work(now);
}

// Forgets what the client said before TLS (RFC 3207 4.2).
void SmtpServerCore::on_tls(Instant now) {
  if (phase_ != Phase::handshake) return;
  counters_.add(SmtpCounter::tls);
  secure_ = true;
  input_.clear();
  client_.clear();
  extended_ = false;
  enter(Phase::command);
  reset_transaction();
  progress(now, config_.progress_octets);
}

void SmtpServerCore::on_tls_failed() {
  if (phase_ != Phase::handshake) return;
  counters_.add(SmtpCounter::tls_failed);
  actions_.push_back(Close{});
  enter(Phase::closed);
}

void SmtpServerCore::on_deadline(Instant now) {
  const auto deadline = next_deadline();
  if (!deadline || now < *deadline) return;
  counters_.add(SmtpCounter::timeouts);
  if (phase_ == Phase::handshake) return on_tls_failed();
  hang_up("421 4.4.2 No command came in time");
}

// --- Out -----------------------------------------------------------------------------------------

std::optional<SmtpServerCore::Action> SmtpServerCore::poll_action() {
  return take_front(actions_);
}

std::optional<Instant> SmtpServerCore::next_deadline() const {
  if (phase_ == Phase::handshake) return progress_at_ + config_.handshake_max;
  if (!reading()) return std::nullopt;
  return progress_at_ + config_.idle_max;
}

// --- The stream ----------------------------------------------------------------------------------

void SmtpServerCore::enter(Phase next) {
  S5066_ASSERT(phase_ != Phase::closed);
  phase_ = next;
}

void SmtpServerCore::work(Instant now) {
  bool more = true;
  while (more) {
    switch (phase_) {
      case Phase::command:
        more = take_command(now);
        break;
      case Phase::data:
        more = take_data_line(now);
        break;
      case Phase::chunk:
        more = take_chunk(now);
        break;
      case Phase::committing:
      case Phase::handshake:
      case Phase::closed:
        more = false;
        break;
    }
  }
  input_.erase(0, std::exchange(input_at_, 0));
}

// A trickle of octets is no progress: whole lines are, and content at a certain rate.
void SmtpServerCore::progress(Instant now, std::size_t octets) {
  progress_octets_ += octets;
  if (progress_octets_ < config_.progress_octets) return;
  progress_octets_ = 0;
  progress_at_ = now;
}

bool SmtpServerCore::take_command(Instant now) {
  const std::string_view rest = std::string_view(input_).substr(input_at_);
  const std::size_t end = rest.substr(0, config_.command_octets_max).find('\n');
  if (end == std::string_view::npos) {
    if (rest.size() >= config_.command_octets_max) {
      counters_.add(SmtpCounter::lines_too_long);
      hang_up("500 5.5.2 Line too long");
    }
    return false;
  }
  input_at_ += end + 1;
  if (end == 0 || rest[end - 1] != '\r' || rest.substr(0, end - 1).find('\r') != rest.npos) {
    on_bare_line_end();
    return false;
  }
  progress(now, config_.progress_octets);
  on_command(now, rest.substr(0, end - 1));
  return true;
}

void SmtpServerCore::on_bare_line_end() {
  counters_.add(SmtpCounter::bare_line_ends);
  hang_up("521 5.5.2 A line must end with CR LF, not with CR or LF alone");
}

bool SmtpServerCore::take_data_line(Instant now) {
  const std::string_view rest = std::string_view(input_).substr(input_at_);
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) {
    // Only the last octet of a line that is too long matters: it may be the CR before the LF.
    if (rest.size() > config_.text_line_octets_max) {
      dropping_line_ = true;
      progress(now, rest.size() - 1);
      input_at_ += rest.size() - 1;
    }
    return false;
  }
  const std::string_view line = rest.substr(0, end + 1);
  input_at_ += line.size();
  progress(now, line.size());
  if (end == 0 || line[end - 1] != '\r' || line.substr(0, end - 1).find('\r') != line.npos) {
    on_bare_line_end();
    return false;
  }
  if (std::exchange(dropping_line_, false) || line.size() > config_.text_line_octets_max + 1) {
    if (fault_ == Fault::none) fault_ = Fault::line_too_long;
  } else if (line == ".\r\n") {
    finish_message(now);
  } else {
    keep(octets_of(line.front() == '.' ? line.substr(1) : line));
  }
  return true;
}

bool SmtpServerCore::take_chunk(Instant now) {
  const std::size_t octets =
      static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, input_.size() - input_at_));
  keep(octets_of(std::string_view(input_).substr(input_at_, octets)));
  input_at_ += octets;
  chunk_left_ -= octets;
  progress(now, octets);
  if (chunk_left_ > 0) return false;
  end_chunk(now);
  return true;
}

void SmtpServerCore::end_chunk(Instant now) {
  enter(Phase::command);
  if (!from_ || recipients_.empty()) {
    refuse("503 5.5.1 BDAT needs MAIL and RCPT before it");
    reset_transaction();
  } else if (chunk_last_) {
    finish_message(now);
  } else if (fault_ == Fault::none) {
    reply("250 2.0.0 " + std::to_string(content_.size()) + " octets received");
  } else {
    // A refused chunk ends the transaction (RFC 3030 2).
    finish_message(now);
  }
}

void SmtpServerCore::keep(ByteSpan octets) {
  if (fault_ == Fault::none && octets.size() > config_.message_octets_max - content_.size()) {
    fault_ = Fault::too_large;
  }
  if (fault_ == Fault::none && octets.size() > room_.octets_max - room_.octets) {
    fault_ = Fault::no_room;
  }
  if (fault_ == Fault::none) {
    room_.octets += octets.size();
    charged_ += octets.size();
    append(content_, octets);
  } else {
    content_ = Bytes();
    room_.octets -= std::exchange(charged_, 0);
  }
}

void SmtpServerCore::finish_message(Instant now) {
  enter(Phase::command);
  const std::string* body = from_ ? find_parameter(from_->parameters, "BODY") : nullptr;
  const bool binary = body != nullptr && lower_case(*body).rfind("binary", 0) == 0;
  if (fault_ == Fault::none && !binary) {
    const LineCheck lines = check_lines(content_);
    if (lines.bare || lines.zero) fault_ = Fault::not_text;
    if (lines.longest > config_.text_line_octets_max) fault_ = Fault::line_too_long;
  }
  const bool loop =
      fault_ == Fault::none && count_header_fields(content_, "Received") > config_.received_max;
  replies_ = config_.lmtp ? recipients_.size() : 1;
  const char* refusal = nullptr;
  if (loop) {
    counters_.add(SmtpCounter::loops);
    refusal = "554 5.4.6 Mail loop: the message has too many Received fields";
  } else if (fault_ == Fault::too_large) {
    counters_.add(SmtpCounter::messages_too_large);
    refusal = "552 5.3.4 Message too large";
  } else if (fault_ == Fault::no_room) {
    counters_.add(SmtpCounter::no_room);
    refusal = "452 4.3.1 No room for the message now, try again later";
  } else if (fault_ == Fault::line_too_long) {
    counters_.add(SmtpCounter::lines_too_long);
    refusal = "554 5.6.0 A line of the message is too long";
  } else if (fault_ == Fault::no_recipient) {
    refusal = "554 5.5.1 No valid recipients";
  } else if (fault_ == Fault::not_text) {
    counters_.add(SmtpCounter::messages_refused);
    refusal = "554 5.6.0 Zero octets, or CR or LF alone, need BODY=BINARYMIME";
  }
  if (refusal != nullptr) {
    const std::size_t replies = std::exchange(replies_, 1);
    for (std::size_t i = 0; i < replies; ++i) reply(refusal);
    reset_transaction();
    progress(now, config_.progress_octets);
    return;
  }
  enter(Phase::committing);
  actions_.push_back(
      Commit{Mail{Envelope{*std::move(from_), std::move(recipients_)}, std::move(content_)},
             client_, config_.peer, secure_, mt_priority_max_});
}

// --- Commands ------------------------------------------------------------------------------------

void SmtpServerCore::on_command(Instant now, std::string_view line) {
  counters_.add(SmtpCounter::commands);
  if (++commands_ > config_.commands_without_mail_max) {
    counters_.add(SmtpCounter::too_many_errors);
    return hang_up("421 4.7.0 Too many commands");
  }
  const bool clean = std::all_of(line.begin(), line.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 32 && static_cast<unsigned char>(c) < 127;
  });
  if (!clean) return refuse("500 5.5.2 A command must be printable ASCII");
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string verb = lower_case(line.substr(0, space));
  const std::string_view rest = behind(line.substr(space), "").value_or("");
  if (verb == "ehlo" || verb == "helo" || verb == "lhlo") return on_hello(verb, rest);
  if (verb == "mail") return on_mail(rest);
  if (verb == "rcpt") return on_recipient(rest);
  if (verb == "data") return on_data(rest);
  if (verb == "bdat") return on_bdat(now, rest);
  if (verb == "rset" && rest.empty()) {
    reset_transaction();
    return reply("250 2.0.0 Forgotten");
  }
  if (verb == "noop") return reply("250 2.0.0 OK");
  if (verb == "vrfy") return reply("252 2.5.0 Addresses are checked only when a message is sent");
  if (verb == "help") return reply("214 2.0.0 See RFC 5321");
  if (verb == "quit" && rest.empty()) return hang_up("221 2.0.0 Good bye");
  if (verb == "starttls" && config_.starttls) return on_starttls(now, rest);
  if (verb == "expn" || verb == "starttls" || verb == "auth") {
    return refuse("502 5.5.1 Command not offered");
  }
  refuse("500 5.5.1 Unknown command");
}

void SmtpServerCore::on_hello(std::string_view verb, std::string_view rest) {
  if ((verb == "lhlo") != config_.lmtp) {
    return refuse(config_.lmtp ? "500 5.5.1 This server speaks LMTP; use LHLO"
                               : "500 5.5.1 This server speaks SMTP; use EHLO");
  }
  if (rest.empty()) return refuse("501 5.5.4 The host name is missing");
  client_ = std::string(rest.substr(0, 255));
  reset_transaction();
  extended_ = verb != "helo";
  if (!extended_) return reply("250 " + config_.hostname);
  reply("250-" + config_.hostname + "\r\n250-PIPELINING\r\n250-SIZE " +
        std::to_string(config_.message_octets_max) +
        (config_.starttls && !secure_ ? "\r\n250-STARTTLS" : "") +
        "\r\n250-8BITMIME\r\n250-BINARYMIME\r\n250-CHUNKING\r\n250-DSN\r\n250-MT-PRIORITY"
        "\r\n250-DELIVERBY\r\n250 ENHANCEDSTATUSCODES");
}

// Somebody else may have put octets behind the command in the clear, so that they are taken for a
// part of what comes inside TLS.
void SmtpServerCore::on_starttls(Instant now, std::string_view rest) {
  if (!rest.empty()) return refuse("501 5.5.4 STARTTLS takes no argument");
  if (secure_) return refuse("503 5.5.1 The connection uses TLS already");
  if (client_.empty()) return refuse("503 5.5.1 Send EHLO or LHLO first");
  if (input_at_ < input_.size())
    return hang_up("503 5.5.1 Wait for the reply to STARTTLS before sending more");
  reset_transaction();
  reply("220 2.0.0 Ready to start TLS");
  progress(now, config_.progress_octets);
  actions_.push_back(StartTls{});
  enter(Phase::handshake);
}

void SmtpServerCore::on_mail(std::string_view rest) {
  const auto line = behind(rest, "from:");
  if (!line) return refuse("501 5.5.4 The syntax is MAIL FROM:<address>");
  if (client_.empty()) return refuse("503 5.5.1 Send EHLO or LHLO first");
  if (config_.tls_required && !secure_) return refuse("530 5.7.0 Send STARTTLS first");
  if (from_) return refuse("503 5.5.1 A message is already begun; finish it or send RSET");
  auto path = parse_path(*line, PathUse::reverse);
  if (!path) return refuse("501 5.1.7 " + path.error().detail);
  if (const auto bad = bad_parameter(path->parameters, PathUse::reverse)) {
    return refuse("555 5.5.4 Unknown or wrong parameter: " + bad->substr(0, 40));
  }
  const std::string* size = find_parameter(path->parameters, "SIZE");
  const std::uint64_t octets = size != nullptr ? number(*size).value_or(0) : 0;
  if (octets > config_.message_octets_max) {
    counters_.add(SmtpCounter::messages_too_large);
    return reply("552 5.3.4 Message too large");
  }
  if (octets > room_.octets_max - room_.octets) {
    counters_.add(SmtpCounter::no_room);
    return reply("452 4.3.1 No room for the message now, try again later");
  }
  from_ = std::move(path).value();
  mt_priority_max_ = mt_priority_max_for(from_->address);
  if (mt_priority(from_->parameters) <= mt_priority_max_) return reply("250 2.1.0 Sender accepted");
  set_mt_priority(from_->parameters, mt_priority_max_);
  counters_.add(SmtpCounter::precedences_lowered);
  reply("250 2.3.6 " + std::to_string(mt_priority_max_) +
        " is the MT-PRIORITY of this message, the highest that you may use");
}

int SmtpServerCore::mt_priority_max_for(const std::string& sender) const {
  for (const SenderPrecedence& one : config_.precedence) {
    if (fits(one.from, sender)) return one.mt_priority_max;
  }
  return config_.mt_priority_max;
}

void SmtpServerCore::on_recipient(std::string_view rest) {
  const auto line = behind(rest, "to:");
  if (!line) return refuse("501 5.5.4 The syntax is RCPT TO:<address>");
  if (!from_ || chunked_) return refuse("503 5.5.1 RCPT must follow MAIL and come before BDAT");
  if (++recipients_tried_ > 2 * config_.recipients_max ||
      recipients_.size() == config_.recipients_max) {
    counters_.add(SmtpCounter::recipients_refused);
    return reply("452 4.5.3 Too many recipients");
  }
  auto path = parse_path(*line, PathUse::forward);
  if (!path) return refuse("501 5.1.3 " + path.error().detail);
  if (const auto bad = bad_parameter(path->parameters, PathUse::forward)) {
    return refuse("555 5.5.4 Unknown or wrong parameter: " + bad->substr(0, 40));
  }
  const Route* route = table_.find(path->address);
  if (route == nullptr) {
    counters_.add(SmtpCounter::recipients_refused);
    return reply("550 5.1.2 No route for this address");
  }
  recipients_.push_back(std::move(path).value());
  reply("250 2.1.5 Recipient accepted");
}

void SmtpServerCore::on_data(std::string_view rest) {
  if (!rest.empty()) return refuse("501 5.5.4 DATA takes no argument");
  if (config_.content_follows && !chunked_ && recipients_.empty()) {
    fault_ = Fault::no_recipient;
    reply("354 The message will be refused");
    return enter(Phase::data);
  }
  if (!from_ || chunked_) return refuse("503 5.5.1 DATA must follow MAIL and RCPT, not BDAT");
  if (recipients_.empty()) return reply("554 5.5.1 No valid recipients");
  const std::string* body = find_parameter(from_->parameters, "BODY");
  if (body != nullptr && lower_case(*body).rfind("binary", 0) == 0) {
    return refuse("503 5.5.1 A message with BODY=BINARYMIME must be sent by BDAT");
  }
  reply("354 Send the message; end it with a line of one dot");
  enter(Phase::data);
}

void SmtpServerCore::on_bdat(Instant now, std::string_view rest) {
  const std::size_t space = rest.find(' ');
  const auto octets = number(rest.substr(0, space));
  const bool last =
      space != std::string_view::npos && same_but_for_case(rest.substr(space + 1), "last");
  if (!octets || (space != std::string_view::npos && !last)) {
    // How many octets follow is not known, so nothing behind it can be understood.
    return hang_up("501 5.5.4 The syntax is BDAT octets [LAST]");
  }
  if (*octets > config_.message_octets_max && (!from_ || recipients_.empty())) {
    return hang_up("503 5.5.1 BDAT needs MAIL and RCPT before it");
  }
  chunk_left_ = *octets;
  chunk_last_ = last;
  chunked_ = true;
  enter(Phase::chunk);
  static_cast<void>(take_chunk(now));
}

void SmtpServerCore::reset_transaction() {
  from_.reset();
  recipients_.clear();
  recipients_tried_ = 0;
  content_ = Bytes();
  room_.octets -= std::exchange(charged_, 0);
  fault_ = Fault::none;
  dropping_line_ = false;
  chunked_ = false;
}

// --- Replies -------------------------------------------------------------------------------------

void SmtpServerCore::reply(std::string_view text) {
  if (actions_.empty() || !std::holds_alternative<Send>(actions_.back())) {
    actions_.push_back(Send{});
  }
  std::get<Send>(actions_.back()).text.append(text).append("\r\n");
}

void SmtpServerCore::refuse(std::string_view text) {
  counters_.add(SmtpCounter::syntax_errors);
  if (++errors_ > config_.errors_max) {
    counters_.add(SmtpCounter::too_many_errors);
    return hang_up("421 4.7.0 Too many errors");
  }
  reply(text);
}

void SmtpServerCore::hang_up(std::string_view text) {
  reply(text);
  actions_.push_back(Close{});
  reset_transaction();
  enter(Phase::closed);
}

}  // namespace s5066::acp142
