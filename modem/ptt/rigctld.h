// SPDX-License-Identifier: Apache-2.0
// Keys through hamlib's rigctld by its text protocol over TCP on this machine. "T 1" keys, or "T 3"
// with the data input of radios that have one. "T 0" unkeys. "RPRT 0" confirms a command. "t" asks
// the radio whether it is keyed; many radios can tell. A rigctld that was started with --vfo needs
// the VFO in each of these lines ("T currVFO 1") and does not answer the short form, so each new
// connection asks "\chk_vfo" first.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "modem/ptt/ptt.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

class RigctldConnection;

class RigctldPtt final : public Ptt {
 public:
  struct Config {
    std::uint16_t port = 4532;
    Duration timeout = std::chrono::milliseconds(500);  // limit for connecting and for an answer
    bool data_input = false;                            // keys with "T 3"
    /// A radio that can tell must report within this time after "RPRT 0" that it is unkeyed. The
    /// time is less than that of the samples that a sound card buffers for us.
    Duration settle = std::chrono::milliseconds(200);
  };

  explicit RigctldPtt(const Config& config) : config_(config) {}
  ~RigctldPtt() override;

  /// Connects if there is no connection, and unkeys first on a new one because the state of the
  /// radio is unknown. A failed connection is closed. The exception is a connection on which keying
  /// has had no answer, because rigctld may still execute it: unkeying then goes over the same
  /// connection and must be answered after it, and the radio must not report afterwards that it is
  /// keyed.
  Result<void> key(bool on) override;
  /// Uses the connection of key(), and one of its own when that does not answer. The result is an
  /// error as long as keying has had no answer.
  Result<void> release() override;
  /// Sends "t" on a connection of its own.
  Result<Unkeyed> confirm_unkeyed() override;

 private:
  std::shared_ptr<RigctldConnection> connection() const;
  void set_connection(std::shared_ptr<RigctldConnection> connection);
  Result<std::shared_ptr<RigctldConnection>> connect();
  std::optional<bool> wants_vfo() const;
  Result<void> await_unkeyed();

  Config config_;
  bool keyed_ = false;
  bool stuck_ = false;        // the radio reported that it was keyed after an unkeying
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<RigctldConnection> connection_;
  std::optional<bool> wants_vfo_;  // the last answer to "\chk_vfo"
};

/// Returns the meaning of an answer of rigctld as text: "RPRT -5 (the radio did not answer in
/// time)".
std::string rigctld_words(std::string_view answer);

/// The name is the same for the same key.
std::string key_name(const RigctldPtt::Config& rigctld);

}  // namespace s5066::modem
