// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/data_transfer.h"

#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/api/morse.h"
#include "modem/api/receive_modes.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/dts/data_rate.h"

namespace s5066::dts {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
/// Time after the planned end of a burst at which a modem that has not reported the end counts as
/// failed.
constexpr Duration kModemPatience = std::chrono::seconds(10);
/// One part of this many of a transmission is kept for waiting non-ARQ data before ARQ fills it.
constexpr std::size_t kNonarqShare = 4;
/// Longest time from the antenna to the decoded octet, with any interleaver.
constexpr Duration kDecodingMax = std::chrono::seconds(20);
/// Upper bound of the octets of a type 6 D_PDU.
constexpr std::size_t kControlOctets = 40;
/// Copies of a short expedited C_PDU, link control above all, while its block has room.
constexpr int kControlCopiesMax = 8;
/// Longest transmission while others wait for theirs.
constexpr Duration kTransmissionShared = std::chrono::seconds(60);
/// Interval between transmissions that only acknowledge, while the transmission that they
/// acknowledge goes on.
constexpr Duration kAcknowledgedEach = std::chrono::seconds(15);
constexpr std::uint8_t kReasonUnrecognised = 0;
constexpr std::uint8_t kReasonNotConnected = 1;
constexpr std::uint8_t kReasonInvalid = 2;
constexpr std::uint8_t kReasonWrongState = 3;
/// A station that has told something in the headers of link control is expected to use the link
/// within this time.
constexpr Duration kSetUpNewsKept = std::chrono::minutes(5);
/// Largest number of stations without a connection that are owed a type 6 answer at the same time.
constexpr int kUnknownStationsMax = 8;

/// True if both ends follow advice without a message.
bool adapts(const Connection& connection) {
  return (connection.extensions() & pdu::extension::kAdapts) != 0;
}

/// Returns how many octets a receiver has when the data part of a burst is cut off after
/// `data_time`. Only whole blocks count. In STANAG 4285 the delay of an octet in the interleaver
/// equals the time that a burst needs to empty it.
std::size_t octets_within(const modem::Mode& mode, Duration data_time) {
  const std::size_t with_trailer = modem::capacity(mode, data_time);
  if (mode.waveform == modem::Waveform::stanag4285) return with_trailer;
  std::uint64_t blocks = with_trailer > 0 ? modem::block_count(mode, with_trailer) : 0;
  while (modem::data_duration_of_blocks(mode, blocks + 1) <= data_time) ++blocks;
  return static_cast<std::size_t>(blocks) * modem::block_bits(mode) / 8;
}

TransferEvent event_of(Service service) {
  switch (service) {
    case Service::arq:
      return TransferEvent::arq_request;
    case Service::expedited_arq:
      return TransferEvent::expedited_request;
    case Service::nonarq:
      return TransferEvent::nonarq_request;
    case Service::expedited_nonarq:
      return TransferEvent::expedited_nonarq_request;
  }
  return TransferEvent::count;
}

}  // namespace

DataTransfer::DataTransfer(const Config& config, Rng& rng, Counters& counters, TraceSink& trace)
    : config_(config),
      modes_(modes_to_choose_from(config.mode, config.adaptation.value_or(RateLimits{}))),
      one_choice_(modes_of_one_choice(config)),
      counters_(counters),
      trace_(trace),
      turn_({.self = config.address,
             .turnaround = config.turnaround,
             .preamble = modem::preamble_duration(config.mode),
             .dedicated = config.dedicated_frequency},
            rng),
      reception_(counters),
      nonarq_tx_(
          {segment_octets(config), segment_octets_max(config), config.nonarq_queue_octets_max},
          rng),
      nonarq_rx_({}, counters),
      peers_(config.peers_max),
      identification_(config.identification),
      duplex_(config.full_duplex) {
  config_.receive_modes = modem::listen_modes(config.receive_modes, config.mode);
  S5066_ASSERT(config.transmission_max <= kTransmissionMax);
  for (const modem::Mode& mode : modes_in_use(config)) {
    S5066_ASSERT(holds_segment(config, mode, segment_octets(config)));
  }
}

void DataTransfer::request_cpdu(Instant now, CpduRequest request) {
  const CpduId id = request.id;
  const auto refuse = [&](CpduFailure reason) { actions_.push(CpduRejected{id, reason}); };
  const Address to = request.destination;
  if (Peer* peer = to.group ? nullptr : peer_record(to)) {
    const auto action = peer->state.on(event_of(request.service), work_of(to));
    if (action == TransferAction::reject) return refuse(CpduFailure::not_connected);
  }
  const bool arq = request.service == Service::arq || request.service == Service::expedited_arq;
  const auto connection = connections_.find(to);
  if (arq && connection == connections_.end()) return refuse(CpduFailure::not_connected);
  const auto done =
      arq ? connection->second.request(std::move(request)) : nonarq_tx_.request(std::move(request));
  if (!done) return refuse(CpduFailure::queue_full);
  actions_.on_input(now);
}

void DataTransfer::on_connection_made(Instant now, Address peer, bool reset) {
  const auto known = connections_.find(peer);
  if (known != connections_.end()) {
    if (!known->second.heard()) {
      PeerControl& control = peers_.at(peer).control;
      if (!control.heard()) return;
      control.on_restarted();
      if (reply_awaited_from_ == peer) reply_awaited_from_.reset();
      collect(control);
      return actions_.on_input(now);
    }
    end_link(peer);
  }
  Peer* record = peer_record(peer);
  if (connections_.size() >= config_.links_max || !record) {
    actions_.push(ConnectionLost{peer});
    return;
  }
  const std::size_t segment = segment_octets(config_);
  const Connection::Config config{
      .self = config_.address,
      .regular = {segment, config_.window, config_.link_queue_octets_max, false,
                  segment_octets_max(config_),
                  record->long_data.may_send(now) ? config_.large_window : 0, config_.fair_turn},
      .expedited = {segment, config_.window, config_.expedited_queue_octets_max, true},
      .out_of_sync_max = kOutOfSyncMax,
      .resyncs_max = config_.resyncs_max,
      .resets_missed_max = config_.resets_missed_max,
      .extensions = extensions(config_),
      .held_octets_max = config_.held_octets_max};
  const auto made = connections_.emplace(std::piecewise_construct, std::forward_as_tuple(peer),
                                         std::forward_as_tuple(peer, config, counters_));
  record->control.on_connected(true);
  record->adaptation.on_connected();
  const auto action = record->state.on(TransferEvent::connection_made, {});
  S5066_ASSERT(action == TransferAction::initialise);
  if (reset) made.first->second.begin_with_reset();
  take_set_up_news(now, *record, made.first->second);
  actions_.on_input(now);
}

// The first data goes as the peer advised when it answered the call.
void DataTransfer::take_set_up_news(Instant now, Peer& record, Connection& connection) {
  const SetUpNews news = std::exchange(record.set_up, {});
  if (!config_.adaptation || !news.offered || now > news.at + kSetUpNewsKept) return;
  connection.on_extensions(*news.offered);
  if (!news.advice || !adapts(connection)) return;
  connection.on_offer_known();  // the peer advises before data only if we have offered
  record.control.on_eow(*news.advice);
  static_cast<void>(record.adaptation.follow_advice(now, record.control, connection));
  collect(record.control);
}

void DataTransfer::on_connection_terminated(Instant now, Address peer) {
  end_link(peer);
  actions_.on_input(now);
}

void DataTransfer::gather(Instant now, bool on) {
  gathering_ = on;
  if (!on) actions_.on_input(now);
}

void DataTransfer::set_silent(Instant now, bool on) {
  silent_ = on;
  if (on && burst_) actions_.push(modem::Command(modem::AbortTransmit{burst_->id}));
  actions_.on_input(now);
}

void DataTransfer::set_modem_works(Instant now, bool works) {
  modem_works_ = works;
  actions_.on_input(now);
}

// Every C_PDU accepted for the peer is reported before its state is deleted.
void DataTransfer::end_link(Address peer) {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return;
  connection->second.on_terminated();
  collect(connection->second);
  Peer& record = peers_.at(peer);
  if (connection->second.long_heard()) record.long_data.on_heard();
  connections_.erase(connection);
  record.adaptation.on_link_ended(record.control);
  record.control.on_connected(false);
  record.state.on(TransferEvent::connection_terminated, {});
  if (reply_awaited_from_ == peer) reply_awaited_from_.reset();
}

void DataTransfer::lose(Instant now, Address peer) {
  counters_.add(Counter::links_lost);
  trace_.on_trace({.at = now, .kind = TraceKind::link_lost, .peer = peer});
  const auto connection = connections_.find(peer);
  if (Peer* record = peers_.find(peer); record && connection != connections_.end()) {
    record->adaptation.on_lost(now_, record->control, connection->second);
    if (connection->second.long_data_unanswered()) record->long_data.on_unanswered(now);
  }
  end_link(peer);
  actions_.push(ConnectionLost{peer});
}

void DataTransfer::on_modem_event(Instant now, const modem::Event& event) {
  now_ = now;
  std::visit([&](const auto& e) { on_event(now, e); }, event);
  actions_.on_input(now);
}

void DataTransfer::on_event(Instant, const modem::TransmitStarted& event) {
  if (burst_ && burst_->id == event.id) burst_->began = event.at;
}

void DataTransfer::on_event(Instant now, const modem::TransmitFinished& event) {
  if (!burst_ || burst_->id != event.id) return;
  const bool cut = event.outcome == modem::TransmitOutcome::aborted;
  on_burst_over(now, event.outcome, cut ? std::optional(event.at) : std::nullopt);
}

void DataTransfer::on_event(Instant now, const modem::Fault& event) {
  using enum modem::FaultKind;
  if (event.kind == device_back || event.kind == ptt_back) return;
  if (event.kind == level_bad || event.kind == level_good) return;
  counters_.add(Counter::modem_faults);
  if (event.kind == modem::FaultKind::command_refused && burst_) {
    turn_.on_transmit_refused(now);
    on_burst_over(now, modem::TransmitOutcome::aborted);
  }
}

Duration DataTransfer::reply_time(Instant now) const {
  return config_.turnaround + kHalfSecond + turn_.preamble(now) + config_.reply_margin;
}

// Returns how many D_PDUs of the cut-off transmission a receiver has complete.
std::size_t DataTransfer::dpdus_left(const OwnBurst& burst, Instant cut_at) {
  if (!burst.began) return 0;
  const std::size_t octets =
      octets_within(burst.mode, cut_at - *burst.began - modem::preamble_duration(burst.mode));
  const auto end = std::upper_bound(burst.ends.begin(), burst.ends.end(), octets);
  return static_cast<std::size_t>(end - burst.ends.begin());
}

void DataTransfer::on_burst_over(Instant now, modem::TransmitOutcome outcome,
                                 std::optional<Instant> cut_at) {
  const OwnBurst burst = *std::exchange(burst_, std::nullopt);
  const bool sent = outcome == modem::TransmitOutcome::sent;
  trace_.on_trace({.at = now,
                   .kind = TraceKind::burst_finished,
                   .peer = burst.peer.value_or(Address{}),
                   .a = static_cast<int>(outcome)});
  if (burst.identifies) {
    identification_.on_identified(now, sent);
    if (sent) counters_.add(Counter::identifications_sent);
    duplex_.on_own_ended(now, sent);
    return turn_.on_transmit_done(now, std::nullopt, std::nullopt);
  }
  if (sent) identification_.on_transmitted(now);
  if (sent) {
    counters_.add(Counter::bursts_sent);
    nonarq_tx_.on_sent();
  } else {
    nonarq_tx_.on_not_sent(cut_at ? dpdus_left(burst, *cut_at) : 0);
  }
  for (const auto& told : burst.told) {
    Peer* peer = peers_.find(told.peer);
    if (!sent || !peer) continue;
    peer->control.on_eow_sent();
    if (!told.advice) continue;
    peer->control.on_advice_sent(*told.advice);
    peer->adaptation.on_advice_sent(now, *told.advice);
  }
  duplex_.on_own_ended(now, sent);
  if (!in_full_duplex()) reply_awaited_from_.reset();
  std::optional<Duration> wait;
  const auto connection = burst.peer ? connections_.find(*burst.peer) : connections_.end();
  Peer* managed = burst.managed ? peers_.find(*burst.peer) : nullptr;
  if (managed) {
    PeerControl& control = managed->control;
    if (sent && control.wants_reply()) wait = reply_time(now);
    control.on_transmitted(sent);
    // The peer repeats its own message first, and we answer that before we repeat ours.
    if (wait && control.waits_longer()) {
      *wait += reply_time(now) + modem::airtime(burst.mode, kControlOctets);
    }
    collect(control);
  } else if (connection != connections_.end()) {
    const bool waits =
        in_full_duplex() ? connection->second.wants_silence() : connection->second.wants_reply();
    if (sent && waits) wait = reply_time(now);
    peers_.at(*burst.peer)
        .adaptation.on_transmitted(now, burst.mode, sent, connection->second.wants_reply());
    if (sent && connection->second.acknowledges()) answered_at_ = now;
    connection->second.on_transmitted(sent, config_.full_duplex ? std::optional(now) : std::nullopt,
                                      !in_full_duplex());
  }
  if (wait) reply_awaited_from_ = burst.peer;
  turn_.on_transmit_done(now, wait, burst.turn_given);
}

void DataTransfer::on_event(Instant now, const modem::CarrierUp& event) {
  on_heard_over();
  counters_.add(Counter::bursts_received);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::carrier_up,
                   .a = event.mode.rate_bps,
                   .b = static_cast<std::int64_t>(event.snr_db * 10)});
  reception_.begin(event.mode, burst_.has_value());
  if (!burst_) answered_at_ = now;
  turn_.on_carrier_up(now);
}

void DataTransfer::on_event(Instant now, const modem::ReceivedBytes& event) {
  if (!reception_.burst()) return;
  reception_.on_bytes(event);
  while (auto received = reception_.poll()) on_received(now, std::move(*received));
  note_activity();
}

// At low rates one frame takes minutes. Until it is complete, the transmitting station may be any
// peer.
void DataTransfer::note_activity() {
  if (is_own_echo()) return;
  for (auto& [peer, connection] : connections_) {
    const auto& source = reception_.burst()->source;
    if (source && *source != peer) continue;
    connection.on_carrier();
    collect(connection);
  }
}

void DataTransfer::on_event(Instant now, const modem::CarrierDown& event) {
  trace_.on_trace(
      {.at = now, .kind = TraceKind::carrier_down, .a = static_cast<int>(event.reason)});
  if (reception_.burst()) {
    reception_.on_last_bytes();
    while (auto received = reception_.poll()) on_received(now, std::move(*received));
    on_measured(now, event);
  }
  on_heard_over();
  turn_.on_carrier_down(now, event.ended_at, event.reason != modem::CarrierDownReason::lost);
  lose_hopeless(now);
}

void DataTransfer::on_heard_over() {
  if (reception_.burst()) heard_until_ = now_;
  reception_.end();
  for (auto& [peer, connection] : connections_) connection.on_heard_over();
}

// Gives up links whose windows cannot be brought into agreement from here, so that they are made
// again.
void DataTransfer::lose_hopeless(Instant now) {
  std::vector<Address> hopeless;
  for (const auto& [peer, connection] : connections_) {
    if (connection.hopeless()) hopeless.push_back(peer);
  }
  for (const Address peer : hopeless) lose(now, peer);
}

void DataTransfer::on_reply_missing(Instant now) {
  counters_.add(Counter::reply_timeouts);
  const auto peer = std::exchange(reply_awaited_from_, std::nullopt);
  if (!peer) return;
  Peer* record = peers_.find(*peer);
  if (record && record->control.open()) {
    PeerControl& control = record->control;
    const auto missed = control.on_reply_missing();
    trace_.on_trace({.at = now, .kind = TraceKind::reply_timeout, .peer = *peer, .a = 0});
    collect(control);
    if (missed == PeerControl::Missed::link_lost) lose(now, *peer);
    return;
  }
  const auto connection = connections_.find(*peer);
  if (connection == connections_.end()) return;
  const unsigned missed = connection->second.on_reply_missing();
  trace_.on_trace({.at = now, .kind = TraceKind::reply_timeout, .peer = *peer, .a = missed});
  if (record && record->adaptation.fall_back(now_, record->control, connection->second, missed)) {
    counters_.add(Counter::fallbacks);
    collect(record->control);
  }
  if (missed >= config_.replies_missed_max) return lose(now, *peer);
  lose_hopeless(now);
}

// Asserts that the state of each destination allows its D_PDU.
void DataTransfer::on_sent_to_air(const BurstBuilder& burst) {
  for (const auto& dpdu : burst.dpdus()) {
    const Address to = pdu::common_of(dpdu).destination;
    if (Peer* peer = peers_.find(to)) peer->state.on_sent(pdu::type_of(dpdu), work_of(to));
  }
}

// Fills one transmission. It asks one station at most for an answer, because two would answer at
// once. The transmission is in the mode of that station. Data for others waits if the mode differs
// from the common one.
void DataTransfer::fill(Instant now, BurstBuilder& burst) {
  const TransmissionPlan plan = planner_.plan(waiting_work(), turn_.run_is_over(now));
  Peer* control = plan.control ? &peers_.at(*plan.control) : nullptr;
  Connection* connection = plan.connection ? &connections_.at(*plan.connection) : nullptr;
  const auto served = plan.served();

  OwnBurst& own = *burst_;
  own.mode = served ? mode_to(*served) : config_.mode;
  if (!served && plan.audience) {
    own.mode = control_mode(*plan.audience);
    if (Peer* record = peers_.find(*plan.audience)) record->note_answered_in(own.mode);
  }
  if (control) own.mode = control->control.next_mode();
  if (connection && config_.adaptation && !config_.full_duplex && adapts(*connection)) {
    own.mode = peers_.at(*served).adaptation.mode_for(*connection, own.mode);
  }
  const Duration max = transmission_max(own.mode);
  IntervalBudget budget(own.mode, connection ? trial_max(*connection, own.mode, max) : max);
  if (Peer* record = served ? peers_.find(*served) : nullptr)
    record->state.settle(work_of(*served));
  add_warnings(now, budget, burst);
  nonarq_tx_.begin_burst(now, now + modem::preamble_duration(own.mode) + max);
  if (control) {  // with type 6 only types 8 and 15 may go (C.6.1.2(1))
    own.managed = control->control.fill(budget, burst);
    own.peer = served;
    planner_.on_served(*served);
    if (!control->control.connected()) return;
    nonarq_tx_.fill(true, config_.address, {.only_to = served}, budget, burst);
    return;
  }
  fill_with_data(now, plan, connection, budget, burst);
}

// Bulk data must not keep unacknowledged data off the air. If third stations take turns, our next
// turn may be far away.
void DataTransfer::fill_with_data(Instant now, const TransmissionPlan& plan, Connection* connection,
                                  IntervalBudget& budget, BurstBuilder& burst) {
  const bool for_all = burst_->mode == config_.mode;
  const auto only_to = for_all ? std::nullopt : plan.served() ? plan.served() : plan.audience;
  NonarqSender::Share share{.only_to = plan.audience ? plan.audience : only_to,
                            .resting = resting(true)};
  nonarq_tx_.fill(true, config_.address, share, budget, burst);
  const std::size_t whole = turn_.third_stations(now) ? budget.whole() : 0;
  share = {.only_to = only_to,
           .octets_max = budget.left() / kNonarqShare,
           .resting = resting(false),
           .whole_octets = whole / kNonarqShare};
  nonarq_tx_.fill(false, config_.address, share, budget, burst);
  if (connection && connection->fill(plan.only_answer, budget, burst)) {
    burst_->peer = connection->peer();
    planner_.on_served(connection->peer());
  }
  share.octets_max = SIZE_MAX;
  share.whole_octets = whole;
  nonarq_tx_.fill(false, config_.address, share, budget, burst);
  planner_.give_next_to_nonarq(!for_all && nonarq_tx_.has_unfinished());
  add_copies(budget, burst);
}

void DataTransfer::add_warnings(Instant now, IntervalBudget& budget, BurstBuilder& burst) {
  while (!warnings_.empty() && budget.fits(pdu::kWarningOctets)) {
    const PendingWarning warning = warnings_.take();
    budget.take(pdu::kWarningOctets);
    burst.add(pdu::Warning{{.destination = warning.peer, .source = config_.address},
                           warning.received_type,
                           warning.reason});
    note_warned(now, warning);
  }
}

// A transmission shorter than its longest frame would hold up that frame.
Duration DataTransfer::trial_max(const Connection& connection, const modem::Mode& mode,
                                 Duration otherwise) const {
  const Peer& record = peers_.at(connection.peer());
  return record.adaptation.transmission_max(record.control, connection, mode, otherwise);
}

// The modem sends a block whole, so copies cost no time. A receiver of several copies of a type 8
// takes the first, because the others have its C_PDU ID (C.3.10(4)).
void DataTransfer::add_copies(IntervalBudget& budget, BurstBuilder& burst) {
  if (burst.dpdus().size() != 1) return;
  const auto* nonarq = std::get_if<pdu::Nonarq>(&burst.dpdus().front());
  if (!nonarq || !nonarq->expedited || nonarq->segment.size() < nonarq->cpdu_size) return;
  const pdu::Dpdu copied = *nonarq;
  const std::size_t octets = pdu::encoded_size(copied);
  for (int copies = 1; copies < kControlCopiesMax && octets <= budget.left_in_block(); ++copies) {
    budget.take(octets);
    burst.add(copied);
  }
}

void DataTransfer::transmit(Instant now) {
  S5066_ASSERT(!burst_);
  if (!in_full_duplex()) on_heard_over();  // our transmitter covers any signal being received
  tell_advice(now);
  BurstBuilder burst;
  burst_ = OwnBurst{.id = {++bursts_made_}, .mode = config_.mode};
  fill(now, burst);
  if (burst.empty()) fill(now, burst);  // the chosen connections must rest
  if (burst.empty()) {                  // no D_PDU fits
    burst_.reset();
    return;
  }
  on_sent_to_air(burst);
  spoken_to_ = false;
  note_keyed(now);
  add_eows(burst);

  const modem::Mode mode = burst_->mode;
  const Duration next_turn = next_turn_max(now);
  nonarq_tx_.set_windows(next_turn, burst);
  auto encoded = burst.encode(mode, !in_full_duplex());
  counters_.add(Counter::dpdus_sent, burst.dpdus().size());
  for (const auto& dpdu : burst.dpdus()) {
    trace_dpdu(now, TraceKind::dpdu_sent, dpdu, pdu::common_of(dpdu).destination, true);
  }
  const Duration airtime = modem::airtime(mode, encoded.octets.size());
  trace_.on_trace({.at = now,
                   .kind = TraceKind::burst_started,
                   .peer = burst_->peer.value_or(Address{}),
                   .a = static_cast<std::int64_t>(encoded.octets.size()),
                   .b = airtime / std::chrono::milliseconds(1)});
  for (const auto& dpdu : burst.dpdus()) {
    const Address to = pdu::common_of(dpdu).destination;
    if (!to.group && asks_for_answer(dpdu)) burst_->turn_given = to;
  }
  nonarq_tx_.note_windows(now + airtime);
  burst_->ends = std::move(encoded.ends);
  burst_->give_up_at = now + airtime + kModemPatience;
  duplex_.on_keyed(now);
  actions_.push(
      modem::Command(modem::TransmitBurst{burst_->id, mode, std::move(encoded.octets), now}));
  turn_.on_transmit_started(now, modem::preamble_duration(mode));
}

// The text has no preamble and announces no end. Other stations find the channel occupied.
void DataTransfer::identify(Instant now) {
  S5066_ASSERT(!burst_);
  if (!in_full_duplex()) on_heard_over();
  burst_ = OwnBurst{.id = {++bursts_made_}, .mode = config_.mode, .identifies = true};
  const Duration airtime = modem::morse_airtime(identification_.text());
  trace_.on_trace({.at = now,
                   .kind = TraceKind::identification_started,
                   .b = airtime / std::chrono::milliseconds(1)});
  burst_->give_up_at = now + airtime + kModemPatience;
  duplex_.on_keyed(now);
  actions_.push(modem::Command(modem::TransmitBurst{.id = burst_->id,
                                                    .mode = config_.mode,
                                                    .bytes = {},
                                                    .not_before = now,
                                                    .morse = identification_.text()}));
  turn_.on_transmit_started(now);
}

void DataTransfer::trace_dpdu(Instant now, TraceKind kind, const pdu::Dpdu& dpdu, Address peer,
                              bool intact) {
  TraceEvent event{.at = now, .kind = kind, .peer = peer, .a = pdu::type_of(dpdu)};
  if (const auto* data = std::get_if<pdu::Data>(&dpdu)) event.b = data->number.value;
  if (const auto* data = std::get_if<pdu::DataAck>(&dpdu)) event.b = data->number.value;
  if (const auto* data = std::get_if<pdu::ExpeditedData>(&dpdu)) event.b = data->number.value;
  if (const auto* data = std::get_if<pdu::LongData>(&dpdu)) event.b = data->number.value;
  Bytes octets;
  if (trace_.wants_octets() && intact && !std::holds_alternative<pdu::Unsupported>(dpdu)) {
    pdu::encode(dpdu, octets);
    event.octets = octets;
  }
  trace_.on_trace(event);
}

void DataTransfer::want_transmit(Instant now) {
  bool answer_owed = false;
  for (auto& [peer, record] : peers_) {
    PeerControl& control = record.control;
    if (control.open() && !control.has_work() && !burst_ && reply_awaited_from_ != peer) {
      control.make_due();  // another transmission has overtaken the wait
    }
    answer_owed = answer_owed || control.answer_owed();
  }
  for (const auto& [peer, connection] : connections_) {
    answer_owed = answer_owed || (connection.answer_owed() && may_serve(connection));
  }
  answer_owed_ = answer_owed && may_send();
  const bool wanted = may_send() && !burst_ && (anything_to_send() || identification_.due(now));
  turn_.on_transmit_wanted(now, wanted, answer_owed_);
}

// Runs once after the inputs of an event: hands results up, tells the turn control whether we want
// to send, and carries out its actions.
void DataTransfer::settle(Instant now) {
  now_ = now;
  nonarq_tx_.drop_expired(now);
  for (auto& [peer, connection] : connections_) {
    connection.on_deadline(now);
    collect(connection);
  }
  nonarq_rx_.on_deadline(now - nonarq_delay());
  collect_nonarq();

  settle_duplex(now);
  end_expedited_rests(now);
  await_answers(now);
  want_transmit(now);
  if (!gathering_) take_turn(now);
  while (auto outcome = nonarq_tx_.poll_outcome()) {
    if (outcome->expired) {
      actions_.push(CpduRejected{outcome->id, CpduFailure::expired});
    } else {
      actions_.push(CpduConfirm{outcome->id});
    }
  }
}

// While a transmission is being heard, segments that were on the air in time may still be in the
// decoder.
Duration DataTransfer::nonarq_delay() const {
  return reception_.burst() ? kDecodingMax : Duration::zero();
}

void DataTransfer::take_turn(Instant now) {
  turn_.on_deadline(now);
  while (auto action = turn_.poll_action()) {
    if (const auto* turn = std::get_if<TurnControl::KeyTransmitter>(&*action)) {
      // The answer to a call comes from the layer above, as expedited non-ARQ data.
      const bool answers_call = spoken_to_ && nonarq_tx_.has_work(true);
      if (identification_.due(now) && !answer_owed_ && !answers_call) {
        identify(now);
      } else {
        transmit(now);
      }
      if (burst_) note_held(now, *turn);
    } else {
      on_reply_missing(now);
      want_transmit(now);
    }
  }
}

void DataTransfer::on_deadline(Instant now) {
  if (burst_ && now >= burst_->give_up_at) {
    counters_.add(Counter::modem_faults);
    actions_.push(modem::Command(modem::AbortTransmit{burst_->id}));
    on_burst_over(now, modem::TransmitOutcome::aborted);
  }
  actions_.on_input(now);
}

std::optional<Instant> DataTransfer::next_deadline() const {
  std::optional<Instant> next = turn_.next_deadline();
  if (const auto ends = nonarq_rx_.next_deadline()) next = earlier(next, *ends + nonarq_delay());
  next = earlier(next, nonarq_tx_.next_deadline());
  if (burst_) next = earlier(next, burst_->give_up_at);
  if (!burst_ && may_send() && !identification_.due(now_)) {
    next = earlier(next, identification_.due_at());
  }
  next = earlier(next, rest_ends());
  for (const auto& [peer, connection] : connections_) {
    next = earlier(next, connection.next_deadline());
  }
  return actions_.deadline(next);
}

// --- Received D_PDUs -----------------------------------------------------------------------------

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
  const Instant first_bit_at = reception_.first_bit_at(received);
  HeardBurst& heard = *reception_.burst();
  trace_dpdu(now, TraceKind::dpdu_received, received.dpdu, common.source, received.segment_ok);
  if (common.source == config_.address && duplex_.is_own(first_bit_at, burst_.has_value())) {
    return duplex_.on_own_heard();
  }
  // 0: the sender does not know its end, on a half-duplex channel
  if (common.eot_half_s > 0 && !in_full_duplex()) {
    const Instant latest = first_bit_at + common.eot_half_s * kHalfSecond;
    turn_.on_end_announced(now, latest - kHalfSecond, latest);
    heard.announced = latest;
  }
  if (received.segment_ok && !std::holds_alternative<pdu::Unsupported>(received.dpdu)) {
    heard.meter.on_intact(pdu::encoded_size(received.dpdu));
  }
  if (common.source == config_.address) return;  // another station uses our address
  heard.source = common.source;
  heard.add(static_cast<pdu::DpduType>(pdu::type_of(received.dpdu)));
  const Address to = common.destination;
  const bool asks = asks_for_answer(received.dpdu);
  turn_.on_preamble(now, modem::preamble_duration(heard.mode));
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
  if (!to.group && asks && !beside_own) {
    spoken_to_ = true;
    turn_.on_spoken_to(now);
  }
  Arrival arrival{.now = now,
                  .first_bit_at = first_bit_at,
                  .segment_ok = received.segment_ok,
                  .formed_at = duplex_.formed_at(heard, burst_.has_value(), config_.turnaround)};
  if (const auto c = connections_.find(common.source);
      arrival.formed_at && c != connections_.end()) {
    c->second.on_heard(*arrival.formed_at);
  }
  if (!to.group) {
    if (!std::holds_alternative<pdu::Management>(received.dpdu))
      on_eow(now, common.source, common.eow);
    arrival.action = take(received.dpdu);
  }
  if (arrival.action == TransferAction::ignore) return;
  std::visit([&](auto& dpdu) { on_dpdu(arrival, dpdu); }, received.dpdu);
  // Advice is handled after the D_PDU, because while we ask for a change nothing else is accepted.
  if (!to.group && !std::holds_alternative<pdu::Management>(received.dpdu)) {
    follow_advice(common.source, common.eow);
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
    warnings_.add({source, type, kReasonUnrecognised});
    return TransferAction::ignore;
  }
  const TransferEvent event = event_of(type);
  // Without a connection, type 6 messages are answered only for kUnknownStationsMax stations at a
  // time.
  const auto is_owed = [](const auto& peer) {
    return !peer.second.control.connected() && peer.second.control.open();
  };
  const Peer* known = peers_.find(source);
  const bool is_new = !known || known->control.connected() || !known->control.open();
  const bool crowded = event == TransferEvent::management && connections_.count(source) == 0 &&
                       is_new &&
                       std::count_if(peers_.begin(), peers_.end(), is_owed) >= kUnknownStationsMax;
  Peer* record = crowded ? nullptr : peer_record(source);
  const TransferAction action = record ? record->state.on(event, work_of(source))
                                       : step_of(TransferState::idle_unconnected, event).action;
  switch (action) {
    case TransferAction::warn_not_connected:
      if (broadcast_) {
        warnings_.add({source, type, kReasonInvalid});
      } else if (!link_may_be_coming(source)) {
        warnings_.add({source, type, kReasonNotConnected});
      }
      return TransferAction::ignore;
    case TransferAction::warn_wrong_state:
      warnings_.add({source, type, kReasonWrongState});
      return TransferAction::ignore;
    default:
      break;
  }
  // There is no room for the record.
  if (!record && event == TransferEvent::management) return TransferAction::ignore;
  if (broadcast_ && event == TransferEvent::management) {
    warnings_.add({source, type, kReasonInvalid});
    return TransferAction::ignore;
  }
  return action;
}

// A station without an EOW message in its headers needs no record.
void DataTransfer::on_eow(Instant now, Address source, const pdu::Eow& eow) {
  if (eow.type == 0) return;
  const auto connection = connections_.find(source);
  const bool connected = connection != connections_.end();
  const auto type = static_cast<pdu::EowType>(eow.type);
  if (type == pdu::EowType::extensions && config_.offer_extensions) {
    if (!connected) return note_set_up(now, source, eow);
    return connection->second.on_extensions(eow.contents);
  }
  if (type == pdu::EowType::offering_advice && config_.offer_extensions) {
    if (!connected) return note_set_up(now, source, eow);
    connection->second.on_extensions(offered_by(eow));
    connection->second.on_offer_known();
  }
  Peer* record = peer_record(source);
  if (!record) return;
  record->control.on_eow(eow);
  collect(record->control);
}

void DataTransfer::note_set_up(Instant now, Address source, const pdu::Eow& eow) {
  Peer* record = peer_record(source);
  if (!record) return;
  record->set_up.at = now;
  if (eow.type == static_cast<std::uint8_t>(pdu::EowType::extensions)) {
    record->set_up.offered = eow.contents;
    return;
  }
  record->set_up.offered = offered_by(eow);
  record->set_up.advice = eow;
}

/// Returns the extension bits that the sender of this type 13 offers.
std::uint8_t DataTransfer::offered_by(const pdu::Eow& eow) const {
  const auto advice = pdu::read_offering_advice(eow);
  const bool one_choice = advice && advice->one_choice;
  const unsigned unoffered = one_choice ? 0 : pdu::extension::kOneChoice;
  return static_cast<std::uint8_t>(extensions(config_) & (0xFFU ^ unoffered));
}

Connection& DataTransfer::connection_to(const pdu::Common& common) {
  Peer& record = peers_.at(common.source);
  record.answered_quickly = false;
  record.control.on_data();
  collect(record.control);
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
  Peer* record = nonarq.expedited ? peers_.find(nonarq.common.source) : nullptr;
  if (record) record->heard_in = reception_.burst()->mode;
  nonarq_rx_.on_nonarq(arrival.first_bit_at, nonarq, arrival.segment_ok);
  collect_nonarq();
}

// A WARNING is never answered (C.3.12(10)).
void DataTransfer::on_dpdu(const Arrival& arrival, pdu::Warning& warning) {
  const Address source = warning.common.source;
  counters_.add(Counter::warnings_received);
  if (warning.received_type == static_cast<std::uint8_t>(pdu::DpduType::management)) {
    if (Peer* peer = peers_.find(source)) {
      PeerControl& control = peer->control;
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
    if (connection->second.on_long_data_refused()) peers_.at(source).long_data.on_refused();
  }
  actions_.push(WarningReceived{source, warning.received_type, warning.reason});
}

void DataTransfer::on_dpdu(const Arrival&, pdu::Unsupported&) {}  // take() has queued the warning

void DataTransfer::on_answer(const Arrival& arrival, Connection& connection,
                             Connection::Verdict verdict, pdu::DpduType type) {
  const Address peer = connection.peer();
  if (verdict == Connection::Verdict::unexpected) {
    warnings_.add({peer, static_cast<std::uint8_t>(type), kReasonWrongState});
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
    actions_.push(PeerActive{connection.peer(), connection.take_frame()});
  }
  if (connection.take_restarted()) actions_.push(ConnectionReset{connection.peer()});
  while (auto arrived = connection.poll_arrived()) actions_.push(*arrived);
  while (auto outcome = connection.poll_outcome()) {
    std::visit([&](const auto& o) { actions_.push(o); }, *outcome);
  }
  while (auto cpdu = connection.poll_cpdu()) actions_.push(std::move(*cpdu));
}

void DataTransfer::collect_nonarq() {
  while (auto cpdu = nonarq_rx_.poll_cpdu()) actions_.push(std::move(*cpdu));
}

void DataTransfer::note_warned(Instant now, const PendingWarning& warning) {
  counters_.add(Counter::warnings_sent);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::warning_sent,
                   .peer = warning.peer,
                   .a = warning.received_type,
                   .b = warning.reason});
  actions_.push(WarningTransmitted{warning.peer, warning.received_type, warning.reason});
}

// --- Records of peers ----------------------------------------------------------------------------

// Link control must arrive where data does not yet, or no longer.
modem::Mode DataTransfer::control_mode(Address peer) const {
  const CpduRequest* next = nonarq_tx_.next_expedited(resting(true));
  const Peer* record = peers_.find(peer);
  if (!config_.adaptation || !next || !record) return config_.mode;
  const auto more_robust = [](const modem::Mode& a, const modem::Mode& b) {
    return less_robust(a, b) ? b : a;
  };
  // A peer of another make may not hear every mode.
  modem::Mode mode = config_.mode;
  if (may_advise(peer)) mode = more_robust(mode, record->control.mode());
  switch (next->control_mode) {
    case ControlMode::usual:
      break;
    case ControlMode::robust:
      for (const modem::Mode& other : modes_) mode = more_robust(mode, other);
      break;
    case ControlMode::as_heard:
      if (record->heard_in) mode = more_robust(mode, *record->heard_in);
      if (may_advise(peer) && !record->answered_quickly) {
        mode = record->adaptation.reply_mode(mode, connections_.at(peer).extensions());
      }
      break;
  }
  return may_use(config_, mode) ? mode : config_.mode;
}

modem::Mode DataTransfer::mode_to(Address peer) const {
  const Peer* record = peers_.find(peer);
  return record ? record->control.mode() : config_.mode;
}

Result<void> DataTransfer::request_data_rate(Instant now, Address peer, const modem::Mode& mode) {
  Peer* record = peers_.find(peer);
  if (!record) return Error{ErrorCode::link_down, "no link with " + to_string(peer)};
  if (!may_use(config_, mode))
    return Error{ErrorCode::unsupported,
                 "a transmission in that mode is too short for a full frame; raise "
                 "transmission_max_ms or choose a faster mode"};
  auto done = record->control.request_mode(mode);
  actions_.on_input(now);
  return done;
}

void DataTransfer::set_data_rate(Instant now, Address peer, const modem::Mode& mode) {
  Peer* record = peer_record(peer);
  if (!record || !may_use(config_, mode)) return;
  record->control.set_mode(mode);
  collect(record->control);
  actions_.on_input(now);
}

std::optional<DataTransfer::ConnectionStatus> DataTransfer::connection_status(Address peer) const {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return std::nullopt;
  const Peer& record = peers_.at(peer);
  return ConnectionStatus{.octets_queued = connection->second.queued_octets(),
                          .octets_acknowledged = connection->second.octets_acknowledged(),
                          .mode = record.control.mode(),
                          .advised = record.control.advised(),
                          .refused = record.adaptation.refusal(),
                          .capabilities = record.control.capabilities()};
}

std::size_t DataTransfer::queued_octets(Address peer) const {
  const auto status = connection_status(peer);
  return status ? status->octets_queued : 0;
}

Peer* DataTransfer::peer_record(Address peer) {
  const auto in_use = [this](Address other) {
    return reply_awaited_from_ == other || (burst_ && burst_->peer == other);
  };
  return peers_.touch(peer, in_use, [&] {
    PeerControl::Config config{
        .self = config_.address,
        .mode = config_.mode,
        .rate_change = config_.rate_change,
        .full_duplex = duplex_.may_hear_while_sending(turn_.third_stations(now_)),
        .extensions = extensions(config_),
        .repeats_max = config_.management_repeats_max,
        .listened = config_.receive_modes};
    for (const modem::Mode& mode : modem::all_modes()) {
      if (!may_use(config_, mode)) config.unusable.push_back(mode);
    }
    return Peer{
        PeerControl(peer, config, counters_), PeerAdaptation(config_, modes_, one_choice_), {}, {}};
  });
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
    std::visit([this](const auto& e) { actions_.push(e); }, *event);
    if (const auto* changed = std::get_if<TransmitModeChanged>(&*event)) {
      trace_mode(TraceKind::mode_changed, changed->mode);
      record.adaptation.on_mode_changed();
      if (connection != connections_.end()) {
        connection->second.on_rate(segment_octets(config_, changed->mode));
      }
    }
    if (const auto* refused = std::get_if<DataRateRefused>(&*event)) {
      trace_.on_trace({.at = now_,
                       .kind = TraceKind::mode_refused,
                       .peer = refused->peer,
                       .a = static_cast<std::int64_t>(refused->reason)});
      record.adaptation.on_refused(refused->reason);
    }
    if (const auto* advised = std::get_if<DataRateAdvised>(&*event)) {
      trace_mode(TraceKind::mode_advised, advised->mode);
      // If adaptation is on, follow_advice() handles the advice.
      if (!config_.adaptation) record.adaptation.follow(now_, control, *advised);
    }
  }
}

TransferState DataTransfer::transfer_state(Address peer) const {
  const Peer* record = peers_.find(peer);
  if (!record) return TransferState::idle_unconnected;
  TransferMachine state = record->state;
  state.settle(work_of(peer));
  return state.state();
}

TransferWork DataTransfer::work_of(Address peer) const {
  TransferWork work{.expedited_nonarq = nonarq_tx_.waits_for(peer, true),
                    .data = nonarq_tx_.waits_for(peer, false)};
  if (const Peer* record = peers_.find(peer)) work.management = record->control.open();
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
  std::size_t copy = 0;  // index of the copy in a burst of link control
  for (auto& dpdu : burst.dpdus()) {
    const Address to = pdu::common_of(dpdu).destination;
    Peer* peer = peers_.find(to);
    const std::uint8_t type = pdu::type_of(dpdu);
    if (!peer || type == static_cast<std::uint8_t>(pdu::DpduType::management)) {
      continue;
    }
    const bool expedited = type == static_cast<std::uint8_t>(pdu::DpduType::expedited_nonarq);
    const pdu::Eow eow =
        expedited && config_.adaptation
            ? peer->control.set_up_eow(copy++, burst.dpdus().size(), may_advise(to))
            : peer->control.eow_for(type);
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
    if (eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request) ||
        eow.type == static_cast<std::uint8_t>(pdu::EowType::offering_advice)) {
      burst_->told.back().advice = peer->control.advice();
    }
  }
}

// --- Adaptation (C.6.4.2) ------------------------------------------------------------------------

// Bulk data uses the longest transmission of the standard, because preamble and turnaround cost the
// same for any length.
Duration DataTransfer::transmission_max(const modem::Mode& mode) const {
  const auto busy = std::count_if(connections_.begin(), connections_.end(),
                                  [](const auto& entry) { return entry.second.has_work(); });
  const Duration max =
      busy > 1 ? std::min(config_.transmission_max, kTransmissionShared) : config_.transmission_max;
  // A frame that was cut for another mode must fit, too.
  const std::size_t longest =
      pdu::data_ack_octets(segment_octets_max(config_), pdu::kSelectiveOctetsMax);
  return modem::capacity(mode, max) < longest ? config_.transmission_max : max;
}

/// Returns the peer that sent the transmission. If no header was received intact, only elimination
/// can tell: if other stations are on the air, it is the peer's only if that peer had been asked
/// and answered in time.
Peer* DataTransfer::heard_peer(Instant now) {
  if (is_own_echo()) return nullptr;
  const HeardBurst& burst = *reception_.burst();
  if (burst.source) return peers_.find(*burst.source);
  if (connections_.size() != 1) return nullptr;
  const Address only = connections_.begin()->first;
  if (turn_.third_stations(now) && turn_.answers() != only) return nullptr;
  Peer& record = peers_.at(only);
  return record.adaptation.expects(burst.mode) ? &record : nullptr;
}

void DataTransfer::on_measured(Instant now, const modem::CarrierDown& event) {
  HeardBurst& burst = *reception_.burst();
  if (!config_.adaptation || !burst.meter.measured()) return;
  Peer* record = heard_peer(now);
  if (!record) return;
  const auto connection = connections_.find(record->control.peer());
  const std::uint8_t extensions =
      connection != connections_.end() ? connection->second.extensions() : std::uint8_t{0};
  const bool cut = event.reason == modem::CarrierDownReason::lost;
  record->adaptation.on_measured(now, burst, cut, reply_time(now), record->control, extensions);
}

// True if there is a connection to a station that follows advice as we do.
bool DataTransfer::may_advise(Address peer) const {
  const auto connection = connections_.find(peer);
  return connection != connections_.end() && adapts(connection->second);
}

void DataTransfer::tell_advice(Instant now) {
  if (!config_.adaptation) return;
  for (auto& [peer, connection] : connections_) {
    Peer& record = peers_.at(peer);
    const auto advice = record.adaptation.advice(record.control, connection);
    if (!advice) continue;
    record.control.advise(advice->preferred, advice->given);
    record.control.advise_with_data(adapts(connection));
    record.control.set_one_choice((connection.extensions() & pdu::extension::kOneChoice) != 0);
    turn_.on_preamble(now, modem::preamble_duration(advice->preferred));  // the peer may ask for it
    if (advice->given) turn_.on_preamble(now, modem::preamble_duration(*advice->given));
  }
}

void DataTransfer::follow_advice(Address source, const pdu::Eow& eow) {
  const bool told = eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request) ||
                    eow.type == static_cast<std::uint8_t>(pdu::EowType::offering_advice) ||
                    eow.type == static_cast<std::uint8_t>(pdu::EowType::extensions);
  const auto connection = connections_.find(source);
  if (!config_.adaptation || !told || connection == connections_.end()) return;
  Peer& record = peers_.at(source);
  if (record.adaptation.follow_advice(now_, record.control, connection->second)) {
    collect(record.control);
  }
}

void DataTransfer::note_answer(Connection& connection, std::optional<Instant> formed_at) {
  const auto answer = connection.take_answer();
  if (!answer) return;
  Peer& record = peers_.at(connection.peer());
  if (record.adaptation.on_answer(now_, record.control, connection, *answer, formed_at)) {
    collect(record.control);
  }
}

// --- Choice of the next transmission -------------------------------------------------------------

bool DataTransfer::may_serve(const Connection& connection) const {
  return connection.has_work() && !may_rest(connection) &&
         !peers_.at(connection.peer()).control.open();
}

bool DataTransfer::anything_to_send() const {
  if (!warnings_.empty() || nonarq_tx_.has_work(true) || nonarq_tx_.has_work(false)) return true;
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& entry) { return entry.second.control.has_work(); }) ||
         std::any_of(connections_.begin(), connections_.end(),
                     [this](const auto& entry) { return may_serve(entry.second); });
}

WaitingWork DataTransfer::waiting_work() const {
  WaitingWork work{.nonarq = nonarq_tx_.has_work(true) || nonarq_tx_.has_work(false)};
  if (const CpduRequest* next = nonarq_tx_.next_expedited(resting(true))) {
    work.expedited_audience = next->destination;
  }
  for (const auto& [peer, record] : peers_) {
    if (record.control.has_work()) work.controls.push_back(peer);
  }
  for (const auto& [peer, connection] : connections_) {
    if (may_serve(connection)) work.connections.push_back({peer, connection.answer_owed()});
  }
  return work;
}

// Returns the longest time until our next turn. Each other station may have two turns before ours,
// an occupied channel may hold them up, and in one of our own turns something else may go first.
// Every one of those transmissions may have the longest duration. The time between them is much
// less than one further transmission, which the sum includes.
Duration DataTransfer::next_turn_max(Instant now) const {
  constexpr std::size_t kOthersMax = 4;  // more stations rarely all have that much to send
  const auto others = static_cast<int>(std::min(turn_.others(now), kOthersMax));
  return TurnControl::kOccupiedMax + (2 * others + 3) * kTransmissionMax;
}

// --- Full duplex ---------------------------------------------------------------------------------

// A peer of another make that announces nothing may not receive us while it sends.
Duplex DataTransfer::duplex_of_peers() const {
  if (connections_.empty()) return Duplex::no_link;
  for (const auto& [peer, connection] : connections_) {
    const auto capabilities = peers_.at(peer).control.capabilities();
    if (!capabilities && !connection.heard()) return Duplex::untold;
    if (!capabilities || (*capabilities & pdu::capability::kFullDuplex) == 0) {
      return Duplex::peer_is_half;
    }
  }
  return Duplex::full;
}

// Each station knows of the other from the first transmission that it has heard, mostly REQUEST and
// ACCEPTED of a link.
void DataTransfer::settle_duplex(Instant now) {
  if (burst_) return;
  const bool third_stations = turn_.third_stations(now);
  const Duplex before = duplex_.update(third_stations, duplex_of_peers());
  if (duplex_.state() == before) return;
  const bool may = duplex_.may_hear_while_sending(third_stations);
  for (auto& [peer, record] : peers_) record.control.set_full_duplex(may);
  const bool was_full = before == Duplex::full;
  if (was_full || in_full_duplex()) turn_.set_full_duplex(now, in_full_duplex());
  for (auto& [peer, connection] : connections_) {
    if (was_full) connection.on_turns_begun();
  }
}

// Each D_PDU draws an acknowledgement, and more D_PDUs follow, so the acknowledgement may wait. A
// transmission that has ended is acknowledged at once, because its sender waits for that.
bool DataTransfer::may_rest(const Connection& connection) const {
  return in_full_duplex() && reception_.burst() && connection.owes_only_ack() &&
         !connection.ack_is_ripe() && now_ < answered_at_ + kAcknowledgedEach;
}

std::optional<Instant> DataTransfer::rest_ends() const {
  const bool rests = std::any_of(connections_.begin(), connections_.end(),
                                 [this](const auto& entry) { return may_rest(entry.second); });
  auto ends = rests ? std::optional(answered_at_ + kAcknowledgedEach) : std::nullopt;
  for (const auto& [peer, connection] : connections_) {
    ends = earlier(ends, expedited_rest_ends(connection));
  }
  return ends;
}

// A second answer to the last C_PDU comes within the time for an answer, or when the transmission
// being heard has ended.
std::optional<Instant> DataTransfer::expedited_rest_ends(const Connection& connection) const {
  const auto since = connection.expedited_rests_since();
  if (!since) return std::nullopt;
  if (reception_.burst()) return *since + TurnControl::kCarrierMax;
  return std::max(*since, heard_until_) + reply_time(now_);
}

void DataTransfer::end_expedited_rests(Instant now) {
  for (auto& [peer, connection] : connections_) {
    const auto ends = expedited_rest_ends(connection);
    if (ends && now >= *ends) connection.end_expedited_rest();
  }
}

// Waits for answers to frames that have left while we go on sending. If we may not send, we do not
// wait, because we could not ask for a missing answer.
void DataTransfer::await_answers(Instant now) {
  if (!config_.full_duplex || !may_send() || burst_ || turn_.reply_awaited()) return;
  const auto waits = std::find_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
    return entry.second.awaits_answer() && !peers_.at(entry.first).control.open();
  });
  if (waits == connections_.end()) return;
  reply_awaited_from_ = waits->first;
  turn_.await_reply(now, reply_time(now));
}

// Type 6 and resets have their own time for an answer, from their end on; the time for data must
// not run out meanwhile.
void DataTransfer::note_keyed(Instant now) {
  if (!config_.full_duplex || !burst_->peer) return;
  const Instant answered_from = now + modem::preamble_duration(burst_->mode);
  const auto connection = connections_.find(*burst_->peer);
  if (burst_->managed) {
    peers_.at(*burst_->peer).control.on_keyed(answered_from);
  } else if (connection != connections_.end()) {
    connection->second.on_keyed(answered_from);
  }
  const bool resets = connection != connections_.end() && connection->second.wants_silence();
  if (!in_full_duplex() || (!burst_->managed && !resets)) return;
  reply_awaited_from_.reset();
  turn_.await_no_reply();
}

std::optional<Action> DataTransfer::poll_action() {
  return actions_.poll([this](Instant now) { settle(now); });
}

}  // namespace s5066::dts
