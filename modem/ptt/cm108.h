// Keys by a pin of a CM108, CM109 or CM119 USB sound chip (C-Media), or of an SSS1621/1623, through
// Linux' hidraw. One output report of four octets, behind the report number 0: HID_OR0 with bits 7
// and 6 clear selects general-purpose output, HID_OR1 has the levels, HID_OR2 the directions (1:
// output).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "modem/ptt/ptt.h"

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

  Result<void> key(bool on) override;
  Result<void> release() override { return write(false); }

 private:
  /// Opens the device for each report: one that was pulled out and put back is found again.
  Result<void> write(bool on) const;

  Config config_;
  bool keyed_ = false;
};

}  // namespace s5066::modem
