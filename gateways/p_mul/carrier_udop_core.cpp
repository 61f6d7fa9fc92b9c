// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/carrier_udop_core.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/take_front.h"

namespace s5066::p_mul {
namespace {

constexpr Duration kMeasureMin = std::chrono::seconds(2);
constexpr std::size_t kSourceAt = 8;  // offset of Source_ID in a PDU

// Converts a priority of P_MUL, where 0 is the most urgent, to a priority of U_PDUs, where 8 is the
// most urgent here.
std::uint8_t sis_priority(std::uint8_t priority) {
  return static_cast<std::uint8_t>(8 - std::min<std::uint8_t>(priority, 8));
}

}  // namespace

// --- How long it takes ---------------------------------------------------------------------------

DrainEstimate::Backlog DrainEstimate::backlog(Instant now) const {
  Backlog left = backlog_;
  if (silent_) return left;
  double sent = std::max(0.0, to_seconds(now - at_)) * rate_bps_ / 8;
  for (auto octets = left.rbegin(); octets != left.rend(); ++octets) {
    const double of_these = std::min(*octets, sent);
    *octets -= of_these;
    sent -= of_these;
  }
  return left;
}

void DrainEstimate::on_handed(Instant now, std::uint8_t sis_priority, std::size_t octets) {
  backlog_ = backlog(now);
  backlog_.at(sis_priority) += static_cast<double>(octets);
  at_ = now;
  handed_since_ += octets;
}

// The node turns the flow on at the same fill of its queues each time. It has therefore sent as
// much between two such times as it was given between them. The measured rate would be too low if
// the node had been idle, so a measurement counts only if the flow was off for at least as long as
// it was on.
void DrainEstimate::on_flow(Instant now, bool on) {
  if (std::exchange(flow_on_, on) == on) return;
  if (!on) {
    turned_off_at_ = now;
    return;
  }
  const Backlog left = backlog(now);
  const bool busy = turned_on_at_ && now - turned_off_at_ >= turned_off_at_ - *turned_on_at_;
  if (busy && now - *turned_on_at_ >= kMeasureMin && handed_since_ > 0) {
    const double rate = 8 * static_cast<double>(handed_since_) / to_seconds(now - *turned_on_at_);
    rate_bps_ = measured_ ? (rate_bps_ + rate) / 2 : rate;
    measured_ = true;
  }
  backlog_ = left;
  at_ = now;
  turned_on_at_ = now;
  handed_since_ = 0;
}

void DrainEstimate::on_lost(Instant now) {
  backlog_ = {};
  at_ = now;
  turned_on_at_.reset();
  handed_since_ = 0;
  flow_on_ = true;
}

void DrainEstimate::on_silence(Instant now, bool silent) {
  backlog_ = backlog(now);
  at_ = now;
  silent_ = silent;
  turned_on_at_.reset();
  handed_since_ = 0;
}

Instant DrainEstimate::clear_at(Instant now) const {
  return clear_at(now, 0, {});
}

Instant DrainEstimate::clear_at(Instant now, std::uint8_t sis_priority,
                                Duration prepared_max) const {
  const Backlog left = backlog(now);
  const auto first = left.begin() + sis_priority;
  const double less_urgent = std::accumulate(left.begin(), first, 0.0);
  const double urgent = std::accumulate(first, left.end(), 0.0);
  return now + from_seconds(8 * urgent / rate_bps_) +
         std::min(prepared_max, from_seconds(8 * less_urgent / rate_bps_));
}

// --- The carrier ---------------------------------------------------------------------------------

CarrierUdopCore::CarrierUdopCore(const Config& config) : config_(config), drain_(config.rate_bps) {
  S5066_ASSERT(config.repeats <= 15 && config.rate_bps > 0);
}

bool CarrierUdopCore::ready() const {
  return bound_ && flow_on_ && !silent_ && requests_.empty();
}

// The limit is for each node, so that a node that does not answer does not stop data to other
// nodes.
std::set<NodeId> CarrierUdopCore::arq_full() const {
  std::map<NodeId, std::size_t> counts;
  for (const auto& [id, pdu] : arq_) ++counts[std::get<NodeId>(pdu.target)];
  std::set<NodeId> full;
  for (const auto& [node, count] : counts) {
    if (count >= config_.arq_outstanding_max) full.insert(node);
  }
  return full;
}

Instant CarrierUdopCore::clear_at(Instant now) const {
  return drain_.clear_at(now);
}

Instant CarrierUdopCore::clear_at(Instant now, std::uint8_t priority) const {
  return drain_.clear_at(now, sis_priority(priority), kHeldByNodeMax);
}

std::optional<Address> CarrierUdopCore::address_of(const Target& target) const {
  if (const auto* group = std::get_if<GroupId>(&target)) {
    const auto at = config_.groups.find(*group);
    return at == config_.groups.end() ? std::nullopt : std::optional(at->second);
  }
  const auto* node = std::get_if<NodeId>(&target);
  if (node == nullptr) return std::nullopt;  // a host cannot join a group over STANAG 5066
  if (config_.node_is_address) return Address{node->value & Address::kMax};
  for (const auto& table : {&config_.nodes, &learned_}) {
    if (const auto at = table->find(*node); at != table->end()) return at->second;
  }
  return std::nullopt;
}

// For a single node that loses many blocks, ARQ takes less air time than the rounds of P_MUL,
// because it repeats D_PDUs and not whole blocks. The P_MUL transmitter asks for ARQ by `reliable`.
// SAP 7 is for non-ARQ data only.
bool CarrierUdopCore::may_use_arq(const OutgoingPdu& pdu) const {
  return pdu.reliable && config_.sap != kUdopSap && std::holds_alternative<NodeId>(pdu.target);
}

Result<void> CarrierUdopCore::request_send(Instant now, OutgoingPdu pdu) {
  if (!ready()) return Error{ErrorCode::queue_full, "the carrier takes no PDU now"};
  if (pdu.octets.size() > pdu_octets_max())
    return Error{ErrorCode::too_large, "the PDU is larger than the MTU of the node"};
  if (may_use_arq(pdu) && arq_full().contains(std::get<NodeId>(pdu.target))) {
    return Error{ErrorCode::queue_full, "too many PDUs by ARQ wait for this station"};
  }
  if (!address_of(pdu.target)) {
    counters_.add(CarrierCounter::unknown_target);
    return Error{ErrorCode::not_found, "the station or group has no address in the configuration"};
  }
  send(now, pdu, may_use_arq(pdu));
  return {};
}

void CarrierUdopCore::send(Instant now, const OutgoingPdu& pdu, bool arq) {
  gateways::SisUnidata unidata{.id = {++last_request_},
                               .priority = sis_priority(pdu.priority),
                               .destination = *address_of(pdu.target),
                               .destination_sap = config_.sap,
                               .delivery = {.as_they_arrive = true}};
  if (arq) {
    unidata.delivery.mode = sis::TransmissionMode::arq;
    unidata.delivery.confirmation = sis::Confirmation::node;
  } else {
    unidata.delivery.mode = sis::TransmissionMode::nonarq;
    unidata.delivery.retransmissions = config_.repeats;
  }
  const auto lifetime = std::chrono::duration_cast<std::chrono::seconds>(
      std::clamp<Duration>(pdu.lifetime, std::chrono::seconds(2), config_.lifetime_max));
  unidata.time_to_live_s = static_cast<std::uint32_t>(lifetime.count());
  gateways::encode(
      gateways::RcopHeader{.updu_id = updu_id_++, .application_id = config_.application},
      unidata.updu);
  append(unidata.updu, pdu.octets);
  drain_.on_handed(now, unidata.priority, unidata.updu.size() * (arq ? 1u : 1u + config_.repeats));
  counters_.add(arq ? CarrierCounter::sent_arq : CarrierCounter::sent);
  if (arq) arq_.emplace(unidata.id, pdu);
  requests_.push_back(std::move(unidata));
}

void CarrierUdopCore::on_other_handed(Instant now, std::uint8_t sis_priority, std::size_t octets) {
  constexpr std::uint8_t kMostUrgent = kSisPriorities - 1;
  drain_.on_handed(now, std::min(sis_priority, kMostUrgent), octets);
}

std::optional<gateways::SisUnidata> CarrierUdopCore::poll_unidata() {
  return take_front(requests_);
}

std::optional<Bytes> CarrierUdopCore::poll_datagram() {
  return take_front(datagrams_);
}

void CarrierUdopCore::on_silence(Instant now, bool silent) {
  silent_ = silent;
  drain_.on_silence(now, silent);
  if (silent) requests_.clear();
}

void CarrierUdopCore::on_sis(Instant now, const gateways::SisEvent& event) {
  std::visit([&](const auto& value) { on(now, value); }, event);
}

void CarrierUdopCore::on(Instant now, const gateways::SisBound& event) {
  on(now, gateways::SisLost{});
  bound_ = flow_on_ = event.mtu > gateways::kRcopHeaderBytes;
  mtu_ = event.mtu;
}

// The PDUs that the node had are lost. P_MUL sends them again in later rounds if the message is
// acknowledged. A message without acknowledgement must be submitted again.
void CarrierUdopCore::on(Instant now, const gateways::SisLost&) {
  bound_ = flow_on_ = false;
  arq_.clear();
  requests_.clear();
  drain_.on_lost(now);
}

void CarrierUdopCore::on(Instant now, const gateways::SisFlow& event) {
  flow_on_ = event.on;
  drain_.on_flow(now, event.on);
}

void CarrierUdopCore::on(Instant, const gateways::SisIndication& event) {
  const auto pdu = gateways::decode_rcop(event.updu);
  if (!pdu || pdu->data.size() < kSourceAt + 4) {
    counters_.add(CarrierCounter::malformed);
    return;
  }
  if (pdu->header.application_id != config_.application) {
    counters_.add(CarrierCounter::wrong_application);
    return;
  }
  if (pdu->header.segment != 0) {
    counters_.add(CarrierCounter::divided);
    return;
  }
  const NodeId source{get_u32(pdu->data, kSourceAt)};
  if (!may_speak_for(source, event.source)) {
    counters_.add(CarrierCounter::source_refused);
    return;
  }
  counters_.add(CarrierCounter::received);
  datagrams_.emplace_back(pdu->data.begin(), pdu->data.end());
}

bool CarrierUdopCore::may_speak_for(NodeId node, Address station) {
  if (config_.node_is_address) return node.value == station.value;
  const auto known = config_.nodes.find(node);
  if (known != config_.nodes.end()) return known->second == station;
  if (learned_.size() >= config_.learned_max) learned_.erase(learned_.begin());
  learned_[node] = station;
  return true;
}

void CarrierUdopCore::on(Instant, const gateways::SisConfirmed& event) {
  arq_.erase(event.id);
}
void CarrierUdopCore::on(Instant now, const gateways::SisRejected& event) {
  arq_failed(now, event.id);
}
void CarrierUdopCore::on(Instant now, const gateways::SisUnresolved& event) {
  arq_failed(now, event.id);
}

// The link could not be made or was lost, so the PDU goes once without ARQ.
void CarrierUdopCore::arq_failed(Instant now, gateways::SisRequestId id) {
  const auto at = arq_.find(id);
  if (at == arq_.end()) return;
  const OutgoingPdu pdu = std::move(at->second);
  arq_.erase(at);
  counters_.add(CarrierCounter::arq_failed);
  if (bound_ && !silent_ && address_of(pdu.target)) send(now, pdu, false);
}

}  // namespace s5066::p_mul
