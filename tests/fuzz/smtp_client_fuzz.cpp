// Input: an octet that chooses protocol, TLS and cuts, then what a mail server says; with the bit
// 64 where TLS is used all of it inside TLS, which otherwise the server must get as far as. However
// it is cut, each recipient has one outcome, nothing is said after the connection is given up,
// nothing of the message goes out in the clear where TLS is required, and only a server that has
// been sent all of the content can have made it delivered.
#include <algorithm>

#include "gateways/acp142/smtp_client_core.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = data[0];
  Rng rng(choice);
  SmtpClientCore::Config config;
  config.lmtp = (choice & 1) != 0;
  config.tls = static_cast<SmtpClientCore::Tls>(((choice >> 1) & 3) % 3);
  config.reply_octets_max = 200;
  config.reply_lines_max = 10;
  SmtpClientCore core(config, mail(choice));
  Instant now{};
  bool secure = false;
  bool closed = false;
  bool content_sent = false;
  std::optional<SmtpClientCore::Done> done;
  const auto drain = [&] {
    while (auto action = core.poll_action()) {
      S5066_ASSERT(!closed);
      if (const auto* send = std::get_if<SmtpClientCore::Send>(&*action)) {
        const bool clear_required = config.tls == SmtpClientCore::Tls::required && !secure;
        S5066_ASSERT(!clear_required || send->text.find('@') == std::string::npos);
        S5066_ASSERT(!secure || send->text != "STARTTLS\r\n");
        const bool content = send->text.find("secret") != std::string::npos;
        S5066_ASSERT(!content || (!content_sent && !done && !clear_required));
        content_sent |= content;
      } else if (std::holds_alternative<SmtpClientCore::StartTls>(*action)) {
        S5066_ASSERT(config.tls != SmtpClientCore::Tls::never && !secure && !content_sent);
        S5066_ASSERT(!core.reading());
        if (rng.below(4) == 0) {
          core.on_disconnected(now, "handshake");
        } else {
          secure = true;
          core.on_tls(now);
        }
      } else if (const auto* end = std::get_if<SmtpClientCore::Done>(&*action)) {
        S5066_ASSERT(!done && end->outcomes.size() == 2);
        done = *end;
        for (const RecipientOutcome& one : end->outcomes) {
          S5066_ASSERT(one.kind != RecipientOutcome::Kind::delivered || content_sent);
        }
      } else {
        closed = true;
      }
    }
  };
  core.on_connected(now);
  if (config.tls != SmtpClientCore::Tls::never && (choice & 64) != 0) {
    for (const std::string_view clear :
         {"220 mx\r\n", "250-mx\r\n250 STARTTLS\r\n", "220 go\r\n"}) {
      core.on_bytes(now, {reinterpret_cast<const std::uint8_t*>(clear.data()), clear.size()});
      while (const auto action = core.poll_action()) {
        if (!std::holds_alternative<SmtpClientCore::StartTls>(*action)) continue;
        secure = true;
        core.on_tls(now);
      }
    }
    S5066_ASSERT(secure);
  }
  for (std::size_t at = 1; at < size && !closed;) {
    // Often to the end of a line, as a server sends that waits for the next command.
    const auto* line = std::find(data + at, data + size, '\n');
    const std::size_t piece = rng.below(2) == 0 && line != data + size
                                  ? static_cast<std::size_t>(line - (data + at)) + 1
                                  : std::min<std::size_t>(1 + rng.below(64), size - at);
    core.on_bytes(now, {data + at, piece});
    at += piece;
    drain();
    now += std::chrono::seconds(rng.below(20));
    core.on_deadline(now);
    drain();
  }
  core.on_disconnected(now, "the end");
  drain();
  S5066_ASSERT(done && closed);
  return 0;
}
