// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/hmtp_dialogue.h"

#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kLineOctetsMax = 2048;
constexpr int kGreeting = 220;
constexpr int kGoOn = 354;

/// No other parameter than BODY is sent, because the others need an offer that is not waited for.
std::string mail_command(const Mail& mail) {
  const bool eight_bit = check_lines(mail.content).eight_bit;
  return "MAIL FROM:<" + mail.envelope.from.address + ">" + (eight_bit ? " BODY=8BITMIME" : "") +
         "\r\n";
}

}  // namespace

HmtpDialogue::HmtpDialogue(const std::string& hostname,
                           std::vector<std::shared_ptr<const Mail>> mails, bool plain) {
  using enum Expected::Command;
  text_ = (plain ? "HELO " : "EHLO ") + hostname + "\r\n";
  expect(hello);
  for (std::size_t i = 0; i < mails.size(); ++i) {
    const Mail& mail = *mails[i];
    text_ += mail_command(mail);
    expect(Expected::Command::mail, i);
    for (std::size_t k = 0; k < mail.envelope.recipients.size(); ++k) {
      text_ += "RCPT TO:<" + mail.envelope.recipients[k].address + ">\r\n";
      expect(recipient, i, k);
    }
    text_ += "DATA\r\n" + stuffed(mail.content);
    expect(data, i);
    expect(content, i);
    states_.push_back({std::move(mails[i]), {}});
    states_.back().outcomes.resize(states_.back().mail->envelope.recipients.size());
  }
  text_ += "QUIT\r\n";
  expect(quit);
}

void HmtpDialogue::expect(Expected::Command command, std::size_t mail, std::size_t recipient) {
  expected_.push_back({command, mail, recipient});
}

void HmtpDialogue::on_octets(std::string_view octets) {
  input_.append(octets);
  std::size_t at = 0;
  while (!over()) {
    const std::size_t end = input_.find('\n', at);
    if (end == std::string::npos) break;
    std::string_view line = std::string_view(input_).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    any_ = true;
    const auto reply = reader_.on_line(line);
    if (!reply) {
      broken_ = true;
    } else if (*reply) {
      on_reply(**reply);
    }
  }
  input_.erase(0, at);
  if (over()) input_.clear();
  if (input_.size() > kLineOctetsMax) broken_ = true;
}

// STANDARD: the clause shows no greeting, and nothing could cause one. One is taken all the same.
void HmtpDialogue::on_reply(const SmtpReply& reply) {
  using enum Expected::Command;
  if (std::exchange(first_, false) && reply.code == kGreeting) return;
  const Expected expected = *take_front(expected_);
  const bool good = reply.code / 100 == 2;
  switch (expected.command) {
    case hello:
      hello_refused_ = reply.code / 100 == 5 && text_.starts_with("EHLO");
      return;
    case Expected::Command::mail:
      // A server may take mail all the same, and all of it has been sent already.
      if (std::exchange(hello_refused_, false) && !good) {
        wants_plain_ = true;
        broken_ = true;
        return;
      }
      if (!good) settle(expected.mail, outcome_of(reply));
      return;
    case recipient:
      if (auto& one = states_[expected.mail].outcomes[expected.recipient]; !good && !one) {
        one = outcome_of(reply);
      }
      return;
    case data:
      if (reply.code == kGoOn) return;
      // The server takes the message for commands now, so no further reply has a meaning.
      settle(expected.mail, outcome_of(reply));
      end(expected.mail);
      data_refused_ = true;
      broken_ = true;
      return;
    case content:
      settle(expected.mail, outcome_of(reply));
      return end(expected.mail);
    case quit:
      return;
  }
}

void HmtpDialogue::settle(std::size_t mail, const RecipientOutcome& outcome) {
  for (auto& one : states_[mail].outcomes) {
    if (!one) one = outcome;
  }
}

void HmtpDialogue::end(std::size_t mail) {
  State& state = states_[mail];
  state.ended = true;
  Ended ended{.mail = mail, .done = {}};
  for (auto& one : state.outcomes) ended.done.outcomes.push_back(*std::move(one));
  ended_.push_back(std::move(ended));
}

std::optional<HmtpDialogue::Ended> HmtpDialogue::poll_ended() {
  return take_front(ended_);
}

std::vector<std::size_t> HmtpDialogue::open() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].ended) open.push_back(i);
  }
  return open;
}

}  // namespace s5066::acp142
