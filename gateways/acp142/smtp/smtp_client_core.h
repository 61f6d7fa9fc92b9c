// SPDX-License-Identifier: Apache-2.0
// Delivers one message to a mail server by SMTP (RFC 5321) or LMTP (RFC 2033), without its socket,
// and tells for each recipient what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateways/acp142/mail/mail_types.h"
#include "gateways/acp142/smtp/smtp_reply.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

class SmtpClientCore {
 public:
  enum class Tls : std::uint8_t { never, where_offered, required };
  struct Config {
    std::string hostname = "localhost";
    bool lmtp = false;
    Tls tls = Tls::never;
    std::size_t reply_octets_max = 2048;            // limit for one line
    std::size_t reply_lines_max = 100;              // limit for one reply
    Duration reply_wait = std::chrono::minutes(5);  // RFC 5321 4.5.3.2
    /// Wait for the reply to the end of the content.
    Duration final_wait = std::chrono::minutes(10);
  };

  struct Send {
    std::string text;
  };
  /// Once, with an outcome for each recipient in the order of the envelope.
  struct Done {
    std::vector<RecipientOutcome> outcomes;
    bool reports = false;  // the server said DSN: it tells about success itself
  };
  /// Shake hands, and answer with on_tls(), or with on_disconnected() when that fails.
  struct StartTls {};
  struct Close {};
  using Action = std::variant<Send, StartTls, Done, Close>;

  SmtpClientCore(const Config& config, std::shared_ptr<const Mail> mail);

  void on_connected(Instant now);
  void on_bytes(Instant now, ByteSpan octets);
  void on_tls(Instant now);
  /// The connection is gone, or never was.
  void on_disconnected(Instant now, std::string why);
  void on_deadline(Instant now);

  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const { return deadline_; }
  /// Is more input wanted now?
  bool reading() const { return phase_ != Phase::handshake && phase_ != Phase::done; }

 private:
  enum class Phase : std::uint8_t {
    greeting,
    hello,
    plain_hello,  // EHLO was not understood
    starttls,     // asked for
    handshake,
    envelope,
    content,  // its last octet is sent
    done,
  };
  using Reply = SmtpReply;
  /// A command of the envelope whose reply is to come.
  struct Command {
    enum class Kind : std::uint8_t { mail, recipient, data } kind;
    std::size_t recipient = 0;
  };

  void on_line(Instant now, std::string_view line);
  void on_reply(Instant now, const Reply& reply);
  void on_hello_reply(Instant now, const Reply& reply);
  void on_starttls_reply(Instant now, const Reply& reply);
  void say_hello(Instant now);
  void on_envelope_reply(Instant now, const Reply& reply);
  void on_content_reply(const Reply& reply);
  void begin(Instant now);
  void keep_priority_in_header();
  void send_next(Instant now);
  void send_content(Instant now);
  std::string filtered(const Path& path, bool recipient) const;
  bool offers(std::string_view keyword) const;
  void settle(RecipientOutcome::Kind kind, std::string status, const std::string& text,
              int code = 0);
  void settle(const Reply& reply);
  void finish();
  void send(Instant now, std::string text, Duration wait);

  const Config config_;
  std::shared_ptr<const Mail> mail_;
  Phase phase_ = Phase::greeting;
  bool secure_ = false;
  std::optional<Instant> deadline_;
  std::deque<Action> actions_;
  std::string input_;
  SmtpReplyReader replies_;
  std::vector<std::string> offered_;  // lines of the EHLO reply, in lower case
  LineCheck lines_;
  bool binary_ = false;
  bool by_chunk_ = false;
  std::vector<std::optional<RecipientOutcome>> outcomes_;
  std::vector<std::size_t> accepted_;
  std::deque<Command> unsent_;
  std::deque<Command> unanswered_;
  std::size_t answers_ = 0;  // answers to the content; LMTP has one for each accepted recipient
  bool polite_ = false;      // all of them are there, so QUIT can follow
};
static_assert(DrivenCore<SmtpClientCore>);

}  // namespace s5066::acp142
