// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/sent_message.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::p_mul {
namespace {

// The end of a round to one node is marked if the round has at least this number of PDUs.
constexpr std::size_t kExtraFrom = 3;
// The marks of the end take at most 1/kExtraShare of the octets of a round.
constexpr std::size_t kExtraShare = 50;
constexpr std::size_t kExtrasMax = 3;

std::size_t count(const std::vector<bool>& blocks) {
  return static_cast<std::size_t>(std::count(blocks.begin(), blocks.end(), true));
}

}  // namespace

bool SentMessage::is_dynamic() const {
  return std::holds_alternative<MulticastAddress>(target);
}

std::optional<GroupId> SentMessage::group() const {
  if (const auto* configured = std::get_if<GroupId>(&target)) return *configured;
  return is_dynamic() ? std::optional(GroupId{}) : std::nullopt;
}

bool SentMessage::sends_blocks() const {
  return !round->address_done || round->next_block < round->blocks.size() ||
         round->next_parity < round->parity.size();
}

bool SentMessage::round_over() const {
  return round->discards == 0 && !sends_blocks() && round->extras == 0;
}

bool SentMessage::is_in(const Round& round, const Node& node) {
  if (node.ended) return false;
  return round.only ? node.address.node == *round.only : !node.alone;
}

// --- Rounds --------------------------------------------------------------------------------------

std::vector<NodeId> SentMessage::begin_round() {
  std::vector<NodeId> unanswering;
  for (Node& node : nodes) {
    const bool said_something = node.answered || node.early;
    node.unanswered = said_something || rounds == 0 ? 0 : node.unanswered + 1;
    if (node.unanswered == 1 && !node.ended && !node.silent) {
      unanswering.push_back(node.address.node);
    }
    node.answered = node.early = node.left = false;
    node.before = node.missing;
    node.coded = false;
    node.last_block = 0;
  }
  return unanswering;
}

void SentMessage::plan_round(const BlockLoss& loss) {
  std::deque<Round> planned;
  const bool by_group =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return !n.ended && !n.alone; });
  if (by_group) planned.push_back(make_leg({}, loss));
  for (const Node& node : nodes) {
    if (!node.ended && node.alone) planned.push_back(make_leg(node.address.node, loss));
  }
  S5066_ASSERT(!planned.empty());
  round = std::move(planned.front());
  planned.pop_front();
  legs = std::move(planned);
}

void SentMessage::plan_round_alone(const BlockLoss& loss) {
  for (Node& node : nodes) node.alone = true;
  const unsigned begun = rounds--;
  plan_round(loss);
  rounds = begun;
}

std::size_t SentMessage::planned_octets() const {
  std::size_t pdus = round->blocks.size() + round->parity.size();
  for (const Round& leg : legs) pdus += leg.blocks.size() + leg.parity.size();
  return pdus * submission.block_octets;
}

SentMessage::Round SentMessage::make_leg(std::optional<NodeId> only, const BlockLoss& loss) {
  Round leg;
  leg.only = only;
  bool for_silent = false;
  bool tries_group = false;  // the leg shows whether a node hears the group
  for (const Node& node : nodes) {
    // The Address_PDU to a group also names the nodes that are sent to separately, because a node
    // that is missing from the list takes the message for finished.
    if (node.ended || (only && node.address.node != *only)) continue;
    leg.destinations.push_back(node.address);
    for_silent = for_silent || node.silent;
    tries_group = tries_group || (!only && node.answered_alone && !node.group_tried);
  }
  choose_blocks(leg);
  leg.extras = choose_extras(leg);
  leg.address_done = leg.blocks.empty() && leg.parity.empty() && leg.extras > 0;
  const bool to_one = leg.destinations.size() == 1 && !for_silent && !tries_group;
  if (to_one && submission.acknowledged) leg.reliable = loss.is_high(leg.destinations[0].node);
  for (Node& node : nodes) {
    if (!is_in(leg, node)) continue;
    node.coded = !leg.parity.empty();
    node.last_block = leg.blocks.empty() ? std::uint16_t{0} : leg.blocks.back();
    node.group_tried = node.group_tried || (!only && node.answered_alone && !leg.blocks.empty());
  }
  return leg;
}

// STANDARD: a node that has never acknowledged gets all blocks again. On HF this takes minutes, and
// the node may have all blocks if only its acknowledgement was lost. Unless `resend_all` is set,
// the node gets an Extra_Address_PDU instead. If it does not answer that, it gets the last block.
// Each of them makes the node report its missing blocks. A node whose list is from before the last
// round is treated in the same way.
void SentMessage::choose_blocks(Round& leg) {
  const bool first = rounds == 0;
  bool all = false;
  bool probe = false;
  std::vector<Node*> heard;
  for (Node& node : nodes) {
    if (!is_in(leg, node)) continue;
    if (node.silent) {
      all = all || round_for == For::everybody;
    } else if (first) {
      all = all || !probing;
      probe = true;
    } else if (!node.heard && rules.resend_all) {
      all = true;
    } else if (!node.heard || node.unanswered > 0 || count(node.missing) == 0) {
      probe = probe || !rules.extra_address || node.unanswered > 1;
    } else {
      heard.push_back(&node);
    }
  }
  if (all) return choose_all(leg);
  choose_repairs(heard, leg);
  if (probe && (leg.blocks.empty() || leg.blocks.back() != total)) leg.blocks.push_back(total);
}

void SentMessage::choose_all(Round& leg) {
  for (std::uint32_t n = 1; n <= total; ++n) leg.blocks.push_back(static_cast<std::uint16_t>(n));
  const bool ask_again = std::none_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return is_in(leg, node) && node.silent;
  });
  if ((!rules.coded && !submission.parity_ahead) || ask_again) return;
  const double ahead = submission.parity_ahead.value_or(rules.parity_ahead);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const double rows = ahead * static_cast<double>(groups.blocks(group));
    add_parity(group, static_cast<std::size_t>(std::ceil(rows)), leg);
  }
}

// The end of a round is marked more than once if that takes little air time. A node that does not
// hear the mark does not answer, and the next round is then planned without its list.
unsigned SentMessage::choose_extras(const Round& leg) const {
  if (!rules.extra_address) return 0;
  const std::size_t pdus = leg.blocks.size() + leg.parity.size();
  if (submission.parity_ahead && !submission.acknowledged) return kExtrasMax;
  if (pdus == 0) return 1;
  if (pdus < kExtraFrom && (leg.only || nodes.size() == 1)) return 0;
  const std::size_t own = kAddressHeaderOctets + kAddressEntryOctets * leg.destinations.size();
  const std::size_t affordable = pdus * submission.block_octets / (kExtraShare * own);
  return static_cast<unsigned>(std::clamp<std::size_t>(affordable, 1, kExtrasMax));
}

// A group of blocks gets rows of parity instead of blocks if fewer rows than missing blocks are
// needed, or if the leg has nodes whose missing blocks are unknown. Such a node can use any row,
// but it may already have a block that another node misses. The node that misses the most blocks of
// the group decides the number of rows.
void SentMessage::choose_repairs(const std::vector<Node*>& heard, Round& leg) {
  std::vector<bool> wanted(total, false);
  std::vector<std::size_t> together(groups.count()), most(groups.count());
  for (const Node* node : heard) {
    std::vector<std::size_t> own(groups.count());
    for (std::size_t i = 0; i < total; ++i) {
      if (!node->missing[i]) continue;
      const std::size_t group = groups.group_of_block(static_cast<std::uint16_t>(i + 1));
      ++own[group];
      if (!wanted[i]) ++together[group];
      wanted[i] = true;
    }
    for (std::size_t group = 0; group < groups.count(); ++group) {
      most[group] = std::max(most[group], own[group]);
    }
  }
  const auto in_leg = static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](const Node& node) { return is_in(leg, node); }));
  const bool some_unknown = in_leg > heard.size();
  std::vector<bool> by_parity(groups.count(), false);
  for (std::size_t group = 0; rules.coded && group < groups.count(); ++group) {
    if (most[group] == 0 || (together[group] <= most[group] && !some_unknown)) continue;
    if (next_row[group] + most[group] > kGroupRowsMax) continue;
    by_parity[group] = true;
    add_parity(group, most[group], leg);
  }
  std::vector<bool> plain(total, false);
  for (const Node* node : heard) {
    for (std::size_t i = 0; i < total; ++i) {
      const std::size_t group = groups.group_of_block(static_cast<std::uint16_t>(i + 1));
      if (node->missing[i] && (!by_parity[group] || node->parity_in_vain)) plain[i] = true;
    }
  }
  for (std::size_t i = 0; i < total; ++i) {
    if (plain[i]) leg.blocks.push_back(static_cast<std::uint16_t>(i + 1));
  }
}

void SentMessage::add_parity(std::size_t group, std::size_t rows, Round& leg) {
  for (; rows > 0; --rows) {
    std::size_t& next = next_row[group];
    if (next >= kGroupRowsMax) return;
    leg.parity.push_back(groups.parity_number(group, next++));
  }
}

// The newest list is valid, because a receiver that was restarted may have lost blocks. Blocks
// above the end of the list keep their former state. If it is the first list, these blocks do not
// count as missing, so that they are sent only after the node has asked for them.
void SentMessage::note_list(Node& node, const AckEntry& entry, std::size_t end) {
  if (!node.heard) node.missing.assign(total, false);
  node.heard = true;
  std::fill_n(node.missing.begin(), end, false);
  for (const BlockRange& range : entry.missing) {
    std::fill(node.missing.begin() + (range.first - 1), node.missing.begin() + range.last, true);
  }
}

// --- PDUs ----------------------------------------------------------------------------------------

std::pair<PduType, Bytes> SentMessage::next_pdu() {
  if (round->discards > 0) {
    --round->discards;
    return {PduType::discard, encode(DiscardPdu{.priority = submission.priority, .name = name},
                                     {.checksum = rules.checksum})};
  }
  if (!round->address_done) return {PduType::address, address_pdu(false)};
  if (round->next_block < round->blocks.size()) {
    return {PduType::data, block_pdu(round->blocks[round->next_block++])};
  }
  if (round->next_parity < round->parity.size()) {
    return {PduType::parity, parity_pdu(round->parity[round->next_parity++])};
  }
  S5066_ASSERT(round->extras > 0);
  return {PduType::address, address_pdu(true)};
}

Bytes SentMessage::address_pdu(bool extra) {
  const auto begin = round->next_destination;
  const auto end =
      std::min(round->destinations.size(), begin + destinations_max(rules.pdu_octets_max));
  const bool last = end == round->destinations.size();
  AddressPdu pdu{.priority = submission.priority,
                 .name = name,
                 .total = total,
                 .expiry = submission.expiry,
                 .extra = extra};
  pdu.part = begin == 0 ? (last ? ListPart::only : ListPart::first)
                        : (last ? ListPart::last : ListPart::middle);
  pdu.destinations.assign(round->destinations.begin() + static_cast<std::ptrdiff_t>(begin),
                          round->destinations.begin() + static_cast<std::ptrdiff_t>(end));
  round->next_destination = last ? 0 : end;
  if (last && extra) --round->extras;
  if (last && !extra) round->address_done = true;
  return encode(pdu, {.checksum = rules.checksum});
}

Bytes SentMessage::block_pdu(std::uint16_t number) const {
  const ByteSpan content = submission.content;
  const std::size_t octets = submission.block_octets;
  const ByteSpan rest = content.subspan(std::min((number - 1u) * octets, content.size()));
  const ByteSpan block = rest.first(std::min(octets, rest.size()));
  return encode(DataPdu{.priority = submission.priority,
                        .name = name,
                        .number = number,
                        .fragment = {block.begin(), block.end()}},
                {.checksum = rules.checksum});
}

Bytes SentMessage::parity_pdu(std::uint16_t number) const {
  const Bytes& content = submission.content;
  const std::size_t octets = submission.block_octets;
  return encode(ParityPdu{.priority = submission.priority,
                          .name = name,
                          .number = number,
                          .total = total,
                          .last_block_octets =
                              static_cast<std::uint16_t>(content.size() - (total - 1u) * octets),
                          .parity = parity_of(groups, content, octets, number)},
                {.checksum = rules.checksum});
}

}  // namespace s5066::p_mul
