// SPDX-License-Identifier: Apache-2.0
#include "sis/client_links.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::sis {

namespace {

constexpr std::uint8_t kLinkPriorityMax = 3;
/// S_HARD_LINK_REJECT has no numbered reasons; servers pass on this one as "remote node busy".
constexpr std::uint8_t kBusy = 1;

Result<void> check(const HardLink& link) {
  const auto bad = [](const char* what) { return Error{ErrorCode::bad_field, what}; };
  if (link.type > HardLinkType::full_bandwidth) return bad("link type");
  if (link.priority > kLinkPriorityMax) return bad("link priority");
  if (link.remote_sap.value > SapId::kMax) return bad("remote SAP");
  if (link.remote.group) {  // A.2.2.28.1(3)
    return bad("a hard link needs the address of a node, not of a group");
  }
  if (link.remote.value > Address::kMax) return bad("remote address");
  return {};
}

}  // namespace

std::vector<ClientLinks::Entry>::iterator ClientLinks::find(const HardLink& link, State state) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.link == link && entry.state == state;
  });
}

Result<void> ClientLinks::request(Instant now, const HardLink& link) {
  if (auto legal = check(link); !legal) return legal;
  const bool known = std::any_of(entries_.begin(), entries_.end(),
                                 [&link](const Entry& entry) { return entry.link == link; });
  if (known) return Error{ErrorCode::already_exists, "hard link"};
  if (entries_.size() >= config_.links_max) return Error{ErrorCode::queue_full, "hard links"};
  entries_.push_back({link, State::requested, now});
  primitives_.push_back(HardLinkEstablish{link});
  return {};
}

Result<void> ClientLinks::end(Address remote) {
  const auto ends = [remote](const Entry& entry) {
    return entry.link.remote == remote && entry.state != State::offered;
  };
  if (std::erase_if(entries_, ends) == 0) return Error{ErrorCode::not_found, "hard link"};
  primitives_.push_back(HardLinkTerminate{remote});
  return {};
}

Result<void> ClientLinks::accept(const HardLink& link) {
  return answer(link, HardLinkAccept{link}, true);
}

Result<void> ClientLinks::reject(const HardLink& link, std::uint8_t reason) {
  return answer(link, HardLinkReject{reason, link}, false);
}

Result<void> ClientLinks::answer(const HardLink& link, Primitive primitive, bool accepted) {
  const auto entry = find(link, State::offered);
  if (entry == entries_.end()) return Error{ErrorCode::not_found, "offered hard link"};
  if (accepted) {
    entry->state = State::up;
  } else {
    entries_.erase(entry);
  }
  primitives_.push_back(std::move(primitive));
  return {};
}

// A status of 0 is an error (A.2.1.20(4)), but the link was requested and the server reports it as
// established, so its owner decides what to do with it.
bool ClientLinks::on(const HardLinkEstablished& p) {
  const auto entry = find(p.link, State::requested);
  if (entry == entries_.end()) return false;
  entry->state = State::up;
  events_.push_back(event::HardLinkEstablished{p.status, p.link});
  return true;
}

bool ClientLinks::on(const HardLinkRejected& p) {
  const auto entry = find(p.link, State::requested);
  if (entry == entries_.end()) return false;
  entries_.erase(entry);
  events_.push_back(event::HardLinkRejected{p.reason, p.link});
  return true;
}

/// Also ends an offer that we have not answered, because its caller is gone.
bool ClientLinks::on(const HardLinkTerminated& p) {
  auto entry = find(p.link, State::up);
  if (entry == entries_.end()) entry = find(p.link, State::offered);
  if (entry == entries_.end()) return false;
  entries_.erase(entry);
  events_.push_back(event::HardLinkTerminated{p.reason, p.link});
  return true;
}

bool ClientLinks::on(const HardLinkIndication& p) {
  if (find(p.link, State::offered) != entries_.end()) return true;  // reported already
  std::erase_if(entries_, [&p](const Entry& entry) {  // the caller has given up the old one
    return entry.link == p.link && entry.state == State::up;
  });
  if (entries_.size() >= config_.links_max) {
    primitives_.push_back(HardLinkReject{kBusy, p.link});
    return true;
  }
  entries_.push_back({p.link, State::offered, {}});
  events_.push_back(event::HardLinkOffered{p.link});
  return true;
}

void ClientLinks::lose_all() {
  for (const Entry& entry : entries_) events_.push_back(event::HardLinkLost{entry.link});
  entries_.clear();
  primitives_.clear();
}

void ClientLinks::on_deadline(Instant now) {
  for (auto next = next_deadline(); next && *next <= now; next = next_deadline()) {
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [](const Entry& e) { return e.state == State::requested; });
    events_.push_back(event::HardLinkLost{entry->link});
    primitives_.push_back(HardLinkTerminate{entry->link.remote});  // in case it still comes up
    entries_.erase(entry);
  }
}

std::optional<Instant> ClientLinks::next_deadline() const {
  for (const Entry& entry : entries_) {
    if (entry.state == State::requested) return entry.since + config_.request_timeout;
  }
  return std::nullopt;
}

std::optional<Primitive> ClientLinks::poll_primitive() {
  return take_front(primitives_);
}

std::optional<Event> ClientLinks::poll_event() {
  return take_front(events_);
}

}  // namespace s5066::sis
