// SPDX-License-Identifier: Apache-2.0
// Limits, waits and policy of the subnetwork interface sublayer (Annex A) that the standard leaves
// to the operator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::sap {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr std::uint8_t kPriorityMax = 15;  // largest priority of a U_PDU (A.2.1.6(2))

/// Soft link sessions (A.1.1.1, A.3.2.1).
struct LinkConfig {
  std::size_t soft_links_max = 4;      // sessions at a time before one more is called for
  Duration idle_timeout = minutes(2);  // may be 0
  // Longest session while data for other nodes waits for a place.
  Duration session_max = seconds(600);
  /// After session_max, for data already handed down: the present transmission and one more.
  Duration drain_max = seconds(240);
  Duration called_minimum = seconds(60);  // a called node does not end the session sooner
  // After a failed call; doubled each time up to the maximum.
  Duration call_retry_wait = seconds(30);
  Duration call_retry_wait_max = minutes(10);
  /// A node that has waited this long for a session gets one whatever the priority of the others.
  Duration patience = minutes(30);
};

/// Hard links (A.1.1.2, A.3.2.2).
struct HardLinkConfig {
  /// T_hl_resp, for the peer's answer to a request. The peer may use the two waits below for it.
  Duration response_wait = seconds(300);
  Duration client_wait = seconds(60);      // T_hl_client, for the called client of a Type 2
  Duration terminate_wait = seconds(120);  // T_hl_term, for the peer's answer to a termination
  // For the peer to break the link under a hard link that has ended.
  Duration release_wait = seconds(180);
  Duration probe_interval = minutes(10);  // silence before the peer is probed; 0: never
  std::uint8_t remote_rank = 5;           // assumed for a peer's client, unless a Type 2 names ours
};

/// Limits of U_PDUs that wait for a link or for their turn. Each client owns a reserved share that
/// others cannot take; storage above the shares is lent in order of arrival.
///
/// Octets include some bookkeeping for each U_PDU (StorageLedger::charge), so they bound small ones
/// as well. The limits in number are about what the octets allow for the smallest.
struct QueueConfig {
  std::size_t client_octets_max = 512 * 1024;
  std::size_t client_updus_max = 4096;
  std::size_t client_octets_reserved = 128 * 1024;
  std::size_t lent_octets_max = 2 * 1024 * 1024;
  /// Numbers of U_PDUs: of all clients together, and the share that each owns. The shares of
  /// bound_clients_max clients fit in.
  std::size_t updus_max = 32768;
  std::size_t client_updus_reserved = 64;
  /// S_DATA_FLOW_OFF above, S_DATA_FLOW_ON below, in percent of what the client may use.
  unsigned flow_off_percent = 75;
  unsigned flow_on_percent = 40;
  /// One U_PDU of this many that leave a line is of the client served longest ago, whatever its
  /// priority and rank, so that no client waits for ever; 0: never.
  unsigned fair_turn = 8;
  std::size_t responses_max = 512;  // delivery confirmations to other nodes that wait
};

/// Rights of one connection, by its origin and its proven identity.
struct ClientAccess {
  std::uint16_t saps = 0xfffe;  // bit n: SAP n; SAP 0 only by configuration
  std::uint8_t rank_max = 14;   // 15 only by configuration (A.2.1.1(6))
  friend bool operator==(const ClientAccess&, const ClientAccess&) = default;
};

/// Origin of a connection.
struct ClientOrigin {
  /// Rights of the client; if empty, the bind policy decides.
  std::optional<ClientAccess> access;
  std::uint64_t host_key = 0;  // equal for connections that one host may have made
  // U_PDUs that ask for a higher one are sent with this one
  std::uint8_t priority_max = kPriorityMax;
  std::string name{};  // for operators: "192.0.2.7:43210", "pid 711 uid 1000"
};

/// Which binds are allowed (A.2.1.1, Table F-1).
struct BindPolicy {
  bool allow_reserved_saps = false;  // 10 and 11, for any client
  // The next two apply to clients without a ClientAccess.
  bool allow_management_sap = false;  // 0
  bool allow_rank_15 = false;
  /// Accept a service type that the standard forbids instead of refusing the bind.
  bool lenient = false;
};

struct Config {
  Address address;              // the node's own
  std::vector<Address> groups;  // subscribed to, besides all stations
  bool broadcast_only = false;  // always in a broadcast session: no ARQ data, no links (A.1.1.3)
  /// A broadcast session runs from the start until it is switched off.
  bool broadcast_session = false;
  bool emcon = false;    // receive only at the start, until it is switched off
  bool loopback = true;  // U_PDUs to our own address are delivered locally
  BindPolicy bind;
  LinkConfig links;
  HardLinkConfig hard_links;
  QueueConfig queue;

  std::uint16_t mtu = 2048;  // up to 4096 for a broadcast-only node (A.2.1.3(7) to (9))
  Duration default_time_to_live = hours(24);
  bool send_default_time_to_die = true;  // put a TTD on the air even if the client set none
  bool enforce_received_time_to_die = true;
  Duration time_to_die_tolerance = seconds(5);
  /// An S_PDU that came longer than this after its time to die was alive when sent, so the clocks
  /// differ. The value covers the longest transmission and the wait for earlier frames
  /// (PeerClocks).
  Duration on_its_way_max = minutes(10);

  std::size_t response_octets_local = 2048;  // copied part of a U_PDU in types 22 and 23
  std::size_t response_octets_air = 32;      // copied part in S_PDU types 1 and 2
  /// Octets given to the sublayers below and not yet answered, for each link. Rank, fair turns and
  /// the priority of a session count only for U_PDUs that are not handed down yet. A U_PDU is
  /// therefore handed down only while those below that go before it, and have not all arrived, are
  /// less than `link_transmissions_max` transmissions of full length at the rate of the link: the
  /// one on the air, the next, and as much for repetitions. A fair turn, and the last U_PDU, may
  /// exceed that. Without ARQ the last U_PDU may exceed the octets, so that two transmissions at a
  /// low rate are full.
  std::size_t link_outstanding_octets_max = 320'000;
  unsigned link_transmissions_max = 3;
  std::size_t expedited_outstanding_octets_max = 64'000;
  std::size_t nonarq_outstanding_octets_max = 160'000;
  /// A U_PDU is rejected as "not responding" after this many link breaks and failed calls.
  unsigned attempts_max = 3;
  /// S_PDUs remembered, for each of sent and delivered, so that a repeated one is not delivered
  /// again: as many as eight links can have on their way.
  std::size_t repeats_remembered_max = 16384;
  std::size_t awaiting_client_confirm_max = 4096;  // acknowledged U_PDUs of all clients together
  /// Indications that one client has not taken and whose senders asked for its confirmation. A
  /// client with more of them is closed, like one with too many unread octets.
  std::size_t untaken_confirms_max = 16384;
  /// Limit counted from handing the U_PDU down, if the TTD allows it.
  Duration node_confirm_wait_max = hours(24);
  Duration client_confirm_wait_max = hours(1);
  Duration client_confirm_grace = minutes(2);  // time for the way back, after the TTD

  std::size_t management_octets_max = 4096;  // limit of one S_MANAGEMENT_MSG_INDICATION
  std::size_t peers_counted_max = 256;       // other nodes whose octets are counted separately
  std::size_t bound_clients_max = 16;        // beyond it a bind pre-empts a client of lower rank
  std::size_t unbound_clients_max = 16;      // at least 1; one client more replaces another
  unsigned invalid_primitives_max = 10;
  Duration invalid_primitives_window = minutes(10);
  unsigned expedited_requests_max = 20;  // limit for one client; more end its bind (A.2.1.10(4))
  Duration expedited_requests_window = minutes(10);
  Duration unbound_idle_timeout = minutes(1);
  Duration keep_alive_interval{0};  // interval of our own probes; 0: none; otherwise at least 120 s
  Duration keep_alive_answer_wait = seconds(30);
};

}  // namespace s5066::sap
