// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/p_mul_receiver.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kIgnoredMax = 4096;
constexpr Duration kPurgeEvery = std::chrono::minutes(5);
constexpr std::size_t kSourcesMax = 4096;
constexpr std::uint8_t kLeastUrgent = 255;
/// A message to one node with at most this number of blocks has no Extra_Address_PDU at its end.
constexpr std::uint16_t kBlocksUnmarked = 2;
constexpr std::uint32_t kTurnsAfterSilence = 8;

/// Cuts the ranges so that a list of `values` values can name them. Keeps the lowest block numbers.
std::vector<BlockRange> cut(const std::vector<BlockRange>& ranges, std::size_t values,
                            bool as_ranges) {
  std::vector<BlockRange> kept;
  for (const BlockRange& range : ranges) {
    const std::size_t wanted = list_values({range}, as_ranges);
    if (wanted <= values) {
      kept.push_back(range);
      values -= wanted;
      continue;
    }
    const auto some =
        static_cast<std::uint16_t>(std::min<std::size_t>(values, as_ranges ? 3 : values));
    if (some > 0) {
      kept.push_back({range.first, static_cast<std::uint16_t>(range.first + some - 1)});
    }
    break;
  }
  return kept;
}

}  // namespace

PMulReceiver::PMulReceiver(const Config& config, Rng& rng, const UtcClock& utc)
    : config_(config), rng_(rng), utc_(utc), known_(config.known_max) {
  S5066_ASSERT(config.node.value != 0);
  S5066_ASSERT(config.messages_max > 0 && config.known_max > 0);
  S5066_ASSERT(config.missing_list_max >= 3);
  S5066_ASSERT(kAckHeaderOctets + kAckEntryOctets + 2 * config.missing_list_max + 2 <=
               config.pdu_octets_max);
}

// --- Address -------------------------------------------------------------------------------------

// Destination lists are sorted. One part of a divided list can therefore show that no part has our
// number.
PMulReceiver::Place PMulReceiver::place(const AddressPdu& address) const {
  const auto& list = address.destinations;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].node != config_.node) continue;
    const bool alone = list.size() == 1 && address.part == ListPart::only;
    return {Listing::listed, i, list[i].sequence, alone};
  }
  const bool no_less = address.part == ListPart::only || address.part == ListPart::first;
  const bool no_more = address.part == ListPart::only || address.part == ListPart::last;
  const bool below = !list.empty() && list.back().node < config_.node;
  const bool above = !list.empty() && list.front().node > config_.node;
  const bool absent = (no_less && no_more) || (no_less && above) || (no_more && below) ||
                      (!list.empty() && !below && !above);
  return {absent ? Listing::absent : Listing::unknown};
}

PMulReceiver::Life PMulReceiver::life_of(Instant now, UtcSeconds expiry) const {
  const Instant stated = utc_.instant(expiry) + config_.expiry_margin;
  if (stated > now) return {expiry, stated};
  const Instant kept = now + config_.life_by_our_clock;
  return {utc_.utc(kept), kept, true};
}

void PMulReceiver::note_clock(Instant now, const AddressPdu& address) {
  counters_.add(PMulReceiverCounter::clock_apart);
  const NodeId source = address.name.source;
  const std::chrono::seconds apart(utc_.utc(now).value - address.expiry.value);
  clocks_apart_[source] = {apart, now};
  if (clocks_apart_.size() > kSourcesMax) {
    clocks_apart_.erase(std::min_element(
        clocks_apart_.begin(), clocks_apart_.end(),
        [](const auto& a, const auto& b) { return a.second.seen_at < b.second.seen_at; }));
  }
  events_.emplace_back(MessageNews{.kind = MessageNews::Kind::clock_apart,
                                   .name = address.name,
                                   .node = source,
                                   .apart = apart});
}

void PMulReceiver::note_addressed(Message& message, const AddressPdu& address) {
  for (const Destination& entry : address.destinations) {
    if (message.addressed.size() < kAddressedMax) message.addressed.insert(entry.node);
  }
}

void PMulReceiver::on_address(Instant now, const AddressPdu& address) {
  if (address.name.source == config_.node) return;
  const Place at = place(address);
  if (Known* known = known_.find(address.name)) {
    // After the message has expired, its transmitter may use the number for another message. The
    // layer above compares the content.
    const bool anew = at.listing == Listing::listed && known->expires <= now &&
                      known->expires < utc_.instant(address.expiry);
    if (!anew) return on_known_address(now, at, *known, address);
    withdraw_ack(address.name);
    known_.forget(address.name);
  }
  const auto message = messages_.find(address.name);
  if (message != messages_.end() && message->second.state != State::orphan) {
    repeat(now, at, message->second, address);
    return;
  }
  if (at.listing == Listing::listed) {
    adopt(now, at, address);
  } else if (at.listing == Listing::absent) {
    counters_.add(PMulReceiverCounter::not_for_us);
    ignore(now, address.name);
  }
}

void PMulReceiver::on_known_address(Instant now, const Place& place, Known& known,
                                    const AddressPdu& address) {
  if (place.listing == Listing::absent) {
    known_.release(address.name);
    known.before_start = false;
    settled_.push_back(address.name);
  }
  if (place.listing != Listing::listed) return;
  counters_.add(PMulReceiverCounter::repeated);
  known.expires = std::max(known.expires, utc_.instant(address.expiry));
  known_.extend(address.name, life_of(now, address.expiry).expires + config_.memory_margin);
  if (config_.one_way_by_sequence && place.sequence == 0) return;
  known.owing.slot = place.slot;
  known.owing.alone = place.alone;
  known_.set_unreleased(address.name);
  hear(now, address.name, known.owing);
  plan_in_turn(now, address.name, known.owing, address.extra ? RoundEnd::known : RoundEnd::for_us);
}

void PMulReceiver::repeat(Instant now, const Place& place, Message& message,
                          const AddressPdu& address) {
  if (address.total != message.total) {
    counters_.add(PMulReceiverCounter::changed_total);
    return;
  }
  note_addressed(message, address);
  const Life life = life_of(now, address.expiry);
  message.expiry = life.expiry;
  message.expires = life.expires;
  if (place.listing == Listing::listed) {
    message.owing.slot = place.slot;
    message.owing.alone = place.alone;
  }
  if (message.state != State::receiving) return;
  if (message.one_way && place.listing == Listing::absent) {
    offer_part(address.name, message);
    return forget(address.name);
  }
  hear(now, address.name, message.owing);
  if (address.extra) plan_in_turn(now, address.name, message.owing, RoundEnd::known);
}

void PMulReceiver::adopt(Instant now, const Place& place, const AddressPdu& address) {
  if (address.expiry.value == 0) {
    counters_.add(PMulReceiverCounter::without_expiry);
    return;
  }
  const Life life = life_of(now, address.expiry);
  ignored_.erase(address.name);
  Message* message = message_for(now, address.name, 0, address.priority);
  if (message == nullptr) return;
  message->state = State::receiving;
  message->one_way = config_.one_way_by_sequence && place.sequence == 0;
  if (life.by_our_clock) note_clock(now, address);
  note_addressed(*message, address);
  message->priority = address.priority;
  message->total = address.total;
  message->expiry = life.expiry;
  message->expires = life.expires;
  message->owing = {.slot = place.slot,
                    .alone = place.alone,
                    .ack_at = now + config_.ack_again + spread(place.slot),
                    .again = true,
                    .again_after = config_.ack_again,
                    .heard_at = now,
                    .gap = message->owing.gap};
  if (address.extra) plan_in_turn(now, address.name, message->owing, RoundEnd::known);
  auto& sequence = sequences_[address.name.source];
  if (sequence != 0 && place.sequence > sequence + 1) {
    counters_.add(PMulReceiverCounter::sequence_gaps);
    news(MessageNews::Kind::sequence_gap, address.name);
  }
  sequence = std::max(sequence, place.sequence);
  if (sequences_.size() > kSourcesMax) sequences_.erase(sequences_.begin());
  // Blocks may have come before the Address_PDU. Some of them may have numbers above the total, or
  // they may be the whole message.
  const std::size_t before = message->octets();
  counters_.add(PMulReceiverCounter::bad_number, message->drop_blocks_above_total());
  count_octets(*message, before);
  const std::size_t groups = BlockGroups(address.total).count();
  for (std::size_t group = 0; group < groups && !message->parity.empty(); ++group) {
    recover_group(*message, group);
  }
  if (message->blocks.empty()) return;
  const std::uint16_t last = message->blocks.rbegin()->first;
  after_pdu(now, address.name, *message, {.block = last});
}

std::vector<PMulReceiver::Arriving> PMulReceiver::arriving() const {
  std::vector<Arriving> list;
  for (const auto& [name, message] : messages_) {
    if (message.state != State::receiving) continue;
    list.push_back({name, message.blocks.size(), message.total, message.octets()});
  }
  return list;
}

void PMulReceiver::ignore(Instant now, const MessageName& name) {
  forget(name);
  settled_.push_back(name);
  if (ignored_.size() >= kIgnoredMax) ignored_.erase(ignored_.begin());
  ignored_[name] = now + std::min<Duration>(config_.orphan_max, kIgnoredFor);
}

// --- Blocks --------------------------------------------------------------------------------------

PMulReceiver::Message* PMulReceiver::message_for(Instant now, const MessageName& name,
                                                 std::size_t octets,
                                                 std::optional<std::uint8_t> priority) {
  const auto at = messages_.find(name);
  if (at != messages_.end() && at->second.state != State::orphan) priority = at->second.priority;
  const std::size_t held = at == messages_.end() ? 0 : at->second.octets();
  if (held + octets > config_.message_octets_max) {
    counters_.add(PMulReceiverCounter::too_large);
    ignore(now, name);
    return nullptr;
  }
  if (!make_room(now, name, octets, priority)) {
    counters_.add(PMulReceiverCounter::no_room);
    if (at != messages_.end()) hear(now, name, at->second.owing);
    return nullptr;
  }
  Message& message = messages_[name];
  if (at == messages_.end()) message.owing.heard_at = now;
  return &message;
}

PMulReceiver::Load PMulReceiver::load_of(NodeId source) const {
  Load load;
  for (auto at = messages_.lower_bound({source, 0});
       at != messages_.end() && at->first.source == source; ++at) {
    load.octets += at->second.octets();
    ++load.messages;
  }
  return load;
}

bool PMulReceiver::make_room(Instant now, const MessageName& keep, std::size_t octets,
                             std::optional<std::uint8_t> priority) {
  const auto kept = messages_.find(keep);
  Wanted wanted{.name = keep, .octets = octets, .priority = priority};
  wanted.messages = kept == messages_.end() ? 1 : 0;
  wanted.held = kept == messages_.end() ? 0 : kept->second.octets();
  while (true) {
    const Load own = load_of(keep.source);
    wanted.source_full = own.octets + octets > config_.source_octets_max ||
                         own.messages + wanted.messages > config_.source_messages_max;
    wanted.octets_full = octets_ + octets > config_.octets_max;
    if (!wanted.source_full && !wanted.octets_full &&
        messages_.size() + wanted.messages <= config_.messages_max) {
      return true;
    }
    const auto victim = find_victim(now, wanted);
    if (!victim) return false;
    counters_.add(PMulReceiverCounter::crowded_out);
    forget(*victim);
  }
}

// A message without an Address_PDU gives way, because it may not be for us. A message of which no
// PDU has come for `orphan_max` also gives way. Of two messages of equal priority that are still
// coming, only the smaller gives way to the larger. Otherwise messages whose PDUs alternate would
// displace each other, and none would become complete.
bool PMulReceiver::yields(Instant now, const Wanted& wanted, const MessageName& name,
                          const Message& message) const {
  if (message.state == State::orphan || message.owing.heard_at + config_.orphan_max <= now) {
    return true;
  }
  return wanted.priority && std::tuple(message.priority, wanted.held, name) >
                                std::tuple(*wanted.priority, message.octets(), wanted.name);
}

// If the source has reached its own limit, only its own messages give way: first messages without
// an Address_PDU, then the least urgent message, then the message that was heard longest ago. If
// the limit for all sources is reached, a message of the source that holds the most gives way.
std::optional<MessageName> PMulReceiver::find_victim(Instant now, const Wanted& wanted) const {
  const auto rank = [](const Message& m) {
    return std::tuple(m.state != State::orphan,
                      m.state == State::orphan ? 0 : kLeastUrgent - m.priority, m.owing.heard_at);
  };
  const auto weight = [&](const Load& load) {
    return wanted.octets_full ? load.octets : load.messages;
  };
  Load own = load_of(wanted.name.source);
  own.octets += wanted.octets;
  own.messages += wanted.messages;
  const std::pair<const MessageName, Message>* victim = nullptr;
  std::size_t heaviest = 0;
  std::optional<NodeId> source;
  std::size_t weighs = 0;
  for (const auto& entry : messages_) {
    const NodeId from = entry.first.source;
    const bool ours = from == wanted.name.source;
    if (wanted.source_full && !ours) continue;
    if (entry.first == wanted.name || entry.second.state == State::offered) continue;
    if (ours && !yields(now, wanted, entry.first, entry.second)) continue;
    if (source != from) {
      source = from;
      weighs = weight(ours ? own : load_of(from));
    }
    if (!ours && weighs <= weight(own)) continue;
    if (weighs < heaviest) continue;
    if (weighs > heaviest || victim == nullptr || rank(entry.second) < rank(victim->second)) {
      victim = &entry;
    }
    heaviest = weighs;
  }
  return victim == nullptr ? std::nullopt : std::optional(victim->first);
}

void PMulReceiver::count_octets(const Message& message, std::size_t before) {
  octets_ = octets_ - before + message.octets();
}

void PMulReceiver::forget(const MessageName& name) {
  const auto at = messages_.find(name);
  if (at == messages_.end()) return;
  octets_ -= at->second.octets();
  messages_.erase(at);
}

void PMulReceiver::on_data(Instant now, const DataPdu& data) {
  if (data.name.source == config_.node) return;
  counters_.add(PMulReceiverCounter::data_pdus);
  if (ignored_.contains(data.name)) {
    counters_.add(PMulReceiverCounter::not_for_us);
    return;
  }
  const auto at = messages_.find(data.name);
  const bool over = at != messages_.end() && at->second.state == State::offered;
  Known* known = known_.find(data.name);
  if (over || known != nullptr) {
    counters_.add(PMulReceiverCounter::duplicates);
    if (known != nullptr) hear(now, data.name, known->owing);
    return;
  }
  if (at != messages_.end()) {
    const Message& message = at->second;
    if (message.total != 0 && data.number > message.total) {
      counters_.add(PMulReceiverCounter::bad_number);
      return;
    }
    const auto block = message.blocks.find(data.number);
    if (block != message.blocks.end()) {
      counters_.add(block->second == data.fragment ? PMulReceiverCounter::duplicates
                                                   : PMulReceiverCounter::contradictions);
      after_pdu(now, data.name, at->second, {.block = data.number});
      return;
    }
  }
  Message* message = message_for(now, data.name, data.fragment.size() + kBlockCost);
  if (message == nullptr) return;
  const std::size_t before = message->octets();
  message->add_block(data.number, data.fragment);
  count_octets(*message, before);
  after_pdu(now, data.name, *message, {.block = data.number});
}

void PMulReceiver::on_parity(Instant now, const ParityPdu& parity) {
  if (parity.name.source == config_.node) return;
  counters_.add(PMulReceiverCounter::parity_pdus);
  if (Known* known = known_.find(parity.name)) {
    hear(now, parity.name, known->owing);
    return;
  }
  if (ignored_.contains(parity.name)) return;
  const BlockGroups groups(parity.total);
  const auto at = messages_.find(parity.name);
  const bool fits =
      at == messages_.end() || (at->second.state != State::offered &&
                                (at->second.total == 0 || at->second.total == parity.total) &&
                                !at->second.parity.contains(parity.number));
  if (!fits || !groups.is_parity(parity.number)) return;
  Message* message = message_for(now, parity.name, parity.parity.size() + kBlockCost);
  if (message == nullptr) return;
  const std::size_t before = message->octets();
  message->add_parity(parity);
  count_octets(*message, before);
  after_pdu(now, parity.name, *message, {.parity = parity.number});
}

void PMulReceiver::after_pdu(Instant now, const MessageName& name, Message& message,
                             const Arrived& arrived) {
  hear(now, name, message.owing);
  if (message.state != State::receiving) return;
  const std::uint16_t number = arrived.block;
  if (!message.parity.empty()) {
    const BlockGroups groups(message.total);
    recover_group(message, number != 0 ? groups.group_of_block(number)
                                       : groups.group_of_parity(arrived.parity));
  }
  if (message.complete()) {
    offer(name, message);
    return;
  }
  const bool end_of_first_round = number == message.total && !message.last_seen;
  const bool end_of_repair = number != 0 && number == message.highest_wanted;
  const bool probed = number == message.total && message.last_seen && message.owing.again;
  const bool many = config_.ack_when_missing && number != 0 && message.owing.again &&
                    number >= message.blocks.size() + *config_.ack_when_missing;
  if (number == message.total) message.last_seen = true;
  if (end_of_first_round || end_of_repair || probed || many) {
    const bool last = end_of_first_round || end_of_repair || probed;
    plan_in_turn(now, name, message.owing, last ? RoundEnd::for_us : RoundEnd::still_open);
  }
}

void PMulReceiver::recover_group(Message& message, std::size_t group) {
  const std::size_t before = message.octets();
  counters_.add(PMulReceiverCounter::recovered, message.recover_group(group));
  count_octets(message, before);
}

// --- Up ------------------------------------------------------------------------------------------

void PMulReceiver::offer(const MessageName& name, Message& message) {
  if (message.state != State::offered) counters_.add(PMulReceiverCounter::received);
  message.state = State::offered;
  message.owing.ack_at.reset();
  withdraw_ack(name);
  message.offer_at.reset();
  Received received{.name = name,
                    .priority = message.priority,
                    .expiry = message.expiry,
                    .content = message.content()};
  received.block_octets = message.blocks.begin()->second.size();
  received.one_way = message.one_way;
  received.destinations.assign(message.addressed.begin(), message.addressed.end());
  events_.emplace_back(std::move(received));
}

void PMulReceiver::offer_part(const MessageName& name, Message& message) {
  if (!message.blocks.empty()) {
    ReceivedPart part{.name = name, .expiry = message.expiry, .blocks = {}};
    for (auto& [number, block] : message.blocks) part.blocks.push_back(block);
    events_.emplace_back(std::move(part));
  }
  settled_.push_back(name);
}

// A message that wants no answer ends when no PDU of it has come for `orphan_max`.
std::optional<Instant> PMulReceiver::quiet_at(const Message& message) const {
  if (!message.one_way || message.state != State::receiving) return std::nullopt;
  return message.owing.heard_at + config_.orphan_max;
}

void PMulReceiver::on_refused(Instant now, const MessageName& name) {
  ignore(now, name);
}

void PMulReceiver::on_committed(Instant now, const MessageName& name) {
  const auto at = messages_.find(name);
  if (at == messages_.end() || at->second.state != State::offered) return;
  const Message& message = at->second;
  OwedAck& owing = known_
                       .remember(name, {.until = message.expires + config_.memory_margin,
                                        .expires = utc_.instant(message.expiry),
                                        .owing = message.owing})
                       .owing;
  const bool at_once = message.owing.alone && message.total <= kBlocksUnmarked;
  const bool one_way = message.one_way;
  forget(name);
  if (one_way) return;
  known_.set_unreleased(name);
  if (at_once) {
    plan_at_once(now, name, owing);
  } else {
    plan_in_turn(now, name, owing, RoundEnd::for_us);
  }
}

void PMulReceiver::on_not_committed(Instant now, const MessageName& name) {
  const auto at = messages_.find(name);
  if (at == messages_.end() || at->second.state != State::offered) return;
  at->second.offer_at = now + config_.offer_again;
}

void PMulReceiver::on_known(Instant, const MessageName& name, UtcSeconds expiry) {
  // Blocks that came before the spool answered are dropped, because the node would ask for the
  // missing blocks and never get them.
  forget(name);
  known_.remember(name, {.until = utc_.instant(expiry) + config_.memory_margin,
                         .expires = utc_.instant(expiry),
                         .owing = {.again_after = config_.ack_again},
                         .before_start = true});
}

void PMulReceiver::on_discard(Instant, const DiscardPdu& discard) {
  settled_.push_back(discard.name);
  if (Known* known = known_.find(discard.name)) {
    known_.release(discard.name);
    known->before_start = false;
    return;
  }
  const auto at = messages_.find(discard.name);
  if (at == messages_.end() || at->second.state == State::offered) return;
  counters_.add(PMulReceiverCounter::discarded);
  if (at->second.state == State::receiving) {
    news(MessageNews::Kind::discarded_by_peer, discard.name);
    if (at->second.one_way) offer_part(discard.name, at->second);
  }
  forget(discard.name);
}

// --- Acknowledgements ----------------------------------------------------------------------------

// A PDU of the message shows that the round goes on. The transmitter does not listen yet and still
// expects our answer, so the acknowledgement is put off.
void PMulReceiver::hear(Instant now, const MessageName& name, OwedAck& owing) {
  owing.gap = std::min(now - owing.heard_at, kGapMax);
  owing.heard_at = now;
  if (withdraw_ack(name)) {
    owing.again = false;
  } else if (!owing.ack_at) {
    return;
  }
  if (owing.again) owing.again_after = config_.ack_again;
  const Duration pause = rest_of_round(owing);
  const Duration wait = owing.again ? std::max(owing.again_after, pause) : pause;
  owing.ack_at = now + wait + spread(owing.slot);
}

// Estimates the rest of the round as one and a half times the interval between its last two PDUs.
// If the last block for us has come, the estimate is limited, because a fade may have stretched
// that interval.
Duration PMulReceiver::rest_of_round(const OwedAck& owing) {
  const Duration rest = 3 * owing.gap / 2;
  return owing.has_last ? std::min(rest, kRestMax) : rest;
}

// Plans an acknowledgement in our slot after the end of the round. If that end is not known, it is
// estimated.
void PMulReceiver::plan_in_turn(Instant now, const MessageName& name, OwedAck& owing,
                                RoundEnd end) {
  withdraw_ack(name);
  owing.again = false;
  owing.has_last = end != RoundEnd::still_open;
  const Duration rest = end == RoundEnd::known ? Duration{} : rest_of_round(owing);
  owing.ack_at = std::max(now, owing.heard_at + rest) + spread(owing.slot);
}

// Plans an acknowledgement without a wait. Call when the round is over and no other station
// answers it.
void PMulReceiver::plan_at_once(Instant now, const MessageName& name, OwedAck& owing) {
  withdraw_ack(name);
  owing.again = false;
  owing.ack_at = now;
}

void PMulReceiver::ack_if_due(Instant now, const MessageName& name, OwedAck& owing) {
  if (silent_ || !owing.ack_at || *owing.ack_at > now) return;
  owing.ack_at.reset();
  acks_.push_back(name);
}

bool PMulReceiver::withdraw_ack(const MessageName& name) {
  return std::erase(acks_, name) > 0;
}

Duration PMulReceiver::spread(std::size_t slot) {
  const auto slots = static_cast<Duration::rep>(std::min(slot, config_.ack_slots_max));
  const double jitter = 0.25 * to_seconds(config_.ack_slot) * rng_.uniform();
  return config_.ack_slot * slots + from_seconds(jitter);
}

Duration PMulReceiver::grown(Duration wait) const {
  const double next = to_seconds(wait) * config_.back_off;
  return std::min(std::max(config_.ack_again_max, config_.ack_again), from_seconds(next));
}

AckEntry PMulReceiver::list_of(const MessageName& name, Message& message) {
  AckEntry entry{.name = name, .missing = message.missing()};
  if (list_values(entry.missing, false) > config_.missing_list_max) {
    const bool fits =
        config_.ranges && list_values(entry.missing, true) <= config_.missing_list_max;
    if (!fits) {
      entry.missing = cut(entry.missing, config_.missing_list_max, config_.ranges);
      entry.truncated = config_.ranges;  // a plain list of the greatest length implies it
    }
  }
  if (entry.missing.empty()) {
    // The parity contradicts the blocks of its message. It is dropped, because otherwise the list
    // would name no block.
    const std::size_t before = message.octets();
    message.drop_parity();
    count_octets(message, before);
    entry.missing = cut(message.missing(), config_.missing_list_max, config_.ranges);
    entry.truncated = config_.ranges;
  }
  message.highest_wanted = entry.missing.back().last;
  return entry;
}

bool PMulReceiver::expects_ack(const MessageName& name) const {
  if (known_.find(name) != nullptr) return known_.is_unreleased(name);
  const auto at = messages_.find(name);
  return at != messages_.end() && at->second.state == State::receiving && !at->second.one_way;
}

// Puts all acknowledgements that are due to one transmitter into one PDU.
std::optional<OutgoingPdu> PMulReceiver::poll_pdu(Instant now) {
  if (silent_) return std::nullopt;
  while (!acks_.empty() && !expects_ack(acks_.front())) acks_.pop_front();
  if (acks_.empty()) return std::nullopt;
  const NodeId transmitter = acks_.front().source;
  AckPdu ack{.priority = kLeastUrgent, .sender = config_.node};
  std::size_t octets = kAckHeaderOctets;
  std::deque<MessageName> others;
  for (const MessageName& name : std::exchange(acks_, {})) {
    if (name.source != transmitter) {
      others.push_back(name);
      continue;
    }
    if (!expects_ack(name)) continue;
    AckEntry entry{.name = name};
    const auto at = messages_.find(name);
    std::uint8_t priority = 0;
    if (at != messages_.end()) {
      entry = list_of(name, at->second);
      priority = at->second.priority;
    }
    const std::size_t more = kAckEntryOctets + 2 * list_values(entry.missing, config_.ranges) + 2;
    if (octets + more > config_.pdu_octets_max) {
      others.push_back(name);
      continue;
    }
    octets += more;
    ack.priority = std::min(ack.priority, priority);
    OwedAck& owing = at != messages_.end() ? at->second.owing : known_.find(name)->owing;
    owing.again = true;
    owing.has_last = at == messages_.end();
    owing.ack_at = now + owing.again_after + spread(owing.slot);
    owing.again_after = grown(owing.again_after);
    ack.entries.push_back(std::move(entry));
  }
  acks_ = std::move(others);
  counters_.add(PMulReceiverCounter::acks);
  const bool long_list =
      std::any_of(ack.entries.begin(), ack.entries.end(), [this](const AckEntry& entry) {
        return list_values(entry.missing, false) > config_.missing_list_max || entry.truncated;
      });
  return OutgoingPdu{
      .target = transmitter,
      .use = Use::ack,
      .priority = ack.priority,
      .lifetime = config_.ack_again,
      .octets = encode(std::move(ack), {.checksum = config_.checksum, .ranges = long_list})};
}

// A station that may not transmit keeps all acknowledgements that are due. When its silence ends,
// it draws a new random slot for its answers to each transmitter. A station that was restarted in
// EMCON does not know which messages it has acknowledged before. It acknowledges all of them again,
// because their transmitters would otherwise count them as lost.
void PMulReceiver::on_silent(Instant now, bool silent, bool listened) {
  if (std::exchange(silent_, silent) == silent) return;
  acks_.clear();
  if (silent) return;
  if (listened) known_.set_unreleased_before_start(now + config_.memory_margin);
  std::map<NodeId, Instant> turns;  // one turn for all acknowledgements to a transmitter
  const auto turn = [&](NodeId transmitter) {
    const auto [at, fresh] = turns.try_emplace(transmitter);
    if (fresh) at->second = now + spread(rng_.below(kTurnsAfterSilence));
    return at->second;
  };
  for (auto& [name, message] : messages_) {
    const bool owes = message.state == State::receiving && !message.one_way;
    if (owes) message.owing.ack_at = turn(name.source);
  }
  for (const MessageName& name : known_.unreleased()) {
    known_.find(name)->owing.ack_at = turn(name.source);
  }
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> PMulReceiver::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [name, message] : messages_) {
    if (message.state == State::orphan) {
      next = earlier(next, message.owing.heard_at + config_.orphan_max);
    } else if (message.state == State::offered) {
      next = earlier(next, message.offer_at);
    } else {
      next = earlier(next, earlier(message.expires, quiet_at(message)));
      if (!silent_ && !message.one_way) next = earlier(next, message.owing.ack_at);
    }
  }
  for (const MessageName& name : known_.unreleased()) {
    if (!silent_) next = earlier(next, known_.find(name)->owing.ack_at);
  }
  if (!known_.empty() || !ignored_.empty()) next = earlier(next, purge_at_);
  return next;
}

void PMulReceiver::on_deadline(Instant now) {
  std::vector<MessageName> over;
  for (auto& [name, message] : messages_) {
    if (message.state == State::orphan) {
      if (message.owing.heard_at + config_.orphan_max > now) continue;
      counters_.add(PMulReceiverCounter::orphans_dropped);
      over.push_back(name);
    } else if (message.state == State::offered) {
      if (message.offer_at && *message.offer_at <= now) offer(name, message);
    } else if (message.expires <= now) {
      counters_.add(PMulReceiverCounter::expired);
      news(MessageNews::Kind::receive_expired, name);
      if (message.one_way) {
        offer_part(name, message);
      } else {
        settled_.push_back(name);
      }
      over.push_back(name);
    } else if (message.one_way) {
      if (*quiet_at(message) > now) continue;
      offer_part(name, message);
      over.push_back(name);
    } else {
      ack_if_due(now, name, message.owing);
    }
  }
  for (const MessageName& name : over) forget(name);
  for (const MessageName& name : known_.unreleased()) {
    ack_if_due(now, name, known_.find(name)->owing);
  }
  if (now < purge_at_) return;
  purge_at_ = now + kPurgeEvery;
  known_.forget_until(now);
  std::erase_if(ignored_, [now](const auto& entry) { return entry.second <= now; });
}

std::optional<MessageEvent> PMulReceiver::poll_event() {
  return take_front(events_);
}

std::optional<MessageName> PMulReceiver::poll_settled() {
  return take_front(settled_);
}

void PMulReceiver::news(MessageNews::Kind kind, const MessageName& name) {
  events_.emplace_back(MessageNews{.kind = kind, .name = name, .node = name.source});
}

}  // namespace s5066::p_mul
