// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/modem_bridge.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {

ModemBridge::ModemBridge(boost::asio::io_context& io, const Factory& make_modem)
    : io_(io), modem_(make_modem([this] { on_notify(); })) {}

Result<void> ModemBridge::start(std::function<void()> on_progress) {
  on_progress_ = std::move(on_progress);
  return modem_->start();
}

void ModemBridge::stop() {
  modem_->stop();
}

Duration ModemBridge::utc_began() const {
  return lockstep() ? modem_->utc_began() : posix::utc_now() - now().time_since_epoch();
}

void ModemBridge::release(Instant until) {
  if (modem_->lockstep()) modem_->release(until);
}

// Runs on the modem's thread. One pending call covers everything that happens before it is made.
void ModemBridge::on_notify() {
  if (progress_posted_.exchange(true)) return;
  boost::asio::post(io_, [this] {
    progress_posted_ = false;
    on_progress_();
  });
}

}  // namespace s5066::runtime
