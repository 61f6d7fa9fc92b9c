// SPDX-License-Identifier: Apache-2.0
#include "config/translate.h"

#include <algorithm>

namespace s5066::config {
namespace {

file_relay::AckMode ack_mode_of(proto::Relay::Acknowledgement from) {
  switch (from) {
    case proto::Relay::NONE:
      return file_relay::AckMode::none;
    case proto::Relay::FRAP:
      return file_relay::AckMode::frap;
    case proto::Relay::FRAP_V2:
      return file_relay::AckMode::frap_v2;
  }
  return file_relay::AckMode::frap_v2;
}

void translate_sis_server(const proto::SisServer& from, file_relay::RelayConfig& to) {
  to.sis_host = sis_host_of(from, to.sis_host);
  if (from.has_port()) to.sis_port = static_cast<std::uint16_t>(from.port());
  if (from.has_rank()) to.rank = static_cast<std::uint8_t>(from.rank());
  if (from.has_priority()) to.priority = static_cast<std::uint8_t>(from.priority());
}

file_relay::StationAccess access_of(const proto::RelayAccess& from) {
  file_relay::StationAccess to;
  if (from.has_put()) to.put = from.put();
  if (from.has_get()) to.get = from.get();
  if (from.has_list()) to.list = from.list();
  if (from.has_delete_()) to.remove = from.delete_();
  if (from.has_file_octets_max()) to.file_octets_max = from.file_octets_max();
  if (from.has_inbox_octets_max()) to.quota.inbox_octets_max = from.inbox_octets_max();
  if (from.has_arriving_octets_max()) to.quota.arriving_octets_max = from.arriving_octets_max();
  return to;
}

/// Returns the minute of the day that a text like "06:30" names.
std::uint16_t minute_of(const std::string& text) {
  if (text.size() != 5) return 0;  // the validator has complained
  const auto digit = [&](std::size_t at) { return text[at] - '0'; };
  return static_cast<std::uint16_t>((digit(0) * 10 + digit(1)) * 60 + digit(3) * 10 + digit(4));
}

file_relay::SendingRule sending_of(const proto::RelaySending& from) {
  file_relay::SendingRule to;
  if (from.has_file_octets_max()) to.limits.file_octets_max = from.file_octets_max();
  if (from.has_waiting_octets_max()) to.limits.waiting_octets_max = from.waiting_octets_max();
  if (from.has_urgent_priority()) {
    to.urgent_priority = static_cast<std::uint8_t>(from.urgent_priority());
  }
  to.by_udop = from.by() == proto::RelaySending::UDOP;
  if (from.has_acknowledgement()) to.acknowledgement = ack_mode_of(from.acknowledgement());
  to.udop_repeats = static_cast<std::uint8_t>(from.repeats());
  for (const proto::DailyWindow& one : from.windows()) {
    to.windows.push_back({minute_of(one.from()), minute_of(one.to())});
  }
  return to;
}

gateways::GradeSettings grade_of(const proto::WatchFolder& from) {
  using gateways::FileGrade;
  gateways::GradeSettings to;
  switch (from.grade()) {
    case proto::WatchFolder::RELIABLE:
      break;
    case proto::WatchFolder::HEAD:
      to.grade = FileGrade::head;
      break;
    case proto::WatchFolder::CODED:
      to.grade = FileGrade::coded;
      to.strength_percent = gateways::kStrengthPercent;
      break;
    case proto::WatchFolder::BEST_EFFORT:
      to.grade = FileGrade::best_effort;
      break;
  }
  if (from.has_strength_percent()) {
    to.strength_percent = static_cast<std::uint8_t>(from.strength_percent());
  }
  to.head_octets = from.head_octets();
  return to;
}

void add_stations(const google::protobuf::RepeatedPtrField<std::string>& from,
                  std::vector<Address>& to) {
  for (const std::string& station : from) {
    if (const auto address = parse_address(station)) to.push_back(*address);
  }
}

void translate_p_mul(const proto::RelayPMul& from, file_relay::PMulSettings& to) {
  if (const auto own = parse_address(from.address())) to.own = *own;
  add_stations(from.emcon(), to.emcon);
  for (const proto::RelayGroup& one : from.groups()) {
    const auto address = parse_address(one.address());
    if (!address) continue;
    file_relay::StationGroup& group = to.groups.emplace_back();
    group.address = *address;
    add_stations(one.stations(), group.members);
  }
}

void translate_transfer_service(const proto::Relay& from, file_relay::RelayConfig& to) {
  if (from.has_transfer_service()) to.transfer_service = from.transfer_service();
  to.access.others = access_of(from.others());
  for (const proto::RelayAccess& one : from.access()) {
    if (const auto station = parse_address(one.station())) {
      to.access.stations[*station] = access_of(one);
    }
  }
  to.udop = from.udop();
  to.sending.others = sending_of(from.sending_others());
  for (const proto::RelaySending& one : from.sending()) {
    if (const auto station = parse_address(one.station())) {
      to.sending.stations[*station] = sending_of(one);
    }
  }
  translate_p_mul(from.p_mul(), to.p_mul);
  for (const proto::WatchFolder& one : from.watch_folders()) {
    file_relay::WatchFolder& folder = to.watch_folders.emplace_back();
    folder.directory = one.directory();
    add_stations(one.to(), folder.to);
    if (one.has_priority()) folder.priority = static_cast<std::uint8_t>(one.priority());
    folder.grade = grade_of(one);
    folder.keep = one.then() == proto::WatchFolder::MOVE;
  }
}

}  // namespace

// The SIS client takes a host that contains a slash as the path of a socket.
std::string sis_host_of(const proto::SisServer& server, const std::string& otherwise) {
  if (!server.has_socket()) return server.has_address() ? server.address() : otherwise;
  const bool slash = server.socket().find('/') != std::string::npos;
  return slash ? server.socket() : "./" + server.socket();
}

gateways::BackupSettings backup_of(const proto::SpoolBackup& from) {
  gateways::BackupSettings to;
  to.directory = from.directory();
  if (from.has_interval_s()) to.interval_s = from.interval_s();
  if (from.has_copies()) to.copies = from.copies();
  return to;
}

/// Keeps files valid that were written for the defaults of version 0.2.0, one day and one hour.
void fit_defaults(const proto::Relay& from, file_relay::RelayConfig& to) {
  constexpr std::uint32_t kLifetimeBefore = 86400;
  constexpr std::uint32_t kRetryDelayBefore = 3600;
  if (!from.has_lifetime_s()) {
    to.lifetime_s = std::min(to.lifetime_s, std::max(to.duplicate_window_s, kLifetimeBefore));
  }
  if (!from.has_retry_delay_max_s()) {
    to.retry_delay_max_s =
        std::max(to.retry_delay_max_s, std::min(to.retry_delay_min_s, kRetryDelayBefore));
  }
}

file_relay::RelayConfig translate(const proto::Relay& from) {
  file_relay::RelayConfig to;
  translate_sis_server(from.sis(), to);
  to.spool_directory = from.spool_directory();
  to.backup = backup_of(from.backup());
  to.inbox_directory = from.inbox_directory();
  to.control_socket = from.control().socket();
  to.control_group_too = from.control().group_too();
  to.node_control_socket = from.node_control().socket();
  if (from.has_acknowledgement()) to.acknowledgement = ack_mode_of(from.acknowledgement());
  if (from.has_frap_v2_needs_ids()) to.frap_v2_needs_ids = from.frap_v2_needs_ids();
  if (from.has_lifetime_s()) to.lifetime_s = from.lifetime_s();
  if (from.has_attempts_max()) to.attempts_max = from.attempts_max();
  if (from.has_retry_delay_min_s()) to.retry_delay_min_s = from.retry_delay_min_s();
  if (from.has_retry_delay_max_s()) to.retry_delay_max_s = from.retry_delay_max_s();
  if (from.has_ack_wait_s()) to.ack_wait_s = from.ack_wait_s();
  if (from.has_line_rate_bps()) to.line_rate_bps = from.line_rate_bps();
  if (from.has_active_max()) to.active_max = from.active_max();
  if (from.has_file_octets_max()) to.file_octets_max = from.file_octets_max();
  if (from.has_duplicate_window_s()) to.duplicate_window_s = from.duplicate_window_s();
  if (from.has_spool_reserve_octets()) to.spool_reserve_octets = from.spool_reserve_octets();
  if (from.has_log_level()) to.log_level = log_level_of(from.log_level());
  translate_transfer_service(from, to);
  fit_defaults(from, to);
  return to;
}

}  // namespace s5066::config
