// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace s5066::acp142 {
namespace {

Error bad(const char* what) {
  return Error{ErrorCode::bad_field, what};
}

bool is_printable(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u > 32 && u < 127;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool is_keyword(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Returns the position of the closing bracket. A quoted local part may contain brackets.
std::size_t find_close(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line[i] == '>') {
      return i;
    }
  }
  return std::string_view::npos;
}

bool is_domain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  if (text.front() == '[') return text.size() > 2 && text.back() == ']';
  if (text.front() == '.' || text.back() == '.' || text.front() == '-') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = lower(text[i]);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!letter && !(c == '.' && text[i - 1] != '.')) return false;
  }
  return true;
}

bool is_local_part(std::string_view text) {
  if (text.empty() || text.size() > kLocalPartOctetsMax) return false;
  if (text.front() == '"') {
    if (text.size() < 3 || text.back() != '"') return false;
    bool escaped = false;
    for (const char c : text.substr(1, text.size() - 2)) {
      if (!escaped && c == '"') return false;
      escaped = !escaped && c == '\\';
    }
    return !escaped;
  }
  return text.find_first_of("\"\\<>()[],;: ") == std::string_view::npos;
}

Result<std::string> parse_address(std::string_view text, PathUse use) {
  if (text.empty()) {
    if (use == PathUse::reverse) return std::string();
    return bad("the address of the recipient is empty");
  }
  if (text.front() == '@') {  // a source route, which is ignored
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return bad("the source route has no ':'");
    text.remove_prefix(colon + 1);
  }
  if (text.size() > kAddressOctetsMax)
    return Error{ErrorCode::too_large, "the address is too long"};
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) {
    if (use == PathUse::forward && same_but_for_case(text, "postmaster")) return std::string(text);
    return bad("the address has no domain");
  }
  if (!is_local_part(text.substr(0, at))) return bad("the part of the address before '@' is wrong");
  if (!is_domain(text.substr(at + 1))) return bad("the domain of the address is wrong");
  return std::string(text);
}

/// Returns the number, which may have a plus sign; nothing if it is none or beyond the limits.
std::optional<long long> number_in(std::string_view text, long long min, long long max) {
  long long value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < min || value > max) return std::nullopt;
  return value;
}

/// RFC 3461 4: printable characters; '+' and '=' only as "+XX".
bool is_xtext(std::string_view text, std::size_t octets_max) {
  if (text.size() > octets_max) return false;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_printable(text[i]) || text[i] == '=') return false;
    if (text[i] != '+') continue;
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
    i += 2;
  }
  return true;
}

bool is_notify(std::string_view text) {
  if (same_but_for_case(text, "NEVER")) return true;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (!same_but_for_case(word, "SUCCESS") && !same_but_for_case(word, "FAILURE") &&
        !same_but_for_case(word, "DELAY")) {
      return false;
    }
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

/// RFC 2852 4: seconds, ';', R or N, and T if tracing is asked for.
std::optional<DeliverBy> parse_deliver_by(std::string_view text) {
  const std::size_t semicolon = text.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  const std::string mode = lower_case(text.substr(semicolon + 1));
  if (mode != "r" && mode != "n" && mode != "rt" && mode != "nt") return std::nullopt;
  const auto seconds = number_in(text.substr(0, semicolon), -999999999, 999999999);
  if (!seconds) return std::nullopt;
  return DeliverBy{*seconds, mode.starts_with('r')};
}

bool is_good(const Parameter& p, PathUse use) {
  const auto one_of = [&p](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&p](std::string_view word) { return same_but_for_case(p.value, word); });
  };
  if (use == PathUse::forward) {
    if (p.keyword == "NOTIFY") return is_notify(p.value);
    if (p.keyword != "ORCPT") return false;
    const std::size_t semicolon = p.value.find(';');
    return semicolon != std::string::npos && semicolon > 0 &&
           is_xtext(std::string_view(p.value).substr(semicolon + 1), 500);
  }
  if (p.keyword == "SIZE") return number_in(p.value, 0, INT64_MAX).has_value();
  // RFC 8494 4.1 calls the third one BINARY, RFC 3030 BINARYMIME.
  if (p.keyword == "BODY") return one_of({"7BIT", "8BITMIME", "BINARYMIME", "BINARY"});
  if (p.keyword == "RET") return one_of({"FULL", "HDRS"});
  if (p.keyword == "ENVID") return !p.value.empty() && is_xtext(p.value, 100);
  if (p.keyword == "MT-PRIORITY") {
    return number_in(p.value, kMtPriorityMin, kMtPriorityMax).has_value();
  }
  if (p.keyword == "BY") {
    const auto by = parse_deliver_by(p.value);
    return by && (!by->returned || by->seconds > 0);  // R needs a positive time
  }
  return p.keyword == "AUTH" && is_xtext(p.value, 500);
}

/// Calls `take(name, value)` for each field until it answers true; folded lines are one value.
template <typename Take>
void each_header_field(ByteSpan content, Take take) {
  const std::string_view header(reinterpret_cast<const char*>(content.data()),
                                header_octets(content));
  for (std::size_t at = 0; at < header.size();) {
    std::size_t end = header.find("\r\n", at);
    while (end != std::string_view::npos && end + 2 < header.size() &&
           (header[end + 2] == ' ' || header[end + 2] == '\t')) {
      end = header.find("\r\n", end + 2);
    }
    if (end == std::string_view::npos) end = header.size();
    const std::string_view field = header.substr(at, end - at);
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos && take(field.substr(0, colon), field.substr(colon + 1))) {
      return;
    }
    at = end + 2;
  }
}

std::string unfolded(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c != '\r' && c != '\n') text.push_back(c == '\t' ? ' ' : c);
  }
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

Result<Path> parse_path(std::string_view line, PathUse use) {
  if (line.size() > kPathLineOctetsMax) return Error{ErrorCode::too_large, "the line is too long"};
  if (line.empty() || line.front() != '<') return bad("the address does not begin with '<'");
  const std::size_t close = find_close(line);
  if (close == std::string_view::npos) return bad("the address does not end with '>'");
  const bool clean =
      std::all_of(line.begin(), line.end(), [](char c) { return is_printable(c) || c == ' '; });
  if (!clean) return bad("the line has an octet outside printable ASCII");
  auto address = parse_address(line.substr(1, close - 1), use);
  if (!address) return address.error();
  Path path{std::move(address).value(), {}};

  std::string_view rest = line.substr(close + 1);
  if (!rest.empty() && rest.front() != ' ') return bad("a space must follow '>'");
  while (true) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) return path;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    const std::string_view keyword = word.substr(0, equals);
    if (!is_keyword(keyword)) return bad("the keyword of a parameter is wrong");
    Parameter parameter;
    for (const char c : keyword) parameter.keyword.push_back(upper(c));
    if (equals != std::string_view::npos) parameter.value = word.substr(equals + 1);
    if (find_parameter(path.parameters, parameter.keyword))
      return bad("a parameter is given twice");
    if (path.parameters.size() == kParametersMax)
      return Error{ErrorCode::too_large, "there are too many parameters"};
    path.parameters.push_back(std::move(parameter));
  }
}

std::string to_string(const Path& path) {
  std::string text = "<" + path.address + ">";
  for (const Parameter& p : path.parameters) {
    text.append(" ").append(p.keyword);
    if (!p.value.empty()) text.append("=").append(p.value);
  }
  return text;
}

const std::string* find_parameter(const Parameters& parameters, std::string_view keyword) {
  for (const Parameter& p : parameters) {
    if (p.keyword == keyword) return &p.value;
  }
  return nullptr;
}

std::optional<std::string> bad_parameter(const Parameters& parameters, PathUse use) {
  for (const Parameter& p : parameters) {
    if (!is_good(p, use)) return p.keyword;
  }
  return std::nullopt;
}

std::string domain_of(std::string_view address) {
  const std::size_t at = address.rfind('@');
  return at == std::string_view::npos ? std::string() : lower_case(address.substr(at + 1));
}

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  return lowered;
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

int mt_priority(const Parameters& from) {
  const std::string* text = find_parameter(from, "MT-PRIORITY");
  if (text == nullptr) return 0;
  return static_cast<int>(number_in(*text, kMtPriorityMin, kMtPriorityMax).value_or(0));
}

std::optional<DeliverBy> deliver_by(const Parameters& from) {
  const std::string* text = find_parameter(from, "BY");
  return text == nullptr ? std::nullopt : parse_deliver_by(*text);
}

std::optional<int> mt_priority_field(ByteSpan content) {
  std::string value = header_field(content, "MT-Priority");
  value.resize(std::min(value.find_first_of(" ("), value.size()));  // a comment may follow
  if (const auto level = number_in(value, kMtPriorityMin, kMtPriorityMax)) {
    return static_cast<int>(*level);
  }
  return std::nullopt;
}

std::optional<Bytes> with_priority_field(const Mail& mail) {
  const Parameters& said = mail.envelope.from.parameters;
  const bool by_envelope = find_parameter(said, "MT-PRIORITY") != nullptr;
  if (!by_envelope && count_header_fields(mail.content, "MT-Priority") == 0) return std::nullopt;
  const int level = by_envelope ? mt_priority(said) : mt_priority_field(mail.content).value_or(0);
  const std::string field = "MT-Priority: " + std::to_string(level) + "\r\n";
  Bytes content(field.begin(), field.end());
  append(content, without_header_fields(mail.content, {"MT-Priority"}));
  return content;
}

void set_mt_priority(Parameters& from, int level) {
  std::erase_if(from, [](const Parameter& one) { return one.keyword == "MT-PRIORITY"; });
  from.push_back({"MT-PRIORITY", std::to_string(level)});
}

std::uint8_t p_mul_priority(int mt_priority) {
  return static_cast<std::uint8_t>(std::clamp(6 - mt_priority, 0, 15));
}

Notify notify_of(const Parameters& recipient) {
  const std::string* value = find_parameter(recipient, "NOTIFY");
  if (value == nullptr) return {};
  const std::string words = "," + lower_case(*value) + ",";
  const auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
  return {has(",success,"), has(",failure,"), has(",delay,")};
}

std::string header_field(ByteSpan content, std::string_view name) {
  std::string found;
  each_header_field(content, [&](std::string_view field, std::string_view value) {
    if (!same_but_for_case(field, name)) return false;
    found = unfolded(value);
    return true;
  });
  return found;
}

std::size_t count_header_fields(ByteSpan content, std::string_view name) {
  return count_header_fields_with(content, name, {});
}

std::size_t count_header_fields_with(ByteSpan content, std::string_view name,
                                     std::string_view text) {
  std::size_t count = 0;
  each_header_field(content, [&](std::string_view field, std::string_view value) {
    const bool counts =
        same_but_for_case(field, name) && value.find(text) != std::string_view::npos;
    count += counts ? 1 : 0;
    return false;
  });
  return count;
}

std::size_t header_octets(ByteSpan content) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.rfind("\r\n", 0) == 0) return 2;
  const std::size_t end = text.find("\r\n\r\n");
  return end == std::string_view::npos ? text.size() : end + 4;
}

std::size_t field_octets(std::string_view text, std::string_view name) {
  if (text.size() <= name.size() || text[name.size()] != ':') return 0;
  if (!same_but_for_case(text.substr(0, name.size()), name)) return 0;
  for (std::size_t at = text.find("\r\n"); at != std::string_view::npos;
       at = text.find("\r\n", at + 2)) {
    const bool goes_on = at + 2 < text.size() && (text[at + 2] == ' ' || text[at + 2] == '\t');
    if (!goes_on) return at + 2;
  }
  return 0;
}

Bytes without_header_fields(ByteSpan content, std::initializer_list<std::string_view> names) {
  const std::size_t header = header_octets(content);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), header);
  Bytes kept;
  kept.reserve(content.size());
  for (std::size_t at = 0; at < header;) {
    std::size_t dropped = 0;
    for (const std::string_view name : names) {
      dropped = std::max(dropped, field_octets(text.substr(at), name));
    }
    const std::size_t line = text.find("\r\n", at);
    const std::size_t next = line == std::string_view::npos ? header : line + 2;
    if (dropped == 0) append(kept, content.subspan(at, next - at));
    at = dropped == 0 ? next : at + dropped;
  }
  append(kept, content.subspan(header));
  return kept;
}

LineCheck check_lines(ByteSpan content) {
  LineCheck check;
  std::size_t line = 0;
  std::uint8_t last = 0;
  for (const std::uint8_t octet : content) {
    check.zero |= octet == 0;
    check.eight_bit |= octet > 127;
    check.bare |= (octet == '\n') != (last == '\r');
    check.longest = std::max(check.longest, ++line);
    if (octet == '\n') line = 0;
    last = octet;
  }
  check.bare |= last == '\r';
  return check;
}

std::string stuffed(ByteSpan content) {
  const std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
  std::string text;
  text.reserve(rest.size() + rest.size() / 32 + 64);
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = rest.find('\n', at);
    const std::size_t next = end == std::string_view::npos ? rest.size() : end + 1;
    if (rest[at] == '.') text.push_back('.');
    text.append(rest.substr(at, next - at));
    at = next;
  }
  if (!rest.empty() && rest.back() != '\n') text.append("\r\n");
  return text.append(".\r\n");
}

std::string mail_date(UtcSeconds utc) {
  using namespace std::chrono;
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const sys_seconds at{seconds(utc.value)};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  const auto two = [](long long n) {
    const std::string digits = std::to_string(n);
    return digits.size() < 2 ? "0" + digits : digits;
  };
  return std::string(kDays[weekday(day).c_encoding()]) + ", " +
         std::to_string(unsigned(date.day())) + " " + kMonths[unsigned(date.month()) - 1] + " " +
         std::to_string(int(date.year())) + " " + two(time.hours().count()) + ":" +
         two(time.minutes().count()) + ":" + two(time.seconds().count()) + " +0000";
}

}  // namespace s5066::acp142
