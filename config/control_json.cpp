// SPDX-License-Identifier: Apache-2.0
#include "config/control_json.h"

#include <algorithm>
#include <utility>

#include "config/proto/control.pb.h"
#include "modem/api/sound_level.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/base/version.h"
#include "s5066d/control/json.h"

namespace s5066::config {
namespace {

using control::answer_json;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void fill(const LinkStatus& from, Instant now, proto::LinkStatus& to) {
  to.set_peer(to_string(from.peer));
  to.set_state(std::string(cas::to_string(from.state)));
  to.set_we_called(from.we_called);
  if (from.since) to.set_in_state_s(to_seconds(now - *from.since));
  to.set_queued_octets(number(from.queued_octets));
  to.set_outstanding_octets(number(from.outstanding_octets));
  to.set_acknowledged_octets(number(from.acknowledged_octets));
  if (from.transmit_mode) to.set_transmit_mode(modem::to_string(*from.transmit_mode));
  if (from.advised_mode) to.set_advised_mode(modem::to_string(*from.advised_mode));
  if (from.mode_refused) to.set_mode_refused(std::string(pdu::to_string(*from.mode_refused)));
  if (from.capabilities) to.set_capabilities(*from.capabilities);
  to.set_received_octets(number(from.received_octets));
}

void fill(const ClientStatus& from, proto::ClientStatus& to) {
  to.set_id(from.id.value);
  to.set_origin(from.origin);
  to.set_bound(from.bound);
  to.set_sap(from.sap.value);
  to.set_rank(from.rank);
  to.set_flow_off(from.flow_off);
  to.set_queued_updus(number(from.queued_updus));
  to.set_queued_octets(number(from.queued_octets));
}

// The rank comes from the client's bind. It is always there, because a hard link ends with the bind
// of its client.
void fill(const sap::HardLinkInfo& from, const std::vector<ClientStatus>& clients,
          proto::HardLinkStatus& to) {
  to.set_peer(to_string(from.peer));
  to.set_state(std::string(sap::to_string(from.state)));
  to.set_type(static_cast<std::uint32_t>(from.type));
  to.set_priority(from.priority);
  to.set_we_called(from.we_called);
  to.set_remote_sap(from.remote_sap.value);
  const auto client = std::find_if(clients.begin(), clients.end(),
                                   [&](const auto& c) { return from.client == c.id; });
  if (client == clients.end()) return;
  to.mutable_client()->set_id(client->id.value);
  to.mutable_client()->set_sap(client->sap.value);
  to.mutable_client()->set_rank(client->rank);
}

void fill(const modem::ModemState& from, proto::ModemStatus& to) {
  const auto count = [&](modem::ModemCounter counter) { return number(from.counters[counter]); };
  to.set_blocks(count(modem::ModemCounter::blocks));
  to.set_samples_dropped(count(modem::ModemCounter::samples_dropped));
  to.set_samples_underrun(count(modem::ModemCounter::samples_underrun));
  to.set_events_lost(count(modem::ModemCounter::events_lost));
  to.set_commands_refused(count(modem::ModemCounter::commands_refused));
  to.set_device_losses(count(modem::ModemCounter::device_losses));
  to.set_down(from.down);
  to.set_ptt_failures(count(modem::ModemCounter::ptt_failures));
  to.set_watchdog_trips(count(modem::ModemCounter::watchdog_trips));
  to.set_sound_level(std::string(to_string(from.sound_level)));
  to.set_sound_level_db(from.sound_level_db);
  to.set_samples_clipped(count(modem::ModemCounter::samples_clipped));
  if (from.clock_ppm) to.set_clock_ppm(*from.clock_ppm);
}

}  // namespace

std::string to_json(const DaemonStatus& from) {
  proto::Status to;
  to.mutable_program()->set_name("s5066d");
  to.mutable_program()->set_version(std::string(version()));
  to.mutable_program()->set_up_s(to_seconds(from.running));
  to.set_address(to_string(from.node.address));
  to.set_mode(to_string(from.node.mode));
  to.set_up_s(to_seconds(from.now.time_since_epoch()));
  to.set_lockstep(from.lockstep);
  to.set_sis_port(from.sis_port);
  to.set_transmitting(from.node.transmitting);
  to.set_channel_busy(from.node.channel_busy);
  to.set_duplex(std::string(dts::to_string(from.node.duplex)));
  to.set_channel_occupied(from.node.channel_occupied);
  to.set_emcon(from.node.emcon);
  to.set_broadcast_session(from.node.broadcast_session);
  for (const LinkStatus& link : from.node.links) fill(link, from.now, *to.add_links());
  for (const ClientStatus& client : from.node.clients) fill(client, *to.add_clients());
  for (const auto& link : from.node.hard_links) {
    fill(link, from.node.clients, *to.add_hard_links());
  }
  for (const auto& difference : from.node.clocks_apart) {
    proto::ClockStatus& clock = *to.add_clocks_apart();
    clock.set_peer(to_string(difference.peer));
    clock.set_at_least(duration_text(difference.at_least));
    clock.set_at_least_s(number(static_cast<std::uint64_t>(difference.at_least.count())));
    clock.set_seen_s(to_seconds(from.now - difference.at));
  }
  fill(from.modem, *to.mutable_modem());
  to.mutable_modem()->set_transmit_level_db(from.transmit_level_db);
  return answer_json(std::move(to));
}

std::string to_json(const ModeAsked& from) {
  proto::ModeAsked to;
  to.set_peer(to_string(from.peer));
  to.set_mode(modem::to_string(from.mode));
  return answer_json(std::move(to));
}

std::string to_json(const EmconAsked& asked) {
  proto::Emcon to;
  to.set_on(asked.on);
  return answer_json(std::move(to));
}

std::string to_json(const BroadcastAsked& asked) {
  proto::BroadcastSession to;
  to.set_on(asked.on);
  return answer_json(std::move(to));
}

std::string to_json(const SapAsked& asked) {
  proto::SapOpen to;
  to.set_sap(asked.sap.value);
  to.set_open(asked.open);
  return answer_json(std::move(to));
}

std::string to_json(const LevelAsked& asked) {
  proto::TransmitLevel to;
  to.set_level_db(asked.level_db);
  return answer_json(std::move(to));
}

std::string to_json(const DisconnectAsked& asked) {
  proto::Disconnected to;
  to.set_client(asked.client.value);
  return answer_json(std::move(to));
}

std::string to_json(const BreakAsked& asked) {
  proto::LinkBreaking to;
  to.set_peer(to_string(asked.peer));
  return answer_json(std::move(to));
}

std::string to_json(const sap::UpduList& list) {
  proto::UpduQueue to;
  to.set_total(number(list.total));
  for (const sap::UpduInfo& updu : list.updus) {
    proto::QueuedUpdu& row = *to.add_updus();
    row.set_id(number(updu.id.value));
    if (updu.client) row.set_client(updu.client->value);
    row.set_destination(to_string(updu.destination));
    row.set_source_sap(updu.source_sap.value);
    row.set_destination_sap(updu.destination_sap.value);
    row.set_priority(updu.priority);
    row.set_octets(number(updu.octets));
    row.set_age_s(to_seconds(updu.age));
    row.set_time_left_s(to_seconds(updu.time_left));
    row.set_attempts(updu.attempts);
    row.set_queued(updu.queued);
    row.set_waits_for(std::string(updu.waits_for));
  }
  return answer_json(std::move(to));
}

std::string to_json(const PurgeDone& done) {
  proto::Purged to;
  to.set_updus(number(done.purged));
  to.set_in_transit(number(done.in_transit));
  return answer_json(std::move(to));
}

std::string to_json(const NodeChanges& changes, bool certificates) {
  proto::Reloaded to;
  for (const std::string& name : changes.at_once) to.add_at_once(name);
  for (const std::string& name : changes.after_restart) to.add_after_restart(name);
  to.set_certificates(certificates);
  return answer_json(std::move(to));
}

}  // namespace s5066::config
