// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/counters.h"

namespace s5066::p_mul {
namespace {

constexpr CounterTable<PMulCounter> kCore({
    {PMulCounter::pdus, "p_mul_pdus_received", "PDUs", "PDUs received, of every type and quality"},
    {PMulCounter::bad_checksum, "p_mul_bad_checksum", "PDUs",
     "PDUs discarded because their checksum is wrong"},
    {PMulCounter::unknown_type, "p_mul_unknown_type", "PDUs",
     "PDUs discarded because their type is unknown"},
    {PMulCounter::malformed, "p_mul_malformed", "PDUs", "PDUs discarded as invalid"},
    {PMulCounter::source_refused, "p_mul_source_refused", "PDUs",
     "PDUs of a source that is no station of the configuration"},
    {PMulCounter::group_pdus, "p_mul_group_pdus_received", "PDUs",
     "PDUs of dynamic groups: Announce, Request, Reject, Release"},
});

constexpr CounterTable<PMulSenderCounter> kSender({
    {PMulSenderCounter::messages, "p_mul_messages_sent", "messages",
     "messages that the transmitter began"},
    {PMulSenderCounter::rounds, "p_mul_rounds", "rounds", "rounds of transmissions begun"},
    {PMulSenderCounter::address_pdus, "p_mul_address_pdus_sent", "PDUs", "Address_PDUs sent"},
    {PMulSenderCounter::data_pdus, "p_mul_data_pdus_sent", "PDUs", "Data_PDUs sent, in all rounds"},
    {PMulSenderCounter::data_pdus_again, "p_mul_data_pdus_sent_again", "PDUs",
     "Data_PDUs sent after the first round of their message"},
    {PMulSenderCounter::parity_pdus, "p_mul_parity_pdus_sent", "PDUs", "PDUs with parity sent"},
    {PMulSenderCounter::discard_pdus, "p_mul_discard_pdus_sent", "PDUs",
     "Discard_Message_PDUs sent"},
    {PMulSenderCounter::octets, "p_mul_octets_sent", "octets",
     "octets of all PDUs of the transmitter"},
    {PMulSenderCounter::data_octets, "p_mul_data_octets_sent", "octets",
     "octets of fragments and parity, without headers"},
    {PMulSenderCounter::pre_emptions, "p_mul_pre_emptions", "events",
     "messages interrupted by a more urgent one"},
    {PMulSenderCounter::acks, "p_mul_acks_received", "PDUs", "Ack_PDUs received"},
    {PMulSenderCounter::acks_of_others, "p_mul_acks_of_others", "entries",
     "entries of Ack_PDUs that name another transmitter"},
    {PMulSenderCounter::acks_not_addressed, "p_mul_acks_not_addressed", "entries",
     "entries of Ack_PDUs from stations that are no destination"},
    {PMulSenderCounter::acks_unknown, "p_mul_acks_unknown", "entries",
     "entries of Ack_PDUs for messages that are over"},
    {PMulSenderCounter::acks_repeated, "p_mul_acks_repeated", "entries",
     "entries of Ack_PDUs of a destination that had ended"},
    {PMulSenderCounter::acks_nonsense, "p_mul_acks_nonsense", "entries",
     "entries of Ack_PDUs with blocks that the message does not have"},
    {PMulSenderCounter::acks_other_form, "p_mul_acks_other_form", "entries",
     "entries of Ack_PDUs accepted although their IDs stand in other fields"},
    {PMulSenderCounter::delivered, "p_mul_destinations_delivered", "destinations",
     "destinations that acknowledged a whole message"},
    {PMulSenderCounter::expired, "p_mul_destinations_expired", "destinations",
     "destinations that had not acknowledged when the message expired"},
});

constexpr CounterTable<PMulReceiverCounter> kReceiver({
    {PMulReceiverCounter::data_pdus, "p_mul_data_pdus_received", "PDUs", "Data_PDUs received"},
    {PMulReceiverCounter::parity_pdus, "p_mul_parity_pdus_received", "PDUs",
     "PDUs with parity received"},
    {PMulReceiverCounter::duplicates, "p_mul_duplicates", "PDUs", "Data_PDUs received again"},
    {PMulReceiverCounter::contradictions, "p_mul_contradictions", "PDUs",
     "Data_PDUs with another content than before under the same number"},
    {PMulReceiverCounter::not_for_us, "p_mul_not_for_us", "PDUs",
     "PDUs of messages for other stations"},
    {PMulReceiverCounter::bad_number, "p_mul_bad_number", "PDUs",
     "Data_PDUs with a number above the total of the message"},
    {PMulReceiverCounter::changed_total, "p_mul_changed_total", "PDUs",
     "Address_PDUs with another total than the first"},
    {PMulReceiverCounter::without_expiry, "p_mul_messages_without_expiry", "PDUs",
     "Address_PDUs whose time of expiry is 0, not accepted"},
    {PMulReceiverCounter::clock_apart, "p_mul_messages_clock_apart", "messages",
     "messages that had expired by our clock when they came"},
    {PMulReceiverCounter::too_large, "p_mul_too_large", "PDUs",
     "PDUs of messages over the limit of octets"},
    {PMulReceiverCounter::crowded_out, "p_mul_crowded_out", "messages",
     "incomplete messages discarded to make room for others"},
    {PMulReceiverCounter::no_room, "p_mul_no_room", "PDUs",
     "PDUs not kept, because nothing could give way to them"},
    {PMulReceiverCounter::recovered, "p_mul_recovered", "blocks", "blocks computed from parity"},
    {PMulReceiverCounter::acks, "p_mul_acks_sent", "PDUs", "Ack_PDUs sent"},
    {PMulReceiverCounter::received, "p_mul_messages_received", "messages",
     "messages received complete and handed up"},
    {PMulReceiverCounter::repeated, "p_mul_messages_repeated", "PDUs",
     "Address_PDUs of a complete message, acknowledged again"},
    {PMulReceiverCounter::discarded, "p_mul_messages_discarded", "messages",
     "incomplete messages that their transmitter discarded"},
    {PMulReceiverCounter::expired, "p_mul_messages_expired", "messages",
     "messages that were incomplete when they expired"},
    {PMulReceiverCounter::orphans_dropped, "p_mul_orphans_dropped", "messages",
     "messages discarded because their Address_PDU did not come"},
    {PMulReceiverCounter::sequence_gaps, "p_mul_sequence_gaps", "events",
     "numbers left out in the sequence of a transmitter"},
});

constexpr CounterTable<PMulGroupCounter> kGroups({
    {PMulGroupCounter::requests, "p_mul_groups_requested", "PDUs",
     "Request_PDUs sent, for a group of a message of ours"},
    {PMulGroupCounter::rejected, "p_mul_groups_rejected", "events",
     "requests of ours that another station rejected"},
    {PMulGroupCounter::yielded, "p_mul_groups_yielded", "events",
     "groups left to a station that requested the same"},
    {PMulGroupCounter::rejects_late, "p_mul_groups_rejects_late", "PDUs",
     "Reject_PDUs ignored, because no request waits for them"},
    {PMulGroupCounter::pool_empty, "p_mul_groups_pool_empty", "events",
     "requests put off, because no group of the pool was free"},
    {PMulGroupCounter::announcements, "p_mul_groups_announced", "announcements",
     "announcements sent; each repeat counts"},
    {PMulGroupCounter::releases, "p_mul_groups_released", "PDUs", "Release_PDUs sent"},
    {PMulGroupCounter::rejects, "p_mul_groups_rejects_sent", "PDUs", "Reject_PDUs sent"},
    {PMulGroupCounter::joined, "p_mul_groups_joined", "groups", "groups of other stations joined"},
    {PMulGroupCounter::left, "p_mul_groups_left", "groups", "groups of other stations left"},
    {PMulGroupCounter::not_in_pool, "p_mul_groups_not_in_pool", "PDUs",
     "announcements to us of a group outside the pool"},
    {PMulGroupCounter::joins_refused, "p_mul_groups_joins_refused", "groups",
     "groups not joined: over the limit, expired, or refused by the system"},
});

constexpr CounterTable<CarrierCounter> kCarrier({
    {CarrierCounter::sent, "carrier_pdus_sent", "PDUs", "PDUs sent, with UDOP as non-ARQ data"},
    {CarrierCounter::sent_arq, "carrier_pdus_sent_arq", "PDUs",
     "PDUs sent as ARQ data, with UDOP only"},
    {CarrierCounter::arq_failed, "carrier_arq_failed", "PDUs",
     "PDUs that ARQ did not deliver, sent again without it"},
    {CarrierCounter::received, "carrier_pdus_received", "PDUs", "PDUs received and handed on"},
    {CarrierCounter::malformed, "carrier_malformed", "datagrams",
     "datagrams too short for a PDU, or without a valid header"},
    {CarrierCounter::wrong_application, "carrier_wrong_application", "datagrams",
     "U_PDUs of another application"},
    {CarrierCounter::divided, "carrier_divided", "datagrams",
     "U_PDUs with a segment other than the first"},
    {CarrierCounter::source_refused, "carrier_source_refused", "PDUs",
     "PDUs from another address than that of the station in them"},
    {CarrierCounter::unknown_target, "carrier_unknown_target", "PDUs",
     "PDUs not sent, because their destination has no address"},
    {CarrierCounter::send_errors, "carrier_send_errors", "errors",
     "datagrams that the system did not send"},
    {CarrierCounter::receive_errors, "carrier_receive_errors", "errors",
     "failures of the system to receive"},
});

}  // namespace

const CounterTable<PMulCounter>& counter_table(PMulCounter) {
  return kCore;
}

const CounterTable<PMulSenderCounter>& counter_table(PMulSenderCounter) {
  return kSender;
}

const CounterTable<PMulReceiverCounter>& counter_table(PMulReceiverCounter) {
  return kReceiver;
}

const CounterTable<PMulGroupCounter>& counter_table(PMulGroupCounter) {
  return kGroups;
}

const CounterTable<CarrierCounter>& counter_table(CarrierCounter) {
  return kCarrier;
}

}  // namespace s5066::p_mul
