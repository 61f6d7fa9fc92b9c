// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/exclusive_links.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {

ExclusiveLinks::State ExclusiveLinks::state(Address peer) const {
  const auto it = links_.find(peer);
  return it == links_.end() ? State::none : it->second.state;
}

std::vector<Address> ExclusiveLinks::peers() const {
  std::vector<Address> all;
  for (const auto& [peer, link] : links_) all.push_back(peer);
  return all;
}

bool ExclusiveLinks::any_made_by_us() const {
  return std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second.we_called && entry.second.state == State::made;
  });
}

bool ExclusiveLinks::any_claimed() const {
  return claimed() > 0;
}

bool ExclusiveLinks::any_unclaimed() const {
  return claimed() < links_.size();
}

bool ExclusiveLinks::has_room() const {
  const bool one_ends = std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second.state == State::breaking;
  });
  return (one_ends ? links_.size() : claimed()) < cas::kExclusiveLinksMax;
}

std::size_t ExclusiveLinks::claimed() const {
  return static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [](const auto& entry) { return entry.second.claimed; }));
}

void ExclusiveLinks::call(Address peer) {
  S5066_ASSERT(state(peer) == State::none || is_adopted(peer));
  Link& link = links_[peer];
  link.state = State::calling;
  link.claimed = true;
  link.release_at.reset();
  outbox_.push(RequestLink{peer, cas::LinkType::exclusive});
}

bool ExclusiveLinks::on_call_refused(Address peer) {
  const auto it = links_.find(peer);
  if (it == links_.end() || !it->second.adopted) return on_call_failed(peer);
  it->second.state = State::made;
  return true;
}

void ExclusiveLinks::on_made(Address peer, bool we_called) {
  Link& link = links_[peer];
  if (link.state == State::breaking) return;  // the end of the link is already on its way up
  link.state = State::made;
  link.we_called = we_called;
  link.adopted = false;
  if (link.claimed) outbox_.push(KeepLink{peer});
}

void ExclusiveLinks::adopt(Address peer) {
  S5066_ASSERT(state(peer) == State::none);
  links_[peer] = {.state = State::made, .adopted = true, .claimed = true};
}

bool ExclusiveLinks::is_adopted(Address peer) const {
  const auto it = links_.find(peer);
  return it != links_.end() && it->second.state == State::made && it->second.adopted;
}

// A Nonexclusive link that ends because of our own call is expected to end, and the call goes on.
void ExclusiveLinks::on_closing(const cas::LinkClosing& closing) {
  const auto it = links_.find(closing.peer);
  if (it == links_.end()) return;
  if (closing.type == cas::LinkType::nonexclusive && !is_adopted(closing.peer)) return;
  it->second.state = State::breaking;
  it->second.release_at.reset();
}

bool ExclusiveLinks::on_call_failed(Address peer) {
  const auto it = links_.find(peer);
  if (it == links_.end() || it->second.state == State::made) return false;
  links_.erase(it);
  return true;
}

bool ExclusiveLinks::on_broken(const cas::LinkBroken& broken) {
  const auto it = links_.find(broken.peer);
  const bool adopted = it != links_.end() && it->second.adopted;
  if (broken.type == cas::LinkType::nonexclusive) {
    if (!adopted) return false;
    if (it->second.state == State::calling) {  // the peer is called now
      it->second.adopted = false;
      return false;
    }
  }
  if (it != links_.end()) links_.erase(it);
  return true;
}

void ExclusiveLinks::keep(Address peer) {
  const auto it = links_.find(peer);
  if (it == links_.end()) return;
  Link& link = it->second;
  link.release_at.reset();
  if (!std::exchange(link.claimed, true) && link.state == State::made) outbox_.push(KeepLink{peer});
}

void ExclusiveLinks::leave(Instant now, Address peer, bool ours_to_break) {
  const auto it = links_.find(peer);
  if (it == links_.end() || it->second.state == State::breaking) return;
  Link& link = it->second;
  if (ours_to_break || link.state == State::calling) {
    break_link(peer, link, cas::BreakReason::higher_layer_request);
  } else if (!link.release_at) {
    link.release_at = now + release_wait_;
  }
}

void ExclusiveLinks::break_link(Address peer, Link& link, cas::BreakReason reason) {
  if (link.state == State::calling) link.adopted = false;
  link.state = State::breaking;
  link.release_at.reset();
  outbox_.push(RequestBreak{peer, reason});
}

void ExclusiveLinks::on_deadline(Instant now) {
  for (auto& [peer, link] : links_) {
    if (!link.release_at || *link.release_at > now) continue;
    break_link(peer, link, cas::BreakReason::no_more_data);
  }
}

std::optional<Instant> ExclusiveLinks::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [peer, link] : links_) next = earlier(next, link.release_at);
  return next;
}

}  // namespace s5066::sap
