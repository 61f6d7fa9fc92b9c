// SPDX-License-Identifier: Apache-2.0
#include "modem/api/counters.h"

namespace s5066::modem {
namespace {

constexpr CounterTable<ModemCounter> kModem({
    {ModemCounter::blocks, "modem_blocks", "blocks", "blocks of samples exchanged with the device"},
    {ModemCounter::samples_dropped, "modem_samples_dropped", "samples",
     "received samples lost, at the device's rate"},
    {ModemCounter::samples_underrun, "modem_samples_underrun", "samples",
     "samples that came too late for the device to send them"},
    {ModemCounter::samples_clipped, "modem_samples_clipped", "samples",
     "received samples at full scale, because the level is too high"},
    {ModemCounter::events_lost, "modem_events_lost", "events",
     "events discarded because the node did not read them"},
    {ModemCounter::commands_refused, "modem_commands_refused", "commands",
     "commands of the node refused"},
    {ModemCounter::device_losses, "modem_device_losses", "events",
     "losses of the sound device, or of the connection to a remote modem"},
    {ModemCounter::ptt_failures, "modem_ptt_failures", "events",
     "failures to key or unkey the transmitter"},
    {ModemCounter::watchdog_trips, "watchdog_trips", "events",
     "transmissions that the watchdog of the key ended"},
    {ModemCounter::watchdog_unkeyings, "watchdog_unkeyings", "attempts",
     "times that the watchdog told the transmitter to unkey"},
    {ModemCounter::watchdog_unkeyings_failed, "watchdog_unkeyings_failed", "attempts",
     "times that the transmitter did not obey the watchdog"},
});

constexpr CounterTable<ReceiverCounter> kReceiver({
    {ReceiverCounter::samples, "receiver_samples", "samples",
     "samples searched for transmissions; 0 with a remote modem, like all of the receiver"},
    {ReceiverCounter::samples_sanitized, "receiver_samples_sanitized", "samples",
     "samples that were not finite or far beyond full scale"},
    {ReceiverCounter::preambles_refused, "receiver_preambles_refused", "preambles",
     "preambles of a reserved or unwanted mode, or too uncertain"},
    {ReceiverCounter::bursts, "receiver_bursts", "bursts", "transmissions found by their preamble"},
    {ReceiverCounter::bursts_joined, "receiver_bursts_joined", "bursts",
     "transmissions noticed without their preamble"},
    {ReceiverCounter::blocks_unheard, "receiver_blocks_unheard", "blocks",
     "blocks read after the loss of the signal and therefore not delivered"},
    {ReceiverCounter::events_dropped, "receiver_events_dropped", "events",
     "events discarded because the modem did not read them"},
});

}  // namespace

const CounterTable<ModemCounter>& counter_table(ModemCounter) {
  return kModem;
}

const CounterTable<ReceiverCounter>& counter_table(ReceiverCounter) {
  return kReceiver;
}

}  // namespace s5066::modem
