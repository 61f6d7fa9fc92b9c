// SPDX-License-Identifier: Apache-2.0
// The counters of P_MUL and its carriers.
#pragma once

#include <cstdint>

#include "s5066d/base/counter_set.h"

namespace s5066::p_mul {

enum class PMulCounter : std::uint8_t {
  pdus,
  bad_checksum,
  unknown_type,
  malformed,
  source_refused,
  group_pdus,
  count
};
const CounterTable<PMulCounter>& counter_table(PMulCounter);

enum class PMulSenderCounter : std::uint8_t {
  messages,
  rounds,
  address_pdus,
  data_pdus,
  data_pdus_again,
  parity_pdus,
  discard_pdus,
  octets,
  data_octets,
  pre_emptions,
  acks,
  acks_of_others,
  acks_not_addressed,
  acks_unknown,
  acks_repeated,
  acks_nonsense,
  acks_other_form,
  delivered,
  expired,
  count
};
const CounterTable<PMulSenderCounter>& counter_table(PMulSenderCounter);

enum class PMulReceiverCounter : std::uint8_t {
  data_pdus,
  parity_pdus,
  duplicates,
  contradictions,
  not_for_us,
  bad_number,
  changed_total,
  without_expiry,
  clock_apart,
  too_large,
  crowded_out,
  no_room,
  recovered,
  acks,
  received,
  repeated,
  discarded,
  expired,
  orphans_dropped,
  sequence_gaps,
  count
};
const CounterTable<PMulReceiverCounter>& counter_table(PMulReceiverCounter);

enum class PMulGroupCounter : std::uint8_t {
  requests,
  rejected,
  yielded,
  rejects_late,
  pool_empty,
  announcements,
  releases,
  rejects,
  joined,
  left,
  not_in_pool,
  joins_refused,
  count
};
const CounterTable<PMulGroupCounter>& counter_table(PMulGroupCounter);

/// The counters of both carriers. The label carrier=udop or carrier=udp tells them apart.
enum class CarrierCounter : std::uint8_t {
  sent,
  sent_arq,
  arq_failed,
  received,
  malformed,
  wrong_application,
  divided,
  source_refused,
  unknown_target,
  send_errors,
  receive_errors,
  count
};
const CounterTable<CarrierCounter>& counter_table(CarrierCounter);

}  // namespace s5066::p_mul
