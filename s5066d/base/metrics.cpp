#include "s5066d/base/metrics.h"

#include "s5066d/base/assert.h"

namespace s5066 {
namespace {
constexpr std::array<CounterInfo, static_cast<std::size_t>(Counter::count)> kTable = {{
    {"bursts_sent", "bursts", "transmissions that ended as planned"},
    {"bursts_received", "bursts", "transmissions of others that the modem locked to"},
    {"dpdus_sent", "frames", "D_PDUs transmitted, of every type"},
    {"dpdus_received", "frames", "D_PDUs with a good header CRC, for whomever"},
    {"dpdus_bad_header_crc", "frames", "sync words without a valid header behind them"},
    {"dpdus_bad_segment_crc", "frames", "D_PDUs whose segment failed its CRC"},
    {"dpdus_malformed", "frames", "D_PDUs with a good CRC and an illegal field"},
    {"dpdus_for_others", "frames", "D_PDUs addressed to another station"},
    {"frames_sent_new", "frames", "ARQ segments sent for the first time"},
    {"frames_sent_again", "frames", "ARQ segments retransmitted"},
    {"frames_duplicate", "frames", "ARQ segments received again"},
    {"frames_out_of_window", "frames", "ARQ segments outside the receive window"},
    {"frames_not_held", "frames", "ARQ segments refused because too much waits for older ones"},
    {"reply_timeouts", "events", "transmissions whose expected answer did not come"},
    {"occupied_waits", "events", "transmissions held back by what no receiver knew"},
    {"occupied_sends", "events", "transmissions begun over it, after 140 s and a slot"},
    {"windows_resynced", "exchanges", "resets of ARQ windows that this station began"},
    {"rates_changed", "changes", "times that transmissions to a peer went to another mode"},
    {"fallbacks", "changes", "times that a missing answer made transmissions to a peer slower"},
    {"eows_unrecognised", "messages", "engineering order wire messages of a type not known here"},
    {"managements_repeated", "frames", "type 6 D_PDUs whose message had come before"},
    {"warnings_sent", "frames", "WARNING D_PDUs sent"},
    {"warnings_received", "frames", "WARNING D_PDUs received"},
    {"links_made", "links", "physical links made"},
    {"links_rejected", "links", "physical link requests refused, by either side"},
    {"links_broken", "links", "physical links ended by the protocol"},
    {"links_lost", "links", "physical links given up for want of an answer"},
    {"link_answers_dropped", "C_PDUs",
     "REJECTED and BREAK CONFIRM that more recent ones displaced"},
    {"hard_links_established", "links", "hard links that became active, at either end"},
    {"hard_links_rejected", "links", "hard links that our clients asked for and did not get"},
    {"cpdus_malformed", "C_PDUs", "C_PDUs discarded as invalid"},
    {"cpdus_damaged", "C_PDUs", "non-ARQ C_PDUs discarded because their type was damaged"},
    {"cpdus_without_link", "C_PDUs", "ARQ C_PDUs discarded because their sender has no link"},
    {"spdus_malformed", "S_PDUs", "S_PDUs discarded as invalid"},
    {"spdus_damaged", "S_PDUs", "non-ARQ S_PDUs discarded because nobody takes them damaged"},
    {"spdus_unbound", "S_PDUs", "DATA S_PDUs for a SAP that nobody had bound"},
    {"spdus_expired", "S_PDUs", "DATA S_PDUs received after their time to die"},
    {"spdus_unsupported", "S_PDUs", "S_PDUs discarded because their type is not offered"},
    {"spdus_not_for_us", "S_PDUs", "S_PDUs to a group that the node has not subscribed to"},
    {"updus_accepted", "U_PDUs", "U_PDUs accepted from clients"},
    {"updus_confirmed", "U_PDUs", "U_PDUs delivered as far as was asked"},
    {"updus_rejected", "U_PDUs", "U_PDUs that failed after acceptance"},
    {"updus_expired", "U_PDUs", "U_PDUs discarded at their time to die"},
    {"updus_dropped", "U_PDUs", "accepted U_PDUs whose client left before their end"},
    {"updus_refused", "U_PDUs", "U_PDUs not accepted: too large, illegal mode, no room"},
    {"updus_requeued", "U_PDUs", "times that a U_PDU outlived a link and was queued again"},
    {"updus_indicated", "U_PDUs", "U_PDUs handed to local clients"},
    {"updus_repeated", "U_PDUs", "U_PDUs received again after a broken link, not handed on"},
    {"user_octets_sent", "octets", "C_PDU octets in new ARQ segments"},
    {"user_octets_acknowledged", "octets", "C_PDU octets acknowledged by peers"},
    {"user_octets_received", "octets", "C_PDU octets received without error"},
    {"clients_connected", "clients", "SIS connections accepted"},
    {"clients_bound", "clients", "successful binds"},
    {"clients_dropped", "clients", "SIS connections that the node ended"},
    {"primitives_received", "primitives", "S_PRIMITIVEs received"},
    {"primitives_sent", "primitives", "S_PRIMITIVEs sent"},
    {"primitives_invalid", "primitives", "S_PRIMITIVEs discarded as invalid"},
    {"modem_faults", "events", "faults the modem reported"},
}};
}

const CounterInfo& info(Counter counter) {
  const auto i = static_cast<std::size_t>(counter);
  S5066_ASSERT(i < kTable.size());
  return kTable[i];
}

}  // namespace s5066
