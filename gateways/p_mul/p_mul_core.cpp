// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/p_mul_core.h"

#include <algorithm>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {

namespace {

constexpr std::size_t kSourceAt = 8;  // offset of Source_ID in a PDU
constexpr std::size_t kHeardMax = 4096;

PMulSender::Config sender_config(const PMulCore::Config& config) {
  PMulSender::Config sender = config.sender;
  sender.dynamic_groups = !config.groups.pool.empty();
  return sender;
}

PMulGroups::Config groups_config(const PMulCore::Config& config) {
  PMulGroups::Config groups = config.groups;
  groups.node = config.sender.node;
  groups.checksum = config.sender.checksum;
  groups.pdu_octets_max = config.sender.pdu_octets_max;
  return groups;
}

}  // namespace

PMulCore::PMulCore(const Config& config, Rng& rng)
    : config_(config),
      sender_(sender_config(config), utc_),
      receiver_(config.receiver, rng, utc_),
      groups_(groups_config(config), rng, utc_) {
  S5066_ASSERT(config.sender.node == config.receiver.node);
}

void PMulCore::list(CounterRows& rows) const {
  counters_.list(rows);
  sender_.counters().list(rows);
  receiver_.counters().list(rows);
  groups_.counters().list(rows);
}

void PMulCore::on_datagram(Instant now, ByteSpan octets) {
  counters_.add(PMulCounter::pdus);
  const auto pdu = decode(octets, config_.decode);
  if (pdu) {
    std::visit([&](const auto& value) { on(now, value); }, *pdu);
    return join_up(now);
  }
  const NodeId source{octets.size() >= kSourceAt + 4 ? get_u32(octets, kSourceAt) : 0};
  if (is_source(source) && refusals_.due(now, source)) {
    events_.emplace_back(MessageNews{.kind = MessageNews::Kind::pdu_refused,
                                     .name = {},
                                     .node = source,
                                     .detail = to_string(pdu.error())});
  }
  switch (pdu.error().code) {
    case ErrorCode::bad_checksum:
      counters_.add(PMulCounter::bad_checksum);
      break;
    case ErrorCode::unsupported:
      counters_.add(PMulCounter::unknown_type);
      break;
    default:
      counters_.add(PMulCounter::malformed);
  }
}

bool PMulCore::is_source(NodeId node) const {
  const auto& sources = config_.sources;
  return sources.empty() || std::find(sources.begin(), sources.end(), node) != sources.end();
}

bool PMulCore::believed(NodeId source) {
  if (is_source(source)) {
    if (heard_.size() < kHeardMax) heard_.insert(source);
    return true;
  }
  counters_.add(PMulCounter::source_refused);
  return false;
}

void PMulCore::on(Instant now, const DataPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_data(now, pdu);
}
void PMulCore::on(Instant now, const AckPdu& pdu) {
  for (const NodeId node : sender_.on_ack(now, pdu)) {
    if (is_source(node) && heard_.size() < kHeardMax) heard_.insert(node);
  }
}
void PMulCore::on(Instant now, const AddressPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_address(now, pdu);
}
void PMulCore::on(Instant now, const DiscardPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_discard(now, pdu);
}
void PMulCore::on(Instant now, const ParityPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_parity(now, pdu);
}
// If the pool of addresses is empty, these PDUs are only counted, because a host on HF cannot join
// a group.
void PMulCore::on(Instant now, const AnnouncePdu& pdu) {
  counters_.add(PMulCounter::group_pdus);
  if (believed(pdu.name.source)) groups_.on_announce(now, pdu);
}
void PMulCore::on(Instant now, const GroupPdu& pdu) {
  counters_.add(PMulCounter::group_pdus);
  if (believed(pdu.name.source)) groups_.on_group_pdu(now, pdu);
}

// Carries events between sender, receiver and groups.
void PMulCore::join_up(Instant now) {
  while (auto request = sender_.poll_group_request()) {
    if (request->destinations.empty()) {
      groups_.request_release(now, request->message_id);
    } else {
      groups_.request_group(now, request->message_id, std::move(request->destinations),
                            request->expiry);
    }
  }
  while (const auto ready = groups_.poll_ready()) {
    sender_.on_group(now, ready->message_id, ready->address);
  }
  while (const auto name = receiver_.poll_settled()) groups_.on_settled(now, *name);
}

Result<Accepted> PMulCore::request_submit(Instant now, Submission submission) {
  auto accepted = sender_.request_submit(now, std::move(submission));
  join_up(now);
  return accepted;
}

Result<void> PMulCore::request_cancel(Instant now, MessageKey key) {
  auto cancelled = sender_.request_cancel(now, key);
  join_up(now);
  return cancelled;
}

Result<void> PMulCore::request_suspend(Instant now, MessageKey key) {
  auto suspended = sender_.request_suspend(now, key);
  join_up(now);
  return suspended;
}

void PMulCore::on_own_silence(Instant now, bool silent, bool listened) {
  silent_ = silent;
  receiver_.on_silent(now, silent, listened);
  groups_.on_silent(silent);
}

void PMulCore::on_deadline(Instant now) {
  receiver_.on_deadline(now);
  sender_.on_deadline(now);
  groups_.on_deadline(now);
  join_up(now);
}

std::optional<Instant> PMulCore::next_deadline() const {
  return earlier(groups_.next_deadline(),
                 earlier(receiver_.next_deadline(), sender_.next_deadline()));
}

std::optional<MessageEvent> PMulCore::poll_event() {
  if (auto event = take_front(events_)) return event;
  if (auto event = receiver_.poll_event()) return event;
  return sender_.poll_event();
}

std::optional<NodeId> PMulCore::poll_heard() {
  if (heard_.empty()) return std::nullopt;
  return heard_.extract(heard_.begin()).value();
}

// Acknowledgements go first, because they are short and a transmitter waits for them.
std::optional<OutgoingPdu> PMulCore::poll_pdu(Instant now) {
  if (silent_) return std::nullopt;
  if (auto pdu = receiver_.poll_pdu(now)) return pdu;
  if (auto pdu = groups_.poll_pdu(now)) return pdu;
  auto pdu = sender_.poll_pdu(now);
  join_up(now);
  return pdu;
}

}  // namespace s5066::p_mul
