// Keys through hamlib's rigctld, its text protocol over TCP on this machine: "T 1" keys, or "T 3"
// with the data input of radios that have one; "T 0" unkeys, and "RPRT 0" says that it was done.
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
    bool data_input = false;                            // "T 3"
  };

  explicit RigctldPtt(const Config& config) : config_(config) {}
  ~RigctldPtt() override;

  /// Connects when there is no connection, and unkeys before anything else on a new one: what
  /// became of the radio meanwhile is not known. A connection that failed is closed.
  Result<void> key(bool on) override;
  /// On a connection of its own.
  Result<void> release() override;

 private:
  Result<void> ask(int socket, bool on) const;

  Config config_;
  posix::Fd socket_;
  bool keyed_ = false;
};

}  // namespace s5066::modem
