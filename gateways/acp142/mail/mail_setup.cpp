// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_setup.h"

#include <algorithm>
#include <chrono>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/next_hops.h"

namespace s5066::acp142 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

GroupId group_id(std::size_t index) {
  return {static_cast<std::uint32_t>(index + 1)};
}

p_mul::Checksum checksum_of(const MailConfig::Rounds& rounds) {
  return rounds.internet_checksum ? p_mul::Checksum::internet : p_mul::Checksum::fletcher;
}

p_mul::RoundRules round_rules(const MailConfig::Rounds& rounds) {
  return {.pdu_octets_max = rounds.pdu_octets_max,
          .block_octets = block_octets_of(rounds),
          .checksum = checksum_of(rounds),
          .ack_wait = seconds(rounds.ack_wait_s),
          .back_off = rounds.back_off_percent / 100.0,
          .emcon_interval = seconds(rounds.emcon_interval_s),
          .emcon_repeats_max = rounds.emcon_repeats_max,
          .extra_address = rounds.extra_address,
          .coded = rounds.coded,
          .parity_ahead = rounds.parity_ahead_percent / 100.0,
          .resend_all = rounds.resend_all};
}

/// Limit for a received message, even with the smallest blocks and as many octets of parity.
constexpr std::size_t kReceivedOctetsMax =
    2 *
    (kMessageOctetsMax + kEnvelopeOctetsMax + p_mul::kBlocksMax * p_mul::PMulReceiver::kBlockCost);
static_assert(kReceivedOctetsMax <= p_mul::PMulReceiver::Config{}.source_octets_max);
static_assert(4 * p_mul::PMulReceiver::Config{}.source_octets_max <=
              p_mul::PMulReceiver::Config{}.octets_max);

p_mul::PMulReceiver::Config receiver_config(const MailConfig& config) {
  const MailConfig::Receiving& from = config.receiving;
  p_mul::PMulReceiver::Config receiver;
  receiver.node = config.node;
  receiver.checksum = checksum_of(config.rounds);
  receiver.pdu_octets_max = config.rounds.pdu_octets_max;
  receiver.message_octets_max = kReceivedOctetsMax;
  receiver.missing_list_max = from.missing_list_max;
  if (from.ack_when_missing > 0) receiver.ack_when_missing = from.ack_when_missing;
  receiver.ack_slot = milliseconds(from.ack_slot_ms);
  receiver.ack_again = seconds(from.ack_again_s);
  receiver.back_off = config.rounds.back_off_percent / 100.0;
  receiver.orphan_max = seconds(from.orphan_s);
  receiver.expiry_margin = seconds(from.clock_tolerance_s);
  return receiver;
}

constexpr std::size_t kUdpReceivedMax = 256;
// Covers fades and data of other clients.
constexpr Duration kHmtpIdleMax = std::chrono::hours(1);
constexpr std::size_t kEnvelopeOctetsAllowed = 64u << 10;
constexpr std::size_t kSteps = 3;  // steps of precedence above routine, see DeliveryRoom

std::size_t most_items(const DeliveryRoom::Limits& limits) {
  return limits.items_max + kSteps * limits.items_reserve;
}

/// One message is admitted while there is any room, and its envelope is added to its content.
std::size_t most_octets(const DeliveryRoom::Limits& limits) {
  return limits.octets_max + kSteps * limits.octets_reserve + kMessageOctetsMax +
         most_items(limits) * kEnvelopeOctetsAllowed;
}

}  // namespace

std::vector<NodeId> members_of(const MailConfig::Group& group, const MailConfig& config) {
  std::vector<NodeId> members;
  for (const std::string& name : group.stations) {
    for (const auto& station : config.stations) {
      if (station.name == name) members.push_back(station.node);
    }
  }
  return members;
}

Result<AddressTable> address_table(const MailConfig& config) {
  AddressTable table;
  for (const auto& entry : config.routes) {
    Route route{.own = entry.own, .stations = {}, .relay = entry.relay};
    for (const std::string& name : entry.stations) {
      for (const auto& station : config.stations) {
        if (station.name == name) route.stations.push_back(station.node);
      }
    }
    if (auto added = table.add({entry.pattern, std::move(route)}); !added) return added.error();
  }
  return table;
}

MailCore::Config mail_config(const MailConfig& config) {
  MailCore::Config mail;
  mail.node = config.node;
  mail.hostname = config.hostname;
  const bool v6 = config.mail_server.address.find(':') != std::string::npos;
  mail.mail_server = (v6 ? "[IPv6:" : "[") + config.mail_server.address + "]";
  mail.lifetime_s.assign(4, config.flash_lifetime_s);
  mail.lifetime_s.insert(mail.lifetime_s.end(), 2, config.immediate_lifetime_s);
  mail.lifetime_s.insert(mail.lifetime_s.end(), 2, config.priority_lifetime_s);
  mail.lifetime_s.push_back(config.routine_lifetime_s);
  mail.retry_min = seconds(config.retry_min_s);
  mail.retry_max = seconds(config.retry_max_s);
  mail.dead_min = seconds(config.dead_min_s);
  mail.dead_max = seconds(config.dead_max_s);
  mail.delay_after = seconds(config.delay_report_s);
  mail.peer_repeats_s = config.duplicate_window_s;
  mail.clock_tolerance = seconds(config.receiving.clock_tolerance_s);
  mail.any_group = config.udp && !config.udp->pool.empty();
  for (const auto& group : config.groups) mail.groups.push_back(members_of(group, config));
  for (const auto& one : config.smtp.priority_fields) {
    mail.priority_fields.push_back({one.name, one.value, one.mt_priority});
  }
  for (const auto& station : config.stations) {
    if (station.explicit_tags) mail.explicit_tags.insert(station.node);
    if (station.by != MailWay::p_mul) mail.ways[station.node] = station.by;
  }
  if (config.udp) {
    mail.air.items_max = kUdpActiveMax;
    mail.air.items_reserve = kUdpActiveReserve;
    mail.air.station_items_max = kUdpStationActiveMax;
    mail.air.station_items_reserve = kUdpStationActiveReserve;
    mail.received_max = kUdpReceivedMax;
  }
  return mail;
}

p_mul::PMulCore::Config p_mul_config(const MailConfig& config) {
  p_mul::PMulCore::Config p_mul;
  static_cast<p_mul::RoundRules&>(p_mul.sender) = round_rules(config.rounds);
  p_mul.sender.node = config.node;
  p_mul.sender.bearer_octets_max = config.udp ? kPduOctetsMaxUdp : kPduOctetsMaxSis;
  p_mul.sender.ack_slot = milliseconds(config.receiving.ack_slot_ms);
  p_mul.sender.missing_list_max = config.receiving.missing_list_max;
  p_mul.receiver = receiver_config(config);
  for (const auto& station : config.stations) {
    p_mul.sources.push_back(station.node);
    if (station.silent) p_mul.sender.silent.push_back(station.node);
  }
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    p_mul.sender.groups.push_back({.id = group_id(i),
                                   .members = members_of(config.groups[i], config),
                                   .rules = round_rules(config.groups[i].rounds)});
  }
  const MailCore::Config mail = mail_config(config);
  p_mul.sender.messages_max = most_items(mail.air) + most_items(mail.silent);
  p_mul.sender.content_octets_max = most_octets(mail.air) + most_octets(mail.silent);
  if (!config.udp) return p_mul;
  p_mul.groups.pool = config.udp->pool;
  p_mul.groups.wait_for_reject = milliseconds(config.udp->wait_for_reject_ms);
  p_mul.groups.announce_delay = milliseconds(config.udp->announce_delay_ms);
  p_mul.groups.announce_count = config.udp->announce_count;
  p_mul.groups.expiry_margin = seconds(config.receiving.clock_tolerance_s);
  return p_mul;
}

p_mul::CarrierUdp::Config udp_config(const MailConfig& config) {
  p_mul::CarrierUdp::Config udp{
      .interface = config.udp->interface, .listen = config.udp->listen, .hops = config.udp->hops};
  udp.core.ports = {.group_control = config.udp->group_control_port,
                    .announce = config.udp->announce_port,
                    .data = config.udp->data_port,
                    .ack = config.udp->ack_port};
  udp.core.rate_bps = config.udp->rate_bps;
  // Large enough for PDUs that were cut under another configuration.
  udp.core.pdu_octets_max = kPduOctetsMaxUdp;
  udp.core.global_group = config.udp->general_group;
  for (const auto& station : config.stations) {
    udp.core.nodes[station.node] =
        station.udp_address != 0 ? station.udp_address : station.node.value;
  }
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    const MailConfig::Group& group = config.groups[i];
    udp.core.groups[group_id(i)] = group.udp_address;
    if (group.udp_rate_bps > 0) udp.core.group_rates_bps[group_id(i)] = group.udp_rate_bps;
  }
  return udp;
}

p_mul::CarrierUdopCore::Config carrier_config(const MailConfig& config) {
  p_mul::CarrierUdopCore::Config carrier;
  carrier.rate_bps = config.line_rate_bps;
  carrier.repeats = static_cast<std::uint8_t>(config.nonarq_repeats);
  for (const auto& station : config.stations) carrier.nodes[station.node] = station.address;
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    carrier.groups[group_id(i)] = config.groups[i].address;
  }
  return carrier;
}

bool takes_mail_by(MailWay way, const MailConfig& config) {
  if (config.udp) return false;
  if (way == MailWay::cftp && config.peer_mail.cftp) return true;
  if (way == MailWay::hmtp && config.peer_mail.hmtp) return true;
  return std::any_of(config.stations.begin(), config.stations.end(),
                     [way](const MailConfig::Station& one) { return one.by == way; });
}

CftpCore::Config cftp_config(const MailConfig& config) {
  CftpCore::Config cftp;
  cftp.answer_wait = seconds(config.peer_mail.answer_wait_s);
  cftp.updu_lifetime_s = config.peer_mail.updu_lifetime_s;
  cftp.line_rate_bps = config.line_rate_bps;
  for (const auto& station : config.stations) {
    cftp.stations[station.node] = {.address = station.address, .files_max = station.files_max};
  }
  return cftp;
}

HmtpCore::Config hmtp_config(const MailConfig& config) {
  HmtpCore::Config hmtp;
  hmtp.answer_wait = seconds(config.peer_mail.answer_wait_s);
  hmtp.updu_lifetime_s = config.peer_mail.updu_lifetime_s;
  hmtp.line_rate_bps = config.line_rate_bps;
  hmtp.session.server.hostname = config.hostname;
  hmtp.session.server.content_follows = true;
  hmtp.session.server.message_octets_max = config.smtp.message_octets_max;
  hmtp.session.server.recipients_max = config.smtp.recipients_max;
  // Each recipient is a command, and the answers may be up to twice as many.
  hmtp.session.server.commands_without_mail_max = 2000 + 2 * config.smtp.recipients_max;
  hmtp.session.server.idle_max = kHmtpIdleMax;
  for (const auto& station : config.stations) hmtp.stations[station.node] = station.address;
  return hmtp;
}

Result<AddressTable> table_for_peers(const MailConfig& config) {
  MailConfig open = config;
  std::erase_if(open.routes,
                [](const MailConfig::RouteEntry& one) { return !one.own && !one.relay; });
  return address_table(open);
}

std::string station_name(const MailConfig& config, NodeId node) {
  for (const auto& station : config.stations) {
    if (station.node == node) return station.name;
  }
  return dotted(node);
}

std::string group_name(const MailConfig& config, GroupId group) {
  const std::size_t number = group.value;
  if (number == 0 || number > config.groups.size()) return "dynamic";
  return config.groups[number - 1].name;
}

}  // namespace s5066::acp142
