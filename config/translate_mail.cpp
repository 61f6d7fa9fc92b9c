// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <utility>

#include "config/translate.h"

namespace s5066::config {
namespace {

/// Parses "10.1.1.1" as a number; the result is 0 for any other text.
acp142::NodeId node_id_of(const std::string& text) {
  std::uint32_t id = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    std::uint8_t octet = 0;
    const auto [next, error] = std::from_chars(at, end, octet);
    if (error != std::errc() || (part < 3 && (next == end || *next != '.'))) return {};
    id = id << 8 | octet;
    at = part < 3 ? next + 1 : next;
  }
  return at == end ? acp142::NodeId{id} : acp142::NodeId{};
}

Address address_of(const std::string& text) {
  const auto address = parse_address(text);
  return address ? *address : Address{};
}

void translate_smtp(const proto::SmtpListen& from, acp142::MailConfig::Smtp& to) {
  if (from.has_address()) to.address = from.address();
  if (from.has_port()) to.port = static_cast<std::uint16_t>(from.port());
  if (from.has_lmtp()) to.lmtp = from.lmtp();
  to.allow.assign(from.allow().begin(), from.allow().end());
  if (from.has_message_octets_max()) to.message_octets_max = from.message_octets_max();
  if (from.has_recipients_max()) to.recipients_max = from.recipients_max();
  if (from.has_connections_max()) to.connections_max = from.connections_max();
  for (const proto::Precedence& one : from.precedence()) {
    to.precedence.push_back(
        {.client = one.client(), .from = one.from(), .mt_priority_max = one.mt_priority_max()});
  }
  for (const proto::PriorityField& one : from.priority_fields()) {
    to.priority_fields.push_back(
        {.name = one.name(), .value = one.value(), .mt_priority = one.mt_priority()});
  }
  if (!from.has_tls()) return;
  to.tls = {.certificate_file = from.tls().certificate_file(),
            .key_file = from.tls().key_file(),
            .ca_file = from.tls().ca_file(),
            .required = from.tls().required()};
}

void translate_mail_server(const proto::MailServer& from, acp142::MailConfig::MailServer& to) {
  if (from.has_address()) to.address = from.address();
  if (from.has_port()) to.port = static_cast<std::uint16_t>(from.port());
  if (from.has_lmtp()) to.lmtp = from.lmtp();
  if (!from.has_tls()) return;
  to.tls = {.ca_file = from.tls().ca_file(),
            .server_name = from.tls().server_name(),
            .required = from.tls().required()};
}

acp142::MailWay way_of(proto::MailWay way) {
  switch (way) {
    case proto::CFTP:
      return acp142::MailWay::cftp;
    case proto::HMTP:
      return acp142::MailWay::hmtp;
    default:
      return acp142::MailWay::p_mul;
  }
}

void translate_peer_mail(const proto::PeerMail& from, acp142::MailConfig::PeerMail& to) {
  to.cftp = from.cftp();
  to.hmtp = from.hmtp();
  if (from.has_answer_wait_s()) to.answer_wait_s = from.answer_wait_s();
  if (from.has_updu_lifetime_s()) to.updu_lifetime_s = from.updu_lifetime_s();
}

void translate_udp(const proto::UdpCarrier& from, acp142::MailConfig::Udp& to) {
  to.interface = node_id_of(from.interface()).value;
  to.listen = node_id_of(from.listen()).value;
  if (from.has_hops()) to.hops = static_cast<std::uint8_t>(from.hops());
  if (from.has_rate_bps()) to.rate_bps = from.rate_bps();
  if (from.has_general_group()) to.general_group = node_id_of(from.general_group()).value;
  if (from.has_group_control_port()) {
    to.group_control_port = static_cast<std::uint16_t>(from.group_control_port());
  }
  if (from.has_announce_port()) {
    to.announce_port = static_cast<std::uint16_t>(from.announce_port());
  }
  if (from.has_data_port()) to.data_port = static_cast<std::uint16_t>(from.data_port());
  if (from.has_ack_port()) to.ack_port = static_cast<std::uint16_t>(from.ack_port());
  const proto::DynamicGroups& dynamic = from.dynamic_groups();
  for (const proto::AddressRange& range : dynamic.pool()) {
    const std::uint64_t first = node_id_of(range.first()).value;
    const std::uint64_t last = range.has_last() ? node_id_of(range.last()).value : first;
    for (std::uint64_t at = first; at <= last && to.pool.size() <= acp142::kPoolMax; ++at) {
      to.pool.push_back(static_cast<std::uint32_t>(at));
    }
    if (first > last) to.pool.push_back(0);  // a pool with 0 fails its check
  }
  if (dynamic.has_wait_for_reject_ms()) to.wait_for_reject_ms = dynamic.wait_for_reject_ms();
  if (dynamic.has_announce_delay_ms()) to.announce_delay_ms = dynamic.announce_delay_ms();
  if (dynamic.has_announce_count()) to.announce_count = dynamic.announce_count();
}

void translate_rounds(const proto::PMulRounds& from, acp142::MailConfig::Rounds& to) {
  if (from.has_back_off_percent()) to.back_off_percent = from.back_off_percent();
  if (from.has_emcon_repeats_max()) to.emcon_repeats_max = from.emcon_repeats_max();
  if (from.has_emcon_interval_s()) to.emcon_interval_s = from.emcon_interval_s();
  if (from.has_pdu_octets_max()) to.pdu_octets_max = from.pdu_octets_max();
  if (from.has_internet_checksum()) to.internet_checksum = from.internet_checksum();
  if (from.has_extra_address()) to.extra_address = from.extra_address();
  if (from.has_coded()) to.coded = from.coded();
  if (from.has_resend_all()) to.resend_all = from.resend_all();
  if (from.has_parity_ahead_percent()) to.parity_ahead_percent = from.parity_ahead_percent();
}

void translate_receiving(const proto::PMulReceiving& from, acp142::MailConfig::Receiving& to) {
  if (from.has_ack_slot_ms()) to.ack_slot_ms = from.ack_slot_ms();
  if (from.has_ack_again_s()) to.ack_again_s = from.ack_again_s();
  if (from.has_missing_list_max()) to.missing_list_max = from.missing_list_max();
  if (from.has_ack_when_missing()) to.ack_when_missing = from.ack_when_missing();
  if (from.has_orphan_s()) to.orphan_s = from.orphan_s();
  if (from.has_clock_tolerance_s()) to.clock_tolerance_s = from.clock_tolerance_s();
}

/// Translates the P_MUL settings. A group takes each setting that it does not state from the
/// gateway.
void translate_p_mul(const proto::MailGateway& from, acp142::MailConfig& to) {
  if (from.has_udp()) {
    use_udp(to);
    translate_udp(from.udp(), *to.udp);
  }
  if (from.has_ack_wait_s()) to.rounds.ack_wait_s = from.ack_wait_s();
  if (from.has_nonarq_repeats()) to.nonarq_repeats = from.nonarq_repeats();
  translate_rounds(from.rounds(), to.rounds);
  translate_receiving(from.receiving(), to.receiving);
  for (const proto::MailGroup& one : from.groups()) {
    acp142::MailConfig::Group group{.name = one.name(),
                                    .address = address_of(one.address()),
                                    .stations = {one.stations().begin(), one.stations().end()},
                                    .udp_address = node_id_of(one.udp_address()).value,
                                    .udp_rate_bps = static_cast<double>(one.rate_bps()),
                                    .rounds = to.rounds};
    if (one.has_ack_wait_s()) group.rounds.ack_wait_s = one.ack_wait_s();
    translate_rounds(one.rounds(), group.rounds);
    to.groups.push_back(std::move(group));
  }
}

void translate_lifetimes(const proto::MailLifetimes& from, acp142::MailConfig& to) {
  if (from.has_flash_s()) to.flash_lifetime_s = from.flash_s();
  if (from.has_immediate_s()) to.immediate_lifetime_s = from.immediate_s();
  if (from.has_priority_s()) to.priority_lifetime_s = from.priority_s();
  if (from.has_routine_s()) to.routine_lifetime_s = from.routine_s();
}

}  // namespace

acp142::MailConfig translate(const proto::MailGateway& from) {
  acp142::MailConfig to;
  to.sis_host = sis_host_of(from.sis(), to.sis_host);
  if (from.sis().has_port()) to.sis_port = static_cast<std::uint16_t>(from.sis().port());
  if (from.sis().has_rank()) to.rank = static_cast<std::uint8_t>(from.sis().rank());
  to.spool_directory = from.spool_directory();
  to.backup = backup_of(from.backup());
  to.control_socket = from.control().socket();
  to.control_group_too = from.control().group_too();
  to.node = node_id_of(from.node_id());
  if (from.has_hostname()) to.hostname = from.hostname();
  if (from.has_operator_mailbox()) to.operator_mailbox = from.operator_mailbox();
  translate_smtp(from.smtp(), to.smtp);
  translate_mail_server(from.mail_server(), to.mail_server);
  for (const proto::MailStation& one : from.stations()) {
    to.stations.push_back({.name = one.name(),
                           .node = node_id_of(one.node_id()),
                           .address = address_of(one.address()),
                           .silent = one.silent(),
                           .udp_address = node_id_of(one.udp_address()).value,
                           .explicit_tags = one.explicit_tags(),
                           .by = way_of(one.by()),
                           .files_max = one.has_files_max() ? one.files_max() : 1});
  }
  translate_peer_mail(from.peer_mail(), to.peer_mail);
  translate_p_mul(from, to);
  for (const proto::MailRoute& one : from.routes()) {
    to.routes.push_back({.pattern = one.pattern(),
                         .own = one.own(),
                         .stations = {one.stations().begin(), one.stations().end()},
                         .relay = one.relay()});
  }
  translate_lifetimes(from.lifetimes(), to);
  if (from.has_retry_delay_min_s()) to.retry_min_s = from.retry_delay_min_s();
  if (from.has_retry_delay_max_s()) to.retry_max_s = from.retry_delay_max_s();
  if (from.has_dead_delay_min_s()) to.dead_min_s = from.dead_delay_min_s();
  if (from.has_dead_delay_max_s()) to.dead_max_s = from.dead_delay_max_s();
  if (from.has_delay_report_s()) to.delay_report_s = from.delay_report_s();
  if (from.has_duplicate_window_s()) to.duplicate_window_s = from.duplicate_window_s();
  if (from.has_open_messages_max()) to.open_mails_max = from.open_messages_max();
  if (from.has_open_octets_max()) to.open_octets_max = from.open_octets_max();
  if (from.has_spool_reserve_octets()) to.spool_reserve_octets = from.spool_reserve_octets();
  if (from.has_line_rate_bps()) to.line_rate_bps = from.line_rate_bps();
  to.start_in_emcon = from.emcon();
  if (from.has_log_level()) to.log_level = log_level_of(from.log_level());
  return to;
}

}  // namespace s5066::config
