#include "modem/ptt/cm108.h"

#include <fcntl.h>
#include <unistd.h>

#include "s5066d/posix/fd.h"

namespace s5066::modem {

std::array<std::uint8_t, 5> cm108_report(unsigned pin, bool on) {
  const auto bit = static_cast<std::uint8_t>(1U << (pin - 1));
  return {0, 0, on ? bit : std::uint8_t{0}, bit, 0};
}

Cm108Ptt::~Cm108Ptt() {
  if (keyed_) static_cast<void>(write(false));
}

Result<void> Cm108Ptt::key(bool on) {
  if (on) keyed_ = true;  // perhaps, from now on
  auto written = write(on);
  if (written) keyed_ = on;
  return written;
}

Result<void> Cm108Ptt::write(bool on) const {
  const posix::Fd device(::open(config_.path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!device) return posix::errno_error("open " + config_.path);
  const auto report = cm108_report(config_.pin, on);
  const auto written = ::write(device.get(), report.data(), report.size());
  if (written < 0) return posix::errno_error("write to " + config_.path);
  if (static_cast<std::size_t>(written) != report.size()) {
    return Error{ErrorCode::io, config_.path + ": took part of a report"};
  }
  return {};
}

}  // namespace s5066::modem
