// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/asio_driver.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace s5066::runtime {

namespace {
// Shortest timer. The sample clock and the processor's clock differ a little: a timer that fires
// early is set again, and this limit keeps that from becoming a busy loop.
constexpr Duration kTimerMin = std::chrono::milliseconds(1);
constexpr Duration kAbortRetry = std::chrono::milliseconds(20);
}  // namespace

void AsioDriver::connect(ModemPort& modem, ClientPort& clients) {
  modem_ = &modem;
  clients_ = &clients;
}

void AsioDriver::stop() {
  stopped_ = true;
  timer_.cancel();
}

void AsioDriver::settle(Instant now) {
  insist_on_aborting(now);
  steps_.begin();
  while (auto action = node_.poll_action()) {
    std::visit([&](auto&& a) { perform(now, std::move(a)); }, std::move(*action));
    steps_.count();
  }
  log_duplex();
  arm(now);
}

// Logs for the operator if full duplex is configured and not in force, although there is a link.
void AsioDriver::log_duplex() {
  const dts::Duplex duplex = node_.duplex();
  if (std::exchange(duplex_, duplex) == duplex) return;
  if (duplex == dts::Duplex::full) LogLine(log_, LogLevel::info, "full_duplex_on");
  if (duplex < dts::Duplex::peer_is_half) return;
  LogLine(log_, LogLevel::warning, "full_duplex_off").kv("reason", dts::to_string(duplex));
}

void AsioDriver::refuse(Instant now, const Error& error) {
  LogLine(log_, LogLevel::error, "modem_command_refused").kv("reason", to_string(error));
  node_.on_modem_event(now, modem::Fault{now, modem::FaultKind::command_refused, to_string(error)});
}

/// Repeats the abort of a burst while the modem is busy, because EMCON must end the burst.
void AsioDriver::insist_on_aborting(Instant now) {
  if (!to_abort_) return;
  const auto taken = modem_->request(modem::AbortTransmit{.id = *to_abort_});
  if (!taken && taken.error().code == ErrorCode::queue_full) return;
  to_abort_.reset();
  if (!taken) refuse(now, taken.error());
}

/// While an abort is pending, no burst is passed on, so that there is never a second one to abort.
void AsioDriver::perform(Instant now, modem::Command&& command) {
  if (const auto* abort = std::get_if<modem::AbortTransmit>(&command)) {
    if (!to_abort_) to_abort_ = abort->id;
    return insist_on_aborting(now);
  }
  if (to_abort_) {
    return refuse(now, {ErrorCode::queue_full, "the modem has not taken an earlier abort yet"});
  }
  if (const auto taken = modem_->request(std::move(command)); !taken) refuse(now, taken.error());
}

void AsioDriver::perform(Instant now, SendToClient&& action) {
  const std::size_t unsent = clients_->send(action.client, action.bytes);
  node_.on_client_backlog(now, action.client, unsent);
}

void AsioDriver::perform(Instant, CloseClient&& action) {
  clients_->close(action.client, action.discard_unsent);
}

void AsioDriver::perform(Instant, PauseClient&& action) {
  clients_->pause(action.client, action.paused);
}

// A deadline usually moves on with each event. A timer that fires too early is harmless, and
// cheaper than one that is set again a thousand times before it fires.
void AsioDriver::arm(Instant now) {
  if (stopped_ || modem_->lockstep()) return;
  auto deadline = node_.next_deadline();
  if (to_abort_) deadline = std::min(deadline.value_or(now + kAbortRetry), now + kAbortRetry);
  if (!deadline || (armed_for_ && *armed_for_ <= *deadline)) return;
  armed_for_ = *deadline;
  timer_.expires_after(std::max(*deadline - now, kTimerMin));
  timer_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled || stopped_) return;
    armed_for_.reset();
    drive([](Node& node, Instant at) { node.on_deadline(at); });
  });
}

}  // namespace s5066::runtime
