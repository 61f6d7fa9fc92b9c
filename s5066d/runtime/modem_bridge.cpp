#include "s5066d/runtime/modem_bridge.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {

ModemBridge::ModemBridge(boost::asio::io_context& io, const modem::Worker::Config& config,
                         std::unique_ptr<modem::Device> device, std::unique_ptr<modem::Ptt> ptt)
    : io_(io), worker_(config, std::move(device), std::move(ptt), [this] { on_notify(); }) {}

Result<void> ModemBridge::start(std::function<void()> on_progress) {
  on_progress_ = std::move(on_progress);
  return worker_.start();
}

void ModemBridge::stop() {
  worker_.stop();
}

Duration ModemBridge::utc_began() const {
  return lockstep() ? worker_.utc_began() : posix::utc_now() - now().time_since_epoch();
}

void ModemBridge::release(Instant until) {
  if (worker_.lockstep()) worker_.release(until);
}

// On the worker's thread. One call to come covers everything that happens before it is made.
void ModemBridge::on_notify() {
  if (progress_posted_.exchange(true)) return;
  boost::asio::post(io_, [this] {
    progress_posted_ = false;
    on_progress_();
  });
}

}  // namespace s5066::runtime
