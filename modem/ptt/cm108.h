// Keys by a pin of a CM108, CM109 or CM119 USB sound chip (C-Media), or of an SSS1621/1623, through
// Linux' hidraw. One output report of four octets, behind the report number 0: HID_OR0 with bits 7
// and 6 clear selects general-purpose output, HID_OR1 has the levels, HID_OR2 the directions (1:
// output).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "modem/ptt/ptt.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

/// `pin` 1 to 8, as in GPIO3, which most interfaces use. The other pins stay inputs.
std::array<std::uint8_t, 5> cm108_report(unsigned pin, bool on);

class Cm108Ptt final : public Ptt {
 public:
  struct Config {
    std::string path;  // /dev/hidraw0
    unsigned pin = 3;
  };

  explicit Cm108Ptt(Config config) : config_(std::move(config)) {}
  ~Cm108Ptt() override;

  /// The device is open while it is keyed, so that unkeying needs no descriptor when there are none
  /// left, and no longer: a chip that is put back has its old name only when nobody holds it.
  Result<void> key(bool on) override;
  Result<void> release() override { return write(false); }

 private:
  Result<void> write(bool on);
  Result<std::shared_ptr<posix::Fd>> open() const;
  std::shared_ptr<posix::Fd> device() const;
  void set_device(std::shared_ptr<posix::Fd> device);

  Config config_;
  bool keyed_ = false;
  mutable std::mutex mutex_;  // of the pointer, never held while the device works
  std::shared_ptr<posix::Fd> device_;
};

/// The same for the same key.
std::string key_name(const Cm108Ptt::Config& chip);

}  // namespace s5066::modem
