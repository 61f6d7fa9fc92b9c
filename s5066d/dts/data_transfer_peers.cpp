// DataTransfer: records of other stations apart from their data: modes, capabilities and states.
#include <algorithm>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {

modem::Mode DataTransfer::mode_to(Address peer) const {
  const auto record = peers_.find(peer);
  return record == peers_.end() ? config_.mode : record->second.control.mode();
}

bool DataTransfer::may_use(const modem::Mode& mode) const {
  return holds_segment(config_, mode, segment_octets_max(config_));
}

Result<void> DataTransfer::request_data_rate(Instant now, Address peer, const modem::Mode& mode) {
  const auto record = peers_.find(peer);
  if (record == peers_.end()) return Error{ErrorCode::link_down, "data rate change"};
  if (!may_use(mode)) return Error{ErrorCode::unsupported, "no transmission holds a frame there"};
  auto done = record->second.control.request_mode(mode);
  settle(now);
  return done;
}

void DataTransfer::set_data_rate(Instant now, Address peer, const modem::Mode& mode) {
  Peer* record = peer_record(peer);
  if (!record || !may_use(mode)) return;
  record->control.set_mode(mode);
  collect(record->control);
  settle(now);
}

std::optional<DataTransfer::LinkStatus> DataTransfer::link_status(Address peer) const {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return std::nullopt;
  const Peer& record = peers_.at(peer);
  return LinkStatus{.octets_queued = connection->second.queued_octets(),
                    .octets_acknowledged = connection->second.octets_acknowledged(),
                    .mode = record.control.mode(),
                    .advised = record.control.advised(),
                    .refused = record.refusal,
                    .capabilities = record.control.capabilities()};
}

std::size_t DataTransfer::queued_octets(Address peer) const {
  const auto status = link_status(peer);
  return status ? status->octets_queued : 0;
}

// Returns the record of a peer. If there is no room, the station without a connection that was
// quiet longest makes room, even if an answer to it is owed.
DataTransfer::Peer* DataTransfer::peer_record(Address peer) {
  const auto known = peers_.find(peer);
  if (known != peers_.end()) {
    known->second.heard = ++heard_count_;
    return &known->second;
  }
  if (peers_.size() >= config_.peers_max) {
    auto oldest = peers_.end();
    for (auto it = peers_.begin(); it != peers_.end(); ++it) {
      if (it->second.control.connected()) continue;
      if (reply_awaited_from_ == it->first || (burst_ && burst_->peer == it->first)) continue;
      if (oldest == peers_.end() || it->second.heard < oldest->second.heard) oldest = it;
    }
    if (oldest == peers_.end()) return nullptr;
    peers_.erase(oldest);
  }
  PeerControl::Config config{.self = config_.address,
                             .mode = config_.mode,
                             .rate_change = config_.rate_change,
                             .full_duplex = may_hear_while_sending(now_),
                             .repeats_max = config_.management_repeats_max,
                             .listened = config_.receive_modes};
  for (const modem::Mode& mode : modem::all_modes()) {
    if (!may_use(mode)) config.unusable.push_back(mode);
  }
  return &peers_.emplace(peer, Peer{PeerControl(peer, config, counters_), {}, ++heard_count_})
              .first->second;
}

// Two lost links in a row may be chance, so silence does not count for ever. One further link that
// ends so begins the wait again.
bool DataTransfer::knows_long(Peer& record, Instant now) {
  if (record.long_again_at && now >= *record.long_again_at) {
    record.long_again_at.reset();
    record.long_unanswered = kLongUnansweredMax - 1;
  }
  return record.long_unanswered < kLongUnansweredMax;
}

// A station that uses EOW 14 for another purpose may neither know type 9 nor warn of it. One link
// may end so by chance.
void DataTransfer::note_long_unanswered(Peer& record, Instant now) {
  const auto connection = connections_.find(record.control.peer());
  if (connection == connections_.end() || !connection->second.long_data_unanswered()) return;
  record.long_unanswered = std::min(record.long_unanswered + 1, kLongUnansweredMax);
  if (record.long_unanswered == kLongUnansweredMax) {
    record.long_again_at = now + kLongUnansweredWait;
  }
}

void DataTransfer::collect(PeerControl& control) {
  const auto connection = connections_.find(control.peer());
  if (control.take_closing() && connection != connections_.end()) connection->second.owe_ack();
  const auto trace_mode = [&](TraceKind kind, const modem::Mode& mode) {
    trace_.on_trace({.at = now_,
                     .kind = kind,
                     .peer = control.peer(),
                     .a = mode.rate_bps,
                     .b = static_cast<std::int64_t>(mode.interleaver)});
  };
  Peer& record = peers_.at(control.peer());
  while (auto event = control.poll_event()) {
    std::visit([this](const auto& e) { actions_.push_back(e); }, *event);
    if (const auto* changed = std::get_if<TransmitModeChanged>(&*event)) {
      trace_mode(TraceKind::mode_changed, changed->mode);
      record.refusal.reset();
      if (connection != connections_.end()) {
        connection->second.on_rate(segment_octets(config_, changed->mode));
      }
    }
    if (const auto* refused = std::get_if<DataRateRefused>(&*event)) {
      trace_.on_trace({.at = now_,
                       .kind = TraceKind::mode_refused,
                       .peer = refused->peer,
                       .a = static_cast<std::int64_t>(refused->reason)});
      record.refusal = refused->reason;
      if (refused->reason != pdu::DrcReason::none) {
        record.refused = std::exchange(record.asked, std::nullopt);
      }
    }
    if (const auto* advised = std::get_if<DataRateAdvised>(&*event)) {
      trace_mode(TraceKind::mode_advised, advised->mode);
      if (!config_.adaptation) follow(*advised);  // with adaptation heed_advice() handles it
    }
  }
}

// Changes without a message if receivers detect the mode by themselves, else by agreement
// (C.6.4.2).
void DataTransfer::follow(const DataRateAdvised& advised) {
  Peer& record = peers_.at(advised.peer);
  PeerControl& control = record.control;
  const modem::Mode& mode = advised.mode;
  if (!config_.rate_change || mode == control.mode() || !may_use(mode)) return;
  // The peer would then send in a mode that we do not decode.
  if (advised.equal && !hears(config_, mode)) return;
  if (!modem::tells_itself(mode)) {
    // The request is refused if a change is already under way; its answer then settles the advice.
    static_cast<void>(control.request_mode(mode));
  } else if (is_unanswered(record, mode)) {
    control.forget_advice();
  } else {
    record.followed = mode;
    control.set_mode(mode);
  }
}

TransferState DataTransfer::transfer_state(Address peer) const {
  const auto record = peers_.find(peer);
  if (record == peers_.end()) return TransferState::idle_unconnected;
  TransferMachine state = record->second.state;
  state.settle(work_of(peer));
  return state.state();
}

TransferWork DataTransfer::work_of(Address peer) const {
  TransferWork work{.expedited_nonarq = nonarq_tx_.waits_for(peer, true),
                    .data = nonarq_tx_.waits_for(peer, false)};
  const auto record = peers_.find(peer);
  if (record != peers_.end()) work.management = record->second.control.open();
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return work;
  work.expedited = connection->second.expedited_under_way();
  work.data = work.data || connection->second.data_under_way();
  return work;
}

/// Returns the stations to which no type 7, or no type 8, may go in their present states.
std::vector<Address> DataTransfer::resting(bool expedited) const {
  std::vector<Address> list;
  for (const auto& [peer, record] : peers_) {
    const auto connection = connections_.find(peer);
    const bool connected = connection != connections_.end();
    const bool managed = record.control.open() && !(expedited && connected);
    const bool expediting = !expedited && connected && connection->second.expedited_under_way();
    if (managed || expediting) list.push_back(peer);
  }
  return list;
}

// An EOW in a header costs no air time (C.3.2.2).
void DataTransfer::add_eows(BurstBuilder& burst) {
  for (auto& dpdu : burst.dpdus()) {
    const Address to = pdu::common_of(dpdu).destination;
    const auto peer = peers_.find(to);
    const std::uint8_t type = pdu::type_of(dpdu);
    if (peer == peers_.end() || type == static_cast<std::uint8_t>(pdu::DpduType::management)) {
      continue;
    }
    const pdu::Eow eow = peer->second.control.eow_for(type);
    // An EOW that the connection has placed takes precedence.
    const bool placed = std::visit(
        [&eow](auto& d) {
          if (d.common.eow.type != 0) return false;
          d.common.eow = eow;
          return true;
        },
        dpdu);
    if (!placed) continue;
    if (burst_->told.empty() || burst_->told.back().peer != to) {
      burst_->told.push_back({to, std::nullopt});
    }
    if (eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request)) {
      burst_->told.back().advice = peer->second.control.advice();
    }
  }
}

}  // namespace s5066::dts
