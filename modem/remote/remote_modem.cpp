// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/remote_modem.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "s5066d/base/assert.h"
#include "s5066d/base/overloaded.h"
#include "s5066d/base/take_front.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(100);
/// An event may lie back this long at most, because no transmission is longer.
constexpr Duration kTellsBackMax = std::chrono::minutes(10);

}  // namespace

RemoteModem::RemoteModem(Config config, std::function<void()> notify, LogSink* log)
    : config_(std::move(config)),
      notify_(std::move(notify)),
      began_(posix::monotonic_now()),
      log_(log),
      listen_modes_(config_.receive_modes) {
  S5066_ASSERT(notify_);
}

RemoteModem::~RemoteModem() {
  stop();
}

Result<void> RemoteModem::start() {
  S5066_ASSERT(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
  return {};
}

void RemoteModem::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakeup_.wake();
  if (thread_.joinable()) thread_.join();
}

// --- The node's side ---

Result<void> RemoteModem::request(Command command) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [this](ErrorCode code, const char* why) {
    counters_.add(ModemCounter::commands_refused);
    return Error{code, why};
  };
  if (std::holds_alternative<SetTransmitLevel>(command)) {
    return refuse(ErrorCode::unsupported, "the level of a remote modem is set on its host");
  }
  if (auto* modes = std::get_if<SetReceiveModes>(&command)) listen_modes_ = modes->modes;
  if (!connected_) {
    // The modes are sent once there is a host.
    if (std::holds_alternative<SetReceiveModes>(command)) return {};
    return refuse(ErrorCode::link_down, "no connection to the modem");
  }
  if (commands_.size() >= config_.commands_max) {
    return refuse(ErrorCode::queue_full, "the modem has not taken the earlier commands yet");
  }
  if (const auto* burst = std::get_if<TransmitBurst>(&command)) {
    if (burst_) return refuse(ErrorCode::refused, "another burst is pending");
    if (!burst->morse.empty()) {
      return refuse(ErrorCode::unsupported, "a remote modem sends no Morse code");
    }
    if (burst->bytes.size() > remote::kOctetsMax) {
      return refuse(ErrorCode::too_large, "the burst is longer than a remote modem takes");
    }
    burst_ = burst->id;
    started_ = false;
    abort_asked_at_.reset();
  } else if (const auto* abort = std::get_if<AbortTransmit>(&command)) {
    if (burst_ == abort->id && !abort_asked_at_) abort_asked_at_ = now();
  }
  commands_.push_back(std::move(command));
  wakeup_.wake();
  return {};
}

std::optional<Event> RemoteModem::poll_event() {
  const std::lock_guard lock(mutex_);
  return take_front(events_);
}

Instant RemoteModem::now() const {
  return Instant{posix::monotonic_now() - began_};
}

bool RemoteModem::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

ModemState RemoteModem::state() const {
  const std::lock_guard lock(mutex_);
  ModemState state;
  state.counters = counters_;
  state.down = !connected_ || device_lost_;
  return state;
}

bool RemoteModem::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

// --- The thread ---

void RemoteModem::run() {
  Duration delay = config_.reconnect_delay;
  while (!stopping()) {
    const Instant began = now();
    auto ended = converse(remote::kVersion);
    if (refused_ && !stopping()) ended = converse(remote::kVersionLeast);
    if (!ended) on_lost(ended.error());
    // A connection that lasted for a while begins again with short waits.
    if (now() - began > 2 * config_.silence_max) delay = config_.reconnect_delay;
    pause(delay);
    delay = std::min(2 * delay, config_.reconnect_delay_max);
  }
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    connected_ = false;
  }
  notify_();
}

void RemoteModem::pause(Duration duration) {
  const Instant end = now() + duration;
  while (!stopping() && now() < end) {
    remote::wait_for_any({wakeup_.fd()}, {}, end - now());
    wakeup_.clear();
  }
}

/// Handles one connection from its beginning to its end. Returns no error when the modem is to
/// stop.
Result<void> RemoteModem::converse(unsigned version) {
  refused_ = false;
  auto control = posix::connect_tcp(config_.address, config_.control_port, config_.connect_timeout);
  if (!control) return control.error();
  posix::notice_dead_peer(control->get(), config_.silence_max);
  Link link{.control = std::move(*control), .session = remote::UserSession(version)};
  link.heard_at = link.pinged_at = now();
  while (!stopping()) {
    if (auto exchanged = exchange(link); !exchanged) {
      // A host that does not know our version refuses it or closes the connection. A silent host is
      // only slow, and the older version would stay in use for the whole connection.
      const ErrorCode code = exchanged.error().code;
      refused_ = link.session.version_agreed() == 0 && !link.session.in_use() &&
                 (code == ErrorCode::refused || code == ErrorCode::link_down);
      return exchanged;
    }
    std::vector<int> to_write;
    if (!link.session.control_out().empty()) to_write.push_back(link.control.get());
    if (link.data && !link.session.data_out().empty()) to_write.push_back(link.data.get());
    remote::wait_for_any({wakeup_.fd(), link.control.get(), link.data.get()}, to_write, kStep);
    wakeup_.clear();
  }
  return {};
}

Result<void> RemoteModem::exchange(Link& link) {
  remote::UserSession& session = link.session;
  auto read = remote::read_all(link.control.get(), [&](ByteSpan octets) {
    link.heard_at = now();
    return session.on_control(remote::text_of(octets));
  });
  if (!read) return read;
  if (const auto token = session.poll_token()) {
    auto data = posix::connect_tcp(config_.address, config_.data_port, config_.connect_timeout);
    if (!data) return data.error();
    posix::notice_dead_peer(data->get(), config_.silence_max);
    link.data = std::move(*data);
    const std::string opening = "DATA " + *token + "\n";
    session.data_out().assign(opening.begin(), opening.end());
  }
  if (link.data) {
    read =
        remote::read_all(link.data.get(), [&](ByteSpan octets) { return session.on_data(octets); });
    if (!read) return read;
  }
  while (const auto message = session.poll()) {
    if (auto taken = take(link, *message); !taken) return taken;
  }
  give_commands(link);
  const Instant present = now();
  if (auto good = check(link, present); !good) return good;
  if (present - link.pinged_at >= config_.ping_interval && session.ready()) {
    link.pinged_at = present;
    session.ping();
  }
  auto wrote = remote::write_some(link.control.get(), session.control_out(),
                                  link.stalls.control_out, config_.stalled_max);
  if (!wrote || !link.data) return wrote;
  return remote::write_some(link.data.get(), session.data_out(), link.stalls.data_out,
                            config_.stalled_max);
}

Result<void> RemoteModem::check(Link& link, Instant present) {
  if (present - link.heard_at > config_.silence_max) {
    return Error{ErrorCode::timed_out, "the modem's host is silent"};
  }
  const Duration lacking =
      link.stalls.look_at_incomplete(link.session.incomplete(), posix::monotonic_now());
  if (lacking > config_.stalled_max) {
    return Error{ErrorCode::timed_out, "octets that the modem's host announced did not come"};
  }
  const std::lock_guard lock(mutex_);
  // The host gets the abort behind the octets that are being sent.
  if (abort_asked_at_ && !link.session.data_out().empty()) abort_asked_at_ = present;
  if (burst_ && abort_asked_at_ && present - *abort_asked_at_ > config_.abort_max) {
    return Error{ErrorCode::timed_out, "the modem's host does not stop a burst"};
  }
  return {};
}

/// Is called once the host's time is known, before the first of its events.
void RemoteModem::on_connected(Link& link) {
  bool back = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(connected_, true)) return;
    if (!listen_modes_.empty()) link.session.request(SetReceiveModes{.modes = listen_modes_});
    back = !lost_told_.empty();
    lost_told_.clear();
    if (back) queue(Fault{.kind = FaultKind::device_back, .detail = "the modem's host is back"});
  }
  if (log_ != nullptr) {
    const unsigned version = link.session.version_agreed();
    const LogLevel level = version == remote::kVersion ? LogLevel::info : LogLevel::warning;
    LogLine(*log_, level, "modem_host_connected")
        .kv("address", config_.address)
        .kv("version", version);
  }
  if (back) notify_();
}

void RemoteModem::give_commands(Link& link) {
  const std::lock_guard lock(mutex_);
  for (; !commands_.empty(); commands_.pop_front()) {
    Command& command = commands_.front();
    auto* burst = std::get_if<TransmitBurst>(&command);
    if (burst != nullptr && burst->not_before != Instant{}) {
      burst->not_before = link.clocks.to_theirs(burst->not_before);
    }
    link.session.request(command);
  }
}

Result<void> RemoteModem::take(Link& link, const remote::HostMessage& message) {
  if (const auto* clock = std::get_if<remote::Clock>(&message)) {
    link.clocks.on_reading(now(), clock->now);
    on_connected(link);
    return {};
  }
  if (const auto* happened = std::get_if<remote::Happened>(&message)) {
    return take_event(link, happened->event);
  }
  return {};
}

Result<void> RemoteModem::take_event(const Link& link, Event event) {
  const auto in_ours = [&](auto& e) { e.at = link.clocks.to_ours(e.at); };
  const std::lock_guard lock(mutex_);
  if (events_.size() >= config_.events_max) {
    counters_.add(ModemCounter::events_lost);
    return Error{ErrorCode::queue_full, "modem events are not being read"};
  }
  bool impossible = false;
  bool repeated = false;
  std::visit(Overloaded{
                 [&](TransmitStarted& e) {
                   impossible = burst_ != e.id;
                   started_ = true;
                   in_ours(e);
                 },
                 [&](TransmitFinished& e) {
                   impossible = burst_ != e.id;
                   if (!impossible) log_if_not_sent(e.outcome);
                   if (!impossible) burst_.reset();
                   in_ours(e);
                 },
                 [&](CarrierUp& e) {
                   carrier_ = true;
                   in_ours(e);
                 },
                 [&](ReceivedBytes& e) {
                   impossible = !carrier_;
                   e.first_bit_at = link.clocks.to_ours(e.first_bit_at);
                   in_ours(e);
                 },
                 [&](CarrierDown& e) {
                   impossible = !std::exchange(carrier_, false);
                   e.ended_at = link.clocks.to_ours(e.ended_at);
                   in_ours(e);
                 },
                 [&](ChannelOccupancy& e) {
                   repeated = std::exchange(occupied_, e.occupied) == e.occupied;
                   in_ours(e);
                 },
                 [&](Fault& e) {
                   if (e.kind == FaultKind::command_refused) burst_.reset();
                   if (e.kind == FaultKind::ptt_failed) counters_.add(ModemCounter::ptt_failures);
                   if (e.kind == FaultKind::device_lost && !std::exchange(device_lost_, true)) {
                     counters_.add(ModemCounter::device_losses);
                   }
                   if (e.kind == FaultKind::device_back) device_lost_ = false;
                   in_ours(e);
                 },
             },
             event);
  if (impossible) {
    return Error{ErrorCode::bad_field,
                 "the host sent an event that does not fit the state of the modem"};
  }
  if (repeated) return {};
  queue(std::move(event));
  notify_();
  return {};
}

/// The burst was aborted without a request, mostly because it was late.
void RemoteModem::log_if_not_sent(TransmitOutcome outcome) const {
  if (log_ == nullptr || outcome != TransmitOutcome::aborted || started_ || abort_asked_at_) return;
  LogLine(*log_, LogLevel::warning, "modem_burst_not_sent").kv("address", config_.address);
}

void RemoteModem::on_lost(const Error& error) {
  const std::string why = "modem at " + config_.address + ": " + to_string(error);
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(connected_, false)) counters_.add(ModemCounter::device_losses);
    device_lost_ = false;  // the next host reports it
    commands_.clear();
    if (const auto burst = std::exchange(burst_, std::nullopt)) {
      queue(TransmitFinished{.id = *burst, .outcome = TransmitOutcome::aborted});
    }
    if (std::exchange(carrier_, false)) queue(CarrierDown{.reason = CarrierDownReason::lost});
    if (std::exchange(occupied_, false)) queue(ChannelOccupancy{.occupied = false});
    // Attempts that fail in the same way are reported once.
    if (lost_told_ == why) return;
    lost_told_ = why;
    queue(Fault{.kind = FaultKind::device_lost, .detail = why});
  }
  notify_();
}

/// Events are put in order, and their times lie between kTellsBackMax ago and now, whatever the
/// host's clock does. Our own events have no time yet.
void RemoteModem::queue(Event event) {
  const Instant present = now();
  const auto bound = [](Instant told, Instant at) {
    return std::clamp(told, at - kTellsBackMax, at);
  };
  std::visit(
      [&](auto& e) {
        const bool ours = e.at == Instant{};
        e.at = ours ? present : std::clamp(e.at, std::min(newest_, present), present);
        newest_ = e.at;
        if constexpr (std::is_same_v<std::decay_t<decltype(e)>, CarrierDown>) {
          e.ended_at = ours ? e.at : bound(e.ended_at, e.at);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(e)>, ReceivedBytes>) {
          e.first_bit_at = bound(e.first_bit_at, e.at);
        }
      },
      event);
  events_.push_back(std::move(event));
}

}  // namespace s5066::modem
