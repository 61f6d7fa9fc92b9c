// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/control_plane.h"

#include <string>
#include <utility>

#include "config/proto/control.pb.h"
#include "s5066d/base/version.h"

namespace s5066::control {

proto::Program ControlPlane::program() const {
  proto::Program program;
  program.set_name(std::string(program_));
  program.set_version(std::string(version()));
  program.set_up_s(to_seconds(posix::monotonic_now() - started_));
  return program;
}

Result<void> ControlPlane::open(const SocketConfig& config, std::function<CounterRows()> counters) {
  verbs_.add_common(events_, std::move(counters));
  socket_.emplace(
      io_, config,
      [this](std::string_view request, posix::PassedFile file) {
        return verbs_.answer(request, std::move(file));
      },
      log_);
  return socket_->open();
}

void ControlPlane::stop() {
  if (socket_) socket_->stop();
}

}  // namespace s5066::control
