// Keys by the RTS line of a serial port, as most radio interfaces do.
#pragma once

#include <string>

#include "modem/ptt/ptt.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {

class SerialRtsPtt final : public Ptt {
 public:
  struct Config {
    std::string path;  // /dev/ttyUSB0
  };

  explicit SerialRtsPtt(Config config) : config_(std::move(config)) {}
  ~SerialRtsPtt() override;

  /// Opens the port when it is not open; opening alone may raise RTS for a moment, so a worker
  /// unkeys before anything else.
  Result<void> key(bool on) override;

 private:
  Config config_;
  posix::Fd port_;
};

}  // namespace s5066::modem
