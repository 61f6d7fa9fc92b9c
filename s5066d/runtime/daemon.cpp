#include "s5066d/runtime/daemon.h"

#include <chrono>
#include <csignal>
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

/// The node extrapolates in between; the wall clock may be set meanwhile.
constexpr auto kUtcInterval = std::chrono::minutes(1);

std::unique_ptr<modem::Device> make(const modem::CableDevice::Config& cable) {
  return std::make_unique<modem::CableDevice>(cable);
}
std::unique_ptr<modem::Device> make(const modem::PortAudioDevice::Config& card) {
  return std::make_unique<modem::PortAudioDevice>(card);
}
/// A modem that has devices of its own.
std::unique_ptr<modem::Device> make(const modem::RemoteModem::Config&) {
  return nullptr;
}
std::unique_ptr<modem::Ptt> make(std::monostate) {
  return std::make_unique<modem::NoPtt>();
}
/// The kernel unkeys a serial port whose owner died; these it leaves as they are.
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

/// Of the kind that the configuration asks for.
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

Daemon::Daemon(const config::NodeSetup& setup, std::uint64_t seed, LogSink& log)
    : setup_(setup),
      log_(log),
      signals_(io_),
      utc_timer_(io_),
      watch_timer_(io_),
      trace_(log),
      rng_(seed),
      node_(setup.node, rng_, trace_),
      driver_(io_, node_, log_),
      listener_(io_, setup.sis, driver_, log_),
      modem_(std::make_unique<ModemBridge>(
          io_, [&](auto notify) { return modem_of(setup, std::move(notify), log_); })) {
  driver_.connect(*modem_, listener_);
  trace_.print_at_assert();
}

// The thread that calls us must be gone before what it calls.
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
  if (setup_.control) {
    control_.emplace(
        io_, *setup_.control, [this](std::string_view request) { return answer(request); }, log_);
    if (auto opened = control_->open(); !opened) return opened;
  }
  if (auto started = modem_->start([this] { on_modem_progress(); }); !started) {
    return Error{started.error().code, "modem: " + started.error().detail};
  }
  if (setup_.capture) {
    const Duration epoch = modem_->utc_began();
    if (auto opened = trace_.open_capture(*setup_.capture, epoch); !opened) return opened;
  }
  tell_utc();
  listener_.accept();
  LogLine(log_, LogLevel::info, "started")
      .kv("address", s5066::to_string(setup_.node.dts.address))
      .kv("mode", modem::to_string(setup_.node.dts.mode))
      .kv("clock", modem_->lockstep() ? "cable" : "wall")
      .kv("version", version());
  return {};
}

// The second one does not wait for the clients.
void Daemon::await_signal() {
  signals_.async_wait([this](error_code cancelled, int signal) {
    if (cancelled) return;
    LogLine(log_, LogLevel::info, "stopping").kv("signal", signal);
    if (stopping_) return io_.stop();
    stop();
    await_signal();
  });
}

// In lockstep the clock of the cable runs at its own pace: only by its time of day do stations
// agree that were not started at the same moment. Nobody sets it, so it is told once for each
// cable.
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

// The time is taken first: whatever the modem has queued up to then is polled below, and only that
// much is released.
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
    outcome_ = Error{ErrorCode::io, "modem: the device is lost and does not come back"};
    stop();
  }
}

// The radio first. Clients then get what had been delivered to them: it was acknowledged on the
// air, and nobody would send it again.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) return;
  if (watch_) watch_->stopping();
  watch_timer_.cancel();
  modem_->stop();
  driver_.stop();
  utc_timer_.cancel();
  if (control_) control_->stop();
  listener_.finish([this] { io_.stop(); });
}

Result<std::string> Daemon::answer(std::string_view request) {
  if (request == "status") {
    return config::to_json(config::DaemonStatus{.node = node_.status(),
                                                .modem = modem_->stats(),
                                                .now = modem_->now(),
                                                .lockstep = modem_->lockstep(),
                                                .sis_port = listener_.port()});
  }
  if (request == "counters") return config::to_json(node_.counters());
  if (const auto asked = config::read_mode_request(request)) {
    if (!*asked) return asked->error();
    if (stopping_) return Error{ErrorCode::refused, "stopping"};
    const config::ModeAsked& wish = **asked;
    const auto done = driver_.drive(
        [&wish](Node& node, Instant now) { return node.request_mode(now, wish.peer, wish.mode); });
    if (!done) return done.error();
    return config::to_json(wish);
  }
  return Error{ErrorCode::unsupported, "requests are status, counters and mode ADDRESS MODE"};
}

}  // namespace s5066::runtime
