#include "sis/client_core.h"

#include <algorithm>
#include <utility>

#include "sis/codec.h"
#include "sis/text.h"

namespace s5066::sis {

namespace {

constexpr std::uint8_t kNibbleMax = 15;
constexpr std::size_t kUpduMax = kBodyOctetsMax - kUnidataRequestFixed;

bool starts_with(ByteSpan whole, ByteSpan part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

}  // namespace

ClientCore::ClientCore(const Config& config, Rng& rng) : config_(config), rng_(rng) {
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
  ++stats_.connections;
  hear(now);
  bind(now);
}

void ClientCore::bind(Instant now) {
  enter(State::binding);
  bind_due_ = true;
  timers_.set(Timer::attempt, now + config_.bind_timeout);
}

void ClientCore::on(Instant now, const BindAccepted& p) {
  if (state_ != State::binding) return refuse(now, "S_BIND_ACCEPTED out of place");
  if (p.sap != config_.sap) return refuse(now, "S_BIND_ACCEPTED for another SAP");
  ++stats_.binds;
  timers_.clear(Timer::attempt);
  enter(State::bound);
  bound_since_ = now;
  mtu_ = static_cast<std::uint16_t>(std::min<std::size_t>(p.mtu, kUpduMax));
  flow_off_ = false;
  events_.push_back(event::Bound{mtu_});
}

void ClientCore::on(Instant now, const BindRejected& p) {
  if (state_ != State::binding) return refuse(now, "S_BIND_REJECTED out of place");
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

/// What holds however a binding or the attempt at one ends.
void ClientCore::leave_binding(Instant now) {
  if (state_ == State::bound && now - bound_since_ >= config_.retry_max) failures_ = 0;
  bind_due_ = false;
  give_back_requests();
}

void ClientCore::give_back_requests() {
  const auto give_back = [this](RequestId id) {
    ++stats_.unresolved;
    events_.push_back(event::Unresolved{id});
  };
  for (const Request& request : unconfirmed_) give_back(request.id);
  for (const RequestId id : written_) give_back(id);
  for (const Request& request : queue_) give_back(request.id);
  unconfirmed_.clear();
  written_.clear();
  queue_.clear();
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

/// The server broke the protocol. Only a new connection brings both back into step.
void ClientCore::refuse(Instant now, std::string what) {
  ++stats_.protocol_errors;
  drop(now, Error{ErrorCode::bad_field, "server sent " + std::move(what)});
}

void ClientCore::forget_connection() {
  timers_ = {};
  framer_ = {};
  writing_ = false;
  bind_due_ = false;
  unbind_due_ = false;
  keep_alive_due_ = false;
  keep_alive_at_.reset();
  keep_alive_kind_ = KeepAliveSent::answer;
}

void ClientCore::stop(Instant now) {
  if (state_ == State::stopped || state_ == State::stopping) return;
  unbind_due_ = state_ == State::bound || (state_ == State::binding && !bind_due_);
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
  if (!writing_ && !unbind_due_) finish_stop();
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
  while (connected()) {  // what it sends may end the connection
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
      ++stats_.primitives_unsupported;
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

void ClientCore::on(Instant, const UnidataIndication& p) {
  ++stats_.indications;
  events_.push_back(event::Indication{p});
}

void ClientCore::on(Instant, const UnidataRequestConfirm& p) {
  const auto id = take_answered(p.destination_sap, p.destination, p.updu_part);
  if (!id) return;
  ++stats_.confirmed;
  events_.push_back(event::Confirmed{*id});
}

void ClientCore::on(Instant, const UnidataRequestRejected& p) {
  const auto id = take_answered(p.destination_sap, p.destination, p.updu_part);
  if (!id) return;
  ++stats_.rejected;
  events_.push_back(event::Rejected{*id, p.reason});
}

// STANDARD: an answer names its request only by a copy of the U_PDU's first octets (A.2.1.7 s7). A
// copy of the same length is the better match, since servers copy the whole unless told otherwise;
// of equally good ones the oldest is meant.
std::optional<RequestId> ClientCore::take_answered(SapId sap, Address destination, ByteSpan part) {
  auto best = unconfirmed_.end();
  for (auto it = unconfirmed_.begin(); it != unconfirmed_.end(); ++it) {
    const UnidataRequest& sent = it->unidata;
    if (sent.destination_sap != sap || sent.destination != destination) continue;
    if (!starts_with(sent.updu, part)) continue;
    const bool whole = sent.updu.size() == part.size();
    if (whole || best == unconfirmed_.end()) best = it;
    if (whole) break;
  }
  if (best == unconfirmed_.end()) {
    ++stats_.answers_unmatched;
    return std::nullopt;
  }
  const RequestId id = best->id;
  unconfirmed_.erase(best);
  return id;
}

// --- Keep-alive (A.2.1.17) -----------------------------------------------------------------------

// STANDARD: one S_KEEP_ALIVE in 120 s to a peer, and an answer to each, exclude each other when
// both sides probe. We answer if we have not sent one that recently, or if the recent one was a
// probe whose answer has come; so answers are never answered.
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
  ++stats_.keep_alives_answered;
  keep_alive_due_ = true;
  keep_alive_at_ = now;
  keep_alive_kind_ = KeepAliveSent::answer;
  timers_.set(Timer::keep_alive_answer, now + kKeepAliveAnswer);
}

/// The peer is alive, whatever it sent.
void ClientCore::hear(Instant now) {
  timers_.clear(Timer::probe);
  if (config_.probe_after) timers_.set(Timer::silence, now + *config_.probe_after);
}

void ClientCore::on_silence(Instant now) {
  const bool recent = keep_alive_at_ && now - *keep_alive_at_ < kKeepAliveInterval;
  if (writing_ || recent) {  // a probe would not get out, or not be allowed
    timers_.set(Timer::silence, now + *config_.probe_after);
    return;
  }
  ++stats_.probes;
  keep_alive_due_ = true;
  keep_alive_at_ = now;
  keep_alive_kind_ = KeepAliveSent::probe;
  timers_.set(Timer::probe, now + config_.probe_timeout);
}

// --- Requests ------------------------------------------------------------------------------------

Result<RequestId> ClientCore::request_unidata(Instant now, UnidataRequest request) {
  if (state_ != State::bound) return Error{ErrorCode::link_down, "not bound"};
  if (auto legal = check(request); !legal) return legal.error();
  if (request.updu.size() > mtu_) {
    return Error{ErrorCode::too_large, "U_PDU of " + std::to_string(request.updu.size()) +
                                           " octets, MTU is " + std::to_string(mtu_)};
  }
  if (queue_.size() >= config_.queue_max) return Error{ErrorCode::queue_full, "requests held"};
  const RequestId id{next_id_++};
  ++stats_.requests;
  const bool confirm = wants_confirmation(request.delivery);
  queue_.push_back({.id = id, .accepted = now, .confirm = confirm, .unidata = std::move(request)});
  return id;
}

Result<void> ClientCore::check(const UnidataRequest& request) const {
  const auto bad = [](const char* what) { return Error{ErrorCode::bad_field, what}; };
  if (request.priority > kNibbleMax) return bad("priority");
  if (request.destination_sap.value > SapId::kMax) return bad("destination SAP");
  if (request.destination.value > Address::kMax) return bad("destination address");
  if (request.time_to_live > kTimeToLiveMax) return bad("time to live");
  const bool own = request.delivery.mode != TransmissionMode::unspecified;
  const DeliveryMode& delivery = own ? request.delivery : config_.service;
  const bool arq = delivery.mode == TransmissionMode::arq;
  if (delivery.mode > TransmissionMode::nonarq_with_errors) return bad("transmission mode");
  if (delivery.retransmissions > kNibbleMax) return bad("retransmissions");
  if (delivery.extended) return bad("extended field");  // A.2.2.28.2 s6
  if (delivery.confirmation >= Confirmation::undefined) return bad("confirmation");
  if (!arq && delivery.confirmation != Confirmation::none) {
    return bad("confirmation needs ARQ");  // A.2.2.3 s9
  }
  if (arq && request.destination.group) return bad("a group needs non-ARQ");  // A.2.2.28.1 s2
  return {};
}

bool ClientCore::wants_confirmation(const DeliveryMode& delivery) const {
  const bool own = delivery.mode != TransmissionMode::unspecified;
  return (own ? delivery : config_.service).confirmation != Confirmation::none;
}

// --- Out -----------------------------------------------------------------------------------------

std::optional<ClientCore::Action> ClientCore::poll_action() {
  if (!actions_.empty()) {
    Action action = std::move(actions_.front());
    actions_.pop_front();
    return action;
  }
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
  if (std::exchange(unbind_due_, false)) encode(UnbindRequest{}, out);
  if (std::exchange(keep_alive_due_, false)) {
    timers_.clear(Timer::keep_alive_answer);
    encode(KeepAlive{}, out);
  }
  if (state_ == State::bound && !flow_off_) append_requests(out);
  return out;
}

void ClientCore::append_requests(Bytes& out) {
  while (!queue_.empty() && out.size() < config_.write_octets_max) {
    if (queue_.front().confirm && unconfirmed_.size() >= config_.unconfirmed_max) return;
    Request request = std::move(queue_.front());
    queue_.pop_front();
    Primitive primitive = std::move(request.unidata);
    encode(primitive, out);
    if (request.confirm) {
      request.unidata = std::get<UnidataRequest>(std::move(primitive));
      unconfirmed_.push_back(std::move(request));
    } else {
      written_.push_back(request.id);
    }
  }
}

void ClientCore::on_sent(Instant) {
  if (!std::exchange(writing_, false)) return;
  for (const RequestId id : written_) {
    ++stats_.sent;
    events_.push_back(event::Sent{id});
  }
  written_.clear();
  if (state_ == State::stopping && !unbind_due_) finish_stop();
}

std::optional<Event> ClientCore::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> ClientCore::next_deadline() const {
  std::optional<Instant> confirmation;
  if (!unconfirmed_.empty()) {
    confirmation = unconfirmed_.front().accepted + config_.confirmation_timeout;
  }
  return earlier(timers_.next(), confirmation);
}

void ClientCore::on_deadline(Instant now) {
  while (const auto timer = timers_.pop_due(now)) on_timer(now, *timer);
  expire_unconfirmed(now);
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
      return drop(now, Error{ErrorCode::timed_out, "half a primitive"});
    case Timer::silence:
      return on_silence(now);
    case Timer::probe:
      return drop(now, Error{ErrorCode::timed_out, "no answer to S_KEEP_ALIVE"});
    case Timer::keep_alive_answer:  // too late now (A.2.1.17 s2)
      keep_alive_due_ = false;
      return;
    case Timer::count:
      return;
  }
}

void ClientCore::expire_unconfirmed(Instant now) {
  while (!unconfirmed_.empty() &&
         now >= unconfirmed_.front().accepted + config_.confirmation_timeout) {
    ++stats_.unresolved;
    events_.push_back(event::Unresolved{unconfirmed_.front().id});
    unconfirmed_.pop_front();
  }
}

}  // namespace s5066::sis
