#include "gateways/p_mul/p_mul_receiver.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kIgnoredMax = 4096;
constexpr Duration kPurgeEvery = std::chrono::minutes(5);
constexpr std::size_t kSourcesMax = 4096;
constexpr std::uint8_t kLeastUrgent = 255;
/// What is sent to one node in so few blocks has no mark behind it that says that it is over.
constexpr std::uint16_t kBlocksUnmarked = 2;

}  // namespace

PMulReceiver::PMulReceiver(const Config& config, Rng& rng, const gateways::UtcReference& utc)
    : config_(config), rng_(rng), utc_(utc) {
  S5066_ASSERT(config.node.value != 0);
  S5066_ASSERT(config.messages_max > 0 && config.known_max > 0);
  S5066_ASSERT(config.missing_list_max >= 3);
  S5066_ASSERT(kAckHeaderOctets + kAckEntryOctets + 2 * config.missing_list_max + 2 <=
               config.pdu_octets_max);
}

// --- Address -------------------------------------------------------------------------------------

// Lists are sorted, so that one part of a divided list tells that we are in none.
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
  ++stats_.clock_apart;
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
  auto known = known_.find(address.name);
  // What that one was, the layer above knows by its content.
  const bool anew = known != known_.end() && at.listing == Listing::listed &&
                    known->second.expires <= now &&
                    known->second.expires < utc_.instant(address.expiry);
  if (anew) {
    known_by_end_.erase({known->second.until, address.name});
    unreleased_.erase(address.name);
    withdraw_ack(address.name);
    known_.erase(known);
    known = known_.end();
  }
  if (known != known_.end()) {
    if (at.listing == Listing::absent) {
      unreleased_.erase(address.name);
      known->second.before_start = false;
      settled_.push_back(address.name);
    } else if (at.listing == Listing::listed) {
      ++stats_.repeated;
      const Instant expires = life_of(now, address.expiry).expires;
      known->second.expires = std::max(known->second.expires, utc_.instant(address.expiry));
      know_until(address.name, known->second,
                 std::max(known->second.until, expires + config_.memory_margin));
      unreleased_.insert(address.name);
      known->second.owing.slot = at.slot;
      known->second.owing.alone = at.alone;
      hear(now, address.name, known->second.owing);
      plan_in_turn(now, address.name, known->second.owing,
                   address.extra ? RoundEnd::known : RoundEnd::for_us);
    }
    return;
  }
  const auto message = messages_.find(address.name);
  if (message != messages_.end() && message->second.state != State::orphan) {
    repeat(now, at, message->second, address);
    return;
  }
  if (at.listing == Listing::listed) {
    adopt(now, at, address);
  } else if (at.listing == Listing::absent) {
    ++stats_.not_for_us;
    ignore(now, address.name);
  }
}

void PMulReceiver::repeat(Instant now, const Place& place, Message& message,
                          const AddressPdu& address) {
  if (address.total != message.total) {
    ++stats_.changed_total;
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
  hear(now, address.name, message.owing);
  if (address.extra) plan_in_turn(now, address.name, message.owing, RoundEnd::known);
}

void PMulReceiver::adopt(Instant now, const Place& place, const AddressPdu& address) {
  if (address.expiry.value == 0) {
    ++stats_.without_expiry;
    return;
  }
  const Life life = life_of(now, address.expiry);
  ignored_.erase(address.name);
  Message* message = message_for(now, address.name, 0, address.priority);
  if (message == nullptr) return;
  message->state = State::receiving;
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
    ++stats_.sequence_gaps;
    news(MessageNews::Kind::sequence_gap, address.name);
  }
  sequence = std::max(sequence, place.sequence);
  if (sequences_.size() > kSourcesMax) sequences_.erase(sequences_.begin());
  // What came before the Address_PDU may be more than the message has, or all of it.
  for (auto at = message->blocks.upper_bound(address.total); at != message->blocks.end();) {
    ++stats_.bad_number;
    octets_ -= at->second.size() + kBlockCost;
    message->octets -= at->second.size() + kBlockCost;
    at = message->blocks.erase(at);
  }
  const BlockGroups groups(address.total);
  for (std::size_t group = 0; group < groups.count() && !message->parity.empty(); ++group) {
    recover_group(*message, groups, group);
  }
  if (message->blocks.empty()) return;
  const std::uint16_t last = message->blocks.rbegin()->first;
  after_pdu(now, address.name, *message, {.block = last});
}

void PMulReceiver::ignore(Instant now, const MessageName& name) {
  forget(name);
  settled_.push_back(name);
  if (ignored_.size() >= kIgnoredMax) ignored_.erase(ignored_.begin());
  ignored_[name] = now + config_.orphan_max;
}

// --- Blocks --------------------------------------------------------------------------------------

PMulReceiver::Message* PMulReceiver::message_for(Instant now, const MessageName& name,
                                                 std::size_t octets,
                                                 std::optional<std::uint8_t> priority) {
  const auto at = messages_.find(name);
  if (at != messages_.end() && at->second.state != State::orphan) priority = at->second.priority;
  const std::size_t held = at == messages_.end() ? 0 : at->second.octets;
  if (held + octets > config_.message_octets_max) {
    ++stats_.too_large;
    ignore(now, name);
    return nullptr;
  }
  if (!make_room(now, name, octets, priority)) {
    ++stats_.no_room;
    if (at != messages_.end()) hear(now, name, at->second.owing);
    return nullptr;
  }
  Message& message = messages_[name];
  if (at == messages_.end()) message.owing.heard_at = now;
  message.octets += octets;
  octets_ += octets;
  return &message;
}

PMulReceiver::Load PMulReceiver::load_of(NodeId source) const {
  Load load;
  for (auto at = messages_.lower_bound({source, 0});
       at != messages_.end() && at->first.source == source; ++at) {
    load.octets += at->second.octets;
    ++load.messages;
  }
  return load;
}

// Where one source has its share, only its own messages give way: blocks of what may not even be
// for us, then the least urgent, then the oldest. Of those that are as urgent and still coming only
// the smaller gives way to the larger: of several that come by turns one would else push out the
// other, and none ever be complete. Where all is full, the source that holds the most gives way.
bool PMulReceiver::make_room(Instant now, const MessageName& keep, std::size_t octets,
                             std::optional<std::uint8_t> priority) {
  const auto rank = [](const Message& m) {
    return std::tuple(m.state != State::orphan,
                      m.state == State::orphan ? 0 : kLeastUrgent - m.priority, m.owing.heard_at);
  };
  const auto kept = messages_.find(keep);
  const std::size_t held = kept == messages_.end() ? 0 : kept->second.octets;
  const auto yields = [&](const MessageName& name, const Message& m) {
    return m.state == State::orphan || m.owing.heard_at + config_.orphan_max <= now ||
           (priority && std::tuple(m.priority, held, name) > std::tuple(*priority, m.octets, keep));
  };
  const std::size_t one_more = kept == messages_.end() ? 1 : 0;
  while (true) {
    const Load own = load_of(keep.source);
    const bool source_full = own.octets + octets > config_.source_octets_max ||
                             own.messages + one_more > config_.source_messages_max;
    const bool octets_full = octets_ + octets > config_.octets_max;
    if (!source_full && !octets_full && messages_.size() + one_more <= config_.messages_max) {
      return true;
    }
    const auto weight = [&](const Load& load) { return octets_full ? load.octets : load.messages; };
    const Load wanted{own.octets + octets, own.messages + one_more};
    const std::pair<const MessageName, Message>* victim = nullptr;
    std::size_t heaviest = 0;
    std::optional<NodeId> source;
    std::size_t weighs = 0;
    for (const auto& entry : messages_) {
      const NodeId from = entry.first.source;
      if (source_full && from != keep.source) continue;
      if (entry.first == keep || entry.second.state == State::offered) continue;
      if (from == keep.source && !yields(entry.first, entry.second)) continue;
      if (source != from) {
        source = from;
        weighs = weight(from == keep.source ? wanted : load_of(from));
      }
      if (from != keep.source && weighs <= weight(wanted)) continue;
      if (weighs < heaviest) continue;
      if (weighs > heaviest || victim == nullptr || rank(entry.second) < rank(victim->second)) {
        victim = &entry;
      }
      heaviest = weighs;
    }
    if (victim == nullptr) return false;
    ++stats_.crowded_out;
    forget(MessageName(victim->first));
  }
}

void PMulReceiver::forget(const MessageName& name) {
  const auto at = messages_.find(name);
  if (at == messages_.end()) return;
  octets_ -= at->second.octets;
  messages_.erase(at);
}

void PMulReceiver::on_data(Instant now, const DataPdu& data) {
  if (data.name.source == config_.node) return;
  ++stats_.data_pdus;
  if (ignored_.contains(data.name)) {
    ++stats_.not_for_us;
    return;
  }
  const auto at = messages_.find(data.name);
  const bool over = at != messages_.end() && at->second.state == State::offered;
  const auto known = known_.find(data.name);
  if (over || known != known_.end()) {
    ++stats_.duplicates;
    if (known != known_.end()) hear(now, data.name, known->second.owing);
    return;
  }
  if (at != messages_.end()) {
    const Message& message = at->second;
    if (message.total != 0 && data.number > message.total) {
      ++stats_.bad_number;
      return;
    }
    const auto block = message.blocks.find(data.number);
    if (block != message.blocks.end()) {
      ++(block->second == data.fragment ? stats_.duplicates : stats_.contradictions);
      after_pdu(now, data.name, at->second, {.block = data.number});
      return;
    }
  }
  Message* message = message_for(now, data.name, data.fragment.size() + kBlockCost);
  if (message == nullptr) return;
  message->blocks.emplace(data.number, data.fragment);
  after_pdu(now, data.name, *message, {.block = data.number});
}

void PMulReceiver::on_parity(Instant now, const ParityPdu& parity) {
  if (parity.name.source == config_.node) return;
  ++stats_.parity_pdus;
  if (const auto known = known_.find(parity.name); known != known_.end()) {
    hear(now, parity.name, known->second.owing);
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
  message->parity.emplace(parity.number, parity);
  after_pdu(now, parity.name, *message, {.parity = parity.number});
}

void PMulReceiver::after_pdu(Instant now, const MessageName& name, Message& message,
                             const Arrived& arrived) {
  hear(now, name, message.owing);
  if (message.state != State::receiving) return;
  const std::uint16_t number = arrived.block;
  if (!message.parity.empty()) {
    const BlockGroups groups(message.total);
    recover_group(
        message, groups,
        number != 0 ? groups.group_of_block(number) : groups.group_of_parity(arrived.parity));
  }
  if (message.blocks.size() == message.total) {
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

void PMulReceiver::recover_group(Message& message, const BlockGroups& groups, std::size_t group) {
  std::map<std::size_t, ByteSpan> columns, rows;
  std::uint16_t last_block_octets = 0;
  for (std::size_t row = 0; row < kGroupRowsMax; ++row) {
    const auto at = message.parity.find(groups.parity_number(group, row));
    if (at == message.parity.end() || at->second.total != message.total) continue;
    // Rows of one length only; a message has no other.
    const Bytes& octets = at->second.parity;
    if (!rows.empty() && rows.begin()->second.size() != octets.size()) continue;
    rows[row] = octets;
    last_block_octets = at->second.last_block_octets;
  }
  if (rows.empty()) return;
  const std::size_t octets = rows.begin()->second.size();
  const std::size_t blocks = groups.blocks(group);
  for (std::size_t column = 0; column < blocks; ++column) {
    const std::uint16_t number = groups.block_number(group, column);
    const auto block = message.blocks.find(number);
    if (block == message.blocks.end()) continue;
    const std::size_t wanted = number == message.total ? last_block_octets : octets;
    if (block->second.size() != wanted) return;  // not the message that this parity is of
    columns[column] = block->second;
  }
  if (columns.size() == blocks || columns.size() + rows.size() < blocks) return;
  for (auto& [column, block] : recover(blocks, columns, rows)) {
    const std::uint16_t number = groups.block_number(group, column);
    if (number == message.total) block.resize(last_block_octets);
    message.octets += block.size() + kBlockCost;
    octets_ += block.size() + kBlockCost;
    message.blocks.emplace(number, std::move(block));
    ++stats_.recovered;
  }
  std::erase_if(message.parity, [&](const auto& entry) {
    if (groups.group_of_parity(entry.first) != group) return false;
    message.octets -= entry.second.parity.size() + kBlockCost;
    octets_ -= entry.second.parity.size() + kBlockCost;
    return true;
  });
}

// --- Up ------------------------------------------------------------------------------------------

void PMulReceiver::offer(const MessageName& name, Message& message) {
  if (message.state != State::offered) ++stats_.received;
  message.state = State::offered;
  message.owing.ack_at.reset();
  withdraw_ack(name);
  message.offer_at.reset();
  Received received{.name = name, .priority = message.priority, .expiry = message.expiry};
  for (const auto& [number, block] : message.blocks) append(received.content, block);
  received.destinations.assign(message.addressed.begin(), message.addressed.end());
  events_.emplace_back(std::move(received));
}

void PMulReceiver::on_committed(Instant now, const MessageName& name) {
  const auto at = messages_.find(name);
  if (at == messages_.end() || at->second.state != State::offered) return;
  const Message& message = at->second;
  remember(name, {.until = message.expires + config_.memory_margin,
                  .expires = utc_.instant(message.expiry),
                  .owing = message.owing});
  const bool at_once = message.owing.alone && message.total <= kBlocksUnmarked;
  forget(name);
  unreleased_.insert(name);
  Owing& owing = known_.find(name)->second.owing;
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
  // What came before the spool had said so; else its gaps would be asked for, and never filled.
  forget(name);
  remember(name, {.until = utc_.instant(expiry) + config_.memory_margin,
                  .expires = utc_.instant(expiry),
                  .owing = {.again_after = config_.ack_again},
                  .before_start = true});
}

void PMulReceiver::remember(const MessageName& name, const Known& known) {
  if (known_.size() >= config_.known_max && !known_.contains(name)) {
    const MessageName soonest = known_by_end_.begin()->second;
    known_by_end_.erase(known_by_end_.begin());
    unreleased_.erase(soonest);
    known_.erase(soonest);
  }
  Known& kept = known_[name];
  know_until(name, kept, known.until);
  kept = known;
}

void PMulReceiver::know_until(const MessageName& name, Known& known, Instant until) {
  known_by_end_.erase({known.until, name});
  known.until = until;
  known_by_end_.insert({until, name});
}

void PMulReceiver::on_discard(Instant, const DiscardPdu& discard) {
  settled_.push_back(discard.name);
  if (const auto known = known_.find(discard.name); known != known_.end()) {
    unreleased_.erase(discard.name);
    known->second.before_start = false;
    return;
  }
  const auto at = messages_.find(discard.name);
  if (at == messages_.end() || at->second.state == State::offered) return;
  ++stats_.discarded;
  if (at->second.state == State::receiving) {
    news(MessageNews::Kind::discarded_by_peer, discard.name);
  }
  forget(discard.name);
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
      next = earlier(next, message.expires);
      if (!silent_) next = earlier(next, message.owing.ack_at);
    }
  }
  for (const MessageName& name : unreleased_) {
    if (!silent_) next = earlier(next, known_.find(name)->second.owing.ack_at);
  }
  if (!known_.empty() || !ignored_.empty()) next = earlier(next, purge_at_);
  return next;
}

void PMulReceiver::on_deadline(Instant now) {
  std::vector<MessageName> over;
  for (auto& [name, message] : messages_) {
    if (message.state == State::orphan) {
      if (message.owing.heard_at + config_.orphan_max > now) continue;
      ++stats_.orphans_dropped;
      over.push_back(name);
    } else if (message.state == State::offered) {
      if (message.offer_at && *message.offer_at <= now) offer(name, message);
    } else if (message.expires <= now) {
      ++stats_.expired;
      news(MessageNews::Kind::receive_expired, name);
      settled_.push_back(name);
      over.push_back(name);
    } else {
      ack_if_due(now, name, message.owing);
    }
  }
  for (const MessageName& name : over) forget(name);
  for (const MessageName& name : unreleased_) {
    ack_if_due(now, name, known_.find(name)->second.owing);
  }
  if (now < purge_at_) return;
  purge_at_ = now + kPurgeEvery;
  while (!known_by_end_.empty() && known_by_end_.begin()->first <= now) {
    const MessageName name = known_by_end_.begin()->second;
    known_by_end_.erase(known_by_end_.begin());
    unreleased_.erase(name);
    known_.erase(name);
  }
  std::erase_if(ignored_, [now](const auto& entry) { return entry.second <= now; });
}

std::optional<MessageEvent> PMulReceiver::poll_event() {
  if (events_.empty()) return std::nullopt;
  MessageEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<MessageName> PMulReceiver::poll_settled() {
  if (settled_.empty()) return std::nullopt;
  const MessageName name = settled_.front();
  settled_.pop_front();
  return name;
}

void PMulReceiver::news(MessageNews::Kind kind, const MessageName& name) {
  events_.emplace_back(MessageNews{.kind = kind, .name = name, .node = name.source});
}

}  // namespace s5066::p_mul
