// SPDX-License-Identifier: Apache-2.0
// The parts of DNS messages that a forwarder needs (RFC 1035 section 4, RFC 6891): the question,
// the outcome, and the times to live. Records are only walked over and go on unchanged.
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
inline constexpr std::size_t kDnsAnswerOctetsMax = 8192;  // of the far end
inline constexpr std::size_t kDnsTcpOctetsMax = 65535;    // that a client takes by TCP

/// Outcomes of RFC 1035 section 4.1.1 that we give or keep.
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
  std::uint16_t flags = 0;  // RD, AD and CD, at their places in the header
  Bytes name;               // in wire form, uncompressed, as the client wrote it
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  bool options = false;  // the client takes options (RFC 6891)
  bool dnssec_ok = false;
  std::size_t udp_octets = 512;  // of an answer that the client takes by UDP
};

/// Reads a question of a client. Any input is safe. The error is `unsupported` for another
/// operation than a query, and for a type or class that is not carried.
Result<DnsQuestion> parse_dns_question(ByteSpan message);

/// Returns the question as it goes over the air: its name in lower case, without options of the
/// client except DO.
Bytes encode_dns_question(const DnsQuestion& question, std::uint16_t id);

struct DnsAnswer {
  DnsOutcome outcome{};
  /// The least time to live of the records, or of the absence (RFC 2308); nothing if neither is
  /// told.
  std::optional<Duration> ttl;
  std::vector<std::size_t> ttl_at;  // offsets of all times to live
  bool options = false;             // it has options (RFC 6891)
};

/// Reads the answer to a question that encode_dns_question() made. Any input is safe. An answer to
/// another question, or one that says that it is truncated, is an error.
Result<DnsAnswer> parse_dns_answer(ByteSpan message, ByteSpan asked);

/// Returns the answer for a client: with its id, its spelling of the name, options if it has sent
/// some (RFC 6891 section 6.1.1), and times to live that are `age` shorter. An answer of more than
/// `octets_max` octets becomes one without records that says that it is truncated (RFC 2181 section
/// 9).
Bytes dns_answer_for(const DnsQuestion& question, const Bytes& message, const DnsAnswer& answer,
                     Duration age, std::size_t octets_max);

/// Returns an answer without records.
Bytes dns_failure(const DnsQuestion& question, DnsOutcome outcome);
/// Returns the answer to a message whose question cannot be read; nothing if it has no header or is
/// no question, so that two programs never answer each other for ever.
std::optional<Bytes> dns_refusal(ByteSpan message, DnsOutcome outcome);

}  // namespace s5066::ip_client
