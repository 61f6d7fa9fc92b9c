// SPDX-License-Identifier: Apache-2.0
// The server's half of HMTP with one station (F.5.2): an SMTP session that greets nobody, takes the
// content behind DATA whatever it has answered, and gives all its replies at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateways/acp142/smtp/smtp_server_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

class HmtpSession {
 public:
  struct Config {
    SmtpServerCore::Config server{};
    Duration reply_after = std::chrono::seconds(5);  // without input, if no QUIT has come
  };

  /// Table, room and counters outlive it.
  HmtpSession(const Config& config, const AddressTable& table, IntakeRoom& room,
              CounterSet<SmtpCounter>& counters);

  /// Takes one U_PDU. A hello at its beginning starts anew, because a part of the stream that was
  /// lost cannot be seen otherwise.
  void on_updu(Instant now, ByteSpan updu);
  void on_committed(Instant now, CommitOutcome outcome);
  void on_deadline(Instant now);

  /// Returns a message; answer with on_committed().
  std::optional<SmtpServerCore::Commit> poll_commit();
  /// Returns all replies that are due.
  std::optional<std::string> poll_replies();
  std::optional<Instant> next_deadline() const;
  /// True if a dialogue has begun and not ended.
  bool under_way() const { return server_ != nullptr; }
  /// True if nothing is left to do.
  bool idle() const { return server_ == nullptr && replies_.empty(); }

 private:
  void begin(Instant now);
  void drain();
  void arm(Instant now);

  const Config config_;
  const AddressTable& table_;
  IntakeRoom& room_;
  CounterSet<SmtpCounter>& counters_;
  std::unique_ptr<SmtpServerCore> server_;
  std::optional<SmtpServerCore::Commit> commit_;
  bool committing_ = false;
  std::string replies_;
  std::optional<Instant> reply_at_;
  bool due_ = false;
};

/// True if the octets begin with EHLO or HELO.
bool begins_with_hello(ByteSpan octets);

}  // namespace s5066::acp142
