// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_message.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

// Flags of the header.
constexpr std::uint16_t kResponse = 0x8000;
constexpr std::uint16_t kOperation = 0x7800;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kRecursionAvailable = 0x0080;
constexpr std::uint16_t kKept = kRecursionDesired | 0x0030;  // RD, AD and CD

constexpr std::size_t kNameOctetsMax = 255;
constexpr std::uint8_t kLabelOctetsMax = 63;
constexpr std::uint8_t kPointer = 0xC0;
constexpr std::uint16_t kInternet = 1;
constexpr std::uint16_t kSoa = 6;
constexpr std::uint16_t kOpt = 41;
constexpr std::uint16_t kMetaTypesFrom = 249;  // TKEY, TSIG, IXFR, AXFR, MAILB, MAILA, ANY
constexpr std::uint16_t kMetaTypesTo = 255;
constexpr std::uint32_t kDnssecOk = 0x8000;
constexpr std::uint16_t kUdpOctetsOffered = 4096;
constexpr std::size_t kUdpOctetsMin = 512;
constexpr std::size_t kSoaNumbersOctets = 20;
constexpr std::uint32_t kTtlMax = 0x7FFFFFFF;  // RFC 2181 section 8: a larger value counts as zero

Error dns_error(ErrorCode code, const char* what) {
  return Error{code, what};
}

struct Counts {
  std::size_t questions = 0;
  std::size_t answers = 0;
  std::size_t authority = 0;
  std::size_t additional = 0;
};

Counts counts_of(ByteSpan message) {
  return {get_u16(message, 4), get_u16(message, 6), get_u16(message, 8), get_u16(message, 10)};
}

/// Returns the offset after the name at `at`. A pointer ends a name and must point to an earlier
/// offset.
Result<std::size_t> past_name(ByteSpan message, std::size_t at, bool pointers) {
  const std::size_t start = at;
  for (;;) {
    if (at >= message.size()) return dns_error(ErrorCode::truncated, "a name");
    const std::uint8_t octets = message[at];
    if (octets == 0) return at + 1;
    if (octets <= kLabelOctetsMax) {
      at += 1 + std::size_t{octets};
      if (at - start >= kNameOctetsMax) return dns_error(ErrorCode::too_large, "a name");
      continue;
    }
    if (octets < kPointer || !pointers) return dns_error(ErrorCode::bad_field, "a label");
    if (at + 2 > message.size()) return dns_error(ErrorCode::truncated, "a pointer");
    if ((get_u16(message, at) & 0x3FFF) >= at) return dns_error(ErrorCode::bad_field, "a pointer");
    return at + 2;
  }
}

struct Record {
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::uint32_t ttl = 0;
  std::size_t name_at = 0;
  std::size_t ttl_at = 0;
  std::size_t data_at = 0;
  std::size_t past = 0;
};

Result<Record> read_record(ByteSpan message, std::size_t at) {
  const auto past = past_name(message, at, true);
  if (!past) return past.error();
  Record record{.name_at = at, .ttl_at = *past + 4, .data_at = *past + 10};
  if (record.data_at > message.size()) return dns_error(ErrorCode::truncated, "a record");
  record.type = get_u16(message, *past);
  record.klass = get_u16(message, *past + 2);
  record.ttl = get_u32(message, record.ttl_at);
  record.past = record.data_at + get_u16(message, *past + 8);
  if (record.past > message.size()) return dns_error(ErrorCode::truncated, "the data of a record");
  return record;
}

std::uint8_t lower(std::uint8_t octet) {
  return octet >= 'A' && octet <= 'Z' ? static_cast<std::uint8_t>(octet + ('a' - 'A')) : octet;
}

/// Copies a name in lower case. The length octets do not change, because their values are below the
/// letters.
Bytes in_lower_case(ByteSpan name) {
  Bytes out(name.begin(), name.end());
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

void put_header(Bytes& out, std::uint16_t id, std::uint16_t flags, std::uint16_t questions) {
  for (const std::uint16_t field : {id, flags, questions, std::uint16_t{0}, std::uint16_t{0}}) {
    put_u16(out, field);
  }
  put_u16(out, 0);
}

void set_u16(Bytes& message, std::size_t at, std::uint16_t value) {
  message[at] = static_cast<std::uint8_t>(value >> 8);
  message[at + 1] = static_cast<std::uint8_t>(value);
}

/// Appends an OPT record without content.
void put_options(Bytes& out, std::uint16_t udp_octets, std::uint32_t flags) {
  set_u16(out, 10, static_cast<std::uint16_t>(get_u16(out, 10) + 1));
  out.push_back(0);
  put_u16(out, kOpt);
  put_u16(out, udp_octets);
  put_u32(out, flags);
  put_u16(out, 0);
}

std::uint32_t ttl_of(const Record& record) {
  return record.ttl > kTtlMax ? 0 : record.ttl;
}

}  // namespace

Result<DnsQuestion> parse_dns_question(ByteSpan message) {
  if (message.size() < kDnsHeaderOctets) return dns_error(ErrorCode::truncated, "the header");
  if (message.size() > kDnsQuestionOctetsMax) return dns_error(ErrorCode::too_large, "a question");
  DnsQuestion question{.id = get_u16(message, 0)};
  const std::uint16_t flags = get_u16(message, 2);
  question.flags = flags & kKept;
  if ((flags & kResponse) != 0) return dns_error(ErrorCode::bad_field, "an answer");
  if ((flags & kOperation) != 0) return dns_error(ErrorCode::unsupported, "no query");
  const Counts counts = counts_of(message);
  if (counts.questions != 1 || counts.answers != 0 || counts.authority != 0) {
    return dns_error(ErrorCode::bad_field, "the counts");
  }
  const auto past = past_name(message, kDnsHeaderOctets, false);
  if (!past) return past.error();
  if (*past + 4 > message.size()) return dns_error(ErrorCode::truncated, "the question");
  question.name.assign(message.begin() + kDnsHeaderOctets,
                       message.begin() + static_cast<std::ptrdiff_t>(*past));
  question.type = get_u16(message, *past);
  question.klass = get_u16(message, *past + 2);
  std::size_t at = *past + 4;
  for (std::size_t i = 0; i < counts.additional; ++i) {
    const auto record = read_record(message, at);
    if (!record) return record.error();
    at = record->past;
    if (record->type != kOpt) continue;
    if (question.options || message[record->name_at] != 0) {
      return dns_error(ErrorCode::bad_field, "the options");
    }
    question.options = true;
    question.dnssec_ok = (record->ttl & kDnssecOk) != 0;
    question.udp_octets = std::max<std::size_t>(record->klass, kUdpOctetsMin);
  }
  if (at != message.size()) return dns_error(ErrorCode::bad_field, "octets behind the question");
  const bool meta =
      question.type == kOpt || (question.type >= kMetaTypesFrom && question.type <= kMetaTypesTo);
  if (meta || question.klass != kInternet) {
    return dns_error(ErrorCode::unsupported, "a type or class that is not carried");
  }
  return question;
}

Bytes encode_dns_question(const DnsQuestion& question, std::uint16_t id) {
  Bytes out;
  put_header(out, id, question.flags, 1);
  append(out, in_lower_case(question.name));
  put_u16(out, question.type);
  put_u16(out, question.klass);
  if (question.dnssec_ok) put_options(out, kUdpOctetsOffered, kDnssecOk);
  return out;
}

Result<DnsAnswer> parse_dns_answer(ByteSpan message, ByteSpan asked) {
  const auto question = parse_dns_question(asked);
  S5066_ASSERT(question.ok());  // encode_dns_question() has made it
  if (message.size() < kDnsHeaderOctets) return dns_error(ErrorCode::truncated, "the header");
  if (message.size() > kDnsAnswerOctetsMax) return dns_error(ErrorCode::too_large, "an answer");
  const std::uint16_t flags = get_u16(message, 2);
  if (get_u16(message, 0) != question->id) return dns_error(ErrorCode::bad_field, "another id");
  if ((flags & kResponse) == 0 || (flags & kOperation) != 0) {
    return dns_error(ErrorCode::bad_field, "no answer");
  }
  if ((flags & kTruncated) != 0)
    return dns_error(ErrorCode::truncated, "the answer, by its server");
  const Counts counts = counts_of(message);
  const std::size_t past_question = kDnsHeaderOctets + question->name.size() + 4;
  if (counts.questions != 1 || message.size() < past_question) {
    return dns_error(ErrorCode::bad_field, "another question");
  }
  const ByteSpan repeated = message.subspan(kDnsHeaderOctets, question->name.size());
  if (in_lower_case(repeated) != question->name ||
      get_u16(message, past_question - 4) != question->type ||
      get_u16(message, past_question - 2) != question->klass) {
    return dns_error(ErrorCode::bad_field, "another question");
  }
  DnsAnswer answer{.outcome = static_cast<DnsOutcome>(flags & 0xF)};
  std::optional<std::uint32_t> ttl;
  std::size_t at = past_question;
  const std::size_t records = counts.answers + counts.authority + counts.additional;
  for (std::size_t i = 0; i < records; ++i) {
    const auto record = read_record(message, at);
    if (!record) return record.error();
    at = record->past;
    if (record->type == kOpt) {
      answer.options = true;
      continue;
    }
    answer.ttl_at.push_back(record->ttl_at);
    const std::uint32_t own = ttl_of(*record);
    if (i < counts.answers) {
      ttl = std::min(ttl.value_or(own), own);
    } else if (counts.answers == 0 && i < counts.authority && record->type == kSoa) {
      if (record->past - record->data_at < kSoaNumbersOctets + 2) {
        return dns_error(ErrorCode::truncated, "a SOA record");
      }
      ttl = std::min(own, get_u32(message, record->past - 4));
    }
  }
  if (at != message.size()) return dns_error(ErrorCode::bad_field, "octets behind the records");
  if (ttl) answer.ttl = std::chrono::seconds(*ttl);
  return answer;
}

Bytes dns_answer_for(const DnsQuestion& question, const Bytes& message, const DnsAnswer& answer,
                     Duration age, std::size_t octets_max) {
  const std::size_t past_question = kDnsHeaderOctets + question.name.size() + 4;
  S5066_ASSERT(message.size() >= past_question);
  Bytes out = message;
  set_u16(out, 0, question.id);
  std::copy(question.name.begin(), question.name.end(), out.begin() + kDnsHeaderOctets);
  if (question.options && !answer.options) put_options(out, kDnsQuestionOctetsMax, 0);
  if (out.size() > octets_max) {
    out.resize(past_question);
    set_u16(out, 2, get_u16(out, 2) | kTruncated);
    for (const std::size_t count_at : {6, 8, 10}) set_u16(out, count_at, 0);
    if (question.options) put_options(out, kDnsQuestionOctetsMax, 0);
    return out;
  }
  const auto aged =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count());
  for (const std::size_t at : answer.ttl_at) {
    const std::uint32_t ttl = get_u32(out, at);
    const auto left = static_cast<std::uint32_t>(ttl > aged ? ttl - aged : 0);
    set_u16(out, at, static_cast<std::uint16_t>(left >> 16));
    set_u16(out, at + 2, static_cast<std::uint16_t>(left));
  }
  return out;
}

Bytes dns_failure(const DnsQuestion& question, DnsOutcome outcome) {
  Bytes out;
  const auto flags =
      static_cast<std::uint16_t>(kResponse | (question.flags & kRecursionDesired) |
                                 kRecursionAvailable | static_cast<std::uint16_t>(outcome));
  put_header(out, question.id, flags, 1);
  append(out, question.name);
  put_u16(out, question.type);
  put_u16(out, question.klass);
  if (question.options) put_options(out, kDnsQuestionOctetsMax, 0);
  return out;
}

std::optional<Bytes> dns_refusal(ByteSpan message, DnsOutcome outcome) {
  if (message.size() < kDnsHeaderOctets) return std::nullopt;
  const std::uint16_t flags = get_u16(message, 2);
  if ((flags & kResponse) != 0) return std::nullopt;
  Bytes out;
  put_header(out, get_u16(message, 0),
             static_cast<std::uint16_t>(kResponse | (flags & (kOperation | kRecursionDesired)) |
                                        static_cast<std::uint16_t>(outcome)),
             0);
  return out;
}

}  // namespace s5066::ip_client
