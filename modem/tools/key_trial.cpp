// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/key_trial.h"

#include <string>
#include <thread>
#include <utility>

#include "modem/ptt/key_watchdog.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

constexpr unsigned kUnkeyAttempts = 20;
constexpr auto kUnkeyPause = std::chrono::milliseconds(250);
/// The watchdog unkeys this long after the end of the keyed time.
constexpr double kKeyedMarginSeconds = 2;
constexpr double kHangMarginSeconds = 3;

/// Unkeying is repeated because the transmitter may be keyed.
Result<Unkeyed> insist_on_unkeying(KeyWatchdog& key) {
  for (unsigned attempt = 1;; ++attempt) {
    const auto told = key.unkey();
    auto unkeyed = told ? key.confirm_unkeyed() : told.error();
    if (unkeyed || attempt == kUnkeyAttempts) return unkeyed;
    std::this_thread::sleep_for(kUnkeyPause);
  }
}

}  // namespace

Result<Unkeyed> try_key(std::unique_ptr<Ptt> ptt, double seconds,
                        const std::function<void()>& meanwhile) {
  KeyWatchdog key({.hang_max = from_seconds(seconds + kHangMarginSeconds)}, std::move(ptt),
                  posix::monotonic_now);
  auto unkeyed_before = key.unkey();
  // rigctld is late with its first answer after it has opened the port of the radio.
  if (!unkeyed_before && unkeyed_before.error().code == ErrorCode::timed_out) {
    unkeyed_before = key.unkey();
  }
  if (const auto& unkeyed = unkeyed_before; !unkeyed) {
    return Error{unkeyed.error().code, "not keyed: " + to_string(unkeyed.error())};
  }
  const auto keyed = key.key(from_seconds(seconds + kKeyedMarginSeconds));
  if (keyed) meanwhile();
  const auto unkeyed = insist_on_unkeying(key);
  const std::string first = keyed ? "" : to_string(keyed.error());
  if (unkeyed) return keyed ? unkeyed : Error{keyed.error().code, first};
  return Error{unkeyed.error().code,
               (keyed ? "" : first + "; ") +
                   "NOT UNKEYED, switch the transmitter off: " + to_string(unkeyed.error())};
}

}  // namespace s5066::modem::tools
