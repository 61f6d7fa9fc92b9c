// What befalls all links when the use of the channel changes: broadcast sessions and radio silence.
#include <utility>
#include <vector>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {

// No handshake starts or ends the session; the peers of our links are told why those end
// (A.3.2.3(1), B.3.1.5).
void ChannelAccess::set_broadcast(Instant now, bool on) {
  broadcast_ = on || config_.broadcast_only;
  if (!broadcast_) return;
  give_up_calls(now);
  std::vector<Address> leaving;
  for (const auto& [peer, link] : links_) {
    if (link.info.state != LinkState::breaking) leaving.push_back(peer);
  }
  for (const Address peer : leaving) {
    start_breaking(now, *find(peer), BreakReason::switching_to_broadcast);
  }
}

// Nothing can be asked or answered: calls are given up, and so are links whose BREAK would still
// wait for an answer. A link that is made stays until its peer is heard to end it.
void ChannelAccess::set_silent(Instant now, bool on) {
  silent_ = on;
  if (!silent_) return;
  drop_waiting_answers(now);
  give_up_calls(now);
  std::vector<Address> leaving;
  for (const auto& [peer, link] : links_) {
    if (link.info.state == LinkState::breaking) leaving.push_back(peer);
  }
  for (const Address peer : leaving) {
    if (Link* link = find(peer)) end(now, *link, LinkEnd::by_us);
  }
}

// Calls that were to follow a BREAK are given up, too.
void ChannelAccess::give_up_calls(Instant now) {
  std::vector<Address> calling;
  for (auto& [peer, link] : links_) {
    if (link.info.state == LinkState::calling) calling.push_back(peer);
    if (std::exchange(link.exclusive_afterwards, false)) {
      actions_.push_back(LinkRejected{peer, std::nullopt, LinkType::exclusive});
    }
  }
  for (const Address peer : calling) {
    Link& link = *find(peer);
    const LinkType type = link.info.type;
    change_state(now, link, LinkState::idle);
    links_.erase(peer);
    actions_.push_back(LinkRejected{peer, std::nullopt, type});
  }
}

}  // namespace s5066::cas
