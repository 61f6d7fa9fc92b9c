// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/key_watchdog.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

/// The clock is read this often while keyed, because it may be another clock than that of the
/// condition variable.
constexpr Duration kTick = std::chrono::milliseconds(20);

}  // namespace

KeyWatchdog::KeyWatchdog(const KeyGuard::Config& config, std::unique_ptr<Ptt> ptt,
                         std::function<Duration()> monotonic)
    : ptt_(std::move(ptt)),
      monotonic_(std::move(monotonic)),
      guard_(config),
      thread_([this] { run(); }) {
  S5066_ASSERT(ptt_ && monotonic_);
}

KeyWatchdog::~KeyWatchdog() {
  if (keyed_) static_cast<void>(unkey());
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Result<void> KeyWatchdog::key(std::optional<Duration> keyed_max) {
  {
    const std::lock_guard lock(mutex_);
    if (guard_.tripped() || releasing_) {
      return Error{ErrorCode::refused, "watchdog: the transmitter is not confirmed unkeyed yet"};
    }
    if (keyed_max) guard_.on_keying(monotonic_(), *keyed_max);
  }
  wake_.notify_all();
  keyed_ = true;
  auto keyed = ptt_->key(true);
  if (!keyed || !tripped()) return keyed;
  // The call hung, the watchdog unkeyed, and then the call keyed after all.
  static_cast<void>(ptt_->key(false));
  return Error{ErrorCode::timed_out, "keying took too long"};
}

Result<void> KeyWatchdog::unkey() {
  auto unkeyed = ptt_->key(false);
  if (!unkeyed) return unkeyed;
  keyed_ = false;
  const std::lock_guard lock(mutex_);
  guard_.on_unkeyed();
  return {};
}

void KeyWatchdog::next_burst(Duration keyed_max) {
  ptt_->on_next_burst();
  const std::lock_guard lock(mutex_);
  guard_.on_next_burst(monotonic_(), keyed_max);
}

void KeyWatchdog::alive() {
  const std::lock_guard lock(mutex_);
  guard_.on_alive(monotonic_());
}

std::optional<KeyTrip> KeyWatchdog::tripped() const {
  const std::lock_guard lock(mutex_);
  return guard_.tripped();
}

std::optional<Duration> KeyWatchdog::next_deadline() const {
  const std::lock_guard lock(mutex_);
  return guard_.next_deadline();
}

std::uint64_t KeyWatchdog::releases() const {
  const std::lock_guard lock(mutex_);
  return releases_;
}

std::uint64_t KeyWatchdog::release_failures() const {
  const std::lock_guard lock(mutex_);
  return release_failures_;
}

void KeyWatchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto deadline = guard_.next_deadline();
    if (!deadline) {
      wake_.wait(lock);
      continue;
    }
    const Duration now = monotonic_();
    if (!guard_.on_deadline(now)) {
      wake_.wait_for(lock, std::min(*deadline - now, kTick));
      continue;
    }
    releasing_ = true;
    lock.unlock();
    const auto released = ptt_->release();
    lock.lock();
    releasing_ = false;
    ++releases_;
    if (!released) ++release_failures_;
  }
}

}  // namespace s5066::modem
