// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/p_mul_groups.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kAnnounceHeaderOctets = 24;
constexpr std::size_t kAnnounceEntryOctets = 4;
constexpr GroupId kGeneralGroup{};  // the group of all nodes
constexpr Duration kLifetime = std::chrono::seconds(60);

}  // namespace

PMulGroups::PMulGroups(const Config& config, Rng& rng, const UtcClock& utc)
    : config_(config), rng_(rng), utc_(utc) {
  S5066_ASSERT(config.node.value != 0);
  S5066_ASSERT(config.announce_count > 0 && config.joined_max > 0);
  S5066_ASSERT(config.pdu_octets_max >= kAnnounceHeaderOctets + kAnnounceEntryOctets);
}

bool PMulGroups::in_pool(std::uint32_t address) const {
  return std::find(config_.pool.begin(), config_.pool.end(), address) != config_.pool.end();
}

// --- Transmitter ---------------------------------------------------------------------------------

void PMulGroups::request_group(Instant now, std::uint32_t message_id,
                               std::vector<NodeId> destinations, UtcSeconds expiry) {
  S5066_ASSERT(enabled() && !destinations.empty());
  Own& own = own_[message_id];
  own.destinations = std::move(destinations);
  own.expiry = expiry;
  if (own.address == 0) return choose(now, own);
  if (own.state != State::requesting) announce(now, own);
}

void PMulGroups::choose(Instant now, Own& own) {
  std::vector<std::uint32_t> free;
  for (const std::uint32_t address : config_.pool) {
    const auto use = used_.find(address);
    const bool others = use != used_.end() && use->second.until > now;
    const bool ours = std::any_of(own_.begin(), own_.end(), [address](const auto& entry) {
      return entry.second.address == address;
    });
    if (!others && !ours) free.push_back(address);
  }
  own.said = false;
  if (free.empty()) {
    counters_.add(PMulGroupCounter::pool_empty);
    own.state = State::choosing;
    own.address = 0;
    own.due = false;
    own.at = now + config_.wait_for_reject;
    return;
  }
  own.state = State::requesting;
  own.address = free[rng_.below(static_cast<std::uint32_t>(free.size()))];
  own.due = true;
}

void PMulGroups::announce(Instant now, Own& own) {
  own.state = State::announcing;
  own.announcements = config_.announce_count;
  own.next_destination = 0;
  own.due = true;
  own.at = now;
}

// Call when another node has the address. A Release_PDU tells that we do not use it, and another
// address is chosen.
void PMulGroups::give_up(Instant now, std::uint32_t message_id, Own& own) {
  release(message_id, own);
  choose(now, own);
}

void PMulGroups::release(std::uint32_t message_id, const Own& own) {
  if (!own.said) return;
  releases_.push_back(
      group_pdu(PduType::release, {config_.node, message_id}, own.address, kGeneralGroup));
}

void PMulGroups::request_release(Instant, std::uint32_t message_id) {
  const auto at = own_.find(message_id);
  if (at == own_.end()) return;
  release(message_id, at->second);
  own_.erase(at);
}

void PMulGroups::on_reject(Instant now, const GroupPdu& reject) {
  const auto at = own_.find(reject.name.message_id);
  if (at == own_.end() || at->second.address != reject.group_address ||
      at->second.state != State::requesting || !at->second.said) {
    counters_.add(PMulGroupCounter::rejects_late);
    return;
  }
  counters_.add(PMulGroupCounter::rejected);
  used_[reject.group_address] = {reject.name, now + config_.rejected_for};
  give_up(now, at->first, at->second);
}

// --- Others --------------------------------------------------------------------------------------

void PMulGroups::on_group_pdu(Instant now, const GroupPdu& pdu) {
  if (pdu.name.source == config_.node || !enabled()) return;
  if (pdu.type == PduType::request) on_request(now, pdu);
  if (pdu.type == PduType::reject) on_reject(now, pdu);
  if (pdu.type == PduType::release) on_release(pdu);
}

void PMulGroups::on_request(Instant now, const GroupPdu& request) {
  if (!in_pool(request.group_address)) return;
  bool ours = false;
  for (auto& [message_id, own] : own_) {
    if (own.address != request.group_address) continue;
    if (own.state != State::requesting || config_.node < request.name.source) {
      ours = true;
      continue;
    }
    counters_.add(PMulGroupCounter::yielded);
    used_[request.group_address] = {request.name, now + config_.rejected_for};
    give_up(now, message_id, own);
  }
  for (const auto& [name, joined] : joined_) {
    ours = ours || (joined.address == request.group_address && name.source != request.name.source);
  }
  if (!ours) {
    // A requested address counts as used until its announcement can be expected.
    used_[request.group_address] = {request.name,
                                    now + config_.wait_for_reject * 2 + config_.announce_delay};
  } else if (!silent_ && rejects_.size() < config_.rejects_max) {
    rejects_.push_back(group_pdu(PduType::reject, {config_.node, request.name.message_id},
                                 request.group_address, request.name.source));
  }
}

void PMulGroups::on_release(const GroupPdu& release) {
  const auto use = used_.find(release.group_address);
  if (use != used_.end() && use->second.name == release.name) used_.erase(use);
  const auto joined = joined_.find(release.name);
  if (joined != joined_.end() && joined->second.address == release.group_address) {
    leave(release.name);
  }
}

void PMulGroups::on_announce(Instant now, const AnnouncePdu& announce) {
  if (announce.name.source == config_.node || !enabled()) return;
  const auto& list = announce.destinations;
  const bool listed = std::find(list.begin(), list.end(), config_.node) != list.end();
  if (!in_pool(announce.group_address)) {
    if (listed) counters_.add(PMulGroupCounter::not_in_pool);
    return;
  }
  // A transmitter does not announce a message that has expired by its own clock. If the message has
  // expired by our clock, the clocks differ.
  const Instant stated = utc_.instant(announce.expiry) + config_.expiry_margin;
  const Instant most = now + config_.joined_time_max;
  const bool by_our_clock = announce.expiry.value != 0 && stated <= now;
  const Instant until = by_our_clock ? most : std::min(stated, most);
  if (until > now) used_[announce.group_address] = {announce.name, until};
  if (!listed) return;
  const auto known = joined_.find(announce.name);
  if (known != joined_.end() && known->second.address == announce.group_address) {
    known->second.until = std::max(now, until);
    return;
  }
  // The transmitter was restarted and uses another address now.
  if (known != joined_.end()) leave(announce.name);
  if (until <= now || joined_.size() >= config_.joined_max) {
    counters_.add(PMulGroupCounter::joins_refused);
    return;
  }
  const bool member = std::any_of(joined_.begin(), joined_.end(), [&](const auto& entry) {
    return entry.second.address == announce.group_address;
  });
  joined_[announce.name] = {announce.group_address, until};
  counters_.add(PMulGroupCounter::joined);
  if (!member) memberships_.push_back({announce.group_address, true});
}

void PMulGroups::on_settled(Instant, const MessageName& name) {
  leave(name);
}

void PMulGroups::on_not_joined(std::uint32_t address) {
  const std::size_t refused = std::erase_if(
      joined_, [address](const auto& entry) { return entry.second.address == address; });
  counters_.add(PMulGroupCounter::joins_refused, refused);
}

void PMulGroups::leave(const MessageName& name) {
  const auto at = joined_.find(name);
  if (at == joined_.end()) return;
  const std::uint32_t address = at->second.address;
  joined_.erase(at);
  counters_.add(PMulGroupCounter::left);
  const bool member = std::any_of(joined_.begin(), joined_.end(), [address](const auto& entry) {
    return entry.second.address == address;
  });
  if (!member) memberships_.push_back({address, false});
}

void PMulGroups::on_silent(bool silent) {
  silent_ = silent;
  if (silent) rejects_.clear();
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> PMulGroups::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [message_id, own] : own_) {
    if (!own.due && own.state != State::ready) next = earlier(next, own.at);
  }
  for (const auto& [name, joined] : joined_) next = earlier(next, joined.until);
  return next;
}

void PMulGroups::on_deadline(Instant now) {
  for (auto& [message_id, own] : own_) {
    if (own.due || own.state == State::ready || own.at > now) continue;
    if (own.state == State::choosing) {
      choose(now, own);
      if (own.state == State::choosing) ready_.push_back({message_id, 0});
    } else if (own.state == State::requesting) {
      announce(now, own);
    } else if (own.announcements > 0) {
      own.due = true;
    } else {
      own.state = State::ready;
      ready_.push_back({message_id, own.address});
    }
  }
  std::vector<MessageName> over;
  for (const auto& [name, joined] : joined_) {
    if (joined.until <= now) over.push_back(name);
  }
  for (const MessageName& name : over) leave(name);
}

// --- Out -----------------------------------------------------------------------------------------

bool PMulGroups::has_pdu() const {
  return !rejects_.empty() || !releases_.empty() ||
         std::any_of(own_.begin(), own_.end(), [](const auto& entry) { return entry.second.due; });
}

// The wait for a Reject_PDU begins when the bearer has the Request_PDU.
std::optional<OutgoingPdu> PMulGroups::poll_pdu(Instant now) {
  for (auto* queue : {&rejects_, &releases_}) {
    if (queue->empty()) continue;
    OutgoingPdu pdu = std::move(queue->front());
    queue->pop_front();
    counters_.add(queue == &rejects_ ? PMulGroupCounter::rejects : PMulGroupCounter::releases);
    return pdu;
  }
  for (auto& [message_id, own] : own_) {
    if (!own.due) continue;
    if (own.state == State::announcing) return announce_pdu(now, message_id, own);
    S5066_ASSERT(own.state == State::requesting);
    own.due = false;
    own.said = true;
    own.at = now + config_.wait_for_reject;
    counters_.add(PMulGroupCounter::requests);
    return group_pdu(PduType::request, {config_.node, message_id}, own.address, kGeneralGroup);
  }
  return std::nullopt;
}

OutgoingPdu PMulGroups::announce_pdu(Instant now, std::uint32_t message_id, Own& own) {
  const std::size_t most = (config_.pdu_octets_max - kAnnounceHeaderOctets) / kAnnounceEntryOctets;
  const std::size_t begin = own.next_destination;
  const std::size_t end = std::min(own.destinations.size(), begin + most);
  const bool last = end == own.destinations.size();
  AnnouncePdu pdu{
      .name = {config_.node, message_id}, .expiry = own.expiry, .group_address = own.address};
  pdu.part = begin == 0 ? (last ? ListPart::only : ListPart::first)
                        : (last ? ListPart::last : ListPart::middle);
  pdu.destinations.assign(own.destinations.begin() + static_cast<std::ptrdiff_t>(begin),
                          own.destinations.begin() + static_cast<std::ptrdiff_t>(end));
  own.next_destination = last ? 0 : end;
  if (last) {
    --own.announcements;
    counters_.add(PMulGroupCounter::announcements);
    own.due = false;
    own.at = now + config_.announce_delay / config_.announce_count;
  }
  return {.target = kGeneralGroup,
          .use = Use::group_control,
          .lifetime = kLifetime,
          .octets = encode(pdu, {.checksum = config_.checksum})};
}

OutgoingPdu PMulGroups::group_pdu(PduType type, const MessageName& name, std::uint32_t address,
                                  Target to) const {
  return {.target = to,
          .use = Use::group_control,
          .lifetime = kLifetime,
          .octets = encode(GroupPdu{.type = type, .name = name, .group_address = address},
                           {.checksum = config_.checksum})};
}

std::optional<PMulGroups::Membership> PMulGroups::poll_membership() {
  return take_front(memberships_);
}

std::optional<PMulGroups::Ready> PMulGroups::poll_ready() {
  return take_front(ready_);
}

}  // namespace s5066::p_mul
