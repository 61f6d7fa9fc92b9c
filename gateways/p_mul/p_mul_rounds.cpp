// The rounds of a message: what each has in it, and its PDUs one by one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gateways/p_mul/p_mul_sender.h"
#include "s5066d/base/assert.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kExtraFrom = 3;  // PDUs of a round to one node that make its end worth a mark
constexpr std::size_t kExtraShare = 50;  // of the octets of a round goes to such marks
constexpr std::size_t kExtrasMax = 3;
constexpr unsigned kByGroupInVain = 2;     // rounds, before a node is asked by its own address
constexpr unsigned kByGroupInVainAll = 4;  // the same where each round has everything again
// A node that does not hear a group is tried by it again after so long.
constexpr Duration kGroupAgain = std::chrono::hours(6);
constexpr Duration kFarewell =
    std::chrono::seconds(60);  // the last word on a message is worth that

std::size_t count(const std::vector<bool>& blocks) {
  return static_cast<std::size_t>(std::count(blocks.begin(), blocks.end(), true));
}

}  // namespace

void PMulSender::start_round(Instant now, Message& message, For whom) {
  S5066_ASSERT(!message.round);
  for (Node& node : message.nodes) {
    const bool said_something = node.answered || node.early;
    node.unanswered = said_something || message.rounds == 0 ? 0 : node.unanswered + 1;
    if (node.unanswered == 1 && !node.ended && !node.silent) say_unanswered(message, node);
    node.answered = node.early = node.left = false;
    node.before = node.missing;
    node.coded = false;
    node.last_block = 0;
  }
  choose_addresses(now, message);
  const bool for_silent = std::any_of(message.nodes.begin(), message.nodes.end(),
                                      [](const Node& n) { return !n.ended && n.silent; });
  if (whom == For::everybody && for_silent) ++message.silent_rounds;
  message.round_for = whom;
  make_legs(message);
  message.put_off = false;
  ++message.rounds;
  ++stats_.rounds;
  std::size_t pdus = message.round->blocks.size() + message.round->parity.size();
  for (const Round& leg : message.legs) pdus += leg.blocks.size() + leg.parity.size();
  news(MessageNews::Kind::round_started, message, {}, pdus * message.submission.block_octets);
  if (is_dynamic(message) && !message.round->only) ask_for_group(message);
}

// One transmission for all nodes that the message's target reaches, then one for each of the rest.
void PMulSender::make_legs(Message& message) {
  std::deque<Round> legs;
  const bool by_group = std::any_of(message.nodes.begin(), message.nodes.end(),
                                    [](const Node& n) { return !n.ended && !n.alone; });
  if (by_group) legs.push_back(make_leg(message, {}));
  for (const Node& node : message.nodes) {
    if (!node.ended && node.alone) legs.push_back(make_leg(message, node.address.node));
  }
  S5066_ASSERT(!legs.empty());
  message.round = std::move(legs.front());
  legs.pop_front();
  message.legs = std::move(legs);
}

// No group can be had for the round that waits for one.
void PMulSender::send_alone(Message& message) {
  for (Node& node : message.nodes) node.alone = true;
  const unsigned rounds = message.rounds--;
  make_legs(message);
  message.rounds = rounds;
}

std::optional<GroupId> PMulSender::group_of(const Message& message) const {
  if (const auto* group = std::get_if<GroupId>(&message.target)) return *group;
  return is_dynamic(message) ? std::optional(GroupId{}) : std::nullopt;
}

bool PMulSender::is_unheard(Instant now, const Message& message, NodeId node) const {
  const auto group = group_of(message);
  const auto at = group ? unheard_.find({*group, node}) : unheard_.end();
  return at != unheard_.end() && now < at->second + kGroupAgain;
}

void PMulSender::note_unheard(Instant now, const Message& message, NodeId node) {
  if (unheard_.size() >= config_.destinations_known_max) unheard_.erase(unheard_.begin());
  unheard_[{*group_of(message), node}] = now;
  say_unheard(message, node);
}

void PMulSender::say_unheard(const Message& message, NodeId node) {
  events_.emplace_back(MessageNews{.kind = MessageNews::Kind::group_unheard,
                                   .name = message.name,
                                   .node = node,
                                   .group = *group_of(message)});
}

std::vector<std::pair<GroupId, NodeId>> PMulSender::unheard(Instant now) const {
  std::vector<std::pair<GroupId, NodeId>> all;
  for (const auto& [who, since] : unheard_) {
    if (now < since + kGroupAgain) all.push_back(who);
  }
  return all;
}

// A node whose subnetwork does not know the group never answers what is sent to it. A node that has
// not answered is asked by its own address, too, and if it answers there, it is sent the next round
// by the group once more. If it has nothing of that, its answer by its own address shows that the
// group does not reach it: from then on it is sent everything by its own address.
void PMulSender::choose_addresses(Instant now, Message& message) {
  if (!group_of(message)) return;
  for (Node& node : message.nodes) {
    if (node.ended) continue;
    const bool known = is_unheard(now, message, node.address.node);
    if (known && message.rounds == 0) {
      say_unheard(message, node.address.node);
    }
    const unsigned rounds = message.rules.resend_all ? kByGroupInVainAll : kByGroupInVain;
    const unsigned in_vain = node.answered_alone ? 1 : rounds;
    node.alone = known || (!node.silent && node.unanswered >= in_vain);
  }
}

PMulSender::Round PMulSender::make_leg(Message& message, std::optional<NodeId> only) {
  Round round;
  round.only = only;
  bool for_silent = false;
  bool tries_group = false;  // the round is to show whether a node hears it
  for (const Node& node : message.nodes) {
    // The list of a group names those that are sent to alone, too: who is not in it takes the
    // message for one that is over.
    if (node.ended || (only && node.address.node != *only)) continue;
    round.destinations.push_back(node.address);
    for_silent = for_silent || node.silent;
    tries_group = tries_group || (!only && node.answered_alone && !node.group_tried);
  }
  choose_blocks(message, message.round_for, round);
  round.extras = choose_extras(message, round);
  round.address_done = round.blocks.empty() && round.parity.empty() && round.extras > 0;
  const bool to_one = round.destinations.size() == 1 && !for_silent && !tries_group;
  if (to_one && message.submission.acknowledged) {
    const auto loss = loss_.find(round.destinations[0].node);
    round.reliable = loss != loss_.end() && loss->second >= config_.reliable_from;
  }
  for (Node& node : message.nodes) {
    if (!is_in(round, node)) continue;
    node.coded = !round.parity.empty();
    node.last_block = round.blocks.empty() ? std::uint16_t{0} : round.blocks.back();
    node.group_tried = node.group_tried || (!only && node.answered_alone && !round.blocks.empty());
  }
  return round;
}

bool PMulSender::is_in(const Round& round, const Node& node) {
  if (node.ended) return false;
  return round.only ? node.address.node == *round.only : !node.alone;
}

// STANDARD: who has never acknowledged gets all blocks again. On HF that is minutes of air time for
// a node that may have everything, its acknowledgement lost. Unless `resend_all` wants it so, it
// gets an Extra_Address_PDU instead, and when that does not help, the last block, each of which
// makes it say what it misses. The same goes for a node whose list is from before the last round.
void PMulSender::choose_blocks(Message& message, For whom, Round& round) {
  const bool first = message.rounds == 0;
  bool all = false;
  bool probe = false;
  std::vector<Node*> heard;
  for (Node& node : message.nodes) {
    if (!is_in(round, node)) continue;
    if (node.silent) {
      all = all || whom == For::everybody;
    } else if (first) {
      all = all || !message.probing;
      probe = true;
    } else if (!node.heard && message.rules.resend_all) {
      all = true;
    } else if (!node.heard || node.unanswered > 0 || count(node.missing) == 0) {
      probe = probe || !message.rules.extra_address || node.unanswered > 1;
    } else {
      heard.push_back(&node);
    }
  }
  if (all) {
    for (std::uint32_t n = 1; n <= message.total; ++n) {
      round.blocks.push_back(static_cast<std::uint16_t>(n));
    }
    const bool ask_again = std::none_of(message.nodes.begin(), message.nodes.end(),
                                        [&](const Node& n) { return is_in(round, n) && n.silent; });
    if (message.rules.coded && !ask_again) {
      for (std::size_t group = 0; group < message.groups.count(); ++group) {
        const double rows =
            message.rules.parity_ahead * static_cast<double>(message.groups.blocks(group));
        add_parity(message, group, static_cast<std::size_t>(std::ceil(rows)), round);
      }
    }
    return;
  }
  choose_repairs(message, heard, round);
  if (probe && (round.blocks.empty() || round.blocks.back() != message.total)) {
    round.blocks.push_back(message.total);
  }
}

// The end of a round is told more than once where that costs little: who does not hear it does not
// answer, and the round after has to do without.
unsigned PMulSender::choose_extras(const Message& message, const Round& round) const {
  if (!message.rules.extra_address) return 0;
  const std::size_t pdus = round.blocks.size() + round.parity.size();
  if (pdus == 0) return 1;
  if (pdus < kExtraFrom && (round.only || message.nodes.size() == 1)) return 0;
  const std::size_t own = kAddressHeaderOctets + kAddressEntryOctets * round.destinations.size();
  const std::size_t affordable = pdus * message.submission.block_octets / (kExtraShare * own);
  return static_cast<unsigned>(std::clamp<std::size_t>(affordable, 1, kExtrasMax));
}

// A group gets rows of parity when they are fewer than its missing blocks: as many as the node
// needs that misses most.
void PMulSender::choose_repairs(Message& message, const std::vector<Node*>& heard, Round& round) {
  std::vector<bool> wanted(message.total, false);
  const std::size_t groups = message.groups.count();
  std::vector<std::size_t> together(groups), most(groups);
  for (const Node* node : heard) {
    std::vector<std::size_t> own(groups);
    for (std::size_t i = 0; i < message.total; ++i) {
      if (!node->missing[i]) continue;
      const std::size_t group = message.groups.group_of_block(static_cast<std::uint16_t>(i + 1));
      ++own[group];
      if (!wanted[i]) ++together[group];
      wanted[i] = true;
    }
    for (std::size_t group = 0; group < groups; ++group) {
      most[group] = std::max(most[group], own[group]);
    }
  }
  std::vector<bool> by_parity(groups, false);
  for (std::size_t group = 0; message.rules.coded && group < groups; ++group) {
    if (together[group] <= most[group]) continue;
    if (message.next_row[group] + most[group] > kGroupRowsMax) continue;
    by_parity[group] = true;
    add_parity(message, group, most[group], round);
  }
  std::vector<bool> plain(message.total, false);
  for (const Node* node : heard) {
    for (std::size_t i = 0; i < message.total; ++i) {
      const std::size_t group = message.groups.group_of_block(static_cast<std::uint16_t>(i + 1));
      if (node->missing[i] && (!by_parity[group] || node->parity_in_vain)) plain[i] = true;
    }
  }
  for (std::size_t i = 0; i < message.total; ++i) {
    if (plain[i]) round.blocks.push_back(static_cast<std::uint16_t>(i + 1));
  }
}

void PMulSender::add_parity(Message& message, std::size_t group, std::size_t rows, Round& round) {
  for (; rows > 0; --rows) {
    std::size_t& next = message.next_row[group];
    if (next >= kGroupRowsMax) return;
    round.parity.push_back(message.groups.parity_number(group, next++));
  }
}

OutgoingPdu PMulSender::next_of(Instant now, Message& message) {
  Round& round = *message.round;
  OutgoingPdu pdu{.target = message.target,
                  .priority = message.submission.priority,
                  .lifetime = message.expires - now,
                  .reliable = round.reliable};
  if (round.only) pdu.target = *round.only;
  if (round.reliable) pdu.target = round.destinations[0].node;  // a group has no ARQ
  // A Discard_PDU is sent when the time is up, and the same goes for the last word on a message.
  if (round.closes) pdu.lifetime = std::max<Duration>(pdu.lifetime, kFarewell);
  if (round.discards > 0) {
    --round.discards;
    ++stats_.discard_pdus;
    pdu.octets = encode(DiscardPdu{.priority = message.submission.priority, .name = message.name},
                        {.checksum = message.rules.checksum});
  } else if (!round.address_done) {
    pdu.octets = address_pdu(message, round, false);
  } else if (round.next_block < round.blocks.size()) {
    pdu.octets = block_pdu(message, round.blocks[round.next_block++]);
  } else if (round.next_parity < round.parity.size()) {
    pdu.octets = parity_pdu(message, round.parity[round.next_parity++]);
  } else {
    S5066_ASSERT(round.extras > 0);
    pdu.octets = address_pdu(message, round, true);
  }
  stats_.octets += pdu.octets.size();
  const bool over = round.discards == 0 && round.address_done &&
                    round.next_block == round.blocks.size() &&
                    round.next_parity == round.parity.size() && round.extras == 0;
  if (over) end_round(now, message);
  return pdu;
}

Bytes PMulSender::address_pdu(Message& message, Round& round, bool extra) {
  const auto begin = round.next_destination;
  const auto end =
      std::min(round.destinations.size(), begin + destinations_max(message.rules.pdu_octets_max));
  const bool last = end == round.destinations.size();
  AddressPdu pdu{.priority = message.submission.priority,
                 .name = message.name,
                 .total = message.total,
                 .expiry = message.submission.expiry,
                 .extra = extra};
  pdu.part = begin == 0 ? (last ? ListPart::only : ListPart::first)
                        : (last ? ListPart::last : ListPart::middle);
  pdu.destinations.assign(round.destinations.begin() + static_cast<std::ptrdiff_t>(begin),
                          round.destinations.begin() + static_cast<std::ptrdiff_t>(end));
  round.next_destination = last ? 0 : end;
  if (last && extra) --round.extras;
  if (last && !extra) round.address_done = true;
  ++stats_.address_pdus;
  return encode(pdu, {.checksum = message.rules.checksum});
}

Bytes PMulSender::block_pdu(const Message& message, std::uint16_t number) {
  const ByteSpan content = message.submission.content;
  const std::size_t octets = message.submission.block_octets;
  const ByteSpan rest = content.subspan(std::min((number - 1u) * octets, content.size()));
  const ByteSpan block = rest.first(std::min(octets, rest.size()));
  ++stats_.data_pdus;
  if (message.rounds > 1) ++stats_.data_pdus_again;
  stats_.data_octets += block.size();
  return encode(DataPdu{.priority = message.submission.priority,
                        .name = message.name,
                        .number = number,
                        .fragment = {block.begin(), block.end()}},
                {.checksum = message.rules.checksum});
}

Bytes PMulSender::parity_pdu(const Message& message, std::uint16_t number) {
  const Bytes& content = message.submission.content;
  const std::size_t octets = message.submission.block_octets;
  ++stats_.parity_pdus;
  stats_.data_octets += octets;
  return encode(ParityPdu{.priority = message.submission.priority,
                          .name = message.name,
                          .number = number,
                          .total = message.total,
                          .last_block_octets = static_cast<std::uint16_t>(
                              content.size() - (message.total - 1u) * octets),
                          .parity = parity_of(message.groups, content, octets, number)},
                {.checksum = message.rules.checksum});
}

}  // namespace s5066::p_mul
