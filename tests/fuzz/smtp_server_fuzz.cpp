// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects protocol, TLS, cuts and answers of the spool, then the commands of a
// client. With bit 8, if TLS is offered, all commands are inside TLS; without it the client has to
// begin TLS itself. However the input is cut, no mail is accepted unencrypted if TLS is required,
// no message goes to the spool with a line end that another server could take for the end of the
// message, none exceeds the limits, and memory stays bounded.
#include <algorithm>

#include "gateways/acp142/smtp/smtp_server_core.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/rng.h"

using namespace s5066;
using namespace s5066::acp142;

namespace {

struct Session {
  SmtpServerCore& core;
  const SmtpServerCore::Config& config;
  Rng& rng;
  bool secure = false;
};

bool drain(Session& session, Instant now) {
  auto& [core, config, rng, secure] = session;
  bool committing = false;
  while (auto action = core.poll_action()) {
    if (const auto* send = std::get_if<SmtpServerCore::Send>(&*action)) {
      S5066_ASSERT(send->text.size() > 5 && send->text.substr(send->text.size() - 2) == "\r\n");
    } else if (const auto* commit = std::get_if<SmtpServerCore::Commit>(&*action)) {
      const Mail& mail = commit->mail;
      committing = true;
      S5066_ASSERT(mail.content.size() <= config.message_octets_max);
      S5066_ASSERT(!mail.envelope.recipients.empty());
      S5066_ASSERT(mail.envelope.recipients.size() <= config.recipients_max);
      const std::string* body = find_parameter(mail.envelope.from.parameters, "BODY");
      const bool binary = body != nullptr && lower_case(*body).rfind("binary", 0) == 0;
      S5066_ASSERT(binary || !check_lines(mail.content).bare);
      S5066_ASSERT(commit->secure == secure && (secure || !config.tls_required));
    } else if (std::holds_alternative<SmtpServerCore::StartTls>(*action)) {
      S5066_ASSERT(config.starttls && !secure && !core.reading());
      if (rng.below(4) == 0) {
        core.on_tls_failed();
      } else {
        secure = true;
        core.on_tls(now);
      }
    }
  }
  return committing;
}

void begin_tls(Session& session, Instant now) {
  const std::string_view clear =
      session.config.lmtp ? "LHLO me\r\nSTARTTLS\r\n" : "EHLO me\r\nSTARTTLS\r\n";
  session.core.on_bytes(now, {reinterpret_cast<const std::uint8_t*>(clear.data()), clear.size()});
  while (const auto action = session.core.poll_action()) {
    if (!std::holds_alternative<SmtpServerCore::StartTls>(*action)) continue;
    session.secure = true;
    session.core.on_tls(now);
  }
  S5066_ASSERT(session.secure);
}

/// Returns the size of the next piece. Half of the pieces end with a line, as a client sends that
/// waits for the reply.
std::size_t piece_size(ByteSpan rest, Rng& rng) {
  const auto line = std::find(rest.begin(), rest.end(), '\n');
  if (rng.below(2) == 0 && line != rest.end()) {
    return static_cast<std::size_t>(line - rest.begin()) + 1;
  }
  return std::min<std::size_t>(1 + rng.below(64), rest.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Rng rng(data[0]);
  AddressTable table;
  S5066_ASSERT(table.add({"far.example", {.own = false, .stations = {{2}}}}));
  SmtpServerCore::Config config;
  config.lmtp = data[0] % 2 == 1;
  config.starttls = (data[0] & 2) != 0;
  config.tls_required = config.starttls && (data[0] & 4) != 0;
  config.message_octets_max = 500;
  config.recipients_max = 3;
  config.command_octets_max = 200;
  config.text_line_octets_max = 50;
  IntakeRoom room{.octets_max = 800, .octets = 0};
  CounterSet<SmtpCounter> counters;
  {
    SmtpServerCore core(config, table, room, counters);
    Instant now{};
    Session session{core, config, rng};
    core.on_connected(now);
    if (config.starttls && (data[0] & 8) != 0) begin_tls(session, now);
    for (std::size_t at = 1; at < size;) {
      const std::size_t piece = piece_size({data + at, size - at}, rng);
      core.on_bytes(now, {data + at, piece});
      at += piece;
      now += std::chrono::seconds(rng.below(3));
      while (drain(session, now)) {
        core.on_committed(now, static_cast<CommitOutcome>(rng.below(3)));
      }
      core.on_deadline(now);
      S5066_ASSERT(room.octets <= room.octets_max);
    }
    drain(session, now);
  }
  S5066_ASSERT(room.octets == 0);
  return 0;
}
