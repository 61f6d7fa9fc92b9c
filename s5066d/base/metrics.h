// SPDX-License-Identifier: Apache-2.0
// The counters of a node: one table of name, unit and help. Operators read them, and simulations
// assert on them. All cores add to the same injected object.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace s5066 {

enum class Counter : std::uint8_t {
  bursts_sent,
  bursts_received,
  dpdus_sent,
  dpdus_received,
  dpdus_bad_header_crc,
  dpdus_bad_segment_crc,
  dpdus_malformed,
  dpdus_for_others,
  frames_sent_new,
  frames_sent_again,
  frames_duplicate,
  frames_out_of_window,
  frames_not_held,
  reply_timeouts,
  occupied_waits,
  occupied_sends,
  windows_resynced,
  rates_changed,
  fallbacks,
  eows_unrecognised,
  managements_repeated,
  warnings_sent,
  warnings_received,
  links_made,
  links_rejected,
  links_broken,
  links_lost,
  link_answers_dropped,
  hard_links_established,
  hard_links_rejected,
  cpdus_malformed,
  cpdus_damaged,
  cpdus_without_link,
  spdus_malformed,
  spdus_damaged,
  spdus_unbound,
  spdus_expired,
  spdus_unsupported,
  spdus_not_for_us,
  updus_accepted,
  updus_confirmed,
  updus_rejected,
  updus_expired,
  updus_dropped,
  updus_purged,
  updus_refused,
  updus_lowered,
  updus_requeued,
  updus_indicated,
  updus_repeated,
  updus_untaken,
  user_octets_sent,
  user_octets_acknowledged,
  user_octets_received,
  clients_connected,
  clients_bound,
  clients_dropped,
  clients_ended_dead_peer,
  clients_ended_idle,
  clients_ended_inactive,
  clients_ended_partial_primitive,
  clients_ended_unread,
  clients_ended_unpaused,
  clients_ended_invalid_primitives,
  clients_ended_expedited_requests,
  clients_ended_preempted,
  clients_ended_sap_shut,
  clients_ended_broadcast,
  clients_ended_displaced,
  clients_ended_by_operator,
  clients_ended_tls,
  clients_ended_octet_order,
  clients_refused,
  binds_rejected_no_room,
  binds_rejected_bound_already,
  binds_rejected_sap_not_allowed,
  binds_rejected_sap_reserved,
  binds_rejected_sap_shut,
  binds_rejected_sap_taken,
  binds_rejected_no_arq,
  binds_rejected_illegal_service,
  binds_rejected_rank_not_allowed,
  primitives_received,
  primitives_sent,
  primitives_invalid,
  modem_faults,
  count
};

struct CounterInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
};

const CounterInfo& info(Counter counter);

class Counters {
 public:
  void add(Counter counter, std::uint64_t n = 1) { values_[index(counter)] += n; }
  std::uint64_t operator[](Counter counter) const { return values_[index(counter)]; }

 private:
  static std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }
  std::array<std::uint64_t, static_cast<std::size_t>(Counter::count)> values_{};
};

}  // namespace s5066
