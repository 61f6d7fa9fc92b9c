// SPDX-License-Identifier: Apache-2.0
// Builds DNS messages for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::ip_client::test {

inline Bytes dns_name(std::string_view text) {
  Bytes out;
  while (!text.empty()) {
    const auto label = text.substr(0, text.find('.'));
    out.push_back(static_cast<std::uint8_t>(label.size()));
    out.insert(out.end(), label.begin(), label.end());
    text.remove_prefix(std::min(text.size(), label.size() + 1));
  }
  out.push_back(0);
  return out;
}

struct DnsHead {
  std::uint16_t id = 0x1234;
  std::uint16_t flags = 0x0100;  // RD
  std::uint16_t answers = 0;
  std::uint16_t authority = 0;
  std::uint16_t additional = 0;
};

inline Bytes dns_question(std::string_view name, const DnsHead& head = {}, std::uint16_t type = 1,
                          std::uint16_t klass = 1) {
  Bytes out;
  for (const std::uint16_t field :
       {head.id, head.flags, std::uint16_t{1}, head.answers, head.authority, head.additional}) {
    put_u16(out, field);
  }
  append(out, dns_name(name));
  put_u16(out, type);
  put_u16(out, klass);
  return out;
}

/// Appends a record whose name points to that of the question.
inline void add_record(Bytes& out, std::uint16_t type, std::uint32_t ttl, ByteSpan data) {
  put_u16(out, 0xC00C);
  put_u16(out, type);
  put_u16(out, 1);
  put_u32(out, ttl);
  put_u16(out, static_cast<std::uint16_t>(data.size()));
  append(out, data);
}

/// Appends the options of a client (RFC 6891).
inline void add_options(Bytes& out, std::uint16_t udp_octets, bool dnssec_ok) {
  out.push_back(0);
  put_u16(out, 41);
  put_u16(out, udp_octets);
  put_u32(out, dnssec_ok ? 0x8000 : 0);
  put_u16(out, 0);
}

/// Returns the answer to `asked` with one address.
inline Bytes dns_answer(ByteSpan asked, std::uint32_t ttl, std::size_t records = 1) {
  Bytes out(asked.begin(), asked.end());
  out[2] |= 0x80;
  out[7] = static_cast<std::uint8_t>(records);
  for (std::size_t i = 0; i < records; ++i) {
    add_record(out, 1, ttl, Bytes{10, 66, 0, static_cast<std::uint8_t>(2 + i)});
  }
  return out;
}

}  // namespace s5066::ip_client::test
