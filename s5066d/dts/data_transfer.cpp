#include "s5066d/dts/data_transfer.h"

#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::dts {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
/// Largest deviation between the expected and the reported time of a bit within one burst.
constexpr Duration kBitSlack = std::chrono::milliseconds(2);
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

TurnControl::Config turn_config(const Config& config) {
  const Duration detection = modem::preamble_duration(config.mode);
  return {.self = config.address,
          .turnaround = config.turnaround,
          .preamble = detection,
          .reply_guard = kHalfSecond + detection + config.turnaround,
          .slot = detection + config.turnaround,
          .dedicated = config.dedicated_frequency};
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
      counters_(counters),
      trace_(trace),
      turn_(turn_config(config), rng),
      scanner_(counters),
      nonarq_tx_(
          {segment_octets(config), segment_octets_max(config), config.nonarq_queue_octets_max},
          rng),
      nonarq_rx_({}, counters) {
  config_.receive_modes = modem::listen_modes(config.receive_modes, config.mode);
  duplex_ = duplex_now({});
  S5066_ASSERT(config.transmission_max <= kTransmissionMax);
  for (const modem::Mode& mode : modes_in_use(config)) {
    S5066_ASSERT(holds_segment(config, mode, segment_octets(config)));
  }
}

void DataTransfer::request_cpdu(Instant now, CpduRequest request) {
  const CpduId id = request.id;
  const auto refuse = [&](CpduFailure reason) { actions_.push_back(CpduRejected{id, reason}); };
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
  settle(now);
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
      return settle(now);
    }
    end_link(peer);
  }
  Peer* record = peer_record(peer);
  if (connections_.size() >= config_.links_max || !record) {
    actions_.push_back(ConnectionLost{peer});
    return;
  }
  const std::size_t segment = segment_octets(config_);
  const Connection::Config config{
      .self = config_.address,
      .regular = {segment, config_.window, config_.link_queue_octets_max, false,
                  segment_octets_max(config_), knows_long(*record, now) ? config_.large_window : 0,
                  config_.fair_turn},
      .expedited = {segment, config_.window, config_.expedited_queue_octets_max, true},
      .out_of_sync_max = kOutOfSyncMax,
      .resyncs_max = config_.resyncs_max,
      .resets_missed_max = config_.resets_missed_max,
      .extensions = extensions(config_),
      .held_octets_max = config_.held_octets_max};
  const auto made = connections_.emplace(std::piecewise_construct, std::forward_as_tuple(peer),
                                         std::forward_as_tuple(peer, config, counters_));
  record->control.on_connected(true);
  record->guess.reset();
  record->refused.reset();
  record->refusal.reset();
  record->probe.reset();
  record->proven.clear();
  record->advice_out.reset();
  record->agreed_heard.reset();
  record->answered_in.reset();
  record->answered.clear();
  record->feelers = 0;
  record->sent.clear();
  const auto action = record->state.on(TransferEvent::connection_made, {});
  S5066_ASSERT(action == TransferAction::initialise);
  if (reset) made.first->second.begin_with_reset();
  settle(now);
}

void DataTransfer::on_connection_terminated(Instant now, Address peer) {
  end_link(peer);
  settle(now);
}

void DataTransfer::gather(Instant now, bool on) {
  gathering_ = on;
  if (!on) settle(now);
}

void DataTransfer::set_silent(Instant now, bool on) {
  silent_ = on;
  if (on && burst_) actions_.push_back(modem::Command(modem::AbortTransmit{burst_->id}));
  settle(now);
}

void DataTransfer::set_modem_works(Instant now, bool works) {
  modem_works_ = works;
  settle(now);
}

// Every C_PDU accepted for the peer is reported before its state is deleted.
void DataTransfer::end_link(Address peer) {
  const auto connection = connections_.find(peer);
  if (connection == connections_.end()) return;
  connection->second.on_terminated();
  collect(connection->second);
  Peer& record = peers_.at(peer);
  if (connection->second.long_heard()) record.long_unanswered = 0;
  connections_.erase(connection);
  note_never_heard(record);
  record.control.on_connected(false);
  record.state.on(TransferEvent::connection_terminated, {});
  if (reply_awaited_from_ == peer) reply_awaited_from_.reset();
}

void DataTransfer::lose(Instant now, Address peer) {
  counters_.add(Counter::links_lost);
  trace_.on_trace({.at = now, .kind = TraceKind::link_lost, .peer = peer});
  if (const auto record = peers_.find(peer); record != peers_.end()) {
    note_unanswered(record->second, true);
    note_long_unanswered(record->second, now);
  }
  end_link(peer);
  actions_.push_back(ConnectionLost{peer});
}

void DataTransfer::on_modem_event(Instant now, const modem::Event& event) {
  now_ = now;
  std::visit([&](const auto& e) { on_event(now, e); }, event);
  settle(now);
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
  if (sent) {
    counters_.add(Counter::bursts_sent);
    nonarq_tx_.on_sent();
  } else {
    nonarq_tx_.on_not_sent(cut_at ? dpdus_left(burst, *cut_at) : 0);
  }
  for (const auto& told : burst.told) {
    const auto peer = peers_.find(told.peer);
    if (!sent || peer == peers_.end()) continue;
    peer->second.control.on_eow_sent();
    if (!told.advice) continue;
    peer->second.control.on_advice_sent(*told.advice);
    peer->second.advice_out = told.advice;
    peer->second.advice_at = now;
  }
  note_own_ended(now, sent);
  if (!in_full_duplex()) reply_awaited_from_.reset();
  std::optional<Duration> wait;
  const auto connection = burst.peer ? connections_.find(*burst.peer) : connections_.end();
  const auto managed = burst.managed ? peers_.find(*burst.peer) : peers_.end();
  if (managed != peers_.end()) {
    PeerControl& control = managed->second.control;
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
    Peer& record = peers_.at(*burst.peer);
    if (sent) ++record.feelers;
    if (sent && connection->second.wants_reply()) note_sent(record, now, burst.mode);
    record.sent_in = burst.mode;
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
  scanner_.reset();
  heard_ = HeardBurst{.mode = event.mode, .beside_own = burst_.has_value()};
  if (!burst_) answered_at_ = now;
  turn_.on_carrier_up(now);
}

void DataTransfer::on_event(Instant now, const modem::ReceivedBytes& event) {
  if (!heard_) return;  // the tail of a burst that ended for us when we keyed
  if (!heard_->start) begin_bits(event);
  heard_->bits_until =
      event.first_bit_at +
      from_seconds(8.0 * static_cast<double>(event.bytes.size()) / event.mode.rate_bps);
  note_quality(event);
  scanner_.push(event.bytes);
  while (auto received = scanner_.poll()) on_received(now, std::move(*received));
  note_activity();
}

// A modem may mistake user bits for the end of a burst and report the rest as another burst. If the
// new bits follow those before without a gap, they continue the same burst.
void DataTransfer::begin_bits(const modem::ReceivedBytes& event) {
  heard_->start = event.first_bit_at;
  if (!left_off_ || left_off_->mode != event.mode) return;
  const Duration gap = event.first_bit_at - left_off_->bits_until;
  if (gap > kBitSlack || gap < -kBitSlack) return;
  heard_->start = left_off_->start;
  scanner_.resume();
}

// At low rates one frame takes minutes. Until it is complete, the transmitting station may be any
// peer.
void DataTransfer::note_activity() {
  if (is_own_echo()) return;
  for (auto& [peer, connection] : connections_) {
    if (heard_->source && *heard_->source != peer) continue;
    connection.on_carrier();
    collect(connection);
  }
}

void DataTransfer::on_event(Instant now, const modem::CarrierDown& event) {
  trace_.on_trace(
      {.at = now, .kind = TraceKind::carrier_down, .a = static_cast<int>(event.reason)});
  if (heard_) {
    if (heard_->start) {
      left_off_ = LeftOff{heard_->mode, *heard_->start, heard_->bits_until};
      scanner_.finish();
      while (auto received = scanner_.poll()) on_received(now, std::move(*received));
    }
    on_measured(now, event);
  }
  on_heard_over();
  turn_.on_carrier_down(now, event.ended_at, event.reason != modem::CarrierDownReason::lost);
  lose_hopeless(now);
}

void DataTransfer::on_heard_over() {
  if (heard_) heard_until_ = now_;
  heard_.reset();
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
  const auto record = peers_.find(*peer);
  if (record != peers_.end() && record->second.control.open()) {
    PeerControl& control = record->second.control;
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
  if (record != peers_.end()) fall_back(record->second, missed);
  if (missed >= config_.replies_missed_max) return lose(now, *peer);
  lose_hopeless(now);
}

// Asserts that the state of each destination allows its D_PDU.
void DataTransfer::on_sent_to_air(const BurstBuilder& burst) {
  for (const auto& dpdu : burst.dpdus()) {
    const Address to = pdu::common_of(dpdu).destination;
    const auto peer = peers_.find(to);
    if (peer != peers_.end()) peer->second.state.on_sent(pdu::type_of(dpdu), work_of(to));
  }
}

// Fills one transmission. It asks one station at most for an answer, because two would answer at
// once. The transmission is in the mode of that station. Data for others waits if the mode differs
// from the common one.
void DataTransfer::fill(Instant now, BurstBuilder& burst) {
  const bool others_wait = nonarq_tx_.has_work(true) || nonarq_tx_.has_work(false);
  PeerControl* control = choose_control();
  Connection* connection = choose_connection();
  const bool others = std::any_of(connections_.begin(), connections_.end(), [&](const auto& c) {
    return may_serve(c.second) && !c.second.answer_owed();
  });
  const bool held_up = control && (connection || others_wait);
  const bool yields = held_up && passed_over_ >= kPassedOverMax;
  if (yields) control = nullptr;
  if (control) connection = nullptr;
  const bool waits = connection;
  if (!control && std::exchange(arq_turn_over_, false) && others_wait) connection = nullptr;
  const auto audience = choose_audience(control, connection);
  const bool put_off = waits && !connection;
  const bool owed = connection && connection->answer_owed();
  const bool only_answer =
      owed && (turn_.run_is_over(now) || (others && last_served_ == connection->peer()));
  const bool passes_over = control ? held_up : others && owed && !yields;
  if (!put_off) passed_over_ = passes_over ? passed_over_ + 1 : 0;
  std::optional<Address> served;
  if (control) served = control->peer();
  if (connection) served = connection->peer();

  OwnBurst& own = *burst_;
  own.mode = served ? mode_to(*served) : config_.mode;
  if (control) own.mode = control->next_mode();
  const Duration max = transmission_max(own.mode);
  IntervalBudget budget(own.mode, connection ? feeler_max(*served, own.mode, max) : max);
  if (served && peers_.count(*served) > 0) peers_.at(*served).state.settle(work_of(*served));
  while (!warnings_.empty() && budget.fits(pdu::kWarningOctets)) {
    const PendingWarning& warning = warnings_.front();
    budget.take(pdu::kWarningOctets);
    burst.add(pdu::Warning{{.destination = warning.peer, .source = config_.address},
                           warning.received_type,
                           warning.reason});
    note_warned(now, warning);
    warnings_.pop_front();
  }
  nonarq_tx_.begin_burst(now, now + modem::preamble_duration(own.mode) + max);
  if (control) {  // with type 6 only types 8 and 15 may go (C.6.1.2(1))
    own.managed = control->fill(budget, burst);
    own.peer = last_served_ = served;
    if (!control->connected()) return;
    nonarq_tx_.fill(true, config_.address, {.only_to = served}, budget, burst);
    return;
  }
  const bool for_all = own.mode == config_.mode;
  const auto only_to = for_all ? std::nullopt : served;
  NonarqSender::Share share{.only_to = audience ? audience : only_to, .resting = resting(true)};
  nonarq_tx_.fill(true, config_.address, share, budget, burst);
  // Bulk data must not keep unacknowledged data off the air. If third stations take turns, our next
  // turn may be far away.
  const std::size_t whole = turn_.third_stations(now) ? budget.whole() : 0;
  share = {.only_to = only_to,
           .octets_max = budget.left() / kNonarqShare,
           .resting = resting(false),
           .whole_octets = whole / kNonarqShare};
  nonarq_tx_.fill(false, config_.address, share, budget, burst);
  if (connection && connection->fill(only_answer, budget, burst)) {
    own.peer = last_served_ = served;
  }
  share.octets_max = SIZE_MAX;
  share.whole_octets = whole;
  nonarq_tx_.fill(false, config_.address, share, budget, burst);
  arq_turn_over_ = !for_all && nonarq_tx_.has_unfinished();
  add_copies(budget, burst);
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
  own_began_ = now;
  actions_.push_back(
      modem::Command(modem::TransmitBurst{burst_->id, mode, std::move(encoded.octets), now}));
  turn_.on_transmit_started(now, modem::preamble_duration(mode));
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
  const bool wanted = may_send() && !burst_ && anything_to_send();
  turn_.on_transmit_wanted(now, wanted, answer_owed && may_send());
}

// Runs after every input: hands results up, tells the turn control whether we want to send, and
// carries out its actions.
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
      actions_.push_back(CpduRejected{outcome->id, CpduFailure::expired});
    } else {
      actions_.push_back(CpduConfirm{outcome->id});
    }
  }
}

// While a transmission is being heard, segments that were on the air in time may still be in the
// decoder.
Duration DataTransfer::nonarq_delay() const {
  return heard_ ? kDecodingMax : Duration::zero();
}

void DataTransfer::take_turn(Instant now) {
  turn_.on_deadline(now);
  while (auto action = turn_.poll_action()) {
    if (const auto* turn = std::get_if<TurnControl::KeyTransmitter>(&*action)) {
      transmit(now);
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
    actions_.push_back(modem::Command(modem::AbortTransmit{burst_->id}));
    on_burst_over(now, modem::TransmitOutcome::aborted);
  }
  settle(now);
}

std::optional<Instant> DataTransfer::next_deadline() const {
  std::optional<Instant> next = turn_.next_deadline();
  if (const auto ends = nonarq_rx_.next_deadline()) next = earlier(next, *ends + nonarq_delay());
  next = earlier(next, nonarq_tx_.next_deadline());
  if (burst_) next = earlier(next, burst_->give_up_at);
  next = earlier(next, rest_ends());
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

}  // namespace s5066::dts
