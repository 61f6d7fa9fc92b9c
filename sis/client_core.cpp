// SPDX-License-Identifier: Apache-2.0
#include "sis/client_core.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "s5066d/base/take_front.h"
#include "sis/codec.h"
#include "sis/text.h"

namespace s5066::sis {

namespace {

constexpr CounterTable<ClientCounter> kClientCounters({
    {ClientCounter::connections, "sis_connections", "connections",
     "connections to the node that were made"},
    {ClientCounter::binds, "sis_binds", "binds", "successful binds"},
    {ClientCounter::requests, "sis_requests", "requests",
     "requests to send data that the client accepted"},
    {ClientCounter::confirmed, "sis_requests_confirmed", "requests",
     "requests that the node confirmed"},
    {ClientCounter::rejected, "sis_requests_rejected", "requests",
     "requests that the node rejected"},
    {ClientCounter::sent, "sis_requests_sent", "requests",
     "requests without confirmation that were handed to the node"},
    {ClientCounter::unresolved, "sis_requests_unresolved", "requests",
     "requests whose end is not known, because the connection or the bind ended"},
    {ClientCounter::indications, "sis_indications", "indications", "U_PDUs received from the node"},
    {ClientCounter::answers_unmatched, "sis_answers_unmatched", "answers",
     "answers that match no request or hard link of the client"},
    {ClientCounter::primitives_unsupported, "sis_primitives_unsupported", "primitives",
     "primitives of an unknown type, which are ignored"},
    {ClientCounter::protocol_errors, "sis_protocol_errors", "errors",
     "violations of the protocol by the node; each ended the connection"},
    {ClientCounter::keep_alives_answered, "sis_keep_alives_answered", "primitives",
     "keep-alives of the node that were answered"},
    {ClientCounter::keep_alives_sent, "sis_keep_alives_sent", "primitives",
     "keep-alives sent to a node that was silent"},
});

constexpr std::uint8_t kNibbleMax = 15;
constexpr std::uint8_t kRankOfManagement = 15;  // A.2.1.15(3)
constexpr std::size_t kUpduMax = kBodyOctetsMax - kUnidataRequestFixed;
constexpr std::size_t kManagementMax = kBodyOctetsMax - kManagementFixed;

/// Removes blocks that the server lists beyond the end of the U_PDU.
void clip(std::vector<OctetRange>& blocks, std::size_t octets) {
  std::erase_if(blocks, [octets](const OctetRange& b) { return b.offset >= octets; });
  for (OctetRange& block : blocks) {
    block.octets =
        static_cast<std::uint16_t>(std::min<std::size_t>(block.octets, octets - block.offset));
  }
}
template <typename Indication>
Indication clipped(Indication indication) {
  clip(indication.errored, indication.updu.size());
  clip(indication.missing, indication.updu.size());
  return indication;
}

}  // namespace

const CounterTable<ClientCounter>& counter_table(ClientCounter) {
  return kClientCounters;
}

ClientCore::ClientCore(const Config& config, Rng& rng)
    : config_(config),
      rng_(rng),
      requests_({.queue_max = config.queue_max,
                 .unconfirmed_max = config.unconfirmed_max,
                 .confirmation_timeout = config.confirmation_timeout}),
      links_({.links_max = config.hard_links_max, .request_timeout = config.hard_link_timeout}) {
  S5066_ASSERT(config.sap.value <= SapId::kMax && config.rank <= kNibbleMax);
  S5066_ASSERT(config.service.mode != TransmissionMode::unspecified);
  S5066_ASSERT(config.queue_max > 0 && config.unconfirmed_max > 0 && config.write_octets_max > 0);
  S5066_ASSERT(config.retry_first > Duration::zero() && config.retry_max >= config.retry_first);
  S5066_ASSERT(!config.probe_after || *config.probe_after >= kKeepAliveInterval);
}

// --- The connection and the binding --------------------------------------------------------------

bool ClientCore::connected() const {
  return state_ == State::unbound || state_ == State::binding || state_ == State::bound ||
         state_ == State::stopping;
}

void ClientCore::enter(State next) {
  const auto one_of = [next](std::initializer_list<State> legal) {
    return std::find(legal.begin(), legal.end(), next) != legal.end();
  };
  using enum State;
  switch (state_) {
    case stopped:
      S5066_ASSERT(one_of({connecting}));
      break;
    case waiting:
      S5066_ASSERT(one_of({connecting, stopped}));
      break;
    case connecting:
      S5066_ASSERT(one_of({binding, waiting, stopped}));
      break;
    case unbound:
      S5066_ASSERT(one_of({binding, waiting, stopping}));
      break;
    case binding:
      S5066_ASSERT(one_of({bound, unbound, waiting, stopping}));
      break;
    case bound:
      S5066_ASSERT(one_of({unbound, waiting, stopping}));
      break;
    case stopping:
      S5066_ASSERT(one_of({stopped}));
      break;
  }
  state_ = next;
}

void ClientCore::start(Instant now) {
  if (state_ == State::stopping) finish_stop();
  if (state_ != State::stopped) return;
  failures_ = 0;
  connect(now);
}

void ClientCore::connect(Instant now) {
  enter(State::connecting);
  actions_.push_back(Connect{});
  timers_.set(Timer::attempt, now + config_.connect_timeout);
}

void ClientCore::on_connected(Instant now) {
  if (state_ != State::connecting) return;
  counters_.add(ClientCounter::connections);
  hear(now);
  bind(now);
}

void ClientCore::bind(Instant now) {
  enter(State::binding);
  bind_due_ = true;
  timers_.set(Timer::attempt, now + config_.bind_timeout);
}

void ClientCore::on(Instant now, const BindAccepted& p) {
  if (state_ != State::binding) return refuse(now, "an unexpected S_BIND_ACCEPTED");
  if (p.sap != config_.sap) return refuse(now, "an S_BIND_ACCEPTED for another SAP");
  counters_.add(ClientCounter::binds);
  timers_.clear(Timer::attempt);
  enter(State::bound);
  bound_since_ = now;
  mtu_ = static_cast<std::uint16_t>(std::min<std::size_t>(p.mtu, kUpduMax));
  flow_off_ = false;
  events_.push_back(event::Bound{mtu_});
}

void ClientCore::on(Instant now, const BindRejected& p) {
  if (state_ != State::binding) return refuse(now, "an unexpected S_BIND_REJECTED");
  timers_.clear(Timer::attempt);
  enter(State::unbound);
  plan_retry(now);
  events_.push_back(event::BindRejected{p.reason});
}

void ClientCore::on(Instant now, const UnbindIndication& p) {
  if (state_ == State::unbound) return;
  events_.push_back(event::Unbound{p.reason});
  leave_binding(now);
  timers_.clear(Timer::attempt);
  enter(State::unbound);
  plan_retry(now);
}

void ClientCore::plan_retry(Instant now) {
  Duration delay = config_.retry_first;
  for (std::uint32_t i = 0; i < failures_ && delay < config_.retry_max; ++i) delay *= 2;
  delay = std::min(delay, config_.retry_max);
  ++failures_;
  const double jitter = to_seconds(delay) * config_.retry_jitter * rng_.uniform();
  timers_.set(Timer::retry, now + delay + from_seconds(jitter));
}

/// Does what every end of a binding, or of an attempt to bind, needs.
void ClientCore::leave_binding(Instant now) {
  if (state_ == State::bound && now - bound_since_ >= config_.retry_max) failures_ = 0;
  bind_due_ = false;
  unresolved(requests_.take_all());
  links_.lose_all();
  tell_links();
}

void ClientCore::unresolved(const std::vector<RequestId>& ids) {
  for (const RequestId id : ids) {
    counters_.add(ClientCounter::unresolved);
    events_.push_back(event::Unresolved{id});
  }
}

void ClientCore::on_disconnected(Instant now, const Error& why) {
  if (state_ == State::stopping) {
    forget_connection();
    enter(State::stopped);
  } else if (connected() || state_ == State::connecting) {
    lose(now, why);
  }
}

void ClientCore::lose(Instant now, Error why) {
  events_.push_back(event::Lost{std::move(why)});
  leave_binding(now);
  forget_connection();
  enter(State::waiting);
  plan_retry(now);
}

void ClientCore::drop(Instant now, Error why) {
  actions_.push_back(Disconnect{});
  lose(now, std::move(why));
}

/// Handles a protocol error of the server. Only a new connection brings both sides into step again.
void ClientCore::refuse(Instant now, std::string what) {
  counters_.add(ClientCounter::protocol_errors);
  drop(now, Error{ErrorCode::bad_field, "the server sent " + std::move(what)});
}

void ClientCore::forget_connection() {
  timers_ = {};
  framer_ = {};
  writing_ = false;
  bind_due_ = false;
  last_octets_.clear();
  keep_alive_due_ = false;
  keep_alive_at_.reset();
  keep_alive_kind_ = KeepAliveSent::answer;
}

void ClientCore::stop(Instant now) {
  if (state_ == State::stopped || state_ == State::stopping) return;
  const bool unbind = state_ == State::bound || (state_ == State::binding && !bind_due_);
  while (const auto primitive = links_.poll_primitive()) encode(*primitive, last_octets_);
  if (unbind) encode(UnbindRequest{}, last_octets_);
  leave_binding(now);
  if (!connected()) {
    if (state_ == State::connecting) actions_.push_back(Disconnect{});
    forget_connection();
    enter(State::stopped);
    return;
  }
  enter(State::stopping);
  keep_alive_due_ = false;
  timers_ = {};
  timers_.set(Timer::attempt, now + config_.stop_timeout);
  if (!writing_ && last_octets_.empty()) finish_stop();
}

void ClientCore::finish_stop() {
  actions_.push_back(Disconnect{});
  forget_connection();
  enter(State::stopped);
}

// --- What the server sends -----------------------------------------------------------------------

void ClientCore::on_bytes(Instant now, ByteSpan octets) {
  if (!connected() || state_ == State::stopping) return;
  hear(now);
  framer_.push(octets);
  while (connected()) {  // its input may end the connection
    const auto item = framer_.poll();
    if (!item) break;
    timers_.clear(Timer::primitive);
    if (const auto* problem = std::get_if<Framer::Problem>(&*item)) {
      return refuse(now, std::string(to_string(*problem)));
    }
    const auto primitive = decode(std::get<Framer::Frame>(*item).body);
    if (primitive) {
      on_primitive(now, *primitive);
    } else if (primitive.error().code == ErrorCode::unsupported) {
      counters_.add(ClientCounter::primitives_unsupported);
    } else {
      return refuse(now, to_string(primitive.error()));
    }
  }
  if (!framer_.partial()) {
    timers_.clear(Timer::primitive);
  } else if (!timers_.is_set(Timer::primitive)) {
    timers_.set(Timer::primitive, now + config_.primitive_timeout);
  }
}

void ClientCore::on_primitive(Instant now, const Primitive& primitive) {
  std::visit([this, now](const auto& p) { on(now, p); }, primitive);
}

void ClientCore::on(Instant, const DataFlowOn&) {
  if (std::exchange(flow_off_, false)) events_.push_back(event::FlowOn{});
}

void ClientCore::on(Instant, const DataFlowOff&) {
  if (!std::exchange(flow_off_, true)) events_.push_back(event::FlowOff{});
}

void ClientCore::on(Instant, const SubnetAvailability& p) {
  events_.push_back(event::Availability{p.status, p.reason});
}

void ClientCore::on(Instant, const ManagementIndication& p) {
  events_.push_back(event::Management{p.message_type, p.body});
}

void ClientCore::on(Instant, const UnidataIndication& p) {
  counters_.add(ClientCounter::indications);
  events_.push_back(event::Indication{clipped(p)});
}

void ClientCore::on(Instant, const ExpeditedUnidataIndication& p) {
  counters_.add(ClientCounter::indications);
  events_.push_back(event::ExpeditedIndication{clipped(p)});
}

template <typename Answer>
void ClientCore::on_confirmed(Type type, const Answer& p) {
  const auto id = requests_.take_answered(type, p.destination_sap, p.destination, p.updu_part);
  counters_.add(id ? ClientCounter::confirmed : ClientCounter::answers_unmatched);
  if (id) events_.push_back(event::Confirmed{*id});
}

template <typename Answer>
void ClientCore::on_rejected(Type type, const Answer& p) {
  const auto id = requests_.take_answered(type, p.destination_sap, p.destination, p.updu_part);
  counters_.add(id ? ClientCounter::rejected : ClientCounter::answers_unmatched);
  if (id) events_.push_back(event::Rejected{*id, p.reason});
}

void ClientCore::on(Instant, const UnidataRequestConfirm& p) {
  on_confirmed(Type::unidata_request, p);
}
void ClientCore::on(Instant, const UnidataRequestRejected& p) {
  on_rejected(Type::unidata_request, p);
}
void ClientCore::on(Instant, const ExpeditedUnidataRequestConfirm& p) {
  on_confirmed(Type::expedited_request, p);
}
void ClientCore::on(Instant, const ExpeditedUnidataRequestRejected& p) {
  on_rejected(Type::expedited_request, p);
}

template <typename LinkPrimitive>
void ClientCore::on_link(const LinkPrimitive& p) {
  if (state_ != State::bound || !links_.on(p)) counters_.add(ClientCounter::answers_unmatched);
  tell_links();
}

void ClientCore::on(Instant, const HardLinkEstablished& p) {
  on_link(p);
}
void ClientCore::on(Instant, const HardLinkRejected& p) {
  on_link(p);
}
void ClientCore::on(Instant, const HardLinkTerminated& p) {
  on_link(p);
}
void ClientCore::on(Instant, const HardLinkIndication& p) {
  on_link(p);
}

void ClientCore::tell_links() {
  while (auto event = links_.poll_event()) events_.push_back(*std::move(event));
}

// --- Keep-alive (A.2.1.17) -----------------------------------------------------------------------

// STANDARD: one S_KEEP_ALIVE in 120 s to a peer, and an answer to each, contradict each other if
// both sides probe. We answer if we have not sent one in that time, or if the recent one was a
// probe whose answer has come. So answers are never answered.
void ClientCore::on(Instant now, const KeepAlive&) {
  const bool probing = keep_alive_kind_ == KeepAliveSent::probe && keep_alive_at_ &&
                       now - *keep_alive_at_ <= config_.probe_timeout;
  if (probing) {
    keep_alive_kind_ = KeepAliveSent::answered_probe;
    return;
  }
  const bool recent = keep_alive_at_ && now - *keep_alive_at_ < kKeepAliveInterval;
  const bool after_probe =
      config_.answer_after_probe && keep_alive_kind_ == KeepAliveSent::answered_probe;
  if (recent && !after_probe) return;
  counters_.add(ClientCounter::keep_alives_answered);
  keep_alive_due_ = true;
  keep_alive_at_ = now;
  keep_alive_kind_ = KeepAliveSent::answer;
  timers_.set(Timer::keep_alive_answer, now + kKeepAliveAnswer);
}

/// Call for any input: the peer is alive.
void ClientCore::hear(Instant now) {
  timers_.clear(Timer::probe);
  if (config_.probe_after) timers_.set(Timer::silence, now + *config_.probe_after);
}

void ClientCore::on_silence(Instant now) {
  const bool recent = keep_alive_at_ && now - *keep_alive_at_ < kKeepAliveInterval;
  if (writing_ || recent) {  // a probe would not leave, or is not allowed
    timers_.set(Timer::silence, now + *config_.probe_after);
    return;
  }
  counters_.add(ClientCounter::keep_alives_sent);
  keep_alive_due_ = true;
  keep_alive_at_ = now;
  keep_alive_kind_ = KeepAliveSent::probe;
  timers_.set(Timer::probe, now + config_.probe_timeout);
}

// --- Requests ------------------------------------------------------------------------------------

Result<void> ClientCore::need_bound() const {
  if (state_ == State::bound) return {};
  return Error{ErrorCode::link_down, "not bound"};
}

Result<RequestId> ClientCore::request_unidata(Instant now, UnidataRequest request) {
  return request_data(now, std::move(request));
}

Result<RequestId> ClientCore::request_expedited(Instant now, ExpeditedUnidataRequest request) {
  return request_data(now, std::move(request));
}

template <typename Request>
Result<RequestId> ClientCore::request_data(Instant now, Request request) {
  if (auto bound = need_bound(); !bound) return bound.error();
  if (auto legal = check(request); !legal) return legal.error();
  if (request.updu.size() > mtu_) {
    return Error{ErrorCode::too_large, "U_PDU of " + std::to_string(request.updu.size()) +
                                           " octets, MTU is " + std::to_string(mtu_)};
  }
  const bool confirm = effective(request.delivery).confirmation != Confirmation::none;
  // Ignored fields have not been checked either, so they must not reach the encoder.
  if (request.delivery.mode == TransmissionMode::unspecified) request.delivery = {};
  auto id = requests_.add(now, std::move(request), confirm);
  if (id) counters_.add(ClientCounter::requests);
  return id;
}

template <typename Request>
Result<void> ClientCore::check(const Request& request) const {
  const auto bad = [](const char* what) { return Error{ErrorCode::bad_field, what}; };
  if constexpr (std::is_same_v<Request, UnidataRequest>) {
    if (request.priority > kNibbleMax) return bad("priority");
  }
  if (request.destination_sap.value > SapId::kMax) return bad("destination SAP");
  if (request.destination.value > Address::kMax) return bad("destination address");
  if (request.time_to_live > kTimeToLiveMax) return bad("time to live");
  const DeliveryMode& delivery = effective(request.delivery);
  const bool arq = delivery.mode == TransmissionMode::arq;
  if (delivery.mode > TransmissionMode::nonarq_with_errors) return bad("transmission mode");
  if (delivery.retransmissions > kNibbleMax) return bad("retransmissions");
  if (delivery.extended) return bad("extended field");  // A.2.2.28.2(6)
  if (delivery.confirmation >= Confirmation::undefined) return bad("confirmation");
  if (!arq && delivery.confirmation != Confirmation::none) {
    return bad("confirmation needs ARQ");  // A.2.2.3(9)
  }
  if (arq && request.destination.group) return bad("a group needs non-ARQ");  // A.2.2.28.1(2)
  return {};
}

const DeliveryMode& ClientCore::effective(const DeliveryMode& delivery) const {
  return delivery.mode == TransmissionMode::unspecified ? config_.service : delivery;
}

Result<RequestId> ClientCore::request_management(Instant now, ManagementRequest request) {
  if (auto bound = need_bound(); !bound) return bound.error();
  if (config_.rank != kRankOfManagement) return Error{ErrorCode::refused, "needs rank 15"};
  if (request.body.size() > kManagementMax) return Error{ErrorCode::too_large, "message"};
  auto id = requests_.add(now, std::move(request), false);
  if (id) counters_.add(ClientCounter::requests);
  return id;
}

Result<void> ClientCore::request_hard_link(Instant now, const HardLink& link) {
  if (auto bound = need_bound(); !bound) return bound;
  return links_.request(now, link);
}

Result<void> ClientCore::request_hard_link_end(Instant, Address remote) {
  if (auto bound = need_bound(); !bound) return bound;
  return links_.end(remote);
}

Result<void> ClientCore::request_hard_link_accept(Instant, const HardLink& link) {
  if (auto bound = need_bound(); !bound) return bound;
  return links_.accept(link);
}

Result<void> ClientCore::request_hard_link_reject(Instant, const HardLink& link,
                                                  std::uint8_t reason) {
  if (auto bound = need_bound(); !bound) return bound;
  return links_.reject(link, reason);
}

// --- Out -----------------------------------------------------------------------------------------

std::optional<ClientCore::Action> ClientCore::poll_action() {
  if (auto action = take_front(actions_)) return action;
  if (!connected() || writing_) return std::nullopt;
  Bytes octets = next_octets();
  if (octets.empty()) return std::nullopt;
  writing_ = true;
  return SendBytes{std::move(octets)};
}

Bytes ClientCore::next_octets() {
  Bytes out;
  if (std::exchange(bind_due_, false)) {
    encode(BindRequest{.sap = config_.sap, .rank = config_.rank, .service = config_.service}, out);
  }
  append(out, std::exchange(last_octets_, {}));
  if (std::exchange(keep_alive_due_, false)) {
    timers_.clear(Timer::keep_alive_answer);
    encode(KeepAlive{}, out);
  }
  if (state_ != State::bound) return out;
  while (const auto primitive = links_.poll_primitive()) encode(*primitive, out);
  requests_.append(out, config_.write_octets_max, flow_off_);
  return out;
}

void ClientCore::on_sent(Instant) {
  if (!std::exchange(writing_, false)) return;
  for (const RequestId id : requests_.take_sent()) {
    counters_.add(ClientCounter::sent);
    events_.push_back(event::Sent{id});
  }
  if (state_ == State::stopping && last_octets_.empty()) finish_stop();
}

std::optional<Event> ClientCore::poll_event() {
  return take_front(events_);
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> ClientCore::next_deadline() const {
  return earlier(timers_.next(), earlier(requests_.next_deadline(), links_.next_deadline()));
}

void ClientCore::on_deadline(Instant now) {
  while (const auto timer = timers_.pop_due(now)) on_timer(now, *timer);
  unresolved(requests_.take_expired(now));
  links_.on_deadline(now);
  tell_links();
}

void ClientCore::on_timer(Instant now, Timer timer) {
  switch (timer) {
    case Timer::retry:
      return state_ == State::waiting ? connect(now) : bind(now);
    case Timer::attempt:
      if (state_ == State::stopping) return finish_stop();
      return drop(
          now, Error{ErrorCode::timed_out,
                     state_ == State::connecting ? "connecting" : "no answer to S_BIND_REQUEST"});
    case Timer::primitive:
      return drop(now, Error{ErrorCode::timed_out, "a primitive stayed incomplete"});
    case Timer::silence:
      return on_silence(now);
    case Timer::probe:
      return drop(now, Error{ErrorCode::timed_out, "no answer to S_KEEP_ALIVE"});
    case Timer::keep_alive_answer:  // too late now (A.2.1.17(2))
      keep_alive_due_ = false;
      return;
    case Timer::count:
      return;
  }
}

}  // namespace s5066::sis
