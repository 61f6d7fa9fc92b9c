// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/modem_host.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <utility>
#include <variant>

#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr int kBacklog = 4;
constexpr Duration kStep = std::chrono::milliseconds(50);
constexpr std::string_view kOpening = "DATA ";

}  // namespace

ModemHost::ModemHost(Config config, const Factory& make_modem, LogSink& log)
    : config_(std::move(config)), log_(log), modem_(make_modem([this] { wakeup_.wake(); })) {}

ModemHost::~ModemHost() = default;

Result<void> ModemHost::open() {
  auto control = posix::listen_tcp(config_.address, config_.control_port, kBacklog);
  if (!control) return control.error();
  auto data = posix::listen_tcp(config_.address, config_.data_port, kBacklog);
  if (!data) return data.error();
  const auto control_port = posix::local_port(control->get());
  const auto data_port = posix::local_port(data->get());
  if (!control_port) return control_port.error();
  if (!data_port) return data_port.error();
  control_port_ = *control_port;
  data_port_ = *data_port;
  if (auto started = modem_->start(); !started) return started;
  if (modem_->lockstep()) {
    modem_->stop();
    return Error{
        ErrorCode::unsupported,
        "a device in lockstep cannot be lent, because its clock does not run with the time of day"};
  }
  control_listener_.socket = std::move(*control);
  data_listener_.socket = std::move(*data);
  return {};
}

void ModemHost::stop() {
  stopping_ = true;
  wakeup_.wake();
}

Result<void> ModemHost::run() {
  while (!stopping_ && !modem_->finished()) {
    wait();
    if (config_.on_turn) config_.on_turn();
    wakeup_.clear();
    take_events();
    insist();
    accept_control();
    accept_data();
    if (!user_) continue;
    if (auto served = serve_user(); !served) end_user(served.error());
  }
  if (user_) end_user({ErrorCode::link_down, "the host is shutting down"});
  modem_->stop();
  if (stopping_) return {};
  return Error{ErrorCode::io,
               "the device is lost and could not be opened again; modem_fault in the log says why"};
}

void ModemHost::wait() {
  std::vector<int> to_read = {wakeup_.fd()};
  std::vector<int> to_write;
  for (const Listener* const listener : {&control_listener_, &data_listener_}) {
    if (posix::monotonic_now() >= listener->rests_until) to_read.push_back(listener->socket.get());
  }
  if (user_) {
    to_read.insert(to_read.end(),
                   {user_->control.get(), user_->data.get(), user_->without_token.get()});
    remote::HostSession& session = user_->session;
    if (!session.control_out().empty()) to_write.push_back(user_->control.get());
    if (user_->data && !session.data_out().empty()) to_write.push_back(user_->data.get());
  }
  remote::wait_for_any(to_read, to_write, kStep);
}

// --- Connections ---

/// Returns nothing when no connection waits. A failure must not end a burst that is going on.
posix::Fd ModemHost::accept(Listener& listener) {
  const Duration present = posix::monotonic_now();
  if (present < listener.rests_until) return {};
  auto accepted = posix::accept_tcp(listener.socket.get());
  if (!accepted) {
    LogLine(log_, LogLevel::error, "modem_accept_failed").kv("reason", to_string(accepted.error()));
    listener.rests_until = present + config_.accept_retry;
    return {};
  }
  if (!*accepted) return {};
  posix::notice_dead_peer((*accepted)->get(), config_.silence_max);
  return std::move(**accepted);
}

void ModemHost::accept_control() {
  posix::Fd accepted = accept(control_listener_);
  if (!accepted) return;
  if (user_) {
    std::string line = encode(remote::HostMessage(remote::Refused{.why = remote::kInUse}));
    static_cast<void>(remote::write_some(accepted.get(), line));
    LogLine(log_, LogLevel::warning, "modem_user_refused")
        .kv("peer", posix::peer_address(accepted.get()))
        .kv("reason", remote::kInUse);
    return;
  }
  const Duration present = posix::monotonic_now();
  user_.emplace(User{.session = remote::HostSession({.token = token(),
                                                     .first_burst = next_burst_,
                                                     .late_max = config_.late_max,
                                                     .octets_late_max = config_.octets_late_max}),
                     .peer = posix::peer_address(accepted.get()),
                     .control = std::move(accepted),
                     .came_at = present,
                     .heard_at = present});
}

void ModemHost::accept_data() {
  posix::Fd accepted = accept(data_listener_);
  if (!accepted || !user_ || !user_->session.greeted() || user_->data) return;
  user_->without_token = std::move(accepted);  // the one that waited before was too slow
  user_->shown.clear();
}

/// Reads exactly the first line of a data connection, because the octets behind it belong to
/// bursts.
Result<void> ModemHost::let_data_in() {
  const std::string expected = std::string(kOpening) + user_->session.token() + "\n";
  while (user_->shown.size() < expected.size()) {
    Bytes part(expected.size() - user_->shown.size());
    const auto got = posix::receive_some(user_->without_token.get(), part, Duration{});
    if (!got && got.error().code == ErrorCode::timed_out) return {};
    if (!got) {
      user_->without_token.reset();
      return {};
    }
    user_->shown += remote::text_of(ByteSpan(part).first(*got));
  }
  if (user_->shown != expected) {  // another program connected
    user_->without_token.reset();
    return {};
  }
  user_->data = std::move(user_->without_token);
  user_->session.on_data_connected();
  user_->session.on_clock(modem_->now());
  LogLine(log_, LogLevel::info, "modem_user_connected")
      .kv("peer", user_->peer)
      .kv("version", user_->session.version());
  for (const auto& standing : {lost_ ? std::optional<Event>(*lost_) : std::nullopt,
                               key_failed_ ? std::optional<Event>(*key_failed_) : std::nullopt,
                               occupied_ ? std::optional<Event>(*occupied_) : std::nullopt,
                               carrier_ ? std::optional<Event>(*carrier_) : std::nullopt}) {
    if (!standing) continue;
    if (auto told = user_->session.on_event(*standing); !told) return told;
  }
  return {};
}

Result<void> ModemHost::serve_user() {
  User& user = *user_;
  auto read = remote::read_all(user.control.get(), [&](ByteSpan octets) {
    user.heard_at = posix::monotonic_now();
    return user.session.on_control(modem_->now(), remote::text_of(octets));
  });
  if (!read) return read;
  if (user.without_token) {
    if (auto let = let_data_in(); !let) return let;
  }
  if (user.data) {
    read = remote::read_all(user.data.get(), [&](ByteSpan octets) {
      return user.session.on_data(modem_->now(), octets);
    });
    if (!read) return read;
  }
  give_commands();
  if (auto good = check_user(); !good) return good;
  const Duration present = posix::monotonic_now();
  if (user.session.ready() && present - user.clock_sent_at >= config_.clock_interval) {
    user.clock_sent_at = present;
    user.session.on_clock(modem_->now());
  }
  const Duration limit = config_.stalled_max;
  auto wrote = remote::write_some(user.control.get(), user.session.control_out(),
                                  user.stalls.control_out, limit);
  if (!wrote || !user.data) return wrote;
  return remote::write_some(user.data.get(), user.session.data_out(), user.stalls.data_out, limit);
}

Result<void> ModemHost::check_user() {
  const Duration present = posix::monotonic_now();
  if (!user_->session.ready() && present - user_->came_at > config_.greeting_max) {
    return Error{ErrorCode::timed_out, "HELLO or the data connection did not come in time"};
  }
  if (user_->session.ready() && present - user_->heard_at > config_.silence_max) {
    return Error{ErrorCode::timed_out, "the user was silent for too long"};
  }
  const Duration lacking = user_->stalls.look_at_incomplete(user_->session.incomplete(), present);
  if (lacking > config_.stalled_max) {
    return Error{ErrorCode::timed_out, "the octets of a SEND did not come"};
  }
  return {};
}

void ModemHost::end_user(const Error& error) {
  LogLine(log_, LogLevel::warning, "modem_user_gone")
      .kv("peer", user_->peer)
      .kv("reason", to_string(error));
  std::string& out = user_->session.control_out();
  out += encode(remote::HostMessage(remote::Refused{.why = error.detail}));
  static_cast<void>(remote::write_some(user_->control.get(), out));
  next_burst_ = user_->session.next_burst();
  if (const auto burst = user_->session.burst()) abort(*burst);
  user_.reset();
  listen_for(config_.receive_modes);
}

// --- The modem ---

void ModemHost::give_commands() {
  if (user_->session.take_late()) LogLine(log_, LogLevel::warning, "modem_burst_late");
  while (auto command = user_->session.poll_command()) {
    if (const auto* aborted = std::get_if<AbortTransmit>(&*command)) {
      abort(aborted->id);
      continue;
    }
    if (auto* modes = std::get_if<SetReceiveModes>(&*command)) {
      listen_for(std::move(modes->modes));
      continue;
    }
    auto& burst = std::get<TransmitBurst>(*command);
    // The lateness of the message has been judged already; its octets may have taken a little
    // longer.
    if (burst.not_before != Instant{}) burst.not_before = std::max(burst.not_before, modem_->now());
    if (const auto given = give(std::move(burst)); !given) {
      static_cast<void>(user_->session.on_event(Fault{.at = modem_->now(),
                                                      .kind = FaultKind::command_refused,
                                                      .detail = to_string(given.error())}));
    }
  }
}

/// The burst is given after all earlier commands.
Result<void> ModemHost::give(TransmitBurst burst) {
  insist();
  if (to_abort_ || to_listen_) {
    return Error{ErrorCode::queue_full, "the modem has not taken the earlier commands yet"};
  }
  return modem_->request(std::move(burst));
}

/// While an abort is pending no other burst is given, so no abort is lost.
void ModemHost::abort(BurstId burst) {
  if (!to_abort_) to_abort_ = burst;
  insist();
}

/// The modem does not report which burst it refused; it may be that of the previous user.
void ModemHost::abort_what_is_told_to_be_refused() {
  if (!user_) return;
  if (const auto burst = user_->session.burst()) abort(*burst);
}

void ModemHost::listen_for(std::vector<Mode> modes) {
  to_listen_ = std::move(modes);
  insist();
}

/// The commands are repeated until the modem takes them, because the user that could stop a burst
/// may be gone and the next user must not get the previous one's modes.
void ModemHost::insist() {
  if (to_abort_ && modem_->request(AbortTransmit{.id = *to_abort_})) to_abort_.reset();
  if (to_listen_ && modem_->request(SetReceiveModes{.modes = *to_listen_})) to_listen_.reset();
}

void ModemHost::take_events() {
  while (const auto event = modem_->poll_event()) {
    if (const auto* up = std::get_if<CarrierUp>(&*event)) carrier_ = *up;
    if (std::holds_alternative<CarrierDown>(*event)) carrier_.reset();
    if (const auto* occupancy = std::get_if<ChannelOccupancy>(&*event)) {
      occupied_ = occupancy->occupied ? std::optional(*occupancy) : std::nullopt;
    }
    if (const auto* fault = std::get_if<Fault>(&*event)) {
      LogLine(log_, severity_of(fault->kind), "modem_fault")
          .kv("kind", to_string(fault->kind))
          .kv("detail", fault->detail);
      if (fault->kind == FaultKind::command_refused) abort_what_is_told_to_be_refused();
      if (fault->kind == FaultKind::device_lost) lost_ = *fault;
      if (fault->kind == FaultKind::device_back) lost_.reset();
      if (fault->kind == FaultKind::ptt_failed) key_failed_ = *fault;
      if (fault->kind == FaultKind::ptt_back) key_failed_.reset();
    }
    if (!user_) continue;
    if (auto told = user_->session.on_event(*event); !told) end_user(told.error());
  }
}

/// No other user of this machine can guess the token.
std::string ModemHost::token() {
  std::random_device random;
  std::array<char, remote::kTokenLength + 1> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

}  // namespace s5066::modem
