// SPDX-License-Identifier: Apache-2.0
// The form of a message between the parts of the mail gateway: envelope, parameters of the SMTP
// extensions (RFC 3461, 6710, 2852, 6152, 3030), and the line format that SMTP commands and MULE
// payloads share (RFC 5321 4.1.2, RFC 8494 3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

inline constexpr std::size_t kAddressOctetsMax = 254;   // RFC 5321 4.5.3.1.3, without brackets
inline constexpr std::size_t kLocalPartOctetsMax = 64;  // RFC 5321 4.5.3.1.1
// 512 octets, and those of the extensions.
inline constexpr std::size_t kPathLineOctetsMax = 2048;
inline constexpr std::size_t kParametersMax = 16;
inline constexpr int kMtPriorityMin = -9;  // RFC 6710
inline constexpr int kMtPriorityMax = 9;

/// A parameter such as "NOTIFY=NEVER". The keyword is in capitals; the value is empty if there is
/// none.
struct Parameter {
  std::string keyword;
  std::string value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;

/// An address without angle brackets, and its parameters. The empty address is the null reverse
/// path, which never gets a report.
struct Path {
  std::string address;
  Parameters parameters;
  friend bool operator==(const Path&, const Path&) = default;
};

struct Envelope {
  Path from;
  std::vector<Path> recipients;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

struct Mail {
  Envelope envelope;
  Bytes content;  // header fields and body, lines end in CRLF
};

enum class PathUse : std::uint8_t { reverse, forward };

/// Reads "<a@b> KEY=VALUE …". Refuses control characters, octets above 127, and lengths over the
/// limits; drops a source route (RFC 5321 4.1.1.3). The meaning of parameters is not checked.
Result<Path> parse_path(std::string_view line, PathUse use);
std::string to_string(const Path& path);

const std::string* find_parameter(const Parameters& parameters, std::string_view keyword);
/// Returns the name of the first parameter that a MULE node need not know (RFC 8494 6.2), or whose
/// value its RFC does not allow; nothing if there is none.
std::optional<std::string> bad_parameter(const Parameters& parameters, PathUse use);

/// Returns the part behind the last '@' in lower case; empty if there is none.
std::string domain_of(std::string_view address);
std::string lower_case(std::string_view text);
bool same_but_for_case(std::string_view a, std::string_view b);

/// Returns MT-PRIORITY of a message (RFC 6710), -9..9; 0 if it is not given.
int mt_priority(const Parameters& from);
/// The content of BY (RFC 2852). After `seconds` a message is returned, or its sender is told.
struct DeliverBy {
  std::int64_t seconds = 0;
  bool returned = false;  // true for R, false for N
};
/// Returns the time limit of a message; nothing if BY is not given or not valid.
std::optional<DeliverBy> deliver_by(const Parameters& from);
/// Returns the level in a header field MT-Priority (RFC 6758); nothing if there is no valid one.
std::optional<int> mt_priority_field(ByteSpan content);
/// RFC 6758 3.3: a precedence that the envelope cannot carry goes on in this field. Returns the
/// content with the field; nothing if the message has no precedence.
std::optional<Bytes> with_priority_field(const Mail& mail);
/// Replaces the MT-PRIORITY of a message.
void set_mt_priority(Parameters& from, int level);
/// Returns 6 - MT-PRIORITY, not below 0 (RFC 8494 3).
std::uint8_t p_mul_priority(int mt_priority);

/// The events that the sender of the message wants reported (RFC 3461 4.1).
struct Notify {
  bool success = false;
  bool failure = true;
  bool delay = false;
};
Notify notify_of(const Parameters& recipient);

/// Returns the unfolded value of the first header field of that name; empty if there is none. Reads
/// only the header section.
std::string header_field(ByteSpan content, std::string_view name);
/// Returns the number of header fields of that name.
std::size_t count_header_fields(ByteSpan content, std::string_view name);
/// Returns the number of header fields of that name that contain the text.
std::size_t count_header_fields_with(ByteSpan content, std::string_view name,
                                     std::string_view text);
/// Returns the octets of the header section, including the empty line that ends it.
std::size_t header_octets(ByteSpan content);

/// Returns the octets of the header field at the beginning of `text`, including its CRLF; 0 if it
/// has another name.
std::size_t field_octets(std::string_view text, std::string_view name);
/// Returns the content without all header fields of these names.
Bytes without_header_fields(ByteSpan content, std::initializer_list<std::string_view> names);

/// Properties of the lines of a content. SMTP's DATA may carry neither a CR nor an LF alone,
/// because servers read such an end of line differently.
struct LineCheck {
  bool bare = false;        // a CR or LF stands alone
  bool zero = false;        // there is a zero octet
  bool eight_bit = false;   // there is an octet above 127
  std::size_t longest = 0;  // octets of the longest line, including its end
};
LineCheck check_lines(ByteSpan content);

/// Returns the content in the form of SMTP's DATA: with stuffed dots, an end of line at the end,
/// and the final line with one dot.
std::string stuffed(ByteSpan content);

/// Returns text like "Sat, 14 Nov 2026 23:13:20 +0000" (RFC 5322 3.3).
std::string mail_date(UtcSeconds utc);

}  // namespace s5066::acp142
