// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "config/translate.h"
#include "modem/api/receive_modes.h"

namespace s5066::config {
namespace {

Duration ms(std::uint32_t count) {
  return std::chrono::milliseconds(count);
}
Duration s(std::uint32_t count) {
  return std::chrono::seconds(count);
}

/// Invalid text gives a default value, which is never used because the validator has complained.
Address address_of(const std::string& text) {
  const auto address = parse_address(text);
  return address ? *address : Address{};
}
modem::Mode mode_of(const std::string& text) {
  const auto mode = modem::parse_mode(text);
  return mode ? *mode : modem::Mode{};
}

std::vector<modem::Mode> receive_modes_of(const proto::Modem& from) {
  std::vector<modem::Mode> modes;
  for (const auto& mode : from.receive_modes()) modes.push_back(mode_of(mode));
  return modem::listen_modes(std::move(modes), mode_of(from.mode()));
}

DeviceSetup device_of(const proto::Modem& from) {
  if (from.has_sound_card()) {
    modem::PortAudioDevice::Config card;
    card.input_name = from.sound_card().input();
    card.output_name = from.sound_card().output();
    card.input_channel = from.sound_card().input_channel();
    if (from.sound_card().has_rate_hz()) card.rate_hz = from.sound_card().rate_hz();
    card.block_samples = card.rate_hz / 50;
    card.round_trip = std::chrono::milliseconds(from.sound_card().round_trip_ms());
    return card;
  }
  if (from.has_remote()) {
    modem::RemoteModem::Config remote;
    remote.address = from.remote().address();
    const auto port = [](std::uint32_t number) { return static_cast<std::uint16_t>(number); };
    if (from.remote().has_control_port()) remote.control_port = port(from.remote().control_port());
    if (from.remote().has_data_port()) remote.data_port = port(from.remote().data_port());
    remote.receive_modes = receive_modes_of(from);
    return remote;
  }
  modem::CableDevice::Config cable;
  cable.socket_path = from.cable().socket();
  if (from.cable().has_station()) {
    cable.station = static_cast<std::uint16_t>(from.cable().station());
  }
  return cable;
}

modem::SerialLinePtt::Config serial_line_of(const proto::Modem::SerialLine& from,
                                            modem::SerialLinePtt::Line line) {
  return {.path = from.path(), .line = line, .other_line_up = from.other_line_up()};
}

KeySetup key_of(const proto::Modem& from) {
  using Line = modem::SerialLinePtt::Line;
  if (from.has_serial_rts()) return serial_line_of(from.serial_rts(), Line::rts);
  if (from.has_serial_dtr()) return serial_line_of(from.serial_dtr(), Line::dtr);
  if (from.has_cm108()) {
    modem::Cm108Ptt::Config cm108{.path = from.cm108().path()};
    if (from.cm108().has_pin()) cm108.pin = from.cm108().pin();
    return cm108;
  }
  if (!from.has_rigctld()) return std::monostate{};
  modem::RigctldPtt::Config rigctld;
  if (from.rigctld().has_port()) rigctld.port = static_cast<std::uint16_t>(from.rigctld().port());
  rigctld.data_input = from.rigctld().data_input();
  return rigctld;
}

void translate_modem(const proto::Modem& from, NodeSetup& to) {
  to.worker.receive_modes = to.node.dts.receive_modes = receive_modes_of(from);
  to.worker.lead_tone = from.has_vox();
  if (from.has_vox()) to.worker.ptt_lead = modem::kVoxLead;
  if (from.has_ptt_lead_ms()) to.worker.ptt_lead = ms(from.ptt_lead_ms());
  if (from.has_ptt_tail_ms()) to.worker.ptt_tail = ms(from.ptt_tail_ms());
  to.worker.full_duplex = to.node.dts.full_duplex = from.full_duplex();
  if (from.has_wait_while_occupied()) {
    to.node.dts.wait_while_occupied = from.wait_while_occupied();
  }
  if (from.constraint_length_7()) to.worker.ms110d.constraint = 7;
  if (from.has_transmit_level_db()) to.worker.transmit_level_db = from.transmit_level_db();
  if (from.has_reopen_attempts_max()) to.worker.reopen_attempts_max = from.reopen_attempts_max();
  to.device = device_of(from);
  to.key = key_of(from);
}

/// Returns the access rights that a message with `saps` and `rank_max` states.
template <typename Proto>
std::optional<sap::ClientAccess> access_of(const Proto& from) {
  if (from.saps().empty() && !from.has_rank_max()) return std::nullopt;
  sap::ClientAccess access;
  if (!from.saps().empty()) access.saps = 0;
  for (const std::uint32_t sap : from.saps()) {
    access.saps |= static_cast<std::uint16_t>(1u << (sap & 15));
  }
  if (from.has_rank_max()) access.rank_max = static_cast<std::uint8_t>(from.rank_max());
  return access;
}

runtime::LocalListenerConfig local_of(const proto::Sis::Local& from) {
  runtime::LocalListenerConfig to{
      .socket_path = from.socket(), .group_too = from.group_too(), .access = access_of(from)};
  if (from.has_connections_per_process_max()) {
    to.connections_per_process_max = from.connections_per_process_max();
  }
  if (from.has_connections_per_user_max()) {
    to.connections_per_user_max = from.connections_per_user_max();
  }
  if (from.has_connects_per_process_second_max()) {
    to.connects_per_process_second_max = from.connects_per_process_second_max();
  }
  if (from.has_connects_per_user_second_max()) {
    to.connects_per_user_second_max = from.connects_per_user_second_max();
  }
  return to;
}

void translate_sis(const proto::Sis& from, runtime::SisListenerConfig& to) {
  if (from.has_listen()) to.address = from.listen();
  if (from.has_port()) to.port = static_cast<std::uint16_t>(from.port());
  for (const auto& allow : from.allow()) {
    runtime::AllowEntry entry{
        .address = allow.address(), .certificate = allow.certificate(), .access = access_of(allow)};
    if (allow.has_priority_max()) {
      entry.priority_max = static_cast<std::uint8_t>(allow.priority_max());
    }
    to.allow.push_back(entry);
  }
  if (from.has_local()) to.local = local_of(from.local());
  if (from.has_tls()) {
    to.tls.emplace();
    to.tls->certificate_file = from.tls().certificate_file();
    to.tls->key_file = from.tls().key_file();
    to.tls->ca_file = from.tls().ca_file();
    if (from.tls().has_handshake_timeout_s()) {
      to.tls->handshake_timeout = s(from.tls().handshake_timeout_s());
    }
  }
  const auto& limits = from.limits();
  if (limits.has_connections_max()) to.connections_max = limits.connections_max();
  if (limits.has_connections_per_address_max()) {
    to.connections_per_address_max = limits.connections_per_address_max();
  }
  if (limits.has_connects_per_second_max()) {
    to.connects_per_second_max = limits.connects_per_second_max();
  }
  if (limits.has_dead_peer_timeout_s()) to.dead_peer_timeout = s(limits.dead_peer_timeout_s());
}

void translate_clients(const proto::Sis& from, NodeConfig& to) {
  if (from.has_clients_max()) to.clients_max = from.clients_max();
  if (from.has_clients_unbound_max()) to.clients_unbound_max = from.clients_unbound_max();
  const auto& limits = from.limits();
  if (limits.has_primitives_per_second_max()) {
    to.client_rate.primitives_per_second_max = limits.primitives_per_second_max();
  }
  if (limits.has_octets_per_second_max()) {
    to.client_rate.octets_per_second_max = limits.octets_per_second_max();
  }
  if (limits.has_unread_octets_max()) to.client_output_octets_max = limits.unread_octets_max();
}

void translate_data_transfer(const proto::DataTransfer& from, dts::Config& to) {
  if (from.has_segment_octets()) to.segment_octets = from.segment_octets();
  if (from.has_window()) to.window = from.window();
  if (from.has_transmission_max_ms()) to.transmission_max = ms(from.transmission_max_ms());
  if (from.has_turnaround_ms()) to.turnaround = ms(from.turnaround_ms());
  if (from.has_reply_margin_ms()) to.reply_margin = ms(from.reply_margin_ms());
  if (from.has_replies_missed_max()) to.replies_missed_max = from.replies_missed_max();
  if (from.has_links_max()) to.links_max = from.links_max();
  if (from.has_link_queue_octets_max()) to.link_queue_octets_max = from.link_queue_octets_max();
  if (from.has_nonarq_queue_octets_max()) {
    to.nonarq_queue_octets_max = from.nonarq_queue_octets_max();
  }
  if (from.has_large_window()) to.large_window = from.large_window();
  if (from.has_offer_extensions()) to.offer_extensions = from.offer_extensions();
  if (from.has_dedicated_frequency()) to.dedicated_frequency = from.dedicated_frequency();
  if (from.has_rate_change()) to.rate_change = from.rate_change();
  if (from.has_management_repeats_max()) to.management_repeats_max = from.management_repeats_max();
  if (from.has_resets_missed_max()) to.resets_missed_max = from.resets_missed_max();
}

/// True if no other setting keeps the links from changing their modes.
bool may_adapt(const NodeSetup& setup) {
  const dts::Config& transfer = setup.node.dts;
  const auto modes = dts::modes_in_use(transfer);
  return transfer.rate_change && modem::tells_itself(transfer.mode) &&
         setup.worker.receive_modes.empty() &&
         std::all_of(modes.begin(), modes.end(), [&transfer](const modem::Mode& mode) {
           return dts::holds_segment(transfer, mode, dts::segment_octets(transfer));
         });
}

/// Adaptation that the file states is kept where it contradicts another setting, so that the
/// contradiction is reported. Call this when all other settings are translated.
void translate_adaptation(const proto::DataTransfer::Adaptation& from, NodeSetup& to) {
  if (from.has_enabled() && !from.enabled()) return;
  auto& limits = to.node.dts.adaptation.emplace();
  if (from.has_rate_min_bps()) limits.rate_min_bps = from.rate_min_bps();
  if (from.has_rate_max_bps()) limits.rate_max_bps = from.rate_max_bps();
  if (!from.has_enabled() && !may_adapt(to)) to.node.dts.adaptation.reset();
}

void translate_channel_access(const proto::ChannelAccess& from, cas::Config& to) {
  if (from.has_answer_wait_exchanges()) to.answer_wait_exchanges = from.answer_wait_exchanges();
  if (from.has_requests_max()) to.requests_max = from.requests_max();
  if (from.has_breaks_max()) to.breaks_max = from.breaks_max();
  if (from.has_nonexclusive_links_max()) {
    to.nonexclusive_links_max = from.nonexclusive_links_max();
  }
  for (const auto& peer : from.linked_externally()) {
    to.linked_externally.push_back(address_of(peer));
  }
}

void translate_soft_links(const proto::SoftLinks& from, sap::LinkConfig& to) {
  if (from.has_sessions_max()) to.soft_links_max = from.sessions_max();
  if (from.has_idle_timeout_s()) to.idle_timeout = s(from.idle_timeout_s());
  if (from.has_session_max_s()) to.session_max = s(from.session_max_s());
  if (from.has_drain_max_s()) to.drain_max = s(from.drain_max_s());
  if (from.has_called_minimum_s()) to.called_minimum = s(from.called_minimum_s());
  if (from.has_call_retry_wait_s()) to.call_retry_wait = s(from.call_retry_wait_s());
  if (from.has_call_retry_wait_max_s()) to.call_retry_wait_max = s(from.call_retry_wait_max_s());
  if (from.has_patience_s()) to.patience = s(from.patience_s());
}

void translate_hard_links(const proto::HardLinks& from, sap::HardLinkConfig& to) {
  if (from.has_response_wait_s()) to.response_wait = s(from.response_wait_s());
  if (from.has_client_wait_s()) to.client_wait = s(from.client_wait_s());
  if (from.has_terminate_wait_s()) to.terminate_wait = s(from.terminate_wait_s());
  if (from.has_release_wait_s()) to.release_wait = s(from.release_wait_s());
  if (from.has_probe_interval_s()) to.probe_interval = s(from.probe_interval_s());
  if (from.has_remote_rank()) to.remote_rank = static_cast<std::uint8_t>(from.remote_rank());
}

void translate_queue(const proto::Queue& from, sap::QueueConfig& to) {
  if (from.has_client_octets_max()) to.client_octets_max = from.client_octets_max();
  if (from.has_client_updus_max()) to.client_updus_max = from.client_updus_max();
  if (from.has_client_octets_reserved()) to.client_octets_reserved = from.client_octets_reserved();
  if (from.has_lent_octets_max()) to.lent_octets_max = from.lent_octets_max();
  if (from.has_updus_max()) to.updus_max = from.updus_max();
  if (from.has_client_updus_reserved()) to.client_updus_reserved = from.client_updus_reserved();
  if (from.has_flow_off_percent()) to.flow_off_percent = from.flow_off_percent();
  if (from.has_flow_on_percent()) to.flow_on_percent = from.flow_on_percent();
  if (from.has_fair_turn()) to.fair_turn = from.fair_turn();
}

void translate_bind(const proto::Bind& from, sap::BindPolicy& to) {
  if (from.has_allow_reserved_saps()) to.allow_reserved_saps = from.allow_reserved_saps();
  if (from.has_allow_management_sap()) to.allow_management_sap = from.allow_management_sap();
  if (from.has_allow_rank_15()) to.allow_rank_15 = from.allow_rank_15();
  if (from.has_lenient()) to.lenient = from.lenient();
}

void translate_subnet_access(const proto::SubnetAccess& from, sap::Config& to) {
  for (const auto& group : from.groups()) to.groups.push_back(address_of(group));
  if (from.has_mtu_octets()) to.mtu = static_cast<std::uint16_t>(from.mtu_octets());
  if (from.has_broadcast_only()) to.broadcast_only = from.broadcast_only();
  if (from.has_broadcast_session()) to.broadcast_session = from.broadcast_session();
  if (from.has_emcon()) to.emcon = from.emcon();
  translate_soft_links(from.soft_links(), to.links);
  translate_hard_links(from.hard_links(), to.hard_links);
  translate_queue(from.queue(), to.queue);
  translate_bind(from.bind(), to.bind);
  if (from.has_default_time_to_live_s()) to.default_time_to_live = s(from.default_time_to_live_s());
  if (from.has_enforce_received_time_to_die()) {
    to.enforce_received_time_to_die = from.enforce_received_time_to_die();
  }
  if (from.has_time_to_die_tolerance_s()) {
    to.time_to_die_tolerance = s(from.time_to_die_tolerance_s());
  }
  if (from.has_attempts_max()) to.attempts_max = from.attempts_max();
  if (from.has_client_confirm_wait_max_s()) {
    to.client_confirm_wait_max = s(from.client_confirm_wait_max_s());
  }
  if (from.has_node_confirm_wait_max_s()) {
    to.node_confirm_wait_max = s(from.node_confirm_wait_max_s());
  }
  if (from.has_response_octets_local()) to.response_octets_local = from.response_octets_local();
  if (from.has_response_octets_air()) to.response_octets_air = from.response_octets_air();
  if (from.has_management_octets_max()) to.management_octets_max = from.management_octets_max();
  if (from.has_expedited_requests_max()) to.expedited_requests_max = from.expedited_requests_max();
  if (from.has_expedited_requests_window_s()) {
    to.expedited_requests_window = s(from.expedited_requests_window_s());
  }
  if (from.has_invalid_primitives_max()) to.invalid_primitives_max = from.invalid_primitives_max();
  if (from.has_invalid_primitives_window_s()) {
    to.invalid_primitives_window = s(from.invalid_primitives_window_s());
  }
  if (from.has_unbound_idle_timeout_s()) to.unbound_idle_timeout = s(from.unbound_idle_timeout_s());
  if (from.has_keep_alive_interval_s()) to.keep_alive_interval = s(from.keep_alive_interval_s());
  if (from.has_keep_alive_answer_wait_s()) {
    to.keep_alive_answer_wait = s(from.keep_alive_answer_wait_s());
  }
}

}  // namespace

LogLevel log_level_of(proto::LogLevel level) {
  switch (level) {
    case proto::DEBUG:
      return LogLevel::debug;
    case proto::INFO:
      return LogLevel::info;
    case proto::WARNING:
      return LogLevel::warning;
    case proto::ERROR:
      return LogLevel::error;
  }
  return LogLevel::info;
}

NodeSetup translate(const proto::Node& from) {
  NodeSetup to;
  to.source = from.SerializePartialAsString();
  translate_modem(from.modem(), to);
  translate_sis(from.sis(), to.sis);
  translate_data_transfer(from.data_transfer(), to.node.dts);
  translate_channel_access(from.channel_access(), to.node.cas);
  translate_subnet_access(from.subnet_access(), to.node.sap);
  to.node.dts.address = address_of(from.address());
  to.node.dts.mode = mode_of(from.modem().mode());
  translate_adaptation(from.data_transfer().adaptation(), to);
  to.node.dts.groups = to.node.sap.groups;
  to.node.cas.broadcast_only = to.node.sap.broadcast_only;
  translate_clients(from.sis(), to.node);
  if (from.subnet_access().has_partial_primitive_timeout_s()) {
    to.node.partial_primitive_timeout = s(from.subnet_access().partial_primitive_timeout_s());
  }
  if (from.has_control()) {
    to.control.emplace();
    to.control->path = from.control().socket();
    to.control->group_too = from.control().group_too();
  }
  if (from.has_capture()) {
    const auto& capture = from.capture();
    to.capture.emplace();
    to.capture->path = capture.file();
    if (capture.has_file_mib_max()) {
      to.capture->file_octets_max = std::uint64_t{capture.file_mib_max()} << 20;
    }
    if (capture.has_files_max()) to.capture->files_max = capture.files_max();
  }
  to.node.dts.identification = {.text = from.identification().call_sign(),
                                .interval = s(from.identification().interval_s())};
  if (from.has_log_level()) to.log_level = log_level_of(from.log_level());
  return to;
}

}  // namespace s5066::config
