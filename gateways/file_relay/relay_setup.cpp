// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_setup.h"

#include <algorithm>
#include <chrono>

#include "gateways/common/rcop.h"

namespace s5066::file_relay {

using std::chrono::seconds;

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
  core.receiver.sending = config.sending;
  const std::size_t pdu_max = std::size_t{config.file_octets_max} + 260;
  core.sender.begun_octets_max = pdu_max;
  core.receiver.octets_max = std::max(core.receiver.octets_max, pdu_max);
  core.reassembler.pdu_octets_max = pdu_max;
  core.reassembler.source_octets_max = 2 * pdu_max;
  core.sender.transfer_service = config.transfer_service;
  core.sender.sending = config.sending;
  core.outbox.priority = config.priority;
  core.transfers.file_octets_max = config.file_octets_max;
  core.transfers.access = config.access;
  core.inbox_server.access = config.access;
  core.receiver.file_octets_max = config.file_octets_max;
  core.receiver.access = config.access;
  MulticastCore::Config& multicast = core.multicast;
  multicast.own = config.p_mul.own;
  multicast.groups = config.p_mul.groups;
  multicast.silent = config.p_mul.emcon;
  multicast.line_rate_bps = config.line_rate_bps;
  multicast.sender.priority = config.priority;
  multicast.sender.sending = config.sending;
  multicast.sender.lifetime_max = core.sender.lifetime_max;
  multicast.sender.retry_delay_min = core.sender.retry_delay_min;
  multicast.sender.retry_delay_max = core.sender.retry_delay_max;
  multicast.receiver.file_octets_max = config.file_octets_max;
  multicast.receiver.access = config.access;
  return core;
}

gateways::SqliteStore::Config store_config(const RelayConfig& config, std::uint8_t first_updu_id) {
  gateways::SqliteStore::Config store;
  store.path = config.spool_directory + "/spool.db";
  store.inbox = config.inbox_directory;
  store.file_octets_max = config.file_octets_max;
  store.duplicate_window_s = config.duplicate_window_s;
  store.send_limits = config.sending.others.limits;
  for (const auto& [station, rule] : config.sending.stations) {
    store.station_send_limits[station] = rule.limits;
  }
  store.reserve_octets = config.spool_reserve_octets;
  store.first_updu_id = first_updu_id;
  store.station_transfer_octets_max =
      std::max<std::uint64_t>(store.station_transfer_octets_max, 2 * config.file_octets_max);
  return store;
}

gateways::SqliteStore::Config operator_store_config(const RelayConfig& config,
                                                    std::uint8_t first_updu_id) {
  auto store = store_config(config, first_updu_id);
  store.inbox.clear();
  store.fills_reserve = false;
  return store;
}

sis::Client::Config client_config(const RelayConfig& config) {
  sis::Client::Config client;
  client.host = config.sis_host;
  client.port = config.sis_port;
  client.core.sap = gateways::kRcopSap;
  client.core.rank = config.rank;
  client.core.service = {.mode = sis::TransmissionMode::arq,
                         .confirmation = sis::Confirmation::client};
  return client;
}

sis::Client::Config udop_client_config(const RelayConfig& config) {
  sis::Client::Config client = client_config(config);
  client.core.sap = p_mul::kUdopSap;
  client.core.service = {.mode = sis::TransmissionMode::nonarq,
                         .confirmation = sis::Confirmation::none};
  return client;
}

std::string control_socket_path(const RelayConfig& config) {
  return config.control_socket.empty() ? config.spool_directory + "/control.sock"
                                       : config.control_socket;
}

control::SocketConfig control_socket(const RelayConfig& config) {
  return {.path = control_socket_path(config),
          .group_too = config.control_group_too,
          .request_octets_max = 20'000,  // `put` names up to 1000 stations
          .takes_files = true};
}

}  // namespace s5066::file_relay
