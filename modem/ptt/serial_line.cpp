// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/serial_line.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <utility>

#include "s5066d/posix/fd.h"

namespace s5066::modem {
namespace {

class KernelPort final : public SerialPort {
 public:
  KernelPort(posix::Fd port, std::string path) : port_(std::move(port)), path_(std::move(path)) {}

  Result<void> set(Lines lines) override {
    // Lines are lowered first, because with both in one call an unwanted line could stay up if the
    // other one fails.
    const int down = (lines.rts ? 0 : TIOCM_RTS) | (lines.dtr ? 0 : TIOCM_DTR);
    if (down != 0 && ::ioctl(port_.get(), TIOCMBIC, &down) != 0) return failed();
    const int up = (lines.rts ? TIOCM_RTS : 0) | (lines.dtr ? TIOCM_DTR : 0);
    if (up != 0 && ::ioctl(port_.get(), TIOCMBIS, &up) != 0) return failed();
    return {};
  }
  Result<Lines> get() override {
    int lines = 0;
    if (::ioctl(port_.get(), TIOCMGET, &lines) != 0) return failed();
    return Lines{.rts = (lines & TIOCM_RTS) != 0, .dtr = (lines & TIOCM_DTR) != 0};
  }

 private:
  Error failed() const { return posix::errno_error("lines of " + path_); }

  posix::Fd port_;
  std::string path_;
};

}  // namespace

Result<std::shared_ptr<SerialPort>> open_serial_port(const std::string& path) {
  posix::Fd port(::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!port) return posix::errno_error("open " + path);
  // A second open would raise the lines, and closing that one would not lower them.
  if (::ioctl(port.get(), TIOCEXCL) != 0) return posix::errno_error(path);
  termios settings{};
  if (::tcgetattr(port.get(), &settings) != 0) return posix::errno_error(path);
  settings.c_cflag |= HUPCL | CLOCAL;
  settings.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS);  // otherwise the driver moves RTS by itself
  if (::tcsetattr(port.get(), TCSANOW, &settings) != 0) return posix::errno_error(path);
  return std::shared_ptr<SerialPort>(std::make_shared<KernelPort>(std::move(port), path));
}

SerialLinePtt::~SerialLinePtt() {
  if (port()) static_cast<void>(key(false));
}

std::shared_ptr<SerialPort> SerialLinePtt::port() const {
  const std::lock_guard lock(mutex_);
  return port_;
}

void SerialLinePtt::set_port(std::shared_ptr<SerialPort> port) {
  const std::lock_guard lock(mutex_);
  port_ = std::move(port);
}

Result<void> SerialLinePtt::put(SerialPort& port, bool on) const {
  const bool keys_rts = config_.line == Line::rts;
  const SerialPort::Lines lines{.rts = keys_rts ? on : config_.other_line_up,
                                .dtr = keys_rts ? config_.other_line_up : on};
  if (auto set = port.set(lines); !set || on) return set;
  return read_back(port);
}

Result<void> SerialLinePtt::read_back(SerialPort& port) const {
  const auto is = port.get();
  if (!is) return is.error();
  if (config_.line == Line::rts ? is->rts : is->dtr) {
    return Error{ErrorCode::io, config_.path + ": the line that keys is still up"};
  }
  return {};
}

Result<void> SerialLinePtt::key(bool on) {
  std::shared_ptr<SerialPort> open = port();
  Result<void> done;
  if (!open) {
    auto opened = open_(config_.path);
    if (!opened) return opened.error();
    open = std::move(*opened);
    set_port(open);
    done = put(*open, false);  // opening may have raised the line
  }
  if (done) done = put(*open, on);
  // Closes the port, because a removed adapter has to be opened again.
  if (!done) set_port(nullptr);
  return done;
}

Result<void> SerialLinePtt::release() {
  const std::shared_ptr<SerialPort> open = port();
  if (!open) return {};  // a closed port holds no line
  return put(*open, false);
}

Result<Unkeyed> SerialLinePtt::confirm_unkeyed() {
  const std::shared_ptr<SerialPort> open = port();
  if (!open) return Unkeyed::unconfirmed;
  if (auto down = read_back(*open); !down) return down.error();
  return Unkeyed::confirmed;
}

}  // namespace s5066::modem
