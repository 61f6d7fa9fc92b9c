#include "s5066d/runtime/asio_driver.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace s5066::runtime {

namespace {
// The sample clock and the processor's differ a little: a timer that fires early is armed again,
// and this keeps that from becoming a spin.
constexpr Duration kTimerMin = std::chrono::milliseconds(1);
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
  while (auto action = node_.poll_action()) {
    std::visit([&](auto&& a) { perform(now, std::move(a)); }, std::move(*action));
  }
  log_duplex();
  arm(now);
}

// Full duplex that was configured and does not hold, though there is a link, is for the operator.
void AsioDriver::log_duplex() {
  const dts::Duplex duplex = node_.duplex();
  if (std::exchange(duplex_, duplex) == duplex) return;
  if (duplex == dts::Duplex::full) LogLine(log_, LogLevel::info, "full_duplex_on");
  if (duplex < dts::Duplex::peer_is_half) return;
  LogLine(log_, LogLevel::warning, "full_duplex_off").kv("reason", dts::to_string(duplex));
}

void AsioDriver::perform(Instant now, modem::Command&& command) {
  const auto accepted = modem_->request(std::move(command));
  if (accepted) return;
  LogLine(log_, LogLevel::error, "modem_command_refused").kv("reason", to_string(accepted.error()));
  node_.on_modem_event(
      now, modem::Fault{now, modem::FaultKind::command_refused, to_string(accepted.error())});
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

// A deadline mostly moves on with each event. A timer that is set for too early does no harm, and
// is cheaper than one that is set anew a thousand times before it fires.
void AsioDriver::arm(Instant now) {
  if (stopped_ || modem_->lockstep()) return;
  const auto deadline = node_.next_deadline();
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
