#include "s5066d/dts/data_transfer.h"

#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::dts {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
/// A modem that has not reported the end of a burst by then is taken to have failed.
constexpr Duration kModemPatience = std::chrono::seconds(10);
/// This part of a transmission is kept for waiting non-ARQ data before ARQ fills it.
constexpr std::size_t kNonarqShare = 4;
constexpr std::uint8_t kReasonUnrecognised = 0;
constexpr std::uint8_t kReasonNotConnected = 1;
constexpr std::uint8_t kReasonWrongState = 3;

/// Where the preamble is short, the turnaround alone asks for this much.
constexpr Duration kTransmissionUsual = std::chrono::seconds(60);

// The preamble and the turnaround that go with it cost the same for every transmission, so where
// they are long it pays to send for longer.
Duration transmission_max(const Config& config) {
  if (config.transmission_max > Duration::zero()) return config.transmission_max;
  return std::clamp(100 * modem::preamble_duration(config.mode), kTransmissionUsual,
                    kTransmissionMax);
}

TurnControl::Config turn_config(const Config& config) {
  const Duration detection = modem::preamble_duration(config.mode);
  return {.turnaround = config.turnaround,
          .reply_guard = kHalfSecond + detection + config.turnaround,
          .slot = detection + config.turnaround};
}

Duration reply_time(const Config& config) {
  return config.turnaround + kHalfSecond + modem::preamble_duration(config.mode) +
         config.reply_margin;
}

}  // namespace

std::size_t segment_octets(const Config& config) {
  if (config.segment_octets > 0) return config.segment_octets;
  return config.mode.rate_bps <= 300 ? 200 : 400;
}

DataTransfer::DataTransfer(const Config& config, Rng& rng, Counters& counters, TraceSink& trace)
    : config_(config),
      counters_(counters),
      trace_(trace),
      turn_(turn_config(config), rng),
      scanner_(counters),
      nonarq_tx_({segment_octets(config), config.nonarq_queue_octets_max}, rng),
      nonarq_rx_({}, counters) {
  S5066_ASSERT(config.transmission_max <= kTransmissionMax);
  S5066_ASSERT(modem::capacity(config.mode, transmission_max(config)) >=
               pdu::data_ack_octets(segment_octets(config), pdu::kSelectiveOctetsMax));
}

void DataTransfer::request_cpdu(Instant now, CpduRequest request) {
  const CpduId id = request.id;
  const auto refuse = [&](CpduFailure reason) { actions_.push_back(CpduRejected{id, reason}); };
  switch (request.service) {
    case Service::arq:
    case Service::expedited_arq: {
      const auto connection = connections_.find(request.destination);
      if (connection == connections_.end()) return refuse(CpduFailure::not_connected);
      if (!connection->second.request(std::move(request))) return refuse(CpduFailure::queue_full);
      break;
    }
    case Service::nonarq:
    case Service::expedited_nonarq:
      if (!nonarq_tx_.request(std::move(request))) return refuse(CpduFailure::queue_full);
      break;
  }
  settle(now);
}

void DataTransfer::on_connection_made(Instant now, Address peer, bool reset) {
  const auto known = connections_.find(peer);
  if (known != connections_.end()) {
    if (!known->second.heard()) return;
    end_link(peer);
  }
  if (connections_.size() >= config_.links_max) {
    actions_.push_back(ConnectionLost{peer});
    return;
  }
  const std::size_t segment = segment_octets(config_);
  const Connection::Config config{
      .self = config_.address,
      .regular = {segment, config_.window, config_.link_queue_octets_max, false},
      .expedited = {segment, config_.window, config_.expedited_queue_octets_max, true},
      .out_of_sync_max = config_.out_of_sync_max,
      .resets_missed_max = config_.resets_missed_max};
  const auto made = connections_.emplace(std::piecewise_construct, std::forward_as_tuple(peer),
                                         std::forward_as_tuple(peer, config, counters_));
  if (reset) made.first->second.begin_with_reset();
  settle(now);
}

void DataTransfer::on_connection_terminated(Instant now, Address peer) {
  end_link(peer);
  settle(now);
}

void DataTransfer::set_silent(Instant now, bool on) {
  silent_ = on;
  if (on && burst_) actions_.push_back(modem::Command(modem::AbortTransmit{burst_->id}));
  settle(now);
}

// Everything accepted for the peer is reported before its state goes.
void DataTransfer::end_link(Address peer) {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return;
  connection->second.on_terminated();
  collect(connection->second);
  connections_.erase(connection);
  if (reply_awaited_from_ == peer) reply_awaited_from_.reset();
}

void DataTransfer::lose(Instant now, Address peer) {
  counters_.add(Counter::links_lost);
  trace_.on_trace({.at = now, .kind = TraceKind::link_lost, .peer = peer});
  end_link(peer);
  actions_.push_back(ConnectionLost{peer});
}

void DataTransfer::on_modem_event(Instant now, const modem::Event& event) {
  std::visit([&](const auto& e) { on_event(now, e); }, event);
  settle(now);
}

void DataTransfer::on_event(Instant, const modem::TransmitStarted&) {}

void DataTransfer::on_event(Instant now, const modem::TransmitFinished& event) {
  if (burst_ && burst_->id == event.id) on_burst_over(now, event.outcome);
}

void DataTransfer::on_event(Instant now, const modem::Fault& event) {
  if (event.kind == modem::FaultKind::device_back) return;
  counters_.add(Counter::modem_faults);
  if (event.kind == modem::FaultKind::command_refused && burst_) {
    on_burst_over(now, modem::TransmitOutcome::aborted);
  }
}

void DataTransfer::on_burst_over(Instant now, modem::TransmitOutcome outcome) {
  const OwnBurst burst = *std::exchange(burst_, std::nullopt);
  const bool sent = outcome == modem::TransmitOutcome::sent;
  trace_.on_trace({.at = now,
                   .kind = TraceKind::burst_finished,
                   .peer = burst.peer.value_or(Address{}),
                   .a = static_cast<int>(outcome)});
  if (sent) {
    counters_.add(Counter::bursts_sent);
    nonarq_tx_.on_sent();
  } else {
    nonarq_tx_.on_not_sent();
  }
  const auto connection = burst.peer ? connections_.find(*burst.peer) : connections_.end();
  bool await = false;
  if (connection != connections_.end()) {
    await = sent && connection->second.wants_reply();
    connection->second.on_transmitted(sent);
  }
  reply_awaited_from_ = await ? burst.peer : std::nullopt;
  turn_.on_transmit_done(now, await ? std::optional(reply_time(config_)) : std::nullopt);
}

void DataTransfer::on_event(Instant now, const modem::CarrierUp& event) {
  on_heard_over();
  counters_.add(Counter::bursts_received);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::carrier_up,
                   .a = event.mode.rate_bps,
                   .b = static_cast<std::int64_t>(event.snr_db * 10)});
  scanner_.reset();
  heard_ = HeardBurst{event.mode, std::nullopt};
  turn_.on_carrier_up(now);
}

void DataTransfer::on_event(Instant now, const modem::ReceivedBytes& event) {
  if (!heard_) return;  // the tail of a burst that ended for us when we keyed
  if (!heard_->start) heard_->start = event.first_bit_at;
  scanner_.push(event.bytes);
  while (auto received = scanner_.poll()) on_received(now, std::move(*received));
}

void DataTransfer::on_event(Instant now, const modem::CarrierDown& event) {
  trace_.on_trace(
      {.at = now, .kind = TraceKind::carrier_down, .a = static_cast<int>(event.reason)});
  if (heard_) {
    scanner_.finish();
    while (auto received = scanner_.poll()) on_received(now, std::move(*received));
  }
  on_heard_over();
  turn_.on_carrier_down(now, event.ended_at, event.reason != modem::CarrierDownReason::lost);
}

// A link whose peer keeps disagreeing about the windows cannot be repaired from here: it is given
// up and made again.
void DataTransfer::on_heard_over() {
  heard_.reset();
  for (auto& [peer, connection] : connections_) connection.on_heard_over();
}

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
  std::visit([&](auto& dpdu) { on_dpdu(now, first_bit_at, received.segment_ok, dpdu); },
             received.dpdu);
}

Connection* DataTransfer::connection_for(const pdu::Common& common, pdu::DpduType type) {
  const auto found = connections_.find(common.source);
  if (found != connections_.end()) return &found->second;
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

void DataTransfer::on_dpdu(Instant, Instant, bool, pdu::Management& management) {
  owe_warning(management.common.source, pdu::type_of(management), kReasonUnrecognised);
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
  if (verdict == Connection::Verdict::taken && reply_awaited_from_ == peer) {
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

void DataTransfer::on_reply_missing(Instant now) {
  counters_.add(Counter::reply_timeouts);
  const auto peer = std::exchange(reply_awaited_from_, std::nullopt);
  if (!peer) return;
  Connection& connection = connections_.at(*peer);
  const unsigned missed = connection.on_reply_missing();
  trace_.on_trace({.at = now, .kind = TraceKind::reply_timeout, .peer = *peer, .a = missed});
  if (missed >= config_.replies_missed_max || connection.hopeless()) lose(now, *peer);
}

bool DataTransfer::anything_to_send() const {
  if (!warnings_.empty() || nonarq_tx_.has_work(true) || nonarq_tx_.has_work(false)) return true;
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& entry) { return entry.second.has_work(); });
}

// An owed acknowledgement first; then the connections take turns.
Connection* DataTransfer::choose_connection() {
  Connection* chosen = nullptr;
  for (auto& [peer, connection] : connections_) {
    if (connection.answer_owed()) return &connection;
    if (!connection.has_work()) continue;
    const bool after_last = !last_served_ || *last_served_ < peer;
    if (!chosen || (after_last && last_served_ && !(*last_served_ < chosen->peer()))) {
      chosen = &connection;
    }
  }
  return chosen;
}

void DataTransfer::transmit(Instant now) {
  S5066_ASSERT(!burst_);
  on_heard_over();  // half duplex: our own transmitter drowns whatever was there
  IntervalBudget budget(config_.mode, transmission_max(config_));
  BurstBuilder burst;
  burst_ = OwnBurst{.id = {++bursts_made_}};
  while (!warnings_.empty() && budget.fits(pdu::kWarningOctets)) {
    const PendingWarning& warning = warnings_.front();
    budget.take(pdu::kWarningOctets);
    burst.add(pdu::Warning{{.destination = warning.peer, .source = config_.address},
                           warning.received_type,
                           warning.reason});
    counters_.add(Counter::warnings_sent);
    warnings_.pop_front();
  }
  // A transmission asks one station for an answer, or two would answer at once.
  const auto audience = nonarq_tx_.expedited_audience();
  nonarq_tx_.begin_burst();
  nonarq_tx_.fill(true, config_.address, {.only_to = audience}, budget, burst);
  // Bulk data must not keep unacknowledged data off the air.
  nonarq_tx_.fill(false, config_.address, {.octets_max = budget.left() / kNonarqShare}, budget,
                  burst);
  Connection* connection = choose_connection();
  if (connection && (!audience || *audience == connection->peer()) &&
      connection->fill(false, budget, burst)) {
    burst_->peer = last_served_ = connection->peer();
  }
  nonarq_tx_.fill(false, config_.address, {}, budget, burst);
  if (burst.empty()) {  // nothing of it fits
    burst_.reset();
    return;
  }

  auto encoded = burst.encode(
      config_.mode, nonarq_tx_.has_unfinished() ? 2 * kTransmissionMax : Duration::zero());
  counters_.add(Counter::dpdus_sent, burst.dpdus().size());
  for (const auto& dpdu : burst.dpdus()) {
    trace_dpdu(now, TraceKind::dpdu_sent, dpdu, pdu::common_of(dpdu).destination, true);
  }
  const Duration airtime = modem::airtime(config_.mode, encoded.octets.size());
  trace_.on_trace({.at = now,
                   .kind = TraceKind::burst_started,
                   .peer = burst_->peer.value_or(Address{}),
                   .a = static_cast<std::int64_t>(encoded.octets.size()),
                   .b = airtime / std::chrono::milliseconds(1)});
  burst_->give_up_at = now + airtime + kModemPatience;
  actions_.push_back(modem::Command(
      modem::TransmitBurst{burst_->id, config_.mode, std::move(encoded.octets), now}));
  turn_.on_transmit_started(now);
}

void DataTransfer::trace_dpdu(Instant now, TraceKind kind, const pdu::Dpdu& dpdu, Address peer,
                              bool intact) {
  TraceEvent event{.at = now, .kind = kind, .peer = peer, .a = pdu::type_of(dpdu)};
  if (const auto* data = std::get_if<pdu::Data>(&dpdu)) event.b = data->number.value;
  if (const auto* data = std::get_if<pdu::DataAck>(&dpdu)) event.b = data->number.value;
  if (const auto* data = std::get_if<pdu::ExpeditedData>(&dpdu)) event.b = data->number.value;
  Bytes octets;
  if (trace_.wants_octets() && intact && !std::holds_alternative<pdu::Unsupported>(dpdu)) {
    pdu::encode(dpdu, octets);
    event.octets = octets;
  }
  trace_.on_trace(event);
}

void DataTransfer::collect(Connection& connection) {
  if (connection.take_active()) actions_.push_back(PeerActive{connection.peer()});
  if (connection.take_restarted()) actions_.push_back(ConnectionReset{connection.peer()});
  while (auto outcome = connection.poll_outcome()) {
    std::visit([&](const auto& o) { actions_.push_back(o); }, *outcome);
  }
  while (auto cpdu = connection.poll_cpdu()) actions_.push_back(std::move(*cpdu));
}

void DataTransfer::collect_nonarq() {
  while (auto cpdu = nonarq_rx_.poll_cpdu()) actions_.push_back(std::move(*cpdu));
}

void DataTransfer::want_transmit(Instant now) {
  const bool answer_owed =
      std::any_of(connections_.begin(), connections_.end(),
                  [](const auto& entry) { return entry.second.answer_owed(); });
  const bool wanted = !silent_ && !burst_ && anything_to_send();
  turn_.on_transmit_wanted(now, wanted, answer_owed && !silent_);
}

// Runs after every input: hands results up, tells the turn control what is wanted, and does what it
// decides.
void DataTransfer::settle(Instant now) {
  nonarq_tx_.drop_expired(now);
  for (auto& [peer, connection] : connections_) {
    connection.on_deadline(now);
    collect(connection);
  }
  // While something is heard, segments that passed the antenna in time may still be on their way.
  if (!heard_) nonarq_rx_.on_deadline(now);
  collect_nonarq();

  want_transmit(now);
  turn_.on_deadline(now);
  while (auto action = turn_.poll_action()) {
    if (std::holds_alternative<TurnControl::KeyTransmitter>(*action)) {
      transmit(now);
    } else {
      on_reply_missing(now);
      want_transmit(now);
    }
  }
  while (auto outcome = nonarq_tx_.poll_outcome()) {
    if (outcome->expired) {
      actions_.push_back(CpduRejected{outcome->id, CpduFailure::expired});
    } else {
      actions_.push_back(CpduConfirm{outcome->id});
    }
  }
}

void DataTransfer::on_deadline(Instant now) {
  if (burst_ && now >= burst_->give_up_at) {
    counters_.add(Counter::modem_faults);
    actions_.push_back(modem::Command(modem::AbortTransmit{burst_->id}));
    on_burst_over(now, modem::TransmitOutcome::aborted);
  }
  settle(now);
}

std::optional<Instant> DataTransfer::next_deadline() const {
  std::optional<Instant> next = turn_.next_deadline();
  if (!heard_) next = earlier(next, nonarq_rx_.next_deadline());
  if (burst_) next = earlier(next, burst_->give_up_at);
  for (const auto& [peer, connection] : connections_) {
    next = earlier(next, connection.next_deadline());
  }
  return next;
}

std::optional<Action> DataTransfer::poll_action() {
  if (actions_.empty()) return std::nullopt;
  std::optional<Action> action(std::move(actions_.front()));
  actions_.pop_front();
  return action;
}

std::optional<DataTransfer::LinkStatus> DataTransfer::link_status(Address peer) const {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return std::nullopt;
  return LinkStatus{connection->second.queued_octets(), connection->second.octets_acknowledged()};
}

std::size_t DataTransfer::queued_octets(Address peer) const {
  const auto status = link_status(peer);
  return status ? status->octets_queued : 0;
}

}  // namespace s5066::dts
