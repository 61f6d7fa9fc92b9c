// SPDX-License-Identifier: Apache-2.0
// The names, limits and times that the mail side of the gateway gets at its start.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/mail/cdt.h"
#include "gateways/acp142/mail/delivery_room.h"
#include "gateways/acp142/mail/mule.h"
#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/acp142/peers/mail_way.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

/// A header field of user programs that gives a message a precedence if nothing else does.
struct PriorityField {
  std::string name;
  std::string value;  // only the first word counts, in any case of letters
  int mt_priority = 0;
};

/// Lifetime of a message for the mail server, whatever lifetime it had on the air.
inline constexpr std::int64_t kMailServerLifetimeS = 2 * 86400;

struct MailCoreConfig {
  NodeId node;
  std::string hostname = "localhost";
  std::string mail_server = "[127.0.0.1]";  // its name in reports
  // Limits for messages under way: to stations, to stations in EMCON, where a message may stay
  // until it expires, and to the mail server. P_MUL has the first two together.
  DeliveryRoom::Limits air{.items_max = 48,
                           .items_reserve = 4,
                           .octets_max = 96u << 20,
                           .octets_reserve = 8u << 20,
                           .station_items_max = 4,
                           .station_items_reserve = 1,
                           .station_octets_max = 32u << 20,
                           .station_octets_reserve = 8u << 20};
  DeliveryRoom::Limits silent{.items_max = 40,
                              .items_reserve = 4,
                              .octets_max = 24u << 20,
                              .octets_reserve = 4u << 20,
                              .station_items_max = 16,
                              .station_items_reserve = 4,
                              .station_octets_max = 16u << 20,
                              .station_octets_reserve = 2u << 20};
  DeliveryRoom::Limits smtp{.items_max = 8,
                            .items_reserve = 2,
                            .octets_max = 128u << 20,
                            .octets_reserve = 8u << 20,
                            .station_items_max = 8,
                            .station_items_reserve = 2,
                            .station_octets_max = 128u << 20,
                            .station_octets_reserve = 8u << 20};
  std::uint32_t taken_max = 32;  // messages from the spool in one request
  std::uint32_t late_max = 4;    // limit for expired ones among them, each with its content
  // A message that gave way to others because its stations did not answer goes on after this time.
  // One that waits for the end of EMCON goes on when the station is heard.
  Duration suspended_for = std::chrono::minutes(10);
  std::size_t commits_max = 512;  // SMTP sessions that wait for an answer of the spool
  std::size_t received_max = 32;  // messages from the air that wait for an answer of the spool
  std::vector<std::uint32_t> lifetime_s =  // by P_MUL priority, if DELIVERBY gives none
      {3600, 3600, 3600, 3600, 14400, 14400, 43200, 43200, 172800};
  /// Wait before the next attempt at the mail server, doubled each time ….
  Duration retry_min = std::chrono::seconds(30);
  Duration retry_max = std::chrono::hours(1);  // … up to this
  /// First pause for a station that let a message expire.
  Duration dead_min = std::chrono::minutes(5);
  Duration dead_max = std::chrono::hours(4);
  // The time at which a station was heard last is written to the spool no more often than this.
  /// A message by CFTP or HMTP is remembered for this time.
  std::uint32_t peer_repeats_s = 2 * 86400;
  Duration heard_every = std::chrono::minutes(10);
  std::size_t stations_max = 4096;  // stations that are remembered because they were heard
  std::vector<std::vector<NodeId>> groups{};  // sets of stations that one transmission reaches
  bool any_group = false;  // one transmission reaches any stations, which join a group for it
  std::map<NodeId, MailWay> ways{};  // for stations that do not take mail by P_MUL
  /// Stations that get the compressed data type with explicit tags.
  std::set<NodeId> explicit_tags{};
  std::vector<PriorityField> priority_fields{};  // the first that fits a message counts
  Duration spool_poll = std::chrono::seconds(2);
  Duration store_retry = std::chrono::seconds(5);
  Duration purge_every = std::chrono::hours(1);
  /// Age of a message at which its sender is told once, with NOTIFY=DELAY.
  Duration delay_after = std::chrono::hours(4);
  /// Additional checks, because the clock may be set.
  Duration delay_poll = std::chrono::minutes(1);
  InflateLimits inflate{};
  MuleLimits mule{};
  std::size_t received_fields_max = 100;                // limit for relayed messages (RFC 5321 6.3)
  Duration clock_tolerance = std::chrono::seconds(60);  // tolerated difference between clocks
};

}  // namespace s5066::acp142
