// Keys through hamlib's rigctld, its text protocol over TCP on this machine: "T 1" keys, "T 0"
// unkeys, and "RPRT 0" says that it was done.
#pragma once

#include <cstdint>

#include "modem/ptt/ptt.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {

class RigctldPtt final : public Ptt {
 public:
  struct Config {
    std::uint16_t port = 4532;
    Duration timeout = std::chrono::milliseconds(500);  // of connecting, and of an answer
  };

  explicit RigctldPtt(const Config& config) : config_(config) {}
  ~RigctldPtt() override;

  /// Connects when there is no connection; one that failed is closed, and the next call tries anew.
  Result<void> key(bool on) override;

 private:
  Result<void> ask(bool on);

  Config config_;
  posix::Fd socket_;
  bool keyed_ = false;
};

}  // namespace s5066::modem
