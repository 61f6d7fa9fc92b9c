// Whose link makes way when there is no place for a call that counts more, and which peers are
// known.
#include <algorithm>
#include <utility>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {
namespace {

/// Who is refused asks again sooner than this, as nodes that wait longer each time do in the end.
constexpr Duration kBarMemory = std::chrono::minutes(15);

}  // namespace

// STANDARD: B.3.2(3),(4) say nothing of callers that never use their link, and REQUESTs from
// addresses that nobody has would bar all others for the length of T_first, or with a little data
// for as long as they like. Such a link makes way without a word: if its peer is real after all,
// its data draws a WARNING and it calls again. None makes way in vain.
std::optional<RejectReason> ChannelAccess::refusal_after_displacing(Instant now, Address caller,
                                                                    Address peer, LinkType type) {
  LinkCensus census = census_without(peer);
  std::vector<Address> gone;
  const bool long_barred = is_barred_for_long(now, caller);
  auto nonexclusive = displaceable(now, peer, LinkType::nonexclusive, long_barred);
  auto exclusive = displaceable(now, peer, LinkType::exclusive, long_barred);
  for (auto reason = refusal(census, type); reason; reason = refusal(census, type)) {
    if (*reason == RejectReason::broadcast_only_node) return reason;
    const bool full = *reason == RejectReason::unknown;
    auto& left = full ? nonexclusive : exclusive;
    if (left.empty()) {
      if (!full) note_barred(now, caller);
      return reason;
    }
    gone.push_back(left.front());
    left.pop_front();
    --(full ? census.nonexclusive : census.exclusive_made);
  }
  for (const Address victim : gone) end(now, *find(victim), LinkEnd::displaced);
  barred_.erase(caller);
  return std::nullopt;
}

std::optional<RejectReason> ChannelAccess::refusal_of_peer(Instant now, Address peer,
                                                           LinkType type) {
  return was_heard(peer) ? refusal_after_displacing(now, peer, peer, type)
                         : refusal(census_without(peer), type);
}

void ChannelAccess::note_barred(Instant now, Address caller) {
  const bool unused = std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    const Link& link = entry.second;
    return link.info.type == LinkType::exclusive && !link.info.we_called && !link.kept;
  });
  if (!unused) return barred_.clear();
  std::erase_if(barred_, [now](const auto& bar) { return now - bar.second.last > kBarMemory; });
  barred_.try_emplace(caller, Barred{now, now}).first->second.last = now;
}

// Those who call again and again, or displace each other by turns, earn no more time by it than
// another T_call.
bool ChannelAccess::is_barred_for_long(Instant now, Address caller) const {
  const auto bar = barred_.find(caller);
  return bar != barred_.end() && now - bar->second.last <= kBarMemory &&
         now - bar->second.since >= 2 * config_.answer_wait();
}

/// Other than that one, the first to go first: strangers before known peers, then the oldest.
std::deque<Address> ChannelAccess::displaceable(Instant now, Address but, LinkType type,
                                                bool long_barred) const {
  std::vector<const Link*> found;
  for (const auto& [peer, link] : links_) {
    if (link.info.type != type || link.info.we_called || peer == but) continue;
    const bool had_its_time = link.accepted_at && now - *link.accepted_at >= config_.answer_wait();
    const bool unheard = link.info.state == LinkState::made_wait && !link.heard;
    const bool free = type == LinkType::exclusive ? !link.kept && (had_its_time || long_barred)
                                                  : unheard && (had_its_time || !was_heard(peer));
    if (free) found.push_back(&link);
  }
  std::stable_sort(found.begin(), found.end(), [this](const Link* a, const Link* b) {
    const bool known = was_heard(a->info.peer);
    if (known != was_heard(b->info.peer)) return !known;
    return a->info.since < b->info.since;
  });
  std::deque<Address> peers;
  for (const Link* link : found) peers.push_back(link->info.peer);
  return peers;
}

bool ChannelAccess::was_heard(Address peer) const {
  return std::find(heard_.begin(), heard_.end(), peer) != heard_.end();
}

void ChannelAccess::remember_heard(Link& link) {
  if (std::exchange(link.heard, true)) return;
  std::erase(heard_, link.info.peer);
  heard_.push_back(link.info.peer);
  if (heard_.size() > kHeardPeersMax) heard_.pop_front();
}

void ChannelAccess::keep_link(Address peer) {
  Link* link = find(peer);
  if (link == nullptr || link->info.type != LinkType::exclusive) return;
  link->kept = true;
  barred_.clear();
}

}  // namespace s5066::cas
