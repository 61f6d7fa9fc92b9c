// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/stream_types.h"

namespace s5066::streams {
namespace {

constexpr CounterTable<StreamCounter> kTable({
    {StreamCounter::opened, "streams_opened", "streams", "streams that this end opened"},
    {StreamCounter::accepted, "streams_accepted", "streams", "streams that a peer opened"},
    {StreamCounter::completed, "streams_completed", "streams",
     "streams that both ends closed, with every octet acknowledged"},
    {StreamCounter::reset_here, "streams_reset_here", "streams", "streams that this end reset"},
    {StreamCounter::reset_by_peer, "streams_reset_by_peer", "streams", "streams that a peer reset"},
    {StreamCounter::refused_limit, "streams_refused_limit", "streams",
     "streams refused because too many are open"},
    {StreamCounter::updus_sent, "streams_updus_sent", "U_PDUs", "U_PDUs handed to the node"},
    {StreamCounter::octets_sent, "streams_octets_sent", "octets",
     "octets of streams handed to the node, repetitions included"},
    {StreamCounter::octets_received, "streams_octets_received", "octets",
     "octets of streams received for the first time"},
    {StreamCounter::octets_resent, "streams_octets_resent", "octets",
     "octets of streams queued again because the node failed to deliver them"},
    {StreamCounter::octets_before_compression, "streams_octets_before_compression", "octets",
     "octets that went into compression"},
    {StreamCounter::octets_after_compression, "streams_octets_after_compression", "octets",
     "octets that came out of compression"},
    {StreamCounter::compressions_given_up, "streams_compressions_given_up", "streams",
     "streams whose compression ended because it did not help"},
    {StreamCounter::updus_received, "streams_updus_received", "U_PDUs",
     "well-formed U_PDUs received"},
    {StreamCounter::malformed, "streams_malformed", "U_PDUs",
     "U_PDUs discarded because their layout is wrong"},
    {StreamCounter::stale, "streams_stale", "U_PDUs",
     "U_PDUs discarded because they belong to an earlier session"},
    {StreamCounter::repeated_octets, "streams_repeated_octets", "octets",
     "octets of streams received again and discarded"},
    {StreamCounter::sessions_lost, "streams_sessions_lost", "sessions",
     "sessions that ended because a peer restarted or was silent for too long"},
    {StreamCounter::open, "streams_open", "streams", "streams open now", CounterKind::gauge},
    {StreamCounter::held, "streams_octets_held", "octets", "octets held for streams now",
     CounterKind::gauge},
});

}  // namespace

const CounterTable<StreamCounter>& counter_table(StreamCounter) {
  return kTable;
}

std::string_view to_string(ResetCode code) {
  switch (code) {
    case ResetCode::by_application:
      return "an application ended the connection";
    case ResetCode::refused:
      return "the server refused the connection";
    case ResetCode::unreachable:
      return "the server cannot be reached";
    case ResetCode::not_allowed:
      return "the far end does not allow this server";
    case ResetCode::limit:
      return "too many streams are open";
    case ResetCode::protocol_error:
      return "an end sent contradictory data";
    case ResetCode::unknown_stream:
      return "the far end does not know the stream";
    case ResetCode::peer_restarted:
      return "the far end restarted";
    case ResetCode::peer_silent:
      return "the far end was silent for too long";
    case ResetCode::unsupported:
      return "the station has no proxy";
    case ResetCode::idle:
      return "nothing was sent for too long";
  }
  return "an unknown reason";
}

std::string_view to_string(StreamEvent::Kind kind) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  static constexpr std::string_view kNames[] = {
      "proxy_found",     "proxy_missing",  "proxy_restarted", "proxy_silent",
      "proxy_answering", "proxy_given_up", "proxy_nonsense"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace s5066::streams
