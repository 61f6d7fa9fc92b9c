// SPDX-License-Identifier: Apache-2.0
// Events inside a core, as small values for an injected sink. A sink writes log lines, feeds a
// capture, or keeps the last events for an assert to print. Cores never format text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066 {

enum class TraceKind : std::uint8_t {
  burst_started,      // a = octets, b = planned air time in ms
  burst_finished,     // a = 0 sent, 1 aborted, 2 underrun
  carrier_up,         // a = bit/s, b = SNR in tenths of a dB
  carrier_down,       // a = reason
  dpdu_sent,          // a = type, b = frame number or 0; octets if wanted
  dpdu_received,      // a = type, b = frame number or 0; octets if wanted
  link_state,         // a = old, b = new state of the physical link
  hard_link_state,    // a = old, b = new state of the hard link
  cpdu_sent,          // a = C_PDU type, b = octets
  cpdu_received,      // a = C_PDU type, b = octets
  client_bound,       // a = SAP, b = rank; `client`
  bind_rejected,      // a = SAP, b = rank; `client`
  client_unbound,     // a = SAP; its connection stays; `client`
  client_closed,      // the node closed the connection; `client`
  invalid_primitive,  // a = type; `client`
  updu_accepted,      // a = U_PDU id, b = octets
  updu_ended,         // a = U_PDU id, b = outcome
  reply_timeout,      // a = consecutive time-outs
  link_lost,          // the peer stopped answering
  // A U_PDU of our client: a = U_PDU id or 0, b = 1 if it may have been on the air; `discarded`.
  updu_discarded,
  answer_discarded,     // a delivery confirmation that we had to send; `discarded`
  spdu_discarded,       // a received S_PDU; `discarded`
  cpdu_discarded,       // a received C_PDU; `discarded`
  sent_while_occupied,  // a burst left on an occupied channel: a = ms that it had been held back
  mode_changed,         // the mode of our transmissions to the peer: a = bit/s, b = interleaver
  mode_advised,         // the peer advised a mode for our transmissions: a = bit/s, b = interleaver
  mode_refused,         // a mode that we asked the peer for: a = reason (Table C-8)
  warning_sent,         // a = type of the cause, b = reason
  clocks_apart,         // our clock is ahead of the peer's: a = lower bound in seconds
  identification_started,  // our call sign in Morse code; b = air time in ms
  count
};

/// Name of a kind, and the names of its two numbers; empty for a number that is not used.
struct TraceKindInfo {
  std::string_view name;
  std::string_view a;
  std::string_view b;
};
const TraceKindInfo& info(TraceKind kind);

std::string_view to_string(TraceKind kind);

/// Reason why data was discarded.
enum class DiscardReason : std::uint8_t {
  expired,         // the time to die had passed
  not_bound,       // the SAP was not bound
  not_responding,  // the station did not answer in any of the attempts
  no_arq,          // a broadcast session was on
  too_large,
  no_room,
  refused,      // another reason, which the client is told
  client_gone,  // the client has gone
  damaged,
  repeated,  // the data had been received before
  malformed,
  unsupported,
  no_link,
  purged,  // an operator purged it
  count
};
std::string_view to_string(DiscardReason reason);

/// Result of an accepted U_PDU.
enum class UpduOutcome : std::uint8_t { confirmed, rejected, expired, dropped, purged, count };
std::string_view to_string(UpduOutcome outcome);

/// Discarded data, as far as it is known at that point.
struct Discarded {
  struct Clients {
    SapId source_sap;
    SapId destination_sap;
    std::uint8_t priority = 0;
    friend bool operator==(const Clients&, const Clients&) = default;
  };
  DiscardReason reason = DiscardReason::count;
  std::size_t octets = 0;
  std::optional<Clients> clients;
  friend bool operator==(const Discarded&, const Discarded&) = default;
};

/// Reason for the end of a client's bind or connection.
enum class ClientEnd : std::uint8_t {
  unbound,             // the client asked for it
  left,                // the client closed its connection
  dead_peer,           // the client's machine does not answer any more
  idle,                // the client did not bind in time
  inactive,            // the client did not answer a keep-alive
  partial_primitive,   // a primitive stayed incomplete
  unread,              // the client left too much unread
  unpaused,            // the client ignored flow control
  invalid_primitives,  // the client sent too many
  expedited_requests,  // the client sent too many
  preempted,           // a client of higher rank took its place
  sap_shut,            // a manager or an operator shut the SAP
  broadcast,           // a session without ARQ began, and the client was bound for ARQ
  displaced,           // the client had no bind, and another client connected
  by_operator,
  tls,          // the client began a TLS handshake at a plain port
  octet_order,  // the client sends the low octet first
  count
};
/// Returns the reason as text.
std::string_view to_string(ClientEnd end);

/// Reason for a refused bind. The standard has four reasons for a client; an operator needs more.
enum class BindRefusal : std::uint8_t {
  no_room,  // as many clients are bound as allowed, and none of lower rank
  bound_already,
  sap_not_allowed,   // this client may not use the SAP
  sap_reserved,      // 10 and 11
  sap_shut,          // a manager or an operator shut the SAP
  sap_taken,         // another client has it
  no_arq,            // a broadcast session is on
  illegal_service,   // the service type is not in the standard
  rank_not_allowed,  // this client may not have the rank
  count
};
/// Returns the reason as text.
std::string_view to_string(BindRefusal refusal);

/// The client of an event.
struct TracedClient {
  ClientId id;
  std::string_view origin;     // valid only during the call
  std::optional<SapId> sap{};  // SAP that it holds
  std::string_view reason{};   // text with static storage
  bool ended_by_node = false;  // ended or refused by the node
};

struct TraceEvent {
  Instant at{};
  TraceKind kind = TraceKind::count;
  Address peer;
  std::int64_t a = 0;
  std::int64_t b = 0;
  ByteSpan octets{};  // valid only during the call
  std::optional<Discarded> discarded{};
  std::optional<TracedClient> client{};
};

/// Returns text like "12.345 dpdu_sent peer=1.2.3.4 type=0 number=17".
std::string to_string(const TraceEvent& event);

class TraceSink {
 public:
  virtual void on_trace(const TraceEvent& event) = 0;
  /// True if D_PDU events should carry their octets, which costs an encoding.
  virtual bool wants_octets() const { return false; }

 protected:
  ~TraceSink() = default;
};

/// Keeps the newest events, without their octets.
class TraceRing final : public TraceSink {
 public:
  explicit TraceRing(std::size_t capacity = 256) : events_(capacity) {}
  void on_trace(const TraceEvent& event) override;
  /// Returns the events, oldest first.
  std::vector<TraceEvent> events() const;

 private:
  std::vector<TraceEvent> events_;
  std::uint64_t written_ = 0;
};

/// A sink for cores whose events are not needed.
class NullTrace final : public TraceSink {
 public:
  void on_trace(const TraceEvent&) override {}
};

}  // namespace s5066
