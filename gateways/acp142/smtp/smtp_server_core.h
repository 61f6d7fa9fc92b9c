// SPDX-License-Identifier: Apache-2.0
// One SMTP (RFC 5321) or LMTP (RFC 2033) session of a mail server that hands messages over, without
// its socket. A message is answered with 250 only after the spool has it.
//
// An end of line is CR LF and nothing else: a session that sends one of the two alone is ended,
// because whoever reads such a line otherwise can be made to see another message in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/mail/mail_types.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

/// Room for the content of messages that are being received, common to all sessions.
struct IntakeRoom {
  std::size_t octets_max = 256u << 20;
  std::size_t octets = 0;
};

/// A rule that says who may use which precedence; the client has been looked at already.
struct SenderPrecedence {
  std::string from;  // a pattern of AddressTable
  int mt_priority_max = 0;
};

enum class CommitOutcome : std::uint8_t {
  committed,
  full,    // the spool has no room; try later
  failed,  // it could not be written; try later
};

enum class SmtpCounter : std::uint8_t {
  commands,
  messages,
  bare_line_ends,
  lines_too_long,
  messages_too_large,
  messages_refused,
  no_room,
  recipients_refused,
  syntax_errors,
  too_many_errors,
  timeouts,
  loops,
  precedences_lowered,
  tls,
  tls_failed,
  connections_refused,
  count
};
const CounterTable<SmtpCounter>& counter_table(SmtpCounter);

class SmtpServerCore {
 public:
  struct Config {
    std::string hostname = "localhost";
    std::string peer{};  // address of the client
    bool lmtp = false;
    bool starttls = false;      // offered
    bool tls_required = false;  // no mail without it
    // The content follows DATA whatever the reply is, because the client waits for none (F.5).
    bool content_follows = false;
    std::size_t message_octets_max = 16u << 20;
    std::size_t recipients_max = 1000;        // limit for one message; at least 100 by RFC 5321
    std::size_t command_octets_max = 2048;    // limit including CR LF
    std::size_t text_line_octets_max = 1000;  // limit including CR LF (RFC 5321 4.5.3.1.6)
    std::size_t received_max = 100;           // header fields, against loops (RFC 5321 6.3)
    std::size_t errors_max = 20;              // limit for a session
    std::size_t commands_without_mail_max = 1000;  // commands between two messages
    std::size_t progress_octets = 1024;            // content that must come within idle_max
    // The first whose pattern fits the sender says the highest MT-PRIORITY that he may use.
    std::vector<SenderPrecedence> precedence{};
    int mt_priority_max = kMtPriorityMax;  // used if no rule fits
    /// Limit for a whole line, or for that much content.
    Duration idle_max = std::chrono::minutes(5);
    Duration handshake_max = std::chrono::minutes(1);
  };

  struct Send {
    std::string text;
  };
  /// Answer with on_committed(); no input is looked at until then.
  struct Commit {
    Mail mail;
    std::string client;                    // the name that the client gave
    std::string peer;                      // its address
    bool secure = false;                   // it came inside TLS
    int mt_priority_max = kMtPriorityMax;  // limit for its sender
  };
  /// Shake hands, and answer with on_tls(); what fails is told by on_tls_failed().
  struct StartTls {};
  struct Close {};
  using Action = std::variant<Send, Commit, StartTls, Close>;

  /// Table, room and counters are shared with other sessions and outlive this one.
  SmtpServerCore(const Config& config, const AddressTable& table, IntakeRoom& room,
                 CounterSet<SmtpCounter>& counters);
  ~SmtpServerCore();
  SmtpServerCore(const SmtpServerCore&) = delete;
  SmtpServerCore& operator=(const SmtpServerCore&) = delete;

  void on_connected(Instant now);
  void on_bytes(Instant now, ByteSpan octets);
  /// `said`: what the client reads behind 250.
  void on_committed(Instant now, CommitOutcome outcome, std::string_view said = "Accepted");
  void on_tls(Instant now);
  void on_tls_failed();
  void on_deadline(Instant now);

  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;
  /// Is more input wanted now? What comes nevertheless is kept.
  bool reading() const {
    return phase_ != Phase::committing && phase_ != Phase::handshake && phase_ != Phase::closed;
  }
  /// True between DATA or BDAT and the end of what follows.
  bool in_content() const { return phase_ == Phase::data || phase_ == Phase::chunk; }

 private:
  enum class Phase : std::uint8_t { command, data, chunk, committing, handshake, closed };
  enum class Fault : std::uint8_t {
    none,
    too_large,
    no_room,
    line_too_long,
    not_text,
    no_recipient
  };

  void enter(Phase next);
  void work(Instant now);
  bool take_command(Instant now);
  bool take_data_line(Instant now);
  bool take_chunk(Instant now);
  void end_chunk(Instant now);
  void finish_message(Instant now);
  void keep(ByteSpan octets);
  void progress(Instant now, std::size_t octets);
  void on_bare_line_end();

  void on_command(Instant now, std::string_view line);
  void on_hello(std::string_view verb, std::string_view rest);
  void on_mail(std::string_view rest);
  int mt_priority_max_for(const std::string& sender) const;
  void on_recipient(std::string_view rest);
  void on_data(std::string_view rest);
  void on_bdat(Instant now, std::string_view rest);
  void on_starttls(Instant now, std::string_view rest);

  void reset_transaction();
  void reply(std::string_view text);
  void refuse(std::string_view text);  // counts as an error of the client
  void hang_up(std::string_view text);

  const Config config_;
  const AddressTable& table_;
  IntakeRoom& room_;
  CounterSet<SmtpCounter>& counters_;

  Phase phase_ = Phase::command;
  std::deque<Action> actions_;
  std::string input_;
  std::size_t input_at_ = 0;  // octets before this are done
  Instant progress_at_{};
  std::size_t progress_octets_ = 0;
  std::size_t errors_ = 0;
  std::size_t commands_ = 0;  // since the last message

  std::string client_;
  bool extended_ = false;
  bool secure_ = false;
  std::optional<Path> from_;
  int mt_priority_max_ = kMtPriorityMax;  // limit for this sender
  std::vector<Path> recipients_;
  std::size_t recipients_tried_ = 0;
  Bytes content_;
  std::size_t charged_ = 0;  // octets that are charged to the room
  Fault fault_ = Fault::none;
  bool dropping_line_ = false;
  std::uint64_t chunk_left_ = 0;
  bool chunk_last_ = false;
  bool chunked_ = false;     // BDAT has begun; DATA is not allowed any more
  std::size_t replies_ = 1;  // LMTP: one for each recipient
};
static_assert(DrivenCore<SmtpServerCore>);

}  // namespace s5066::acp142
