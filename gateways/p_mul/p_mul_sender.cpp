// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/p_mul_sender.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kAnswersMax = 32;
constexpr std::size_t kAnsweredMax = 256;
constexpr std::size_t kSuspendedMax = 4096;
constexpr Duration kAnswerAgain = std::chrono::seconds(60);
// Number of unanswered rounds after which a node is sent to by its own address.
constexpr unsigned kByGroupInVain = 2;
constexpr unsigned kByGroupInVainAll = 4;  // the number if each round repeats all blocks
// The PDUs that end a message have at least this lifetime.
constexpr Duration kClosingLifetime = std::chrono::seconds(60);

std::size_t count(const std::vector<bool>& blocks) {
  return static_cast<std::size_t>(std::count(blocks.begin(), blocks.end(), true));
}

}  // namespace

PMulSender::PMulSender(const Config& config, const UtcClock& utc)
    : config_(config),
      utc_(utc),
      loss_(config.reliable_from, config.destinations_known_max),
      unheard_(config.destinations_known_max),
      turns_({.turn_max = config.turn_max,
              .octets_max = config.turn_octets_max,
              .targets_max = config.destinations_known_max}) {
  S5066_ASSERT(config.node.value != 0);
  if (config_.bearer_octets_max == 0) config_.bearer_octets_max = config.pdu_octets_max;
  check(config_);
  for (const Group& group : config_.groups) {
    if (group.rules) check(*group.rules);
  }
  for (const NodeId node : config.silent) silent_[node] = true;
}

void PMulSender::check(const RoundRules& rules) const {
  S5066_ASSERT(rules.pdu_octets_max <= config_.bearer_octets_max);
  S5066_ASSERT(config_.bearer_octets_max <= kPduOctetsMax);
  const std::size_t header = rules.coded ? kParityHeaderOctets : kDataHeaderOctets;
  S5066_ASSERT(rules.block_octets > 0 && rules.block_octets + header <= rules.pdu_octets_max);
  S5066_ASSERT(destinations_max(rules.pdu_octets_max) > 0);
  S5066_ASSERT(rules.back_off >= 1);
}

// --- Requests ------------------------------------------------------------------------------------

Result<Accepted> PMulSender::request_submit(Instant now, Submission submission) {
  // A cancelled message whose Discard_PDUs are still to be sent may be submitted again.
  const auto leaving = messages_.find(submission.key);
  if (leaving != messages_.end() && leaving->second.is_closing()) {
    forget(leaving);
  }
  if (messages_.size() >= config_.messages_max) forget_one_that_is_over();
  if (messages_.size() >= config_.messages_max)
    return Error{ErrorCode::queue_full, "too many messages are being sent"};
  if (submission.content.size() > config_.content_octets_max - content_octets_) {
    return Error{ErrorCode::queue_full, "the messages being sent have too many octets"};
  }
  if (messages_.contains(submission.key) || find(submission.message_id) != nullptr) {
    return Error{ErrorCode::already_exists, "the message is already being sent"};
  }
  if (submission.destinations.empty() ||
      submission.destinations.size() > config_.destinations_max) {
    return Error{ErrorCode::bad_field, "there are no destinations, or too many"};
  }
  if (submission.expiry <= utc_.utc(now) || submission.expiry.value > 0xFFFFFFFF) {
    return Error{ErrorCode::bad_field, "the expiry is past or too far away"};
  }
  const auto target = resolve(submission);
  if (!target) return target.error();
  const RoundRules& rules = rules_for(*target);
  const std::uint16_t octets =
      submission.block_octets != 0 ? submission.block_octets : rules.block_octets;
  const bool coded = rules.coded || submission.parity_ahead;
  const std::size_t header = coded ? kParityHeaderOctets : kDataHeaderOctets;
  if (octets + header > config_.bearer_octets_max) {
    return Error{ErrorCode::too_large, "its blocks are larger than a PDU may be"};
  }
  const std::size_t total =
      std::max<std::size_t>(1, (submission.content.size() + octets - 1) / octets);
  if (total > kBlocksMax) return Error{ErrorCode::too_large, "the message has too many blocks"};

  std::sort(submission.destinations.begin(), submission.destinations.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  const bool resumed = submission.block_octets != 0 && submission.acknowledged;
  submission.block_octets = octets;
  const MessageKey key = submission.key;
  Message message{.submission = std::move(submission),
                  .name = {},
                  .target = *target,
                  .rules = rules,
                  .total = static_cast<std::uint16_t>(total),
                  .groups = BlockGroups(static_cast<std::uint16_t>(total)),
                  .next_row = {},
                  .nodes = {}};
  message.name = {config_.node, message.submission.message_id};
  message.next_row.assign(message.groups.count(), 0);
  message.expires = utc_.instant(message.submission.expiry);
  message.order = next_order_++;
  message.probing = resumed;
  message.wait = rules.ack_wait;
  for (const Destination& destination : message.submission.destinations) {
    const auto known = silent_.find(destination.node);
    const bool silent = known != silent_.end() && known->second;
    message.nodes.push_back(
        {.address = destination, .silent = silent || !message.submission.acknowledged});
  }
  content_octets_ += message.submission.content.size();
  suspended_.erase(message.submission.message_id);
  counters_.add(PMulSenderCounter::messages);
  start_round(now, messages_.emplace(key, std::move(message)).first->second, For::everybody);
  return Accepted{octets};
}

Result<Target> PMulSender::resolve(const Submission& submission) const {
  std::set<NodeId> nodes;
  for (const Destination& destination : submission.destinations) {
    if (destination.node.value == 0 || destination.node == config_.node) {
      return Error{ErrorCode::bad_field, "a destination is 0.0.0.0 or this station"};
    }
    if (!nodes.insert(destination.node).second) {
      return Error{ErrorCode::bad_field, "a destination is named twice"};
    }
  }
  if (!submission.group && nodes.size() == 1) return Target{*nodes.begin()};
  const Group* best = nullptr;
  for (const Group& group : config_.groups) {
    if (submission.group && group.id != *submission.group) continue;
    const std::set<NodeId> members(group.members.begin(), group.members.end());
    if (!std::includes(members.begin(), members.end(), nodes.begin(), nodes.end())) continue;
    if (best == nullptr || group.members.size() < best->members.size()) best = &group;
  }
  if (best != nullptr) return Target{best->id};
  if (config_.dynamic_groups && !submission.group) return Target{MulticastAddress{}};
  return Error{ErrorCode::not_found, "no group reaches all destinations"};
}

const RoundRules& PMulSender::rules_for(const Target& target) const {
  const auto* id = std::get_if<GroupId>(&target);
  if (id == nullptr) return config_;
  for (const Group& group : config_.groups) {
    if (group.id == *id && group.rules) return *group.rules;
  }
  return config_;
}

// --- Rounds --------------------------------------------------------------------------------------

void PMulSender::start_round(Instant now, Message& message, For whom) {
  S5066_ASSERT(!message.round);
  for (const NodeId node : message.begin_round()) say_unanswered(message, node);
  choose_addresses(now, message);
  const bool for_silent = std::any_of(message.nodes.begin(), message.nodes.end(),
                                      [](const Node& n) { return !n.ended && n.silent; });
  if (whom == For::everybody && for_silent) ++message.silent_rounds;
  message.round_for = whom;
  message.plan_round(loss_);
  message.put_off = false;
  ++message.rounds;
  counters_.add(PMulSenderCounter::rounds);
  news(MessageNews::Kind::round_started, message, {}, message.planned_octets());
  if (message.is_dynamic() && !message.round->only) ask_for_group(message);
}

// A node whose subnetwork does not know the group never answers PDUs to the group. A node that has
// not answered several rounds is therefore also sent to by its own address. If it answers there, it
// gets the next round by the group once more. If its next list shows that no block of that round
// has arrived, the group does not reach the node. From then on it gets all PDUs by its own address.
void PMulSender::choose_addresses(Instant now, Message& message) {
  if (!message.group()) return;
  for (Node& node : message.nodes) {
    if (node.ended) continue;
    const bool known = is_unheard(now, message, node.address.node);
    if (known && message.rounds == 0) say_unheard(message, node.address.node);
    const unsigned rounds = message.rules.resend_all ? kByGroupInVainAll : kByGroupInVain;
    const unsigned in_vain = node.answered_alone ? 1 : rounds;
    node.alone = known || (!node.silent && node.unanswered >= in_vain);
  }
}

bool PMulSender::is_unheard(Instant now, const Message& message, NodeId node) const {
  const auto group = message.group();
  return group && unheard_.contains(now, *group, node);
}

void PMulSender::note_unheard(Instant now, const Message& message, NodeId node) {
  unheard_.note(now, *message.group(), node);
  say_unheard(message, node);
}

void PMulSender::say_unheard(const Message& message, NodeId node) {
  events_.emplace_back(MessageNews{.kind = MessageNews::Kind::group_unheard,
                                   .name = message.name,
                                   .node = node,
                                   .group = *message.group()});
}

// --- A group for one message ---------------------------------------------------------------------

bool PMulSender::can_leave(const Message& message) const {
  const auto* group = std::get_if<MulticastAddress>(&message.target);
  if (!message.round || message.awaits_group) return false;
  const Round& round = *message.round;
  if (round.reliable && arq_full_.contains(round.destinations[0].node)) return false;
  return message.round->only || group == nullptr || group->value != 0;
}

// A node that has not answered may have missed the announcement, or may have been restarted since.
// The group is then announced again.
void PMulSender::ask_for_group(Message& message) {
  const bool none = std::get<MulticastAddress>(message.target).value == 0;
  const bool needed =
      none || std::any_of(message.nodes.begin(), message.nodes.end(),
                          [](const Node& n) { return !n.ended && (!n.heard || n.unanswered > 0); });
  if (!needed) return;
  GroupRequest request{.message_id = message.name.message_id, .expiry = message.submission.expiry};
  for (const Destination& one : message.round->destinations)
    request.destinations.push_back(one.node);
  message.awaits_group = true;
  group_requests_.push_back(std::move(request));
}

void PMulSender::on_group(Instant, std::uint32_t message_id, std::uint32_t address) {
  Message* message = find(message_id);
  if (message == nullptr || !message->is_dynamic() || !message->awaits_group) return;
  message->awaits_group = false;
  if (address != 0) {
    message->target = MulticastAddress{address};
    return;
  }
  // Other messages may hold all addresses until they expire.
  group_requests_.push_back({.message_id = message_id});
  message->target = MulticastAddress{};
  message->plan_round_alone(loss_);
}

std::optional<PMulSender::GroupRequest> PMulSender::poll_group_request() {
  return take_front(group_requests_);
}

void PMulSender::forget(Messages::iterator at) {
  if (at->second.is_dynamic())
    group_requests_.push_back({.message_id = at->second.name.message_id});
  content_octets_ -= at->second.submission.content.size();
  messages_.erase(at);
}

// Forgets one message that only waits to send the PDUs that end it. These PDUs may wait for the
// bearer for hours, and a new message must not wait for them.
void PMulSender::forget_one_that_is_over() {
  const auto over = [](const auto& one) { return one.second.is_closing(); };
  const auto at = std::find_if(messages_.begin(), messages_.end(), over);
  if (at != messages_.end()) forget(at);
}

void PMulSender::forget_unsaid() {
  if (!std::exchange(unsaid_, false)) return;
  for (auto at = messages_.begin(); at != messages_.end();) {
    const auto one = at++;
    const bool over = one->second.is_closing();
    if (over && !can_leave(one->second)) forget(one);
  }
}

Result<void> PMulSender::request_cancel(Instant now, MessageKey key) {
  const auto at = messages_.find(key);
  if (at == messages_.end()) return Error{ErrorCode::not_found, "message"};
  if (at->second.is_closing()) return {};
  end_all(now, at->second, Outcome::cancelled);
  close(at->second, config_.discards);
  forget_unsaid();
  return {};
}

// Suspends a message without a PDU, so that the nodes keep their parts of it. Acknowledgements of
// it are not answered by a Discard_PDU, because the message is submitted again later.
Result<void> PMulSender::request_suspend(Instant now, MessageKey key) {
  const auto at = messages_.find(key);
  if (at == messages_.end()) return Error{ErrorCode::not_found, "message"};
  if (at->second.is_closing()) return {};
  on_begun_before(now, at->second.name.message_id, at->second.expires);
  end_all(now, at->second, Outcome::suspended);
  forget(at);
  return {};
}

void PMulSender::on_begun_before(Instant now, std::uint32_t message_id, Instant expires) {
  std::erase_if(suspended_, [now](const auto& one) { return one.second <= now; });
  if (suspended_.size() >= kSuspendedMax) suspended_.erase(suspended_.begin());
  suspended_[message_id] = expires;
}

// --- Acknowledgements ----------------------------------------------------------------------------

PMulSender::Message* PMulSender::find(std::uint32_t message_id) {
  for (auto& [key, message] : messages_) {
    if (message.submission.message_id == message_id) return &message;
  }
  return nullptr;
}

std::vector<NodeId> PMulSender::on_ack(Instant now, const AckPdu& ack) {
  counters_.add(PMulSenderCounter::acks);
  std::set<NodeId> nodes;
  if (ack.sender != config_.node) nodes.insert(ack.sender);
  for (const AckEntry& entry : ack.entries) {
    if (const auto node = on_entry(now, ack, entry)) nodes.insert(*node);
  }
  forget_unsaid();
  return {nodes.begin(), nodes.end()};
}

// Returns the node that acknowledges. The entry should name the transmitter of the message.
// libjpmul may name the acknowledging node there; other makes may swap the two IDs or leave the ID
// of the entry empty. Any other ID belongs to a message of another transmitter that has the same
// number by chance.
std::optional<NodeId> PMulSender::sender_of(const AckPdu& ack, const AckEntry& entry) const {
  const NodeId named = entry.name.source;
  if (ack.sender == config_.node) return named;
  if (named == config_.node || named == ack.sender || named.value == 0) return ack.sender;
  return std::nullopt;
}

std::optional<NodeId> PMulSender::on_entry(Instant now, const AckPdu& ack, const AckEntry& entry) {
  const bool usual = entry.name.source == config_.node && ack.sender != config_.node;
  Message* message = find(entry.name.message_id);
  const auto sender = sender_of(ack, entry);
  if (!sender || (message == nullptr && !usual)) {
    counters_.add(PMulSenderCounter::acks_of_others);
    refuse(now, ack, entry, "the acknowledgement names another transmitter");
    return std::nullopt;
  }
  if (message == nullptr) {
    counters_.add(PMulSenderCounter::acks_unknown);
    discard_unknown(now, *sender, entry.name, ack.priority);
    return sender;
  }
  const auto node = std::find_if(message->nodes.begin(), message->nodes.end(),
                                 [&](const Node& n) { return n.address.node == *sender; });
  if (node == message->nodes.end()) {
    counters_.add(PMulSenderCounter::acks_not_addressed);
    refuse(now, ack, entry, "the message was not sent to the station that acknowledges it");
    return std::nullopt;
  }
  if (!usual) counters_.add(PMulSenderCounter::acks_other_form);
  if (node->ended) {
    counters_.add(PMulSenderCounter::acks_repeated);
    return sender;
  }
  if (node->silent && message->submission.acknowledged) {
    on_silent(now, *sender, false);
    news(MessageNews::Kind::left_silence, *message, *sender, 0);
  }
  if (entry.missing.empty()) {
    end(now, *message, *node, Outcome::delivered);
  } else if (!take_list(now, *message, *node, entry)) {
    counters_.add(PMulSenderCounter::acks_nonsense);
    refuse(now, ack, entry, "the acknowledgement lists blocks that the message does not have");
    return sender;
  }
  after_answer(now, *message);
  return sender;
}

// Notes why an acknowledgement is refused. The node has answered, so it is not reported as
// unanswering.
void PMulSender::refuse(Instant now, const AckPdu& ack, const AckEntry& entry, const char* why) {
  if (Message* message = find(entry.name.message_id)) {
    for (Node& node : message->nodes) {
      if (node.address.node == ack.sender) node.refused = why;
    }
  }
  if (!refusals_.due(now, ack.sender)) return;
  events_.emplace_back(MessageNews{.kind = MessageNews::Kind::ack_refused,
                                   .name = entry.name,
                                   .node = ack.sender,
                                   .detail = why});
}

// Returns false if the list names blocks that the message does not have.
bool PMulSender::take_list(Instant now, Message& message, Node& node, const AckEntry& entry) {
  if (entry.missing.back().last > message.total) return false;
  const bool first = !node.heard;
  const bool goes_on =
      entry.truncated || list_values(entry.missing, false) == config_.missing_list_max;
  const std::size_t end = goes_on ? entry.missing.back().last : message.total;
  message.note_list(node, entry, end);
  note_end_of_round(now, message, node, end);
  if (node.left && (message.round || now >= message.left_at)) note_answer(now, message, node);
  const std::size_t missing = count(node.missing);
  if (first && !message.probing) {
    loss_.note(node.address.node, static_cast<double>(missing) / message.total);
  }
  news(MessageNews::Kind::partly_received, message, node.address.node,
       missing * message.submission.block_octets);
  return true;
}

// Call when a list has come. It may come before the time at which the round has left by the
// estimate of the bearer. If the list shows that the node has the whole round, the estimate is
// corrected.
void PMulSender::note_end_of_round(Instant now, Message& message, Node& node, std::size_t listed) {
  if (message.round || message.rounds == 0 || now >= message.left_at) return;
  if (!shows_end_of_round(node, listed)) {
    node.early = true;
    return;
  }
  if (turns_.last() == message.submission.key) note_left(now, message.submission.priority);
  arm(message, now);
}

// Call when the node has answered after all PDUs of the round for it were sent.
void PMulSender::note_answer(Instant now, Message& message, Node& node) {
  node.answered = true;
  if (node.coded) node.parity_in_vain = node.missing == node.before;
  if (!node.alone || !message.group()) return;
  const bool in_vain = node.group_tried && node.missing == node.before;
  if (in_vain && !is_unheard(now, message, node.address.node)) {
    note_unheard(now, message, node.address.node);
  }
  node.answered_alone = true;
  node.group_tried = false;
}

// Returns true if the list shows that the whole round has left. The bearer only estimates when a
// round has left, but it keeps order: when a node has the last block, the whole round has been
// sent. A list that repeats one from before the round names that block as missing or ends before
// it.
bool PMulSender::shows_end_of_round(const Node& node, std::size_t listed) {
  if (node.coded || node.last_block > listed) return false;
  return node.last_block == 0 || !node.missing[node.last_block - 1u];
}

void PMulSender::after_answer(Instant now, Message& message) {
  if (message.is_closing()) return;
  const auto& nodes = message.nodes;
  if (std::all_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.ended; })) {
    close(message, 0);
    return;
  }
  if (message.round || now < message.left_at) return;
  const bool too_late = now >= message.expires;
  bool somebody = false;
  for (const Node& node : nodes) {
    if (node.ended || node.silent) continue;
    if (!node.answered) return;
    somebody = true;
  }
  if (!somebody) return;
  if (too_late) {
    end_all(now, message, Outcome::expired);
    return close(message, config_.discards);
  }
  message.wait = message.rules.ack_wait;  // answers come, so the channel is good
  start_round(now, message, For::answering);
}

// A node that acknowledges a finished message has missed the PDU that ended it, so it gets a
// Discard_PDU.
void PMulSender::discard_unknown(Instant now, NodeId node, const MessageName& name,
                                 std::uint8_t priority) {
  if (now < started_ + config_.discard_unknown_after) return;
  if (suspended_.contains(name.message_id)) return;  // the message is submitted again later
  const auto at = answered_at_.find(name);
  if (at != answered_at_.end() && now < at->second + kAnswerAgain) return;
  if (answers_.size() >= kAnswersMax) return;
  if (answered_at_.size() >= kAnsweredMax) answered_at_.erase(answered_at_.begin());
  answered_at_[name] = now;
  answers_.push_back(discard_to(node, name, priority));
}

OutgoingPdu PMulSender::discard_to(NodeId node, const MessageName& name,
                                   std::uint8_t priority) const {
  return {.target = node,
          .priority = priority,
          .lifetime = kAnswerAgain,
          .octets = encode(DiscardPdu{.priority = priority, .name = name},
                           {.checksum = config_.checksum})};
}

void PMulSender::on_silent(Instant now, NodeId node, bool silent) {
  silent_[node] = silent;
  for (auto& [key, message] : messages_) {
    if (!message.submission.acknowledged) continue;
    bool changed = false;
    for (Node& member : message.nodes) {
      if (member.address.node != node || member.silent == silent) continue;
      member.silent = silent;
      message.silent_done = false;
      changed = true;
    }
    if (changed && !message.round) arm(message, std::max(now, message.left_at));
  }
}

// --- Time ----------------------------------------------------------------------------------------

void PMulSender::on_clear_at(Instant now, std::uint8_t priority, Instant clear_at) {
  clear_at_[priority] = std::max(now, clear_at);
  if (!ended_) return;
  const auto at = messages_.find(*ended_);
  ended_.reset();
  if (at != messages_.end() && !at->second.round) arm(at->second, clear_at_[priority]);
}

// Less urgent PDUs do not count, because the bearer sends more urgent PDUs before them.
Instant PMulSender::busy_until(Instant now, std::uint8_t priority) const {
  Instant until = now;
  for (const auto& [other, at] : clear_at_) {
    if (other <= priority) until = std::max(until, at);
  }
  return until;
}

// Call when the PDU that was handed over last is known to have left. The bearer then has no PDU of
// its priority or of a higher priority.
void PMulSender::note_left(Instant now, std::uint8_t priority) {
  for (auto& [other, at] : clear_at_) {
    if (other <= priority) at = std::min(at, now);
  }
}

std::optional<Instant> PMulSender::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, message] : messages_) {
    if (message.is_closing()) continue;
    next = earlier(next, verdict_at(message));
    if (message.round) continue;
    next = earlier(next, earlier(message.ack_deadline, message.silent_deadline));
  }
  return next;
}

void PMulSender::on_deadline(Instant now) {
  for (auto& [key, message] : messages_) {
    if (message.is_closing()) continue;
    if (message.expires <= now) {
      // A round whose blocks are all sent counts as sent, because the PDUs left only mark its end.
      if (message.round && message.legs.empty() && !message.sends_blocks()) {
        message.round->extras = 0;
        end_round(now, message);
        if (message.round) continue;  // a message without answers has ended with its round
      }
      if (verdict_at(message) > now) continue;
      end_all(now, message, Outcome::expired);
      close(message, config_.discards);
    }
    if (message.round) continue;
    const bool silent_due = message.silent_deadline && *message.silent_deadline <= now;
    const bool ack_due = message.ack_deadline && *message.ack_deadline <= now;
    if (!silent_due && !ack_due) continue;
    const Instant busy_until = this->busy_until(now, message.submission.priority);
    if (busy_until > now && !message.put_off) {
      // Other messages of the same priority keep the bearer busy, so that no answer could have come
      // yet. The wait is extended once only, because they may keep it busy for hours.
      arm(message, busy_until);
      message.put_off = true;
      continue;
    }
    message.wait = std::min(std::max(config_.ack_wait_max, message.rules.ack_wait),
                            from_seconds(to_seconds(message.wait) * message.rules.back_off));
    start_round(now, message, silent_due ? For::everybody : For::answering);
  }
  forget_unsaid();
}

// Returns the time when the message counts as expired. If its round left in time, the nodes first
// get their time to acknowledge it.
Instant PMulSender::verdict_at(const Message& message) const {
  if (message.round || !message.ack_deadline) return message.expires;
  return std::clamp(message.answers_by, message.expires, message.expires + config_.ack_wait_max);
}

void PMulSender::arm(Message& message, Instant left_at) {
  message.left_at = left_at;
  message.ack_deadline.reset();
  message.silent_deadline.reset();
  std::size_t answering = 0;
  bool silent = false;
  for (const Node& node : message.nodes) {
    if (node.ended) continue;
    if (node.silent) {
      silent = true;
    } else {
      ++answering;
    }
  }
  if (answering > 0) {
    const Duration slots = config_.ack_slot * static_cast<Duration::rep>(answering);
    message.ack_deadline = left_at + message.wait + slots;
    message.answers_by = left_at + message.rules.ack_wait + slots;
  }
  const unsigned repeats = message.submission.acknowledged ? message.rules.emcon_repeats_max
                                                           : config_.unacknowledged_repeats;
  if (silent && message.silent_rounds <= repeats) {
    message.silent_deadline = left_at + message.rules.emcon_interval;
  } else if (silent && !std::exchange(message.silent_done, true)) {
    for (const Node& node : message.nodes) {
      if (node.silent && !node.ended) say_unanswered(message, node.address.node);
    }
  }
}

void PMulSender::close(Message& message, unsigned discards) {
  for (const Node& node : message.nodes) {
    if (discards == 0 || !node.alone || answers_.size() >= kAnswersMax) continue;
    answers_.push_back(discard_to(node.address.node, message.name, message.submission.priority));
  }
  message.legs.clear();
  message.round = Round{};
  message.round->closes = true;
  message.round->discards = discards;
  message.round->address_done = discards > 0;
  message.awaits_group = false;
  unsaid_ = unsaid_ || !can_leave(message);
}

void PMulSender::say_why(Instant now, const Message& message, const Node& node,
                         DestinationEnded& ended) const {
  if (node.heard) {
    ended.reason = "the station received only a part of the message";
  } else if (node.refused != nullptr) {
    ended.reason = node.refused;
  } else if (!node.sent) {
    ended.reason = "nothing could be sent to the station in time";
  } else if (node.silent) {
    ended.reason = "the station is in EMCON and has not acknowledged the message";
  } else if (node.unanswered > 0 || now >= message.answers_by) {
    ended.reason = "the station did not answer";
    ended.unanswered = true;
  } else {
    ended.reason = "its lifetime ended before the station could answer";
  }
}

void PMulSender::end(Instant now, Message& message, Node& node, Outcome outcome) {
  S5066_ASSERT(!node.ended);
  node.ended = true;
  std::erase_if(message.legs, [&](const Round& leg) { return leg.only == node.address.node; });
  if (outcome == Outcome::delivered) counters_.add(PMulSenderCounter::delivered);
  if (outcome == Outcome::expired) counters_.add(PMulSenderCounter::expired);
  DestinationEnded ended{
      .key = message.submission.key, .node = node.address.node, .outcome = outcome};
  if (outcome == Outcome::expired) say_why(now, message, node, ended);
  events_.emplace_back(std::move(ended));
}

void PMulSender::end_all(Instant now, Message& message, Outcome outcome) {
  for (Node& node : message.nodes) {
    if (!node.ended) end(now, message, node, outcome);
  }
}

void PMulSender::end_round(Instant now, Message& message) {
  const MessageKey key = message.submission.key;
  if (message.round->closes) {
    forget(messages_.find(key));
    return;
  }
  for (Node& node : message.nodes) {
    if (Message::is_in(*message.round, node)) node.sent = node.left = true;
  }
  message.round.reset();
  if (!message.legs.empty()) {
    message.round = std::move(message.legs.front());
    message.legs.pop_front();
    return;
  }
  news(MessageNews::Kind::round_sent, message, {}, 0);
  if (!message.submission.acknowledged && message.silent_rounds > config_.unacknowledged_repeats) {
    end_all(now, message, Outcome::sent);
    close(message, 0);
    return;
  }
  arm(message, busy_until(now, message.submission.priority));
  ended_ = key;
}

// --- PDUs ----------------------------------------------------------------------------------------

bool PMulSender::has_pdu() const {
  if (!answers_.empty()) return true;
  return std::any_of(messages_.begin(), messages_.end(),
                     [this](const auto& entry) { return can_leave(entry.second); });
}

PMulSender::Message* PMulSender::most_urgent(Instant now) {
  Message* best = nullptr;
  Message* has_turn = nullptr;
  for (auto& [key, message] : messages_) {
    if (!can_leave(message)) continue;
    if (turns_.last() == key && !turns_.is_over(now)) has_turn = &message;
    if (best == nullptr || turns_.goes_before(message, *best)) best = &message;
  }
  if (has_turn == nullptr || best->submission.priority < has_turn->submission.priority) return best;
  return has_turn;
}

std::optional<OutgoingPdu> PMulSender::poll_pdu(Instant now) {
  if (!answers_.empty()) {
    OutgoingPdu answer = std::move(answers_.front());
    answers_.pop_front();
    counters_.add(PMulSenderCounter::discard_pdus);
    counters_.add(PMulSenderCounter::octets, answer.octets.size());
    return answer;
  }
  Message* message = most_urgent(now);
  if (message == nullptr) return std::nullopt;
  if (turns_.last() && *turns_.last() != message->submission.key) {
    const auto at = messages_.find(*turns_.last());
    if (at != messages_.end() && at->second.round && !at->second.is_closing()) {
      counters_.add(PMulSenderCounter::pre_emptions);
    }
  }
  turns_.note(now, *message, message->submission.block_octets);
  ended_.reset();
  return next_of(now, *message);
}

OutgoingPdu PMulSender::next_of(Instant now, Message& message) {
  Round& round = *message.round;
  OutgoingPdu pdu{.target = message.target,
                  .priority = message.submission.priority,
                  .lifetime = message.expires - now,
                  .reliable = round.reliable};
  if (round.only) pdu.target = *round.only;
  if (round.reliable) pdu.target = round.destinations[0].node;  // a group has no ARQ
  // A Discard_PDU is sent when the time is up, and so is the empty Address_PDU that ends a message.
  if (round.closes) pdu.lifetime = std::max<Duration>(pdu.lifetime, kClosingLifetime);
  PduType type{};
  std::tie(type, pdu.octets) = message.next_pdu();
  count_pdu(type, message, pdu.octets.size());
  if (message.round_over()) end_round(now, message);
  return pdu;
}

void PMulSender::count_pdu(PduType type, const Message& message, std::size_t octets) {
  counters_.add(PMulSenderCounter::octets, octets);
  if (type == PduType::discard) counters_.add(PMulSenderCounter::discard_pdus);
  if (type == PduType::address) counters_.add(PMulSenderCounter::address_pdus);
  if (type == PduType::parity) {
    counters_.add(PMulSenderCounter::parity_pdus);
    counters_.add(PMulSenderCounter::data_octets, octets - kParityHeaderOctets);
  }
  if (type != PduType::data) return;
  counters_.add(PMulSenderCounter::data_pdus);
  if (message.rounds > 1) counters_.add(PMulSenderCounter::data_pdus_again);
  counters_.add(PMulSenderCounter::data_octets, octets - kDataHeaderOctets);
}

std::optional<MessageEvent> PMulSender::poll_event() {
  return take_front(events_);
}

void PMulSender::say_unanswered(const Message& message, NodeId node) {
  events_.emplace_back(Unanswered{message.submission.key, node});
}

void PMulSender::news(MessageNews::Kind kind, const Message& message, NodeId node,
                      std::uint64_t octets) {
  events_.emplace_back(
      MessageNews{.kind = kind, .name = message.name, .node = node, .octets = octets});
}

}  // namespace s5066::p_mul
