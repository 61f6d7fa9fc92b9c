// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/cm108.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace s5066::modem {
namespace {

/// The descriptor gets a number above those that CrashGuardedPtt uses.
constexpr int kNumberMin = 10;

Result<void> send_report(int device, const std::array<std::uint8_t, 5>& report,
                         const std::string& path) {
  const auto written = ::write(device, report.data(), report.size());
  if (written < 0) return posix::errno_error("write to " + path);
  if (static_cast<std::size_t>(written) != report.size()) {
    return Error{ErrorCode::io, path + ": the chip took only a part of a report"};
  }
  return {};
}

}  // namespace

std::array<std::uint8_t, 5> cm108_report(unsigned pin, bool on) {
  const auto bit = static_cast<std::uint8_t>(1U << (pin - 1));
  return {0, 0, on ? bit : std::uint8_t{0}, bit, 0};
}

Cm108Ptt::~Cm108Ptt() {
  if (keyed_) static_cast<void>(write(false));
}

Result<void> Cm108Ptt::key(bool on) {
  if (on) keyed_ = true;  // the pin may be up from now on
  auto written = write(on);
  if (written) keyed_ = on;
  return written;
}

Result<void> Cm108Ptt::write(bool on) {
  const auto report = cm108_report(config_.pin, on);
  if (const auto kept = device()) {
    const auto sent = send_report(kept->get(), report, config_.path);
    if (!sent || !on) set_device(nullptr);
    if (sent) return {};
  }
  auto opened = open();
  if (!opened) return opened.error();
  auto sent = send_report((*opened)->get(), report, config_.path);
  if (sent && on) set_device(std::move(*opened));
  return sent;
}

Result<std::shared_ptr<posix::Fd>> Cm108Ptt::open() const {
  const posix::Fd low(::open(config_.path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!low) return posix::errno_error("open " + config_.path);
  // Without standard files the descriptor would get the number of one of them. A copy of the
  // process that opens standard files would then write its reports to the wrong place.
  auto device = std::make_shared<posix::Fd>(::fcntl(low.get(), F_DUPFD_CLOEXEC, kNumberMin));
  if (!*device) return posix::errno_error("open " + config_.path);
  return device;
}

std::shared_ptr<posix::Fd> Cm108Ptt::device() const {
  const std::lock_guard lock(mutex_);
  return device_;
}

void Cm108Ptt::set_device(std::shared_ptr<posix::Fd> device) {
  const std::lock_guard lock(mutex_);
  device_ = std::move(device);
}

std::string key_name(const Cm108Ptt::Config& chip) {
  return "cm108 " + std::to_string(chip.pin) + " " + chip.path;
}

}  // namespace s5066::modem
