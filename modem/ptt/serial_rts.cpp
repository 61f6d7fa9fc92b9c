#include "modem/ptt/serial_rts.h"

#include <fcntl.h>
#include <sys/ioctl.h>

namespace s5066::modem {

SerialRtsPtt::~SerialRtsPtt() {
  if (port_) static_cast<void>(key(false));
}

Result<void> SerialRtsPtt::key(bool on) {
  if (!port_) {
    port_ = posix::Fd(::open(config_.path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!port_) return posix::errno_error("open " + config_.path);
  }
  const int rts = TIOCM_RTS;
  if (::ioctl(port_.get(), on ? TIOCMBIS : TIOCMBIC, &rts) == 0) return {};
  const Error error = posix::errno_error("RTS of " + config_.path);
  port_.reset();  // a USB adapter that was pulled out has to be opened again
  return error;
}

}  // namespace s5066::modem
