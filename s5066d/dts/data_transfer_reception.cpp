// DataTransfer: handling of received D_PDUs.
#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
constexpr std::uint8_t kReasonUnrecognised = 0;
constexpr std::uint8_t kReasonNotConnected = 1;
constexpr std::uint8_t kReasonInvalid = 2;
constexpr std::uint8_t kReasonWrongState = 3;
/// Largest number of stations without a connection that are owed a type 6 answer at the same time.
constexpr int kStrangersMax = 8;

}  // namespace

bool asks_for_answer(const pdu::Dpdu& dpdu) {
  const auto type = static_cast<pdu::DpduType>(pdu::type_of(dpdu));
  return type != pdu::DpduType::nonarq && type != pdu::DpduType::warning;
}

bool needs_connection(const pdu::Dpdu& dpdu) {
  using enum pdu::DpduType;
  const auto type = static_cast<pdu::DpduType>(pdu::type_of(dpdu));
  return type != management && type != nonarq && type != expedited_nonarq && type != warning;
}

void DataTransfer::on_event(Instant now, const modem::ChannelOccupancy& event) {
  channel_occupied_ = event.occupied;
  if (config_.wait_while_occupied) turn_.on_occupancy(now, event.occupied);
}

void DataTransfer::note_held(Instant now, const TurnControl::KeyTransmitter& turn) {
  if (turn.held > Duration::zero()) counters_.add(Counter::occupied_waits);
  if (!turn.occupied) return;
  counters_.add(Counter::occupied_sends);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::sent_while_occupied,
                   .a = turn.held / std::chrono::milliseconds(1)});
}

void DataTransfer::on_received(Instant now, pdu::Received received) {
  const pdu::Common common = pdu::common_of(received.dpdu);
  S5066_ASSERT(heard_ && heard_->start);
  const auto bit_time =
      static_cast<Duration::rep>(received.first_bit) * 1'000'000'000 / heard_->mode.rate_bps;
  const Instant first_bit_at = *heard_->start + Duration(bit_time);
  trace_dpdu(now, TraceKind::dpdu_received, received.dpdu, common.source, received.segment_ok);
  if (common.source == config_.address && is_own(first_bit_at)) return note_own_heard();
  // 0: the sender does not know its end, on a half-duplex channel
  if (common.eot_half_s > 0 && !in_full_duplex()) {
    const Instant latest = first_bit_at + common.eot_half_s * kHalfSecond;
    turn_.on_end_announced(now, latest - kHalfSecond, latest);
    heard_->announced = latest;
  }
  if (received.segment_ok && !std::holds_alternative<pdu::Unsupported>(received.dpdu)) {
    heard_->meter.on_intact(pdu::encoded_size(received.dpdu));
  }
  if (common.source == config_.address) return;  // another station uses our address
  heard_->source = common.source;
  heard_->managed = heard_->managed || std::holds_alternative<pdu::Management>(received.dpdu);
  const Address to = common.destination;
  const bool asks = asks_for_answer(received.dpdu);
  turn_.on_preamble(now, modem::preamble_duration(heard_->mode));
  turn_.on_station_heard(now, common.source, to, asks, needs_connection(received.dpdu));
  const bool for_us =
      to == config_.address || to == Address::all_stations() ||
      std::find(config_.groups.begin(), config_.groups.end(), to) != config_.groups.end();
  if (!for_us) {
    counters_.add(Counter::dpdus_for_others);
    return;
  }
  // If turns are taken, a station that addresses us while we send expects no answer right after its
  // transmission.
  const bool beside_own = config_.full_duplex && burst_ && !in_full_duplex();
  if (!to.group && asks && !beside_own) turn_.on_spoken_to(now);
  Arrival arrival{.now = now,
                  .first_bit_at = first_bit_at,
                  .segment_ok = received.segment_ok,
                  .formed_at = formed_at()};
  if (const auto c = connections_.find(common.source);
      arrival.formed_at && c != connections_.end()) {
    c->second.on_heard(*arrival.formed_at);
  }
  if (!to.group) {
    if (!std::holds_alternative<pdu::Management>(received.dpdu)) on_eow(common.source, common.eow);
    arrival.action = take(received.dpdu);
  }
  if (arrival.action == TransferAction::ignore) return;
  std::visit([&](auto& dpdu) { on_dpdu(arrival, dpdu); }, received.dpdu);
  // Advice is handled after the D_PDU, because while we ask for a change nothing else is accepted.
  if (!to.group && !std::holds_alternative<pdu::Management>(received.dpdu)) {
    heed_advice(common.source, common.eow);
  }
}

// Types 9 and 10 are our extensions. We know them only if we offer them.
bool DataTransfer::is_unrecognised(const pdu::Dpdu& dpdu) const {
  if (std::holds_alternative<pdu::Unsupported>(dpdu)) return true;
  const bool ours =
      std::holds_alternative<pdu::LongData>(dpdu) || std::holds_alternative<pdu::LongAckOnly>(dpdu);
  return ours && !config_.offer_extensions;
}

// Applies the tables of C.6.1 to a D_PDU for us alone. If a warning is due, it is queued here and
// the result is `ignore`.
TransferAction DataTransfer::take(const pdu::Dpdu& dpdu) {
  const Address source = pdu::common_of(dpdu).source;
  const std::uint8_t type = pdu::type_of(dpdu);
  if (is_unrecognised(dpdu)) {
    owe_warning(source, type, kReasonUnrecognised);
    return TransferAction::ignore;
  }
  const TransferEvent event = event_of(type);
  // Without a connection, type 6 messages are answered only for kStrangersMax stations at a time.
  const auto is_owed = [](const auto& peer) {
    return !peer.second.control.connected() && peer.second.control.open();
  };
  const auto known = peers_.find(source);
  const bool crowded = event == TransferEvent::management && connections_.count(source) == 0 &&
                       (known == peers_.end() || !is_owed(*known)) &&
                       std::count_if(peers_.begin(), peers_.end(), is_owed) >= kStrangersMax;
  Peer* record = crowded ? nullptr : peer_record(source);
  const TransferAction action = record ? record->state.on(event, work_of(source))
                                       : step_of(TransferState::idle_unconnected, event).action;
  switch (action) {
    case TransferAction::warn_not_connected:
      if (broadcast_) {
        owe_warning(source, type, kReasonInvalid);
      } else if (!link_may_be_coming(source)) {
        owe_warning(source, type, kReasonNotConnected);
      }
      return TransferAction::ignore;
    case TransferAction::warn_wrong_state:
      owe_warning(source, type, kReasonWrongState);
      return TransferAction::ignore;
    default:
      break;
  }
  if (!record && event == TransferEvent::management) return TransferAction::ignore;  // no room
  if (broadcast_ && event == TransferEvent::management) {
    owe_warning(source, type, kReasonInvalid);
    return TransferAction::ignore;
  }
  return action;
}

// A station without an EOW message in its headers needs no record.
void DataTransfer::on_eow(Address source, const pdu::Eow& eow) {
  if (eow.type == 0) return;
  const auto connection = connections_.find(source);
  if (eow.type == static_cast<std::uint8_t>(pdu::EowType::extensions) && config_.offer_extensions) {
    if (connection == connections_.end()) return;
    return connection->second.on_extensions(eow.contents);
  }
  Peer* record = peer_record(source);
  if (!record) return;
  record->control.on_eow(eow);
  collect(record->control);
}

Connection& DataTransfer::connection_to(const pdu::Common& common) {
  PeerControl& control = peers_.at(common.source).control;
  control.on_data();
  collect(control);
  return connections_.at(common.source);
}

// True if link control from that station came in the same piece and has not been handled yet.
bool DataTransfer::link_may_be_coming(Address peer) const {
  return std::any_of(actions_.begin(), actions_.end(), [peer](const Action& action) {
    const auto* indication = std::get_if<CpduIndication>(&action);
    return indication && indication->source == peer &&
           indication->service == Service::expedited_nonarq;
  });
}

// Each D_PDU is followed by a collect, so that results go up in the order in which the frames came.
template <typename Data>
void DataTransfer::on_data(const Arrival& arrival, Data& data) {
  Connection& connection = connection_to(data.common);
  connection.on_data(data.number, data.flags, std::move(data.segment), arrival.segment_ok);
  collect(connection);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Data& data) {
  on_data(arrival, data);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::LongData& data) {
  on_data(arrival, data);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::DataAck& data) {
  Connection& connection = connection_to(data.common);
  on_answer(arrival, connection, connection.on_ack(data.ack, arrival.formed_at),
            pdu::DpduType::data_ack);
  connection.on_data(data.number, data.flags, std::move(data.segment), arrival.segment_ok);
  collect(connection);
}

template <typename AckDpdu>
void DataTransfer::on_acknowledgement(const Arrival& arrival, const AckDpdu& ack,
                                      pdu::DpduType type) {
  Connection& connection = connection_to(ack.common);
  auto verdict = connection.on_ack(ack.ack, arrival.formed_at);
  const bool idle = arrival.action == TransferAction::warn_unless_known;
  if (idle && verdict == Connection::Verdict::out_of_sync) {
    verdict = Connection::Verdict::unexpected;
  }
  on_answer(arrival, connection, verdict, type);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::AckOnly& ack) {
  on_acknowledgement(arrival, ack, pdu::DpduType::ack_only);
}

// A damaged one may name the wrong frames, so it is ignored; a copy may follow.
void DataTransfer::on_dpdu(const Arrival& arrival, pdu::LongAckOnly& ack) {
  if (arrival.segment_ok) on_acknowledgement(arrival, ack, pdu::DpduType::long_ack);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Reset& reset) {
  Connection& connection = connection_to(reset.common);
  const auto verdict = connection.on_reset(reset);
  if (verdict == Connection::Verdict::taken) {
    on_answer(arrival, connection, verdict, pdu::DpduType::reset);
  }
  collect(connection);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::ExpeditedData& data) {
  Connection& connection = connection_to(data.common);
  connection.on_expedited_data(data, arrival.segment_ok);
  collect(connection);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::ExpeditedAck& ack) {
  Connection& connection = connection_to(ack.common);
  on_answer(arrival, connection, connection.on_expedited_ack(ack.ack, arrival.formed_at),
            pdu::DpduType::expedited_ack);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Management& management) {
  const Address source = management.common.source;
  PeerControl& control = peers_.at(source).control;
  if (control.on_management(management, arrival.formed_at) && reply_awaited_from_ == source) {
    reply_awaited_from_.reset();
    turn_.on_reply(arrival.now);
  }
  collect(control);
}

void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Nonarq& nonarq) {
  nonarq_rx_.on_nonarq(arrival.first_bit_at, nonarq, arrival.segment_ok);
  collect_nonarq();
}

// A WARNING is never answered (C.3.12(10)).
void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Warning& warning) {
  const Address source = warning.common.source;
  counters_.add(Counter::warnings_received);
  if (warning.received_type == static_cast<std::uint8_t>(pdu::DpduType::management)) {
    if (const auto peer = peers_.find(source); peer != peers_.end()) {
      PeerControl& control = peer->second.control;
      const bool awaited = control.open() && reply_awaited_from_ == source;
      control.on_warning();
      collect(control);
      if (awaited) {
        reply_awaited_from_.reset();
        turn_.on_reply(arrival.now);
      }
    }
  }
  const auto connection = connections_.find(source);
  if (connection != connections_.end() && warning.reason == kReasonUnrecognised &&
      warning.received_type == static_cast<std::uint8_t>(pdu::DpduType::long_data)) {
    if (connection->second.on_long_data_refused()) {
      Peer& record = peers_.at(source);
      record.long_unanswered = kLongUnansweredMax;
      record.long_again_at.reset();
    }
  }
  actions_.push_back(WarningReceived{source, warning.received_type, warning.reason});
}

void DataTransfer::on_dpdu(const Arrival&, pdu::Unsupported&) {}  // take() has queued the warning

void DataTransfer::on_answer(const Arrival& arrival, Connection& connection,
                             Connection::Verdict verdict, pdu::DpduType type) {
  const Address peer = connection.peer();
  if (verdict == Connection::Verdict::unexpected) {
    owe_warning(peer, static_cast<std::uint8_t>(type), kReasonWrongState);
  }
  const bool answers = verdict == Connection::Verdict::taken && !peers_.at(peer).control.open();
  if (verdict == Connection::Verdict::taken) note_answer(connection, arrival.formed_at);
  if (answers && reply_awaited_from_ == peer) {
    reply_awaited_from_.reset();
    turn_.on_reply(arrival.now);
  }
  collect(connection);
}

void DataTransfer::collect(Connection& connection) {
  if (connection.take_active()) {
    actions_.push_back(PeerActive{connection.peer(), connection.take_frame()});
  }
  if (connection.take_restarted()) actions_.push_back(ConnectionReset{connection.peer()});
  while (auto arrived = connection.poll_arrived()) actions_.push_back(*arrived);
  while (auto outcome = connection.poll_outcome()) {
    std::visit([&](const auto& o) { actions_.push_back(o); }, *outcome);
  }
  while (auto cpdu = connection.poll_cpdu()) actions_.push_back(std::move(*cpdu));
}

void DataTransfer::collect_nonarq() {
  while (auto cpdu = nonarq_rx_.poll_cpdu()) actions_.push_back(std::move(*cpdu));
}

// Queues one WARNING for each peer, type and reason until it has been sent, however many frames
// caused it.
void DataTransfer::owe_warning(Address peer, std::uint8_t received_type, std::uint8_t reason) {
  const PendingWarning warning{peer, received_type, reason};
  if (std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end()) return;
  if (warnings_.size() < kWarningsMax) warnings_.push_back(warning);
}

void DataTransfer::note_warned(Instant now, const PendingWarning& warning) {
  counters_.add(Counter::warnings_sent);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::warning_sent,
                   .peer = warning.peer,
                   .a = warning.received_type,
                   .b = warning.reason});
  actions_.push_back(WarningTransmitted{warning.peer, warning.received_type, warning.reason});
}

}  // namespace s5066::dts
