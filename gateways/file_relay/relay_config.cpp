// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_config.h"

#include <algorithm>

namespace s5066::file_relay {

bool uses_udop(const RelayConfig& config) {
  const auto& stations = config.sending.stations;
  return config.udop || config.p_mul.enabled() || config.sending.others.by_udop ||
         std::any_of(stations.begin(), stations.end(),
                     [](const auto& entry) { return entry.second.by_udop; });
}

Result<void> validate(const RelayConfig& config) {
  const auto bad = [](std::string what) { return Error{ErrorCode::bad_field, std::move(what)}; };
  if (config.sis_host.empty() || config.sis_port == 0)
    return bad("the host or port of sis is missing");
  if (config.rank > 15) return bad("rank must be 0 to 15");
  if (config.priority > 15) return bad("priority must be 0 to 15");
  if (config.spool_directory.empty()) return bad("spool_directory is missing");
  if (config.inbox_directory.empty()) return bad("inbox_directory is missing");
  if (config.lifetime_s == 0) return bad("lifetime_s must not be 0");
  if (config.attempts_max == 0) return bad("attempts_max must not be 0");
  if (config.retry_delay_min_s > config.retry_delay_max_s) {
    return bad("retry_delay_min_s is more than retry_delay_max_s");
  }
  if (config.line_rate_bps == 0) return bad("line_rate_bps must not be 0");
  if (config.active_max == 0 || config.active_max > 64) return bad("active_max must be 1 to 64");
  if (config.file_octets_max == 0 || config.file_octets_max > (64u << 20)) {
    return bad("file_octets_max must be 1 octet to 64 MiB");
  }
  if (config.duplicate_window_s < config.lifetime_s) {
    return bad("duplicate_window_s is less than lifetime_s");
  }
  for (const StationGroup& group : config.p_mul.groups) {
    if (!group.address.group || group.members.empty()) {
      return bad("a group of p_mul needs a group address and stations");
    }
  }
  for (const WatchFolder& folder : config.watch_folders) {
    const bool reliable = folder.grade.grade == gateways::FileGrade::reliable;
    if (auto good = gateways::validate(folder.grade); !good) return good;
    if (!reliable && !config.p_mul.enabled()) return bad("the grade of watch_folders needs p_mul");
  }
  return {};
}

}  // namespace s5066::file_relay
