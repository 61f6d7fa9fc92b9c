// SPDX-License-Identifier: Apache-2.0
// The client's half of an HMTP session (F.5.2, Table F-4): all commands and messages in one piece,
// without waiting, and what the replies to them mean for each recipient.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_types.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "gateways/acp142/smtp/smtp_reply.h"

namespace s5066::acp142 {

class HmtpDialogue {
 public:
  /// The outcome for each recipient of message `mail`, in their order.
  struct Ended {
    std::size_t mail = 0;
    SmtpClientCore::Done done;
  };

  /// `plain`: HELO, for a server that does not know EHLO.
  HmtpDialogue(const std::string& hostname, std::vector<std::shared_ptr<const Mail>> mails,
               bool plain);

  /// Returns all that is sent.
  const std::string& text() const { return text_; }
  /// Takes octets of the server. A reply that is not SMTP or out of place ends the session.
  void on_octets(std::string_view octets);
  std::optional<Ended> poll_ended();

  /// True if a whole reply is there for each command, or the session is broken.
  bool over() const { return broken_ || expected_.empty(); }
  /// True if the server did not know EHLO; nothing was delivered then.
  bool wants_plain() const { return wants_plain_; }
  /// True if the server did not take DATA; it took the content for commands then.
  bool data_refused() const { return data_refused_; }
  /// True if some of the replies are there, and others are missing.
  bool answered_in_part() const { return (any_ || !input_.empty()) && !over(); }
  std::size_t replies_missing() const { return expected_.size(); }
  /// Returns the messages that have not ended.
  std::vector<std::size_t> open() const;

 private:
  struct Expected {
    enum class Command { hello, mail, recipient, data, content, quit } command;
    std::size_t mail = 0;
    std::size_t recipient = 0;
  };
  struct State {
    std::shared_ptr<const Mail> mail;
    std::vector<std::optional<RecipientOutcome>> outcomes;
    bool ended = false;
  };

  void expect(Expected::Command command, std::size_t mail = 0, std::size_t recipient = 0);
  void on_reply(const SmtpReply& reply);
  void settle(std::size_t mail, const RecipientOutcome& outcome);
  void end(std::size_t mail);

  std::string text_;
  std::deque<Expected> expected_;
  std::vector<State> states_;
  std::deque<Ended> ended_;
  SmtpReplyReader reader_{SmtpReplyReader::Limits{}};
  std::string input_;
  bool first_ = true;  // a greeting may come before the first reply
  bool any_ = false;   // lines of replies have come
  bool broken_ = false;
  bool hello_refused_ = false;
  bool wants_plain_ = false;
  bool data_refused_ = false;
};

}  // namespace s5066::acp142
