// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_core.h"

#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/base/overloaded.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {
namespace {

std::string describe(sis::RejectReason reason) {
  switch (reason) {
    case sis::RejectReason::ttl_expired:
      return "the time to live ended";
    case sis::RejectReason::destination_sap_not_bound:
      return "no relay is bound at the destination";
    case sis::RejectReason::destination_not_responding:
      return "the station does not respond";
    case sis::RejectReason::larger_than_mtu:
      return "a segment is larger than the MTU";
    case sis::RejectReason::mode_not_specified:
      return "the transmission mode is not specified";
  }
  return "the node rejected it with reason " + std::to_string(static_cast<unsigned>(reason));
}

gateways::RcopReassembler::Config with_length_hook(gateways::RcopReassembler::Config config) {
  config.length_of = &application_length;
  return config;
}

}  // namespace

RelayCore::RelayCore(const Config& config)
    : config_(config),
      reassembler_(with_length_hook(config.reassembler)),
      udop_reassembler_(with_length_hook(config.reassembler)),
      outbox_(config.outbox, ids_),
      sender_(config.sender, ids_, utc_, outbox_),
      receiver_(config.receiver, ids_, utc_),
      transfer_receiver_(config.transfers, ids_, utc_, outbox_),
      inbox_server_(config.inbox_server, ids_, utc_, outbox_),
      far_inbox_(config.far_inbox, config.first_request, outbox_),
      multicast_(config.multicast, ids_, utc_, outbox_) {
  S5066_ASSERT(config.mtu_min > gateways::kRcopHeaderBytes);
}

void RelayCore::list(CounterRows& rows) const {
  sender_.counters().list(rows);
  receiver_.counters().list(rows);
  transfer_receiver_.counters().list(rows);
  inbox_server_.counters().list(rows);
  outbox_.counters().list(rows);
  reassembler_.counters().list(rows);
  multicast_.list(rows);
}

std::vector<TransferStatus> RelayCore::transfers() const {
  std::vector<TransferStatus> all = sender_.transfers();
  for (TransferStatus& one : multicast_.sender().transfers()) all.push_back(std::move(one));
  return all;
}

SenderCore::InHand RelayCore::in_hand(SpoolId id) const {
  return multicast_.sender().knows(id) ? multicast_.sender().in_hand(id) : sender_.in_hand(id);
}

void RelayCore::on_spool_changed(Instant now) {
  sender_.on_spool_changed(now);
  multicast_.on_spool_changed(now);
}

void RelayCore::on_changed(Instant now, const gateways::SpoolItem& row, bool at_once) {
  if (row.p_mul) {
    multicast_.on_changed(now, row);
  } else {
    sender_.on_changed(now, row, at_once);
  }
}

void RelayCore::on_start(Instant now) {
  sender_.on_start(now);
  if (config_.sender.transfer_service) transfer_receiver_.on_start(now);
  multicast_.on_start(now);
}

void RelayCore::on_clock(Instant now, UtcSeconds utc, Duration machine) {
  const std::chrono::seconds step = utc_.set(now, utc, machine);
  multicast_.on_clock(now, utc);
  if (step.count() == 0) return;
  emit(RelayEvent::Kind::clock_set, {},
       (step.count() > 0 ? "forward by " : "back by ") + duration_text(step));
  multicast_.on_clock_set(step);
  sender_.on_clock_set(now, step, multicast_.sender().last_listed());
}

void RelayCore::on_sis(Instant now, const gateways::SisEvent& event) {
  std::visit([&](const auto& value) { on(now, value); }, event);
}

void RelayCore::on(Instant now, const gateways::SisBound& event) {
  if (bound_) on(now, gateways::SisLost{});
  if (event.mtu < config_.mtu_min) {
    emit(RelayEvent::Kind::mtu_too_small, {}, std::to_string(event.mtu));
    return;
  }
  bound_ = true;
  flow_on_ = true;
  emit(RelayEvent::Kind::bound, {}, std::to_string(event.mtu));
  sender_.on_bound(now, event.mtu);
  transfer_receiver_.on_bound(now);
  inbox_server_.on_bound(event.mtu);
}

void RelayCore::on(Instant now, const gateways::SisLost&) {
  if (!std::exchange(bound_, false)) return;
  emit(RelayEvent::Kind::lost);
  sender_.on_lost(now);
  receiver_.on_lost(now);
  outbox_.on_lost();
}

void RelayCore::on(Instant, const gateways::SisFlow& event) {
  flow_on_ = event.on;
}

void RelayCore::on(Instant now, const gateways::SisIndication& event) {
  now_ = now;
  sender_.on_heard(now, event.source);
  if (config_.sender.transfer_service && take_message(now, event)) return;
  if (const auto pdu = reassembler_.on_updu(now, event.source, event.source_sap, event.updu)) {
    take(now, *pdu);
  }
  report_dropped(reassembler_);
}

void RelayCore::on_udop(Instant now, const gateways::SisEvent& event) {
  now_ = now;
  if (const auto* arrived = std::get_if<gateways::SisIndication>(&event)) {
    const auto pdu = gateways::decode_rcop(arrived->updu);
    const bool p_mul = pdu && pdu->header.application_id == kMulticastApplication;
    if (!p_mul) return take_udop(now, *arrived);
    if (multicast_.enabled()) multicast_.on_sis(now, event);
    return;
  }
  if (multicast_.enabled()) multicast_.on_sis(now, event);
  if (const auto* bound = std::get_if<gateways::SisBound>(&event)) {
    udop_flow_on_ = true;
    if (bound->mtu >= config_.mtu_min) return sender_.on_udop_bound(now, bound->mtu);
    emit(RelayEvent::Kind::mtu_too_small, {}, "SAP 7 has " + std::to_string(bound->mtu));
  } else if (std::holds_alternative<gateways::SisLost>(event)) {
    sender_.on_udop_lost(now);
  } else if (const auto* flow = std::get_if<gateways::SisFlow>(&event)) {
    udop_flow_on_ = flow->on;
  } else if (const auto* end = std::get_if<gateways::SisUnresolved>(&event)) {
    sender_.on_udop_refused(now, end->id, "the node did not take a segment");
  }
}

void RelayCore::on_own_silence(Instant now, bool silent) {
  now_ = now;
  if (!std::exchange(silent_, silent) && silent) sender_.on_own_silence(now);
  if (multicast_.enabled()) multicast_.on_own_silence(now, silent);
}

// FRAP comes by RCOP (Table F-2), so here an acknowledgement is an unknown application.
void RelayCore::take_udop(Instant now, const gateways::SisIndication& event) {
  const auto pdu = udop_reassembler_.on_updu(now, event.source, event.source_sap, event.updu);
  if (pdu && pdu->application_id == kBftpApplication) {
    receiver_.on_file(now, *pdu);
  } else if (pdu) {
    emit(RelayEvent::Kind::unknown_application, pdu->key.source,
         std::to_string(pdu->application_id));
  }
  report_dropped(udop_reassembler_);
}

/// Returns false if the U_PDU is not a message of the transfer service.
bool RelayCore::take_message(Instant now, const gateways::SisIndication& event) {
  const auto pdu = gateways::decode_rcop(event.updu);
  if (!pdu || pdu->header.application_id != kTransferApplication) return false;
  auto message = decode_transfer_message(pdu->data);
  if (!message || pdu->header.segment != 0) {
    emit(RelayEvent::Kind::message_ignored, event.source,
         message ? "it has several segments" : to_string(message.error()));
    return true;
  }
  sender_.on_service_heard(now, event.source);
  const auto take_it = Overloaded{
      [&](OfferMessage& m) {
        transfer_receiver_.on_offer(now, event.source, event.source_sap, pdu->header.updu_id,
                                    std::move(m));
      },
      [&](BlockMessage& m) { transfer_receiver_.on_block(now, event.source, std::move(m)); },
      [&](HaveMessage& m) { sender_.on_message(now, event.source, m); },
      [&](DoneMessage& m) { sender_.on_message(now, event.source, m); },
      [&](RefuseMessage& m) {
        if (!multicast_.on_refused(now, event.source, m)) sender_.on_message(now, event.source, m);
      },
      [&](SignatureMessage& m) { sender_.on_message(now, event.source, m); },
      [&](ControlMessage& m) {
        if (!m.from_sender) {
          if (!multicast_.on_control(now, event.source, m)) {
            sender_.on_message(now, event.source, m);
          }
        } else if (m.action == ControlAction::cancel) {
          transfer_receiver_.on_cancelled(now, event.source, m.number, m.text);
        }
      },
      [&](RequestMessage& m) { inbox_server_.on_request(now, event.source, m); },
      [&](AnswerMessage& m) { far_inbox_.on_answer(now, event.source, m); }};
  std::visit(take_it, *message);
  return true;
}

void RelayCore::report_dropped(gateways::RcopReassembler& reassembler) {
  while (const auto dropped = reassembler.poll_dropped()) {
    if (dropped->application_id != kBftpApplication) continue;
    const auto header = decode_bftp_header(dropped->begin);
    if (!header) continue;
    RelayEvent event;
    event.kind = RelayEvent::Kind::file_incomplete;
    event.transfer = std::to_string(dropped->key.updu_id);
    event.peer = dropped->key.source;
    event.name = header->name;
    event.octets = header->size;
    event.detail = std::string(dropped->reason) + "; " + std::to_string(dropped->octets) +
                   " octets had arrived";
    events_.push_back(std::move(event));
  }
}

void RelayCore::take(Instant now, const gateways::RcopReassembler::Complete& pdu) {
  if (pdu.application_id == kBftpApplication) {
    receiver_.on_file(now, pdu);
    return;
  }
  if (pdu.application_id != kFrapApplication && pdu.application_id != kFrapV2Application) {
    emit(RelayEvent::Kind::unknown_application, pdu.key.source, std::to_string(pdu.application_id));
    return;
  }
  SenderCore::Acknowledgement acknowledgement{.peer = pdu.key.source,
                                              .connection_id = pdu.key.connection_id,
                                              .updu_id = pdu.key.updu_id,
                                              .header = {}};
  if (pdu.application_id == kFrapV2Application) {
    auto header = decode_bftp_header(pdu.data);
    S5066_ASSERT(header.ok());  // a PDU with a broken header is never complete
    acknowledgement.header = std::move(header).value();
  }
  sender_.on_acknowledgement(now, acknowledgement);
}

void RelayCore::on(Instant now, const gateways::SisConfirmed& event) {
  if (outbox_.on_confirmed(event.id)) return;
  if (!receiver_.on_confirmed(now, event.id)) sender_.on_confirmed(now, event.id);
}

void RelayCore::on(Instant now, const gateways::SisRejected& event) {
  refused(now, event.id, describe(event.reason));
}

void RelayCore::on(Instant now, const gateways::SisUnresolved& event) {
  refused(now, event.id, "the node did not report whether it was delivered");
}

void RelayCore::refused(Instant now, gateways::SisRequestId id, const std::string& reason) {
  if (outbox_.on_refused(now, id)) return;
  if (!receiver_.on_refused(now, id, reason)) sender_.on_refused(now, id, reason);
}

void RelayCore::on_store_result(Instant now, const gateways::StoreResult& result) {
  const bool known =
      receiver_.on_store_result(now, result) || transfer_receiver_.on_store_result(now, result) ||
      inbox_server_.on_store_result(result) || multicast_.on_store_result(now, result) ||
      sender_.on_store_result(now, result);
  S5066_ASSERT(known);  // the store answers what was asked, once
  now_ = now;
  for (const gateways::SpoolItem& row : sender_.take_released()) multicast_.on_changed(now, row);
  if (inbox_server_.take_enqueued()) sender_.on_spool_changed(now);
  if (result.reserve_used) emit(RelayEvent::Kind::spool_disk_full);
}

void RelayCore::on_deadline(Instant now) {
  now_ = now;
  for (gateways::RcopReassembler* reassembler : {&reassembler_, &udop_reassembler_}) {
    reassembler->on_deadline(now);
    report_dropped(*reassembler);
  }
  receiver_.on_deadline(now);
  transfer_receiver_.on_deadline(now);
  far_inbox_.on_deadline(now);
  outbox_.on_deadline(now);
  sender_.on_deadline(now);
  multicast_.on_deadline(now);
}

std::optional<Instant> RelayCore::next_deadline() const {
  const auto answers = earlier(transfer_receiver_.next_deadline(),
                               earlier(far_inbox_.next_deadline(), outbox_.next_deadline()));
  const auto files = earlier(multicast_.next_deadline(),
                             earlier(receiver_.next_deadline(), sender_.next_deadline()));
  const auto segments = earlier(reassembler_.next_deadline(), udop_reassembler_.next_deadline());
  return earlier(segments, earlier(answers, files));
}

std::optional<RelayEvent> RelayCore::poll_event() {
  if (auto event = take_front(events_)) return event;
  if (auto event = receiver_.poll_event()) return event;
  if (auto event = inbox_server_.poll_event()) return event;
  if (auto event = transfer_receiver_.poll_event()) {
    const bool here = event->kind == RelayEvent::Kind::file_received ||
                      event->kind == RelayEvent::Kind::repeat_received;
    if (here && event->request != 0) {
      far_inbox_.on_received(now_, event->peer, {event->request}, event->detail);
    }
    return event;
  }
  if (auto event = multicast_.poll_event()) return event;
  return sender_.poll_event();
}

std::optional<gateways::SisUnidata> RelayCore::poll_udop() {
  auto updu = sender_.poll_udop(multicast_.clear_at());
  if (!updu) return std::nullopt;
  multicast_.on_other_handed(now_, updu->priority,
                             updu->updu.size() * (1u + updu->delivery.retransmissions));
  return updu;
}

// Acknowledgements go before files: the other side may be waiting with its next attempt. The end of
// a round by P_MUL is an event, so its U_PDUs come first.
std::optional<RelayCore::Action> RelayCore::poll_action() {
  if (auto updu = multicast_.poll_updu()) return UdopUnidata{std::move(*updu)};
  if (auto event = poll_event()) return std::move(*event);
  if (auto request = receiver_.poll_store()) return std::move(*request);
  if (auto request = transfer_receiver_.poll_store()) return std::move(*request);
  if (auto request = inbox_server_.poll_store()) return std::move(*request);
  if (auto request = multicast_.poll_store()) return std::move(*request);
  if (auto request = sender_.poll_store()) return std::move(*request);
  if (udop_flow_on_ && !silent_) {
    if (auto updu = poll_udop()) return UdopUnidata{std::move(*updu)};
    if (auto request = sender_.poll_store()) return std::move(*request);
  }
  if (!bound_ || !flow_on_) return std::nullopt;
  if (auto updu = receiver_.poll_updu()) return std::move(*updu);
  if (auto updu = outbox_.poll_updu()) return std::move(*updu);
  if (auto updu = sender_.poll_updu()) return std::move(*updu);
  // A file without a piece of its content has asked for one.
  if (auto request = sender_.poll_store()) return std::move(*request);
  return std::nullopt;
}

void RelayCore::emit(RelayEvent::Kind kind, Address peer, std::string detail) {
  RelayEvent event;
  event.kind = kind;
  event.peer = peer;
  event.detail = std::move(detail);
  events_.push_back(std::move(event));
}

}  // namespace s5066::file_relay
