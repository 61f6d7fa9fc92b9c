// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/message_outbox.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::file_relay {
namespace {

constexpr CounterTable<OutboxCounter> kOutboxCounters({
    {OutboxCounter::sent, "relay_messages_sent", "messages",
     "answers and requests of the transfer service that the other station has"},
    {OutboxCounter::failed, "relay_messages_failed", "messages",
     "answers and requests of the transfer service that were given up"},
    {OutboxCounter::crowded_out, "relay_messages_crowded_out", "messages",
     "answers and requests of the transfer service for which there was no room"},
});

TransferNumber number_of(const TransferMessage& message) {
  return std::visit([](const auto& m) { return m.number; }, message);
}

/// True if the second message makes the first one needless.
bool replaces(const TransferMessage& old, const TransferMessage& message) {
  const bool parts = std::holds_alternative<SignatureMessage>(message) ||
                     std::holds_alternative<RequestMessage>(message) ||
                     std::holds_alternative<AnswerMessage>(message);
  return !parts && old.index() == message.index() && number_of(old) == number_of(message);
}

}  // namespace

const CounterTable<OutboxCounter>& counter_table(OutboxCounter) {
  return kOutboxCounters;
}

void MessageOutbox::push(Address to, TransferMessage message) {
  for (Pending& pending : messages_) {
    if (pending.to != to || pending.request || !replaces(pending.message, message)) continue;
    pending.message = std::move(message);
    return;
  }
  if (messages_.size() >= config_.messages_max || messages_to(to) >= config_.station_messages_max) {
    counters_.add(OutboxCounter::crowded_out);
    return;
  }
  messages_.push_back(
      {.to = to, .message = std::move(message), .attempts = 0, .request = {}, .send_again = {}});
}

std::size_t MessageOutbox::messages_to(Address station) const {
  return static_cast<std::size_t>(std::count_if(messages_.begin(), messages_.end(),
                                                [&](const Pending& p) { return p.to == station; }));
}

std::size_t MessageOutbox::outstanding() const {
  return static_cast<std::size_t>(std::count_if(
      messages_.begin(), messages_.end(), [](const Pending& p) { return p.request.has_value(); }));
}

// Messages for a silent station do not fill the queue of the node.
std::optional<gateways::SisUnidata> MessageOutbox::poll_updu() {
  std::map<Address, std::size_t> outstanding;
  for (const Pending& pending : messages_) {
    if (pending.request) ++outstanding[pending.to];
  }
  const auto next = std::find_if(messages_.begin(), messages_.end(), [&](const Pending& p) {
    return !p.request && !p.send_again && outstanding[p.to] < config_.station_outstanding_max;
  });
  if (next == messages_.end()) return std::nullopt;
  next->request = ids_.next_request();
  ++next->attempts;
  gateways::SisUnidata updu{
      .id = *next->request,
      .priority = config_.priority,
      .destination = next->to,
      .destination_sap = gateways::kRcopSap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .time_to_live_s = config_.updu_lifetime_s,
      .updu = {}};
  encode(gateways::RcopHeader{.connection_id = 0,
                              .updu_id = next_updu_id_++,
                              .segment = 0,
                              .application_id = kTransferApplication},
         updu.updu);
  append(updu.updu, encode(next->message));
  return updu;
}

bool MessageOutbox::on_confirmed(gateways::SisRequestId id) {
  const auto sent = std::find_if(messages_.begin(), messages_.end(),
                                 [&](const Pending& p) { return p.request == id; });
  if (sent == messages_.end()) return false;
  counters_.add(OutboxCounter::sent);
  messages_.erase(sent);
  return true;
}

bool MessageOutbox::on_refused(Instant now, gateways::SisRequestId id) {
  const auto sent = std::find_if(messages_.begin(), messages_.end(),
                                 [&](const Pending& p) { return p.request == id; });
  if (sent == messages_.end()) return false;
  sent->request.reset();
  if (sent->attempts < config_.attempts_max) {
    sent->send_again = now + config_.retry;
    return true;
  }
  counters_.add(OutboxCounter::failed);
  messages_.erase(sent);
  return true;
}

// The node will not report on what it had, so all goes again.
void MessageOutbox::on_lost() {
  for (Pending& pending : messages_) pending.request.reset();
}

void MessageOutbox::on_deadline(Instant now) {
  for (Pending& pending : messages_) {
    if (pending.send_again && *pending.send_again <= now) pending.send_again.reset();
  }
}

std::optional<Instant> MessageOutbox::next_deadline() const {
  std::optional<Instant> next;
  for (const Pending& pending : messages_) next = earlier(next, pending.send_again);
  return next;
}

}  // namespace s5066::file_relay
