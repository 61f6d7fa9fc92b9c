#include "gateways/file_relay/relay_config.h"

#include <algorithm>
#include <chrono>

namespace s5066::file_relay {

using std::chrono::seconds;

Result<void> validate(const RelayConfig& config) {
  const auto bad = [](std::string what) { return Error{ErrorCode::bad_field, std::move(what)}; };
  if (config.sis_host.empty() || config.sis_port == 0) return bad("sis host or port");
  if (config.rank > 15) return bad("rank is 0 to 15");
  if (config.priority > 15) return bad("priority is 0 to 15");
  if (config.spool_directory.empty()) return bad("spool directory is missing");
  if (config.inbox_directory.empty()) return bad("inbox directory is missing");
  if (config.lifetime_s == 0) return bad("lifetime_s must not be 0");
  if (config.attempts_max == 0) return bad("attempts_max must not be 0");
  if (config.retry_delay_min_s > config.retry_delay_max_s) {
    return bad("retry_delay_min_s is more than retry_delay_max_s");
  }
  if (config.line_rate_bps == 0) return bad("line_rate_bps must not be 0");
  if (config.active_max == 0 || config.active_max > 64) return bad("active_max is 1 to 64");
  if (config.file_octets_max == 0 || config.file_octets_max > (64u << 20)) {
    return bad("file_octets_max is 1 to 64 MiB");
  }
  if (config.duplicate_window_s < config.lifetime_s) {
    return bad("duplicate_window_s is less than lifetime_s");
  }
  return {};
}

RelayCore::Config core_config(const RelayConfig& config) {
  RelayCore::Config core;
  core.sender.acknowledgement = config.acknowledgement;
  core.sender.frap_v2_needs_ids = config.frap_v2_needs_ids;
  core.sender.priority = config.priority;
  core.sender.active_max = config.active_max;
  core.sender.attempts_max = config.attempts_max;
  core.sender.lifetime_max = seconds(config.lifetime_s);
  core.sender.retry_delay_min = seconds(config.retry_delay_min_s);
  core.sender.retry_delay_max = seconds(config.retry_delay_max_s);
  core.sender.ack_wait = seconds(config.ack_wait_s);
  core.sender.line_rate_bps = config.line_rate_bps;
  core.receiver.acknowledgement = config.acknowledgement;
  core.receiver.priority = config.priority;
  const std::size_t pdu_max = std::size_t{config.file_octets_max} + 260;
  core.receiver.octets_max = std::max(core.receiver.octets_max, pdu_max);
  core.reassembler.pdu_octets_max = pdu_max;
  core.reassembler.source_octets_max = 2 * pdu_max;
  return core;
}

gateways::SqliteStore::Config store_config(const RelayConfig& config, std::uint8_t first_updu_id) {
  gateways::SqliteStore::Config store;
  store.path = config.spool_directory + "/spool.db";
  store.inbox = config.inbox_directory;
  store.file_octets_max = config.file_octets_max;
  store.duplicate_window_s = config.duplicate_window_s;
  store.first_updu_id = first_updu_id;
  return store;
}

std::string control_socket_path(const RelayConfig& config) {
  return config.control_socket.empty() ? config.spool_directory + "/control.sock"
                                       : config.control_socket;
}

}  // namespace s5066::file_relay
