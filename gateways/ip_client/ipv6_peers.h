// SPDX-License-Identifier: Apache-2.0
// The stations that take IPv6 directly, which Annex F does not have: one IPv6 datagram is one
// U_PDU. IPv6 goes only to a station that has said over the air that it takes it, because a client
// of another make may not expect version 6.
//
// The question and its answer are each a datagram that hosts ignore: an IPv6 header from fe80::1 to
// ff02::1 with hop limit 1 and no next header (59, RFC 8200 4.7), and then eight octets: "S5066",
// version 1, flags (bit 0: an answer is wanted), 0. A station asks when a host first sends IPv6 to
// it, and again at growing intervals. A station answers if its own table has an IPv6 row for the
// asker. Each IPv6 datagram that arrives counts as an answer.
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
/// Returns nothing if the U_PDU is another datagram.
std::optional<Ipv6Notice> decode_ipv6_notice(ByteSpan updu);

class Ipv6Peers {
 public:
  static constexpr Duration kAskMin = std::chrono::seconds(60);
  static constexpr Duration kAskMax = std::chrono::hours(1);
  static constexpr Duration kAnswerMin = std::chrono::seconds(10);  // between two answers
  static constexpr Duration kMemory = std::chrono::hours(24);       // since it was heard
  static constexpr unsigned kAskedInVain = 2;                       // until hosts are told

  /// Returns true if IPv6 may go to the station.
  bool takes_ipv6(Instant now, Address station) const;
  /// Returns true if a question shall go to the station now, which then counts as sent.
  bool ask(Instant now, Address station);
  /// Returns true if the station has been asked often enough to call it unable.
  bool is_unable(Instant now, Address station) const;
  /// The station has sent IPv6.
  void on_heard(Instant now, Address station);
  /// Returns true if an answer shall go to the station now, which then counts as sent.
  bool answer(Instant now, Address station);

 private:
  struct Peer {
    std::optional<Instant> heard_at;
    std::optional<Instant> answered_at;
    Instant ask_at{};
    Duration ask_again{};
    unsigned asked = 0;  // since it was heard
  };
  // The table bounds the stations: the caller names only those of its rows.
  std::map<Address, Peer> peers_;
};

}  // namespace s5066::ip_client
