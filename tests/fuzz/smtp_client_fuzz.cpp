// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects protocol, TLS and cuts, then the replies of a mail server. With bit
// 64, if TLS is used, all replies are inside TLS; without it the server has to begin TLS first.
// However the input is cut, each recipient has one outcome, the client sends nothing after it has
// given up the connection, no part of the message goes out unencrypted if TLS is required, and a
// message counts as delivered only if the server was sent all of its content.
#include <algorithm>
#include <span>

#include "gateways/acp142/smtp/smtp_client_core.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/rng.h"

using namespace s5066;
using namespace s5066::acp142;

namespace {

std::shared_ptr<const Mail> mail(std::uint8_t choice) {
  auto mail = std::make_shared<Mail>();
  mail->envelope.from = *parse_path("<a@b> RET=FULL ENVID=7", PathUse::reverse);
  if ((choice & 32) != 0) mail->envelope.from.parameters.push_back({"BODY", "BINARYMIME"});
  for (const char* to : {"<x@y> NOTIFY=SUCCESS", "<z@y>"}) {
    mail->envelope.recipients.push_back(*parse_path(to, PathUse::forward));
  }
  constexpr std::string_view kContent = "S: 1\r\n\r\n.hi\r\nsecret\r\n";
  mail->content.assign(kContent.begin(), kContent.end());
  if ((choice & 16) != 0) mail->content[9] = 0xE4;
  return mail;
}

SmtpClientCore::Config config_of(std::uint8_t choice) {
  SmtpClientCore::Config config;
  config.lmtp = (choice & 1) != 0;
  config.tls = static_cast<SmtpClientCore::Tls>(((choice >> 1) & 3) % 3);
  config.reply_octets_max = 200;
  config.reply_lines_max = 10;
  return config;
}

/// A client whose server replies with the fuzzer's octets. Each action is checked.
class Session {
 public:
  explicit Session(std::uint8_t choice)
      : choice_(choice), rng_(choice), config_(config_of(choice)), core_(config_, mail(choice)) {}

  void run(std::span<const std::uint8_t> octets) {
    core_.on_connected(now_);
    if (config_.tls != SmtpClientCore::Tls::never && (choice_ & 64) != 0) start_tls();
    for (std::size_t at = 0; at < octets.size() && !closed_;) {
      const std::size_t piece = piece_of(octets.subspan(at));
      core_.on_bytes(now_, octets.subspan(at, piece));
      at += piece;
      drain();
      now_ += std::chrono::seconds(rng_.below(20));
      core_.on_deadline(now_);
      drain();
    }
    core_.on_disconnected(now_, "the end");
    drain();
    S5066_ASSERT(done_ && closed_);
  }

 private:
  /// Returns how many octets arrive at once. Half of the pieces end with a line, because a server
  /// sends whole lines and waits for the next command.
  std::size_t piece_of(std::span<const std::uint8_t> left) {
    const auto line = std::find(left.begin(), left.end(), '\n');
    return rng_.below(2) == 0 && line != left.end()
               ? static_cast<std::size_t>(line - left.begin()) + 1
               : std::min<std::size_t>(1 + rng_.below(64), left.size());
  }
  void start_tls() {
    for (const std::string_view clear :
         {"220 mx\r\n", "250-mx\r\n250 STARTTLS\r\n", "220 go\r\n"}) {
      core_.on_bytes(now_, {reinterpret_cast<const std::uint8_t*>(clear.data()), clear.size()});
      while (const auto action = core_.poll_action()) {
        if (!std::holds_alternative<SmtpClientCore::StartTls>(*action)) continue;
        secure_ = true;
        core_.on_tls(now_);
      }
    }
    S5066_ASSERT(secure_);
  }
  void drain() {
    while (const auto action = core_.poll_action()) {
      S5066_ASSERT(!closed_);
      if (const auto* send = std::get_if<SmtpClientCore::Send>(&*action)) {
        check(*send);
      } else if (std::holds_alternative<SmtpClientCore::StartTls>(*action)) {
        answer_start_tls();
      } else if (const auto* end = std::get_if<SmtpClientCore::Done>(&*action)) {
        check(*end);
      } else {
        closed_ = true;
      }
    }
  }
  void check(const SmtpClientCore::Send& send) {
    const bool clear_required = config_.tls == SmtpClientCore::Tls::required && !secure_;
    S5066_ASSERT(!clear_required || send.text.find('@') == std::string::npos);
    S5066_ASSERT(!secure_ || send.text != "STARTTLS\r\n");
    const bool content = send.text.find("secret") != std::string::npos;
    S5066_ASSERT(!content || (!content_sent_ && !done_ && !clear_required));
    content_sent_ |= content;
  }
  void check(const SmtpClientCore::Done& end) {
    S5066_ASSERT(!done_ && end.outcomes.size() == 2);
    done_ = true;
    for (const RecipientOutcome& one : end.outcomes) {
      S5066_ASSERT(one.kind != RecipientOutcome::Kind::delivered || content_sent_);
    }
  }
  void answer_start_tls() {
    S5066_ASSERT(config_.tls != SmtpClientCore::Tls::never && !secure_ && !content_sent_);
    S5066_ASSERT(!core_.reading());
    if (rng_.below(4) == 0) return core_.on_disconnected(now_, "handshake");
    secure_ = true;
    core_.on_tls(now_);
  }

  const std::uint8_t choice_;
  Rng rng_;
  const SmtpClientCore::Config config_;
  SmtpClientCore core_;
  Instant now_{};
  bool secure_ = false;
  bool closed_ = false;
  bool content_sent_ = false;
  bool done_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) Session(data[0]).run({data + 1, size - 1});
  return 0;
}
