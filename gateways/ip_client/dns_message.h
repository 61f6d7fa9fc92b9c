// SPDX-License-Identifier: Apache-2.0
// The parts of DNS messages that a forwarder needs (RFC 1035 section 4, RFC 6891): the question,
// the outcome, and the times to live. The other parts of the records are not read and go on
// unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

inline constexpr std::size_t kDnsHeaderOctets = 12;
inline constexpr std::size_t kDnsQuestionOctetsMax = 512;
inline constexpr std::size_t kDnsAnswerOctetsMax = 8192;  // limit for an answer of the far end
inline constexpr std::size_t kDnsTcpOctetsMax = 65535;    // limit for an answer by TCP

/// Outcomes of RFC 1035 section 4.1.1 that we send to clients or cache.
enum class DnsOutcome : std::uint8_t {
  no_error = 0,
  malformed = 1,
  server_failure = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5,
};

struct DnsQuestion {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;  // RD, AD and CD, in their positions in the header
  Bytes name;               // in wire form, uncompressed, in the client's spelling
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  bool options = false;  // true if the client takes options (RFC 6891)
  bool dnssec_ok = false;
  std::size_t udp_octets = 512;  // limit for an answer by UDP
};

/// Reads a question of a client. Any input is safe. Returns the error `unsupported` if the
/// operation is not a query, or if the type or class is not carried.
Result<DnsQuestion> parse_dns_question(ByteSpan message);

/// Returns the question in the form that goes over the air. Its name is in lower case. DO is the
/// only option of the client that is kept.
Bytes encode_dns_question(const DnsQuestion& question, std::uint16_t id);

struct DnsAnswer {
  DnsOutcome outcome{};
  /// The least time to live of the answer records, or the time to live of a negative answer (RFC
  /// 2308). Empty if the message has neither.
  std::optional<Duration> ttl;
  std::vector<std::size_t> ttl_at;  // offsets of all times to live
  bool options = false;             // true if the answer has options (RFC 6891)
};

/// Reads the answer to a question that encode_dns_question() made. Any input is safe. Returns an
/// error for an answer to another question, and for an answer that is marked as truncated.
Result<DnsAnswer> parse_dns_answer(ByteSpan message, ByteSpan asked);

/// Returns the answer for a client. The answer has the client's id and spelling of the name, and
/// times to live that are `age` shorter. It has options if the client has sent options (RFC 6891
/// section 6.1.1). An answer of more than `octets_max` octets is replaced by one without records
/// that is marked as truncated (RFC 2181 section 9).
Bytes dns_answer_for(const DnsQuestion& question, const Bytes& message, const DnsAnswer& answer,
                     Duration age, std::size_t octets_max);

/// Returns an answer without records.
Bytes dns_failure(const DnsQuestion& question, DnsOutcome outcome);
/// Returns the answer to a message whose question cannot be read. Returns nothing if the message
/// has no header or is itself an answer, so that two programs do not answer each other for ever.
std::optional<Bytes> dns_refusal(ByteSpan message, DnsOutcome outcome);

}  // namespace s5066::ip_client
