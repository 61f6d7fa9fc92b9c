// SPDX-License-Identifier: Apache-2.0
// The replies of SMTP servers (RFC 5321 4.2): three digits, a text, perhaps over several lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "s5066d/base/result.h"

namespace s5066::acp142 {

/// The result for one recipient.
struct RecipientOutcome {
  enum class Kind : std::uint8_t {
    delivered,  // the server has taken it over
    deferred,   // try again later
    failed,     // never try again
  };
  Kind kind = Kind::deferred;
  std::string status = "4.0.0";  // RFC 3463
  std::string text;              // text of the server, or our own
  int code = 0;                  // code of the server's reply; 0: the text is our own
};

struct SmtpReply {
  int code = 0;
  std::string text;  // text of the first line that has one
};

RecipientOutcome::Kind kind_of(int code);
/// Returns the enhanced status at the start of a reply's text (RFC 2034), or the class of its code.
std::string status_of(int code, std::string_view text);
/// Returns what the reply means for a recipient.
RecipientOutcome outcome_of(const SmtpReply& reply);
/// True if the line, without its end, is one of a reply.
bool is_reply_line(std::string_view line);

class SmtpReplyReader {
 public:
  struct Limits {
    std::size_t line_octets_max = 2048;
    std::size_t lines_max = 100;  // limit for one reply
  };

  explicit SmtpReplyReader(const Limits& limits) : limits_(limits) {}

  /// Takes a line without its end. Returns the reply that it ends, if it ends one; an error for a
  /// line that is not of SMTP, or beyond a limit.
  Result<std::optional<SmtpReply>> on_line(std::string_view line);
  /// True between the lines of a reply.
  bool within_reply() const { return lines_ > 0; }

 private:
  const Limits limits_;
  SmtpReply reply_;
  std::size_t lines_ = 0;
};

}  // namespace s5066::acp142
