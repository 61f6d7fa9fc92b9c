// What DataTransfer does with the D_PDUs it hears.
#include <algorithm>
#include <utility>

#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
/// So long after a station was heard another one makes a third.
constexpr Duration kStationMemory = std::chrono::minutes(30);
constexpr std::uint8_t kReasonUnrecognised = 0;
constexpr std::uint8_t kReasonNotConnected = 1;
constexpr std::uint8_t kReasonWrongState = 3;

}  // namespace

void DataTransfer::on_received(Instant now, pdu::Received received) {
  const pdu::Common common = pdu::common_of(received.dpdu);
  S5066_ASSERT(heard_ && heard_->start);
  const auto bit_time =
      static_cast<Duration::rep>(received.first_bit) * 1'000'000'000 / heard_->mode.rate_bps;
  const Instant first_bit_at = *heard_->start + Duration(bit_time);
  trace_dpdu(now, TraceKind::dpdu_received, received.dpdu, common.source, received.segment_ok);
  if (common.eot_half_s > 0) {  // 0: not known on a half-duplex channel
    const Instant latest = first_bit_at + common.eot_half_s * kHalfSecond;
    turn_.on_end_announced(now, latest - kHalfSecond, latest);
  }
  if (common.source == config_.address) return;  // somebody else has our address
  heard_->source = common.source;
  note_station(now, common);
  const Address to = common.destination;
  const bool for_us =
      to == config_.address || to == Address::all_stations() ||
      std::find(config_.groups.begin(), config_.groups.end(), to) != config_.groups.end();
  if (!for_us) {
    counters_.add(Counter::dpdus_for_others);
    return;
  }
  // Types 7 and 15 ask for no answer.
  const bool asks = !std::holds_alternative<pdu::Warning>(received.dpdu) &&
                    pdu::type_of(received.dpdu) != static_cast<int>(pdu::DpduType::nonarq);
  if (!to.group && asks) turn_.on_spoken_to(now);
  if (!to.group && !std::holds_alternative<pdu::Management>(received.dpdu)) {
    on_eow(common.source, common.eow);
  }
  std::visit([&](auto& dpdu) { on_dpdu(now, first_bit_at, received.segment_ok, dpdu); },
             received.dpdu);
}

// A station that says nothing in its headers needs no record.
void DataTransfer::on_eow(Address source, const pdu::Eow& eow) {
  if (eow.type == 0) return;
  const auto connection = connections_.find(source);
  if (eow.type == static_cast<std::uint8_t>(pdu::EowType::extensions) && config_.offer_extensions) {
    if (connection != connections_.end()) connection->second.on_extensions(eow.contents);
    return;
  }
  Peer* record = peer_record(source);
  if (!record) return;
  record->control.on_eow(eow);
  collect(record->control);
}

// A pair that hears nobody else need not leave the channel to others as often.
void DataTransfer::note_station(Instant now, const pdu::Common& common) {
  const bool between_others = !common.destination.group && common.destination != config_.address;
  const bool another = last_station_ && last_station_->address != common.source &&
                       now < last_station_->heard_at + kStationMemory;
  turn_.on_station_heard(now, between_others || another);
  last_station_ = Station{common.source, now};
}

Connection* DataTransfer::connection_for(const pdu::Common& common, pdu::DpduType type) {
  const auto found = connections_.find(common.source);
  if (found != connections_.end()) {
    PeerControl& control = peers_.at(common.source).control;
    control.on_data();
    collect(control);
    return &found->second;
  }
  if (!link_may_be_coming(common.source)) {
    owe_warning(common.source, static_cast<std::uint8_t>(type), kReasonNotConnected);
  }
  return nullptr;
}

// Link control from that station came in the same piece and has not been acted on yet.
bool DataTransfer::link_may_be_coming(Address peer) const {
  return std::any_of(actions_.begin(), actions_.end(), [peer](const Action& action) {
    const auto* indication = std::get_if<CpduIndication>(&action);
    return indication && indication->source == peer &&
           indication->service == Service::expedited_nonarq;
  });
}

// Results go up in the order in which the frames came, so each D_PDU is followed by a collect.
void DataTransfer::on_dpdu(Instant, Instant, bool ok, pdu::Data& data) {
  Connection* connection = connection_for(data.common, pdu::DpduType::data_only);
  if (!connection) return;
  connection->on_data(data.number, data.flags, std::move(data.segment), ok);
  collect(*connection);
}

void DataTransfer::on_dpdu(Instant now, Instant, bool ok, pdu::DataAck& data) {
  Connection* connection = connection_for(data.common, pdu::DpduType::data_ack);
  if (!connection) return;
  on_answer(now, *connection, connection->on_ack(data.ack), pdu::DpduType::data_ack);
  connection->on_data(data.number, data.flags, std::move(data.segment), ok);
  collect(*connection);
}

void DataTransfer::on_dpdu(Instant now, Instant, bool, pdu::AckOnly& ack) {
  Connection* connection = connection_for(ack.common, pdu::DpduType::ack_only);
  if (connection) {
    on_answer(now, *connection, connection->on_ack(ack.ack), pdu::DpduType::ack_only);
  }
}

void DataTransfer::on_dpdu(Instant now, Instant, bool, pdu::Reset& reset) {
  Connection* connection = connection_for(reset.common, pdu::DpduType::reset);
  if (!connection) return;
  const auto verdict = connection->on_reset(reset);
  if (verdict == Connection::Verdict::taken) {
    on_answer(now, *connection, verdict, pdu::DpduType::reset);
  }
  collect(*connection);
}

void DataTransfer::on_dpdu(Instant, Instant, bool ok, pdu::ExpeditedData& data) {
  Connection* connection = connection_for(data.common, pdu::DpduType::expedited_data);
  if (!connection) return;
  connection->on_expedited_data(data, ok);
  collect(*connection);
}

void DataTransfer::on_dpdu(Instant now, Instant, bool, pdu::ExpeditedAck& ack) {
  Connection* connection = connection_for(ack.common, pdu::DpduType::expedited_ack);
  if (connection) {
    on_answer(now, *connection, connection->on_expedited_ack(ack.ack),
              pdu::DpduType::expedited_ack);
  }
}

// Processed in every state, with a connection or without (Tables C-11 to C-25).
void DataTransfer::on_dpdu(Instant now, Instant, bool, pdu::Management& management) {
  const Address source = management.common.source;
  Peer* record = peer_record(source);
  if (!record) return;
  if (record->control.on_management(management) && reply_awaited_from_ == source) {
    reply_awaited_from_.reset();
    turn_.on_reply(now);
  }
  collect(record->control);
}

void DataTransfer::on_dpdu(Instant, Instant first_bit_at, bool ok, pdu::Nonarq& nonarq) {
  nonarq_rx_.on_nonarq(first_bit_at, nonarq, ok);
  collect_nonarq();
}

void DataTransfer::on_dpdu(Instant, Instant, bool, pdu::Warning& warning) {
  counters_.add(Counter::warnings_received);
  actions_.push_back(WarningReceived{warning.common.source, warning.received_type, warning.reason});
}

void DataTransfer::on_dpdu(Instant, Instant, bool, pdu::Unsupported& unsupported) {
  owe_warning(unsupported.common.source, unsupported.type, kReasonUnrecognised);
}

void DataTransfer::on_answer(Instant now, Connection& connection, Connection::Verdict verdict,
                             pdu::DpduType type) {
  const Address peer = connection.peer();
  if (verdict == Connection::Verdict::unexpected) {
    owe_warning(peer, static_cast<std::uint8_t>(type), kReasonWrongState);
  }
  const bool answers = verdict == Connection::Verdict::taken && !peers_.at(peer).control.open();
  if (answers && reply_awaited_from_ == peer) {
    reply_awaited_from_.reset();
    turn_.on_reply(now);
  }
  collect(connection);
}

// One WARNING for each peer, type and reason until it has been sent, however many frames drew it.
void DataTransfer::owe_warning(Address peer, std::uint8_t received_type, std::uint8_t reason) {
  const PendingWarning warning{peer, received_type, reason};
  if (std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end()) return;
  if (warnings_.size() < config_.warnings_max) warnings_.push_back(warning);
}

}  // namespace s5066::dts
