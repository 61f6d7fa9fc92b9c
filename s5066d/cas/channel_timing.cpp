// Control C_PDUs on their way: when they are sent, when they have left the antenna, and what
// happens when no answer comes in time (B.3.2.1(2)-(4), (22)-(24), B.3.2.2(2), (3), (6), (7)).
#include <algorithm>
#include <utility>
#include <vector>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {

// --- Timers --------------------------------------------------------------------------------------

void ChannelAccess::on_deadline(Instant now) {
  std::vector<Address> due;
  for (const auto& [peer, link] : links_) {
    const auto at = link.timers.next();
    if (at && *at <= now) due.push_back(peer);
  }
  for (const Address peer : due) {
    // A timer may end the link, so look it up again each time.
    for (Link* link = find(peer); link != nullptr; link = find(peer)) {
      const auto timer = link->timers.pop_due(now);
      if (!timer) break;
      on_link_deadline(now, *link, *timer);
    }
  }
  hand_down_answer(now);
}

void ChannelAccess::on_link_deadline(Instant now, Link& link, LinkTimer timer) {
  switch (timer) {
    case LinkTimer::leaving:
      on_never_left(now, link);
      return;
    case LinkTimer::answer:
      on_no_answer(now, link);
      return;
    case LinkTimer::first_data:
      S5066_ASSERT(link.info.state == LinkState::made_wait);
      end(now, link, LinkEnd::no_first_data);
      return;
    case LinkTimer::count:
      break;
  }
  S5066_ASSERT(false);
}

void ChannelAccess::on_no_answer(Instant now, Link& link) {
  const Address peer = link.info.peer;
  if (link.info.state == LinkState::breaking) {
    if (link.transmissions < config_.breaks_max) return send_and_wait(now, link);
    return end(now, link, LinkEnd::by_us);
  }
  S5066_ASSERT(link.info.state == LinkState::calling);
  if (link.transmissions < config_.requests_max) return send_and_wait(now, link);
  const LinkType type = link.info.type;
  change_state(now, link, LinkState::idle);
  links_.erase(peer);
  counters_.add(Counter::links_rejected);
  actions_.push_back(LinkRejected{peer, std::nullopt, type});
}

std::optional<Instant> ChannelAccess::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [peer, link] : links_) next = earlier(next, link.timers.next());
  return earlier(next, next_answer_at());
}

// --- C_PDUs on their way -------------------------------------------------------------------------

// Sends REQUEST or BREAK, whichever fits the state. The answer is awaited from when it left.
void ChannelAccess::send_and_wait(Instant now, Link& link) {
  ++link.transmissions;
  link.leaving = link.info.state == LinkState::breaking
                     ? send_control(now, link.info.peer, PhysicalLinkBreak{link.break_reason})
                     : send_control(now, link.info.peer, PhysicalLinkRequest{link.info.type});
  link.timers.set(LinkTimer::leaving, now + config_.control_wait_max);
}

CpduId ChannelAccess::send_control(Instant now, Address peer, const Cpdu& cpdu) {
  const CpduId id{next_control_id_++};
  hand_down_control(now, id, peer, cpdu);
  return id;
}

void ChannelAccess::hand_down_control(Instant now, CpduId id, Address peer, const Cpdu& cpdu) {
  trace_.on_trace({now, TraceKind::cpdu_sent, peer, type_of(cpdu), 1, {}});
  dts::CpduRequest request;
  request.id = id;
  request.service = Service::expedited_nonarq;
  request.destination = peer;
  request.cpdu = encode(cpdu);
  request.in_order = false;  // it would wait at the peer for a damaged one before it
  request.time_to_die = now + config_.control_wait_max;  // then we have given it up as well
  actions_.push_back(std::move(request));
}

void ChannelAccess::on_control_left(Instant now, CpduId id) {
  for (auto& [peer, link] : links_) {
    if (link.leaving == id) {
      on_left(now, link);
      break;
    }
  }
  on_answer_gone(now, id);
}

// STANDARD: T_first of B.3.2.1(16) runs to the first C_PDU, which under losses can take longer than
// any fixed time while its segments arrive; a peer that sends them has not gone.
void ChannelAccess::on_connection_heard(Instant now, Address peer) {
  Link* link = find(peer);
  if (link == nullptr || !link->connected) return;
  remember_heard(*link);
  if (link->info.state != LinkState::made_wait || link->leaving) return;
  link->timers.set(LinkTimer::first_data, now + config_.first_data_wait());
}

// As if it had been lost on the air: the timer repeats it. An ACCEPTED that came cannot be for it.
void ChannelAccess::on_never_left(Instant now, Link& link) {
  forget_waiting_answer(*link.leaving);
  link.accepted = false;
  on_left(now, link);
}

// The REQUEST, ACCEPTED or BREAK is out, or as good as lost.
void ChannelAccess::on_left(Instant now, Link& link) {
  link.leaving.reset();
  link.timers.clear(LinkTimer::leaving);
  if (link.info.state == LinkState::made_wait) {
    link.timers.set(LinkTimer::first_data, now + config_.first_data_wait());
    if (!link.accepted_at) link.accepted_at = now;
    for (auto& cpdu : link.held) actions_.push_back(std::move(cpdu));
    link.held.clear();
  } else if (link.info.state == LinkState::calling && link.crossing) {
    const Address peer = link.info.peer;
    const bool accepted = link.accepted;
    const LinkType crossing = *std::exchange(link.crossing, std::nullopt);
    link.timers.set(LinkTimer::answer, now + jittered_answer_wait(link));  // if it is refused
    accept(now, peer, crossing);
    if (accepted) on_link_accepted(now, peer);
  } else if (link.info.state == LinkState::calling && link.accepted) {
    if (link.info.type == LinkType::exclusive) break_nonexclusive_links(now);
    make(now, link, LinkState::made);
  } else {
    link.timers.set(LinkTimer::answer, now + jittered_answer_wait(link));
  }
}

// Two nodes that call each other at the same time drown each other's REQUESTs, and must not do so
// again: of the two the one with the larger address waits until the other has had its time. Others
// may call as well, so there is chance in it, and more of it each time (B.3.2.1(4), (22)).
Duration ChannelAccess::jittered_answer_wait(const Link& link) {
  const bool calling = link.info.state == LinkState::calling;
  if (link.transmissions >= (calling ? config_.requests_max : config_.breaks_max)) {
    return config_.answer_wait();  // nothing follows
  }
  const Duration span = config_.exchange_time * (1 << std::min(link.transmissions - 1, 4u));
  const Duration others_first =
      calling && link.info.peer < config_.address ? span : Duration::zero();
  return config_.answer_wait() + others_first +
         Duration(static_cast<Duration::rep>(static_cast<double>(span.count()) * rng_.uniform()));
}

}  // namespace s5066::cas
