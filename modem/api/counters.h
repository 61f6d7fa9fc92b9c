// SPDX-License-Identifier: Apache-2.0
// The counters of a modem with its key watchdog, and of the receiver in it.
#pragma once

#include <cstdint>

#include "s5066d/base/counter_set.h"

namespace s5066::modem {

enum class ModemCounter : std::uint8_t {
  blocks,
  samples_dropped,
  samples_underrun,
  samples_clipped,
  events_lost,
  commands_refused,
  device_losses,
  ptt_failures,
  watchdog_trips,
  watchdog_unkeyings,
  watchdog_unkeyings_failed,
  count
};
const CounterTable<ModemCounter>& counter_table(ModemCounter);
using ModemCounters = CounterSet<ModemCounter>;

enum class ReceiverCounter : std::uint8_t {
  samples,
  samples_sanitized,
  preambles_refused,
  bursts,
  bursts_joined,
  blocks_unheard,
  events_dropped,
  count
};
const CounterTable<ReceiverCounter>& counter_table(ReceiverCounter);
using ReceiverCounters = CounterSet<ReceiverCounter>;

}  // namespace s5066::modem
