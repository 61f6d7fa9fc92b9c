// SPDX-License-Identifier: Apache-2.0
// The stations that take IPv6 directly, with one IPv6 datagram in one U_PDU. Annex F does not have
// this. IPv6 goes only to a station that has reported over the air that it takes IPv6, because a
// client of another make may not expect version 6.
//
// The question and its answer are each a datagram that hosts ignore. It has an IPv6 header from
// fe80::1 to ff02::1 with hop limit 1 and no next header (59, RFC 8200 4.7). Eight octets follow:
// "S5066", version 1, flags (bit 0: an answer is wanted), 0. A station asks when a host first sends
// IPv6 to it, and again at growing intervals. A station answers if its own table has an IPv6 row
// for the asker. Each IPv6 datagram that arrives counts as an answer.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

struct Ipv6Notice {
  bool answer_wanted = false;
};
Bytes encode(const Ipv6Notice& notice);
/// Decodes a notice. Returns nothing if the U_PDU is another datagram.
std::optional<Ipv6Notice> decode_ipv6_notice(ByteSpan updu);

class Ipv6Peers {
 public:
  static constexpr Duration kAskMin = std::chrono::seconds(60);
  static constexpr Duration kAskMax = std::chrono::hours(1);
  static constexpr Duration kAnswerMin = std::chrono::seconds(10);  // time between two answers
  static constexpr Duration kMemory = std::chrono::hours(24);  // time since the station was heard
  static constexpr unsigned kAskedInVain = 2;  // hosts get an ICMP error after more questions

  /// Returns true if IPv6 may go to the station.
  bool takes_ipv6(Instant now, Address station) const;
  /// Returns true if a question is due to the station. The question then counts as sent.
  bool ask(Instant now, Address station);
  /// Returns true if the station has not answered after more than kAskedInVain questions.
  bool is_unable(Instant now, Address station) const;
  /// Call when the station has sent IPv6 or a notice.
  void on_heard(Instant now, Address station);
  /// Returns true if an answer may go to the station now. The answer then counts as sent.
  bool answer(Instant now, Address station);

 private:
  struct Peer {
    std::optional<Instant> heard_at;
    std::optional<Instant> answered_at;
    Instant ask_at{};
    Duration ask_again{};
    unsigned asked = 0;  // questions since the station was heard
  };
  // The table bounds the number of stations, because the caller passes only stations of its rows.
  std::map<Address, Peer> peers_;
};

}  // namespace s5066::ip_client
