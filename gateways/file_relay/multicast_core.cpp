// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/multicast_core.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {
namespace {

constexpr std::size_t kPduOctetsMax = 1000;
/// The smallest MTU carries a whole PDU behind the header of UDOP.
constexpr std::size_t kMtuMin = kPduOctetsMax + gateways::kRcopHeaderBytes;
constexpr Duration kOrphanMin = std::chrono::minutes(30);
constexpr Duration kOrphanMax = std::chrono::hours(48);
/// In a spool that knows nothing of its own station, P_MUL has to be given some number.
constexpr std::uint32_t kNobody = 1;

p_mul::CarrierUdopCore::Config carrier_config(const MulticastCore::Config& config) {
  p_mul::CarrierUdopCore::Config carrier;
  carrier.sap = p_mul::kUdopSap;
  carrier.application = kMulticastApplication;
  carrier.node_is_address = true;
  carrier.rate_bps = config.line_rate_bps;
  for (const auto& group : config.groups) {
    carrier.groups[p_mul::GroupId{group.address.value}] = group.address;
  }
  return carrier;
}

/// Returns how long blocks are kept without their Address_PDU. It comes at the begin and at the end
/// of what has no acknowledgement. With parity that takes less than twice the time of the file.
Duration orphan_max(const MulticastCore::Config& config) {
  const double file_s = 8.0 * config.receiver.file_octets_max / config.line_rate_bps;
  return std::clamp<Duration>(from_seconds(2 * file_s), kOrphanMin, kOrphanMax);
}

p_mul::PMulCore::Config p_mul_config(const MulticastCore::Config& config) {
  p_mul::PMulCore::Config p_mul;
  p_mul.sender.node = p_mul.receiver.node =
      p_mul::NodeId{config.own.value != 0 ? config.own.value : kNobody};
  p_mul.sender.pdu_octets_max = p_mul.receiver.pdu_octets_max = kPduOctetsMax;
  p_mul.sender.block_octets = config.sender.block_octets;
  p_mul.sender.coded = true;
  p_mul.sender.unacknowledged_repeats = 0;
  for (const Address station : config.silent) {
    p_mul.sender.silent.push_back(p_mul::NodeId{station.value});
  }
  for (const auto& group : config.groups) {
    p_mul::Group& to = p_mul.sender.groups.emplace_back();
    to.id = p_mul::GroupId{group.address.value};
    for (const Address member : group.members) {
      to.members.push_back(p_mul::NodeId{member.value});
    }
  }
  // Each octet of a file without acknowledgement costs more than one here.
  p_mul::PMulReceiver::Config& receiver = p_mul.receiver;
  receiver.one_way_by_sequence = true;
  receiver.message_octets_max = 2 * std::size_t{config.receiver.file_octets_max} + (64u << 10);
  receiver.source_octets_max = std::max(receiver.source_octets_max, receiver.message_octets_max);
  receiver.octets_max = std::max(receiver.octets_max, 2 * receiver.source_octets_max);
  receiver.orphan_max = orphan_max(config);
  return p_mul;
}

}  // namespace

MulticastCore::MulticastCore(const Config& config, IdSource& ids, const UtcClock& utc,
                             MessageOutbox& outbox)
    : config_(config),
      rng_(config.seed),
      outbox_(outbox),
      carrier_(carrier_config(config)),
      p_mul_(p_mul_config(config), rng_),
      sender_(config.sender, ids, utc, p_mul_),
      receiver_(config.receiver, ids, utc, p_mul_, outbox) {}

void MulticastCore::list(CounterRows& rows) const {
  sender_.counters().list(rows);
  receiver_.counters().list(rows);
  p_mul_.list(rows);
  carrier_.counters().list(rows);
}

// --- Events in -----------------------------------------------------------------------------------

void MulticastCore::on_clock(Instant now, UtcSeconds utc) {
  p_mul_.on_clock(now, utc);
}

void MulticastCore::on_start(Instant now) {
  if (!enabled()) return;
  p_mul_.on_start(now);
  sender_.on_start(now);
  receiver_.on_start(now);
}

void MulticastCore::on_sis(Instant now, const gateways::SisEvent& event) {
  const auto* bound = std::get_if<gateways::SisBound>(&event);
  if (bound != nullptr && bound->mtu < kMtuMin) {
    RelayEvent problem;
    problem.kind = RelayEvent::Kind::mtu_too_small;
    problem.detail = "SAP 7 has " + std::to_string(bound->mtu) +
                     " octets, and files by P_MUL need " + std::to_string(kMtuMin) + "; they wait";
    problem_ = problem.detail;
    events_.push_back(std::move(problem));
    return;
  }
  carrier_.on_sis(now, event);
  const bool lost = std::holds_alternative<gateways::SisLost>(event);
  if (bound != nullptr || lost) {
    problem_.clear();
    take_back_unsent(now);
  }
  if (bound != nullptr || lost) sender_.on_bound(now, !lost);
  pump(now);
}

void MulticastCore::on_own_silence(Instant now, bool silent) {
  if (std::exchange(silent_, silent) == silent) return;
  carrier_.on_silence(now, silent);
  if (silent) take_back_unsent(now);
  p_mul_.on_own_silence(now, silent, true);
  pump(now);
}

void MulticastCore::on_other_handed(Instant now, std::uint8_t sis_priority, std::size_t octets) {
  now_ = std::max(now_, now);
  if (enabled()) carrier_.on_other_handed(now_, sis_priority, octets);
}

void MulticastCore::on_spool_changed(Instant now) {
  if (!enabled()) return;
  sender_.on_spool_changed(now);
  pump(now);
}

bool MulticastCore::on_store_result(Instant now, const gateways::StoreResult& result) {
  const bool ours = sender_.on_store_result(now, result) || receiver_.on_store_result(now, result);
  if (ours) pump(now);
  return ours;
}

void MulticastCore::on_changed(Instant now, const gateways::SpoolItem& row) {
  if (!enabled()) return;
  sender_.on_changed(now, row);
  pump(now);
}

bool MulticastCore::on_refused(Instant now, Address peer, const RefuseMessage& message) {
  if (!sender_.on_refused(now, peer, message)) return false;
  pump(now);
  return true;
}

bool MulticastCore::on_control(Instant now, Address peer, const ControlMessage& message) {
  if (!sender_.on_control(now, peer, message)) return false;
  pump(now);
  return true;
}

bool MulticastCore::request(Instant now, const gateways::TransferKey& key, ControlAction action,
                            bool in_spool) {
  if (!enabled()) return false;
  const auto arriving = p_mul_.receiver().arriving();
  const p_mul::MessageName name{p_mul::NodeId{key.source.value}, key.number};
  const bool there = std::any_of(arriving.begin(), arriving.end(),
                                 [&](const auto& one) { return one.name == name; });
  // A suspended message may have been given up here meanwhile.
  if (!there && !in_spool && action != ControlAction::resume) return false;
  if (there && action == ControlAction::cancel) p_mul_.on_refused(now, name);
  if (in_spool && action == ControlAction::cancel) receiver_.on_cancelled(key);
  outbox_.push(
      key.source,
      ControlMessage{.number = {key.number}, .action = action, .from_sender = false, .text = {}});
  pump(now);
  return true;
}

/// A message without acknowledgement is sent when the node has transmitted it, which the node does
/// not report. Until the time at which it should have, the message is not taken for sent.
void MulticastCore::on(Instant now, const p_mul::DestinationEnded& ended) {
  if (ended.outcome != p_mul::Outcome::sent) return sender_.on_ended(now, ended);
  const Instant left = carrier_.clear_at(now);
  if (left <= now) return sender_.on_ended(now, ended);
  sender_.on_leaving(ended);
  leaving_.emplace(left, ended);
}

void MulticastCore::end_what_has_left(Instant now) {
  while (!leaving_.empty() && leaving_.begin()->first <= now) {
    const p_mul::DestinationEnded ended = leaving_.begin()->second;
    leaving_.erase(leaving_.begin());
    sender_.on_ended(now, ended);
  }
}

// The node has dropped what it had not transmitted, or transmits nothing for a while.
void MulticastCore::take_back_unsent(Instant now) {
  for (const auto& [left, ended] : std::exchange(leaving_, {})) sender_.on_unsent(now, ended);
}

void MulticastCore::on_deadline(Instant now) {
  if (!enabled()) return;
  end_what_has_left(now);
  p_mul_.on_deadline(now);
  sender_.on_deadline(now);
  receiver_.on_deadline(now);
  pump(now);
}

void MulticastCore::on(Instant, const p_mul::MessageNews& news) {
  if (news.kind == p_mul::MessageNews::Kind::partly_received) sender_.on_partly_received(news);
}

/// Carries events and PDUs between the parts. Each takes the next PDU only when there is room.
void MulticastCore::pump(Instant now) {
  now_ = now;
  while (const auto datagram = carrier_.poll_datagram()) p_mul_.on_datagram(now, *datagram);
  while (const auto event = p_mul_.poll_event()) {
    std::visit([&](const auto& value) { on(now, value); }, *event);
  }
}

// --- Actions out ---------------------------------------------------------------------------------

std::optional<RelayEvent> MulticastCore::poll_event() {
  if (auto event = take_front(events_)) return event;
  if (auto event = receiver_.poll_event()) return event;
  return sender_.poll_event();
}

std::optional<gateways::StoreRequest> MulticastCore::poll_store() {
  if (auto request = receiver_.poll_store()) return request;
  return sender_.poll_store();
}

std::optional<gateways::SisUnidata> MulticastCore::poll_updu() {
  while (carrier_.ready() && p_mul_.has_pdu()) {
    auto pdu = p_mul_.poll_pdu(now_);
    if (!pdu) break;
    const std::uint8_t priority = pdu->priority;
    // It names a station or a group of ours, and is as large as the MTU allows.
    const auto sent = carrier_.request_send(now_, std::move(*pdu));
    if (sent) p_mul_.on_clear_at(now_, priority, carrier_.clear_at(now_, priority));
    if (auto updu = carrier_.poll_unidata()) {
      pump(now_);
      return updu;
    }
  }
  pump(now_);
  return carrier_.poll_unidata();
}

std::optional<Instant> MulticastCore::next_deadline() const {
  if (!enabled()) return std::nullopt;
  const auto left = leaving_.empty() ? std::nullopt : std::optional(leaving_.begin()->first);
  return earlier(earlier(left, p_mul_.next_deadline()),
                 earlier(sender_.next_deadline(), receiver_.next_deadline()));
}

}  // namespace s5066::file_relay
