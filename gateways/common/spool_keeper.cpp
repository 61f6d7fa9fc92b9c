// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_keeper.h"

#include <boost/asio/post.hpp>
#include <string_view>
#include <utility>

#include "gateways/common/spool_lock.h"
#include "s5066d/posix/utc_now.h"

namespace s5066::gateways {

namespace asio = boost::asio;

SpoolKeeper::SpoolKeeper(asio::io_context& io, LogSink& log, Config config,
                         std::function<void()> end)
    : io_(io), log_(log), config_(std::move(config)), end_(std::move(end)) {}

Result<void> SpoolKeeper::take() {
  auto lock = lock_spool(config_.directory, config_.program);
  if (!lock) return lock.error();
  lock_ = std::move(lock).value();
  const auto tell = [this](const SpoolReport& report) -> Result<void> {
    log_report(log_, report);
    return config_.tell ? config_.tell(report) : Result<void>();
  };
  SpoolRecovery recovery({.path = config_.path,
                          .now = posix::utc_seconds_now(),
                          .review = config_.review,
                          .tell = tell,
                          .backups = config_.backup.directory,
                          .reserve_octets = config_.reserve_octets});
  const auto report = recovery.run();
  return report ? Result<void>() : report.error();
}

void SpoolKeeper::start_backups() {
  if (config_.backup.directory.empty()) return;
  backup_ = std::make_unique<BackupThread>(
      SpoolBackup(config_.path, config_.backup), posix::utc_seconds_now,
      [this](Result<std::string> made) {
        asio::post(io_, [this, made = std::move(made)] { log_backup(log_, made); });
      });
}

void SpoolKeeper::end_for_damage(const Error& damage) {
  if (damage_) return;
  damage_ = damage;
  LogLine(log_, LogLevel::error, "spool_damaged").kv("reason", std::string_view(damage.detail));
  end_();
}

void SpoolKeeper::post_damage(const Error& damage) {
  asio::post(io_, [this, damage] { end_for_damage(damage); });
}

}  // namespace s5066::gateways
