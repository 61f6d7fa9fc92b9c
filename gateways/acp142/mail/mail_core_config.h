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

/// A header field of user programs that gives a message a precedence where nothing else does.
struct PriorityField {
  std::string name;
  std::string value;  // of which the first word counts, whatever its case
  int mt_priority = 0;
};

/// The mail server gets this time for a message, whatever time the message had on the air.
inline constexpr std::int64_t kMailServerLifetimeS = 2 * 86400;

struct MailCoreConfig {
  NodeId node;
  std::string hostname = "localhost";
  std::string mail_server = "[127.0.0.1]";  // as reports name it
  // Limits of what is under way to stations, to stations in EMCON, where a message may take as
  // long as it lives, and to the mail server. P_MUL takes the first two together.
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
  std::uint32_t late_max = 4;    // of these, such as are too late, each with its content
  // A message that gave way to others because its stations did not answer goes on after this time.
  // One that waits for the end of EMCON goes on when the station is heard.
  Duration suspended_for = std::chrono::minutes(10);
  std::size_t commits_max = 512;           // SMTP sessions that wait for the spool
  std::size_t received_max = 32;           // messages from the air that do
  std::vector<std::uint32_t> lifetime_s =  // by P_MUL priority, where DELIVERBY says nothing
      {3600, 3600, 3600, 3600, 14400, 14400, 43200, 43200, 172800};
  Duration retry_min = std::chrono::seconds(30);  // to the mail server, doubled each time …
  Duration retry_max = std::chrono::hours(1);     // … up to this
  Duration dead_min = std::chrono::minutes(5);    // a station that let a message expire
  Duration dead_max = std::chrono::hours(4);
  // The time at which a station was heard last is written to the spool no more often than this.
  std::uint32_t peer_repeats_s = 2 * 86400;  // a message of CFTP or HMTP is known for so long
  Duration heard_every = std::chrono::minutes(10);
  std::size_t stations_max = 4096;            // that are remembered because they were heard
  std::vector<std::vector<NodeId>> groups{};  // stations that one transmission reaches
  bool any_group = false;                     // one does any others, too: they join a group for it
  std::map<NodeId, MailWay> ways{};           // of stations that do not take mail by P_MUL
  std::set<NodeId> explicit_tags{};  // stations that get the compressed data type so tagged
  std::vector<PriorityField> priority_fields{};  // the first that fits a message counts
  Duration spool_poll = std::chrono::seconds(2);
  Duration store_retry = std::chrono::seconds(5);
  Duration purge_every = std::chrono::hours(1);
  Duration delay_after = std::chrono::hours(4);   // NOTIFY=DELAY: then the sender is told, once
  Duration delay_poll = std::chrono::minutes(1);  // a look besides, as the clock may be set
  InflateLimits inflate{};
  MuleLimits mule{};
  std::size_t received_fields_max = 100;                // of what is relayed (RFC 5321 6.3)
  Duration clock_tolerance = std::chrono::seconds(60);  // how far clocks may be apart
};

}  // namespace s5066::acp142
