// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_types.h"

namespace s5066::ip_client {
namespace {

constexpr CounterTable<DnsCounter> kDnsTable({
    {DnsCounter::questions, "dns_questions", "questions", "DNS messages from hosts of this side"},
    {DnsCounter::questions_refused, "dns_questions_refused", "questions",
     "DNS messages from hosts that are malformed or ask for what is not carried"},
    {DnsCounter::refused_limit, "dns_refused_limit", "questions",
     "questions answered with SERVFAIL because too many are on their way"},
    {DnsCounter::from_cache, "dns_from_cache", "questions", "questions answered from the cache"},
    {DnsCounter::asked, "dns_asked", "questions", "questions sent to the far end"},
    {DnsCounter::answered, "dns_answered", "answers", "valid answers of the far end"},
    {DnsCounter::answers_refused, "dns_answers_refused", "answers",
     "answers of the far end that are malformed or belong to another question"},
    {DnsCounter::failed, "dns_failed", "questions",
     "questions that could not be sent, or that the far end did not answer in time or at all"},
    {DnsCounter::cached, "dns_cached", "answers", "answers in the cache now", CounterKind::gauge},
});

}  // namespace

const CounterTable<DnsCounter>& counter_table(DnsCounter) {
  return kDnsTable;
}

}  // namespace s5066::ip_client
