// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/service_host.h"

#include <utility>

#include "config/proto/control.pb.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/ending_signals.h"

namespace s5066::gateways {

ServiceHost::ServiceHost(std::string_view name, LogSink& log)
    : name_(name), events_(log), log_(events_, LogLevel::warning) {}

proto::Program ServiceHost::program() const {
  proto::Program program;
  program.set_name(std::string(name_));
  program.set_version(std::string(version()));
  program.set_up_s(to_seconds(posix::monotonic_now() - started_));
  return program;
}

Result<void> ServiceHost::open_control(const control::SocketConfig& config,
                                       std::function<CounterRows()> counters) {
  verbs_.add_common(events_, std::move(counters));
  control_.emplace(
      io_, config, [this](std::string_view request) { return verbs_.answer(request); }, log_);
  return control_->open();
}

void ServiceHost::on_end(std::function<void()> end) {
  for (const int number : posix::ending_signals()) {
    if (number != SIGHUP || !hung_up_) signals_.add(number);
  }
  signals_.async_wait([end = std::move(end)](boost::system::error_code error, int) {
    if (!error) end();
  });
}

void ServiceHost::on_hangup(std::function<void()> hangup) {
  hung_up_ = std::move(hangup);
  hangup_.add(SIGHUP);
  wait_for_hangup();
}

void ServiceHost::wait_for_hangup() {
  hangup_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    hung_up_();
    wait_for_hangup();
  });
}

void ServiceHost::ready() {
  if (std::exchange(ready_, true)) return;
  if (watch_) watch_->ready();
}

void ServiceHost::run() {
  watch_.emplace(log_);
  watch_->turn_with(watch_timer_);
  if (ready_) watch_->ready();
  io_.run();
}

void ServiceHost::stopping() {
  if (watch_) watch_->stopping();
  watch_timer_.cancel();
  signals_.cancel();
  hangup_.cancel();
  if (control_) control_->stop();
}

}  // namespace s5066::gateways
