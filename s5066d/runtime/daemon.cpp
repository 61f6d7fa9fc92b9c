// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/daemon.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "config/control_json.h"
#include "modem/audio/cable_device.h"
#include "modem/ptt/crash_guard.h"
#include "modem/ptt/ptt.h"
#include "modem/worker/worker.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/end_hung.h"
#include "s5066d/posix/ending_signals.h"
#include "s5066d/posix/socket.h"

namespace s5066::runtime {

namespace {

using boost::system::error_code;

/// Interval at which the node gets the date. It extrapolates in between, but the wall clock may be
/// set meanwhile.
constexpr auto kUtcInterval = std::chrono::minutes(1);
/// Largest number of U_PDUs in one answer of the control socket.
constexpr std::size_t kUpdusListedMax = 1000;

std::unique_ptr<modem::Device> make(const modem::CableDevice::Config& cable) {
  return std::make_unique<modem::CableDevice>(cable);
}
std::unique_ptr<modem::Device> make(const modem::PortAudioDevice::Config& card) {
  return std::make_unique<modem::PortAudioDevice>(card);
}
/// Returns no device, because such a modem has devices of its own.
std::unique_ptr<modem::Device> make(const modem::RemoteModem::Config&) {
  return nullptr;
}
std::unique_ptr<modem::Ptt> make(std::monostate) {
  return std::make_unique<modem::NoPtt>();
}
/// Wraps a PTT that the kernel does not unkey when its owner dies, as it does a serial port.
std::unique_ptr<modem::Ptt> crash_guarded(std::string key, std::unique_ptr<modem::Ptt> ptt) {
  return std::make_unique<modem::CrashGuardedPtt>(
      modem::CrashGuardedPtt::Config{.key = std::move(key)}, std::move(ptt));
}
std::unique_ptr<modem::Ptt> make(const modem::RigctldPtt::Config& rigctld) {
  return crash_guarded(modem::key_name(rigctld), std::make_unique<modem::RigctldPtt>(rigctld));
}
std::unique_ptr<modem::Ptt> make(const modem::Cm108Ptt::Config& chip) {
  return crash_guarded(modem::key_name(chip), std::make_unique<modem::Cm108Ptt>(chip));
}
std::unique_ptr<modem::Ptt> make(const modem::SerialLinePtt::Config& port) {
  return std::make_unique<modem::SerialLinePtt>(port);
}

/// Makes the device or PTT that the configuration asks for.
template <typename Setup>
auto make_any(const Setup& setup) {
  return std::visit([](const auto& kind) { return make(kind); }, setup);
}

std::unique_ptr<modem::Modem> modem_of(const config::NodeSetup& setup, std::function<void()> notify,
                                       LogSink& log) {
  if (const auto* remote = std::get_if<modem::RemoteModem::Config>(&setup.device)) {
    return std::make_unique<modem::RemoteModem>(*remote, std::move(notify), &log);
  }
  auto worker = setup.worker;
  worker.on_hang = [&log] { posix::end_hung(log, "modem"); };
  return std::make_unique<modem::Worker>(worker, make_any(setup.device), make_any(setup.key),
                                         std::move(notify));
}

}  // namespace

Daemon::Daemon(const config::NodeSetup& setup, std::uint64_t seed, LogSink& log,
               Reloading reloading)
    : setup_(setup),
      reloading_(std::move(reloading)),
      events_(log),
      log_(events_),
      signals_(io_),
      utc_timer_(io_),
      watch_timer_(io_),
      trace_(events_),  // the trace limits its lines by the sample clock
      rng_(seed),
      node_(setup.node, rng_, trace_),
      driver_(io_, node_, log_),
      listener_(io_, setup.sis, driver_, log_),
      modem_(std::make_unique<ModemBridge>(
          io_, [&](auto notify) { return modem_of(setup, std::move(notify), log_); })),
      control_(io_, "s5066d", events_, log_) {
  driver_.connect(*modem_, listener_);
  trace_.print_at_assert();
  trace_.set_book(setup_.book);
}

// The thread that calls us must end before the objects that it calls.
Daemon::~Daemon() {
  modem_.reset();
}

Result<void> Daemon::run() {
  if (auto started = start(); !started) return started;
  watch_.emplace(log_);
  watch_->ready();
  watch_->turn_with(watch_timer_);
  io_.run();
  return outcome_;
}

Result<void> Daemon::start() {
  posix::ignore_terminal_stops();
  error_code failure;
  for (const int number : posix::ending_signals()) {
    if (!failure) signals_.add(number, failure);
  }
  if (failure) return Error{ErrorCode::io, "signals: " + failure.message()};
  await_signal();

  if (auto opened = listener_.open(); !opened) return opened;
  if (auto opened = open_control(); !opened) return opened;
  if (auto started = modem_->start([this] { on_modem_progress(); }); !started) {
    return Error{started.error().code, "modem: " + started.error().detail};
  }
  if (setup_.capture) {
    const Duration epoch = modem_->utc_began();
    if (auto opened = trace_.open_capture(*setup_.capture, epoch); !opened) return opened;
  }
  tell_utc();
  listener_.accept();
  LogLine line(log_, LogLevel::info, "started");
  put_station(line, "address", setup_.node.dts.address, setup_.book);
  line.kv("mode", modem::to_string(setup_.node.dts.mode))
      .kv("clock", modem_->lockstep() ? "cable" : "wall")
      .kv("version", version());
  return {};
}

// A second signal does not wait for the clients.
void Daemon::await_signal() {
  signals_.async_wait([this](error_code cancelled, int signal) {
    if (cancelled) return;
    if (signal == SIGHUP) {
      static_cast<void>(perform(config::ReloadAsked{}));  // the log has the result
      return await_signal();
    }
    LogLine(log_, LogLevel::info, "stopping")
        .kv("signal", signal == SIGTERM ? "SIGTERM" : "SIGINT");
    if (stopping_) return io_.stop();
    stop();
    await_signal();
  });
}

// In lockstep the cable's clock runs at its own pace. Stations that were not started at the same
// moment agree only by its time of day. No one sets that clock, so it is sent to the node once for
// each cable.
void Daemon::tell_utc() {
  const Duration began = modem_->utc_began();
  driver_.drive([&](Node& node, Instant now) {
    node.on_utc(now, posix::to_utc_seconds(began + now.time_since_epoch()));
  });
  if (modem_->lockstep()) return;
  utc_timer_.expires_after(kUtcInterval);
  utc_timer_.async_wait([this](error_code cancelled) {
    if (!cancelled) tell_utc();
  });
}

// The time is taken first: the events that the modem has queued up to then are polled below, and
// only that much is released.
void Daemon::on_modem_progress() {
  if (stopping_) return;
  const Instant until = modem_->now();
  while (const auto event = modem_->poll_event()) {
    if (const auto* fault = std::get_if<modem::Fault>(&*event)) {
      LogLine(log_, modem::severity_of(fault->kind), "modem_fault")
          .kv("kind", modem::to_string(fault->kind))
          .kv("detail", fault->detail);
      if (fault->kind == modem::FaultKind::device_back) tell_utc();
    }
    driver_.drive([&](Node& node, Instant now) { node.on_modem_event(now, *event); });
  }
  driver_.drive([](Node& node, Instant now) { node.on_deadline(now); });
  modem_->release(until);
  if (modem_->finished()) {
    outcome_ = Error{
        ErrorCode::io,
        "modem: the device is lost and could not be opened again; modem_fault in the log says why"};
    stop();
  }
}

// Stops the radio first. Clients then get what had been delivered to them, because it was
// acknowledged on the air and nobody would send it again.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) return;
  if (watch_) watch_->stopping();
  watch_timer_.cancel();
  modem_->stop();
  driver_.stop();
  utc_timer_.cancel();
  control_.stop();
  listener_.finish([this] { io_.stop(); });
}

// --- For an operator -----------------------------------------------------------------------------

Result<void> Daemon::open_control() {
  if (!setup_.control) return {};
  for (const config::ControlVerb& verb : config::control_verbs()) {
    control_.verbs().add(
        verb.info, [this, &verb](const control::Words& words) -> control::VerbTable::Answer {
          const auto asked = verb.parse(words, setup_.book);
          if (!asked) return std::nullopt;
          if (!*asked) return Result<std::string>(asked->error());
          return std::visit([this](const auto& what) { return perform(what); }, **asked);
        });
  }
  control_.verbs().name_stations(setup_.book);
  return control_.open(*setup_.control, [this] { return counters(); });
}

Result<std::string> Daemon::perform(const config::StatusAsked&) {
  return config::to_json(
      config::DaemonStatus{.node = node_.status(),
                           .modem = modem_->state(),
                           .now = modem_->now(),
                           .running = posix::monotonic_now() - started_,
                           .lockstep = modem_->lockstep(),
                           .sis_port = listener_.port(),
                           .transmit_level_db = setup_.worker.transmit_level_db});
}

CounterRows Daemon::counters() const {
  const modem::ModemState modem = modem_->state();
  CounterRows rows;
  node_.counters().list(rows);
  modem.counters.list(rows);
  modem.receiver.list(rows);
  return rows;
}

/// Runs a change of the node and logs the request and its result.
template <typename Asked, typename Change>
Result<std::string> Daemon::change(std::string_view verb, const Asked& asked, Change&& change) {
  if (stopping_) return Error{ErrorCode::refused, "stopping"};
  const Result<void> done = driver_.drive(std::forward<Change>(change));
  LogLine line(log_, LogLevel::info, "operator_asked");
  line.kv("request", verb).kv("outcome", done ? "done" : to_string(done.error()));
  if (!done) return done.error();
  return config::to_json(asked);
}

Result<std::string> Daemon::perform(const config::ModeAsked& asked) {
  return change("mode", asked, [&asked](Node& node, Instant now) {
    return node.request_mode(now, asked.peer, asked.mode);
  });
}

Result<std::string> Daemon::perform(const config::EmconAsked& asked) {
  return change(asked.on ? "emcon on" : "emcon off", asked, [&asked](Node& node, Instant now) {
    node.request_silence(now, asked.on);
    return Result<void>{};
  });
}

Result<std::string> Daemon::perform(const config::BroadcastAsked& asked) {
  return change(
      asked.on ? "broadcast on" : "broadcast off", asked,
      [&asked](Node& node, Instant now) { return node.request_broadcast_session(now, asked.on); });
}

Result<std::string> Daemon::perform(const config::SapAsked& asked) {
  const std::string verb =
      "sap " + std::to_string(asked.sap.value) + (asked.open ? " open" : " shut");
  return change(verb, asked, [&asked](Node& node, Instant now) {
    return node.request_sap_open(now, asked.sap, asked.open);
  });
}

Result<std::string> Daemon::perform(const config::LevelAsked& asked) {
  char verb[32];
  std::snprintf(verb, sizeof verb, "level %.1f", asked.level_db);
  return change(verb, asked, [&](Node&, Instant) {
    auto set = modem_->request(modem::SetTransmitLevel{asked.level_db});
    if (set) setup_.worker.transmit_level_db = asked.level_db;
    return set;
  });
}

Result<std::string> Daemon::perform(const config::DisconnectAsked& asked) {
  return change(
      "disconnect " + std::to_string(asked.client.value), asked,
      [&asked](Node& node, Instant now) { return node.request_disconnect(now, asked.client); });
}

Result<std::string> Daemon::perform(const config::BreakAsked& asked) {
  return change("break " + s5066::to_string(asked.peer), asked,
                [&asked](Node& node, Instant now) { return node.request_break(now, asked.peer); });
}

Result<std::string> Daemon::perform(const config::QueueAsked& asked) {
  return config::to_json(node_.updus(asked.filter, kUpdusListedMax));
}

Result<std::string> Daemon::perform(const config::PurgeAsked& asked) {
  if (stopping_) return Error{ErrorCode::refused, "stopping"};
  config::PurgeDone done;
  done.purged = driver_.drive(
      [&asked](Node& node, Instant now) { return node.request_purge(now, asked.filter); });
  done.in_transit = node_.updus(asked.filter, 0).total;
  LogLine(log_, LogLevel::info, "operator_asked")
      .kv("request", "purge")
      .kv("purged", std::uint64_t{done.purged})
      .kv("in_transit", std::uint64_t{done.in_transit});
  return config::to_json(done);
}

// A configuration that has errors changes nothing.
Result<std::string> Daemon::perform(const config::ReloadAsked&) {
  if (stopping_) return Error{ErrorCode::refused, "stopping"};
  const auto loaded = reloading_.load();
  std::string problems;
  for (const auto& problem : loaded.problems) {
    problems.append(problems.empty() ? "" : "\n").append(config::to_string(problem));
  }
  Result<void> done;
  if (!loaded.value) done = Error{ErrorCode::bad_field, problems};
  if (done) done = listener_.change(loaded.value->sis);
  if (!done) {
    LogLine(log_, LogLevel::error, "reload_failed").kv("reason", done.error().detail);
    return done.error();
  }
  auto changes = config::changes_to(setup_.source, *loaded.value);
  setup_.source = changes.running;
  if (setup_.book != loaded.value->book) changes.at_once.push_back("stations");
  setup_.book = loaded.value->book;
  trace_.set_book(setup_.book);
  reloading_.set_log_level(loaded.value->log_level);
  const auto names = [](const std::vector<std::string>& settings) {
    std::string all;
    for (const std::string& name : settings) all.append(all.empty() ? "" : " ").append(name);
    return all;
  };
  LogLine(log_, LogLevel::info, "reloaded")
      .kv("changed", names(changes.at_once))
      .kv("after_restart", names(changes.after_restart));
  return config::to_json(changes, setup_.sis.tls.has_value());
}

}  // namespace s5066::runtime
