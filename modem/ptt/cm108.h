// SPDX-License-Identifier: Apache-2.0
// Keys by a pin of a CM108, CM109 or CM119 USB sound chip (C-Media), or of an SSS1621/1623, through
// hidraw of Linux. One output report of four octets follows the report number 0. HID_OR0 with bits
// 7 and 6 clear selects general-purpose output, HID_OR1 has the levels, and HID_OR2 the directions
// (1 is output).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "modem/ptt/ptt.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

/// `pin` is 1 to 8. Most interfaces use 3 (GPIO3). The other pins stay inputs.
std::array<std::uint8_t, 5> cm108_report(unsigned pin, bool on);

class Cm108Ptt final : public Ptt {
 public:
  struct Config {
    std::string path;  // path such as /dev/hidraw0
    unsigned pin = 3;
  };

  explicit Cm108Ptt(Config config) : config_(std::move(config)) {}
  ~Cm108Ptt() override;

  /// The device is open while it is keyed, so that unkeying needs no new descriptor when none is
  /// left. Then it is closed, because a chip that is plugged in again gets its old name only if no
  /// process holds that.
  Result<void> key(bool on) override;
  Result<void> release() override { return write(false); }

 private:
  Result<void> write(bool on);
  Result<std::shared_ptr<posix::Fd>> open() const;
  std::shared_ptr<posix::Fd> device() const;
  void set_device(std::shared_ptr<posix::Fd> device);

  Config config_;
  bool keyed_ = false;
  // This mutex guards the pointer. It is never held while the device works.
  mutable std::mutex mutex_;
  std::shared_ptr<posix::Fd> device_;
};

/// The name is the same for the same key.
std::string key_name(const Cm108Ptt::Config& chip);

}  // namespace s5066::modem
