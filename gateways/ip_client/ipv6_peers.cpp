// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ipv6_peers.h"

#include <algorithm>
#include <array>

namespace s5066::ip_client {
namespace {

constexpr std::size_t kHeader = 40;
constexpr std::size_t kFlagsAt = kHeader + 6;
constexpr std::uint8_t kAnswerWanted = 1;

/// The notice without its flags.
constexpr std::array<std::uint8_t, kHeader + 8> kNotice = {
    0x60, 0,    0,   0,   0,   8, 59, 1,                          // version, length, no next header
    0xFE, 0x80, 0,   0,   0,   0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 1,  // fe80::1
    0xFF, 0x02, 0,   0,   0,   0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 1,  // ff02::1
    'S',  '5',  '0', '6', '6', 1, 0,  0};

}  // namespace

Bytes encode(const Ipv6Notice& notice) {
  Bytes out(kNotice.begin(), kNotice.end());
  out[kFlagsAt] = notice.answer_wanted ? kAnswerWanted : 0;
  return out;
}

std::optional<Ipv6Notice> decode_ipv6_notice(ByteSpan updu) {
  if (updu.size() != kNotice.size()) return std::nullopt;
  for (std::size_t i = 0; i < kNotice.size(); ++i) {
    if (i != kFlagsAt && updu[i] != kNotice[i]) return std::nullopt;
  }
  return Ipv6Notice{.answer_wanted = (updu[kFlagsAt] & kAnswerWanted) != 0};
}

bool Ipv6Peers::takes_ipv6(Instant now, Address station) const {
  const auto found = peers_.find(station);
  return found != peers_.end() && found->second.heard_at && now - *found->second.heard_at < kMemory;
}

bool Ipv6Peers::ask(Instant now, Address station) {
  Peer& peer = peers_[station];
  if (peer.asked > 0 && now < peer.ask_at) return false;
  peer.ask_again = peer.asked == 0 ? kAskMin : std::min<Duration>(2 * peer.ask_again, kAskMax);
  peer.ask_at = now + peer.ask_again;
  ++peer.asked;
  return true;
}

bool Ipv6Peers::is_unable(Instant now, Address station) const {
  const auto found = peers_.find(station);
  return found != peers_.end() && !takes_ipv6(now, station) && found->second.asked > kAskedInVain;
}

void Ipv6Peers::on_heard(Instant now, Address station) {
  Peer& peer = peers_[station];
  peer.heard_at = now;
  peer.asked = 0;
}

bool Ipv6Peers::answer(Instant now, Address station) {
  Peer& peer = peers_[station];
  if (peer.answered_at && now - *peer.answered_at < kAnswerMin) return false;
  peer.answered_at = now;
  return true;
}

}  // namespace s5066::ip_client
