// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_reply.h"

#include <algorithm>
#include <utility>

namespace s5066::acp142 {
namespace {

constexpr std::size_t kTextOctetsMax = 500;

int digit(std::string_view line, std::size_t i) {
  return line.size() > i && line[i] >= '0' && line[i] <= '9' ? line[i] - '0' : -1;
}

}  // namespace

RecipientOutcome::Kind kind_of(int code) {
  using Kind = RecipientOutcome::Kind;
  if (code / 100 == 2) return Kind::delivered;
  return code / 100 == 5 ? Kind::failed : Kind::deferred;
}

std::string status_of(int code, std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  const bool numbers = word.find_first_not_of("0123456789.") == std::string_view::npos;
  if (numbers && word.size() >= 5 && word.size() <= 9 && word[1] == '.' &&
      word[0] == '0' + code / 100 && std::count(word.begin(), word.end(), '.') == 2 &&
      word.back() != '.' && word.find("..") == std::string_view::npos) {
    return std::string(word);
  }
  return std::to_string(code / 100) + ".0.0";
}

RecipientOutcome outcome_of(const SmtpReply& reply) {
  return {kind_of(reply.code), status_of(reply.code, reply.text), reply.text, reply.code};
}

bool is_reply_line(std::string_view line) {
  const bool numbered =
      digit(line, 0) >= 2 && digit(line, 0) <= 5 && digit(line, 1) >= 0 && digit(line, 2) >= 0;
  return numbered && (line.size() == 3 || line[3] == ' ' || line[3] == '-');
}

Result<std::optional<SmtpReply>> SmtpReplyReader::on_line(std::string_view line) {
  if (!is_reply_line(line) || ++lines_ > limits_.lines_max ||
      line.size() > limits_.line_octets_max) {
    return Error{ErrorCode::bad_field, "a reply of the mail server is not SMTP"};
  }
  reply_.code = 100 * digit(line, 0) + 10 * digit(line, 1) + digit(line, 2);
  const std::string_view text = line.substr(std::min<std::size_t>(4, line.size()));
  if (reply_.text.empty()) reply_.text = text.substr(0, kTextOctetsMax);
  if (line.size() > 3 && line[3] == '-') return std::optional<SmtpReply>();
  lines_ = 0;
  return std::optional(std::exchange(reply_, SmtpReply{}));
}

}  // namespace s5066::acp142
