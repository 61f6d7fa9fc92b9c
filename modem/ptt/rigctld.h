// Keys through hamlib's rigctld, its text protocol over TCP on this machine: "T 1" keys, or "T 3"
// with the data input of radios that have one; "T 0" unkeys, and "RPRT 0" says that it was done.
// "t" asks the radio whether it is keyed; many radios can tell. rigctld started with --vfo wants
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
    Duration timeout = std::chrono::milliseconds(500);  // of connecting, and of an answer
    bool data_input = false;                            // "T 3"
    /// From "RPRT 0" until a radio that tells has to say that it is unkeyed. Less than the samples
    /// that a sound card holds for us.
    Duration settle = std::chrono::milliseconds(200);
  };

  explicit RigctldPtt(const Config& config) : config_(config) {}
  ~RigctldPtt() override;

  /// Connects when there is no connection, and unkeys before anything else on a new one: what
  /// became of the radio meanwhile is not known. A connection that failed is closed; but not one on
  /// which keying has had no answer, for rigctld may yet do it. Unkeying then goes the same way and
  /// has to be answered behind it, and the radio must not say that it is keyed then.
  Result<void> key(bool on) override;
  /// On the connection of key() too, and where that does not answer on one of its own. An error as
  /// long as keying has had no answer.
  Result<void> release() override;
  /// "t", on a connection of its own.
  Result<Unkeyed> confirm_unkeyed() override;

 private:
  std::shared_ptr<RigctldConnection> connection() const;
  void set_connection(std::shared_ptr<RigctldConnection> connection);
  Result<std::shared_ptr<RigctldConnection>> connect();
  std::optional<bool> wants_vfo() const;
  Result<void> await_unkeyed();

  Config config_;
  bool keyed_ = false;
  bool stuck_ = false;        // it said that it was keyed when it should not have been
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<RigctldConnection> connection_;
  std::optional<bool> wants_vfo_;  // the last answer to "\chk_vfo"
};

/// Returns what an answer of rigctld says, in words: "RPRT -5 (the radio did not answer in time)".
std::string rigctld_words(std::string_view answer);

/// The same for the same key.
std::string key_name(const RigctldPtt::Config& rigctld);

}  // namespace s5066::modem
