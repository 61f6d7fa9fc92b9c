// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/trace.h"

#include <cstdio>

#include "s5066d/base/assert.h"

namespace s5066 {
namespace {
// Names of log events; a test looks for each in docs/operate/log_events.md.
constexpr std::array<TraceKindInfo, static_cast<std::size_t>(TraceKind::count)> kTable = {{
    {"burst_started", "octets", "airtime_ms"},
    {"burst_finished", "outcome", ""},
    {"carrier_up", "rate_bps", "snr_tenth_db"},
    {"carrier_down", "reason", ""},
    {"dpdu_sent", "type", "number"},
    {"dpdu_received", "type", "number"},
    {"link_state", "old", "state"},
    {"hard_link_state", "old", "state"},
    {"cpdu_sent", "type", "octets"},
    {"cpdu_received", "type", "octets"},
    {"client_bound", "sap", "rank"},
    {"bind_rejected", "sap", "rank"},
    {"client_unbound", "", ""},
    {"client_closed", "", ""},
    {"invalid_primitive", "type", ""},
    {"updu_accepted", "updu", "octets"},
    {"updu_ended", "updu", "outcome"},
    {"reply_timeout", "in_a_row", ""},
    {"link_lost", "", ""},
    {"updu_discarded", "updu", "sent"},
    {"answer_discarded", "", ""},
    {"spdu_discarded", "", ""},
    {"cpdu_discarded", "", ""},
    {"sent_while_occupied", "held_ms", ""},
    {"mode_changed", "rate_bps", "interleaver"},
    {"mode_advised", "rate_bps", "interleaver"},
    {"mode_refused", "reason", ""},
    {"warning_sent", "type", "reason"},
    {"clocks_apart", "at_least_s", ""},
    {"identification_started", "", "airtime_ms"},
}};

constexpr std::array<std::string_view, static_cast<std::size_t>(DiscardReason::count)> kReasons = {
    "expired",     "not_bound", "not_responding", "no_arq",    "too_large",   "no_room", "refused",
    "client_gone", "damaged",   "repeated",       "malformed", "unsupported", "no_link", "purged"};
static_assert(!kReasons.back().empty());

constexpr std::array<std::string_view, static_cast<std::size_t>(UpduOutcome::count)> kOutcomes = {
    "confirmed", "rejected", "expired", "dropped", "purged"};
static_assert(!kOutcomes.back().empty());

constexpr std::array<std::string_view, static_cast<std::size_t>(ClientEnd::count)> kClientEnds = {
    "the client unbound itself",
    "the client closed its connection",
    "the client's machine does not answer",
    "it did not bind in time",
    "it did not answer a keep-alive",
    "a primitive stayed incomplete",
    "it left too much unread",
    "it ignored flow control",
    "too many invalid primitives",
    "too many expedited requests",
    "a client of higher rank replaced it",
    "an operator or manager shut its SAP",
    "a broadcast session began and it is bound for ARQ",
    "it was not bound, and another client needed the connection",
    "an operator disconnected it",
    "it uses TLS, but this port has no TLS",
    "it sends numbers with the low octet first"};
static_assert(!kClientEnds.back().empty());

constexpr std::array<std::string_view, static_cast<std::size_t>(BindRefusal::count)> kRefusals = {
    "clients_max clients are bound and none has a lower rank",
    "the client is bound already",
    "the SAP is not allowed to this client",
    "SAPs 10 and 11 are reserved",
    "the SAP is shut",
    "another client has the SAP",
    "no ARQ in a broadcast session",
    "the service type is not in the standard",
    "the rank is not allowed to this client"};
static_assert(!kRefusals.back().empty());
}  // namespace

const TraceKindInfo& info(TraceKind kind) {
  const auto i = static_cast<std::size_t>(kind);
  S5066_ASSERT(i < kTable.size());
  return kTable[i];
}

std::string_view to_string(TraceKind kind) {
  return info(kind).name;
}

std::string_view to_string(UpduOutcome outcome) {
  const auto i = static_cast<std::size_t>(outcome);
  S5066_ASSERT(i < kOutcomes.size());
  return kOutcomes[i];
}

std::string_view to_string(ClientEnd end) {
  const auto i = static_cast<std::size_t>(end);
  S5066_ASSERT(i < kClientEnds.size());
  return kClientEnds[i];
}

std::string_view to_string(BindRefusal refusal) {
  const auto i = static_cast<std::size_t>(refusal);
  S5066_ASSERT(i < kRefusals.size());
  return kRefusals[i];
}

std::string_view to_string(DiscardReason reason) {
  const auto i = static_cast<std::size_t>(reason);
  S5066_ASSERT(i < kReasons.size());
  return kReasons[i];
}

std::string to_string(const TraceEvent& event) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f ", to_seconds(event.at.time_since_epoch()));
  std::string text(seconds);
  text.append(to_string(event.kind)).append(" peer=").append(to_string(event.peer));
  const TraceKindInfo& kind = info(event.kind);
  if (!kind.a.empty()) text.append(" ").append(kind.a).append("=").append(std::to_string(event.a));
  if (!kind.b.empty()) text.append(" ").append(kind.b).append("=").append(std::to_string(event.b));
  if (const auto& client = event.client) {
    text.append(" client=").append(std::to_string(client->id.value));
    if (!client->reason.empty()) text.append(" reason=\"").append(client->reason).append("\"");
  }
  if (const auto& data = event.discarded) {
    text.append(" reason=").append(to_string(data->reason));
    text.append(" octets=").append(std::to_string(data->octets));
    if (const auto& clients = data->clients) {
      text.append(" source_sap=").append(std::to_string(clients->source_sap.value));
      text.append(" destination_sap=").append(std::to_string(clients->destination_sap.value));
      text.append(" priority=").append(std::to_string(clients->priority));
    }
  }
  return text;
}

void TraceRing::on_trace(const TraceEvent& event) {
  TraceEvent& slot = events_[written_++ % events_.size()];
  slot = event;
  slot.octets = {};
  if (slot.client) slot.client->origin = {};
}

std::vector<TraceEvent> TraceRing::events() const {
  std::vector<TraceEvent> out;
  const std::uint64_t n = written_ < events_.size() ? written_ : events_.size();
  for (std::uint64_t i = written_ - n; i < written_; ++i)
    out.push_back(events_[i % events_.size()]);
  return out;
}

}  // namespace s5066
