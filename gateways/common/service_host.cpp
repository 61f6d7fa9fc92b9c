// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/service_host.h"

#include <utility>

#include "config/proto/control.pb.h"
#include "s5066d/posix/ending_signals.h"

namespace s5066::gateways {

ServiceHost::ServiceHost(std::string_view name, LogSink& log)
    : events_(log), log_(events_, LogLevel::warning), control_(io_, name, events_, log_) {}

proto::Program ServiceHost::program() const {
  return control_.program();
}

Result<void> ServiceHost::open_control(const control::SocketConfig& config,
                                       std::function<CounterRows()> counters) {
  return control_.open(config, std::move(counters));
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
  control_.stop();
}

}  // namespace s5066::gateways
