// What happened inside a core, as small values for an injected sink. A sink writes log lines, feeds
// a capture, or keeps the last events for an assert to print. Cores never format text.
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
  burst_started,        // a = octets, b = planned air time in ms
  burst_finished,       // a = 0 sent, 1 aborted, 2 underrun
  carrier_up,           // a = bit/s, b = SNR in tenths of a dB
  carrier_down,         // a = reason
  dpdu_sent,            // a = type, b = frame number or 0; octets if wanted
  dpdu_received,        // a = type, b = frame number or 0; octets if wanted
  link_state,           // a = old, b = new state of the physical link
  hard_link_state,      // a = old, b = new state of the hard link
  cpdu_sent,            // a = C_PDU type, b = octets
  cpdu_received,        // a = C_PDU type, b = octets
  client_bound,         // a = SAP, b = rank; `client`
  bind_rejected,        // a = SAP, b = rank; `client`
  client_unbound,       // a = SAP; its connection stays; `client`
  client_closed,        // by the node; `client`
  invalid_primitive,    // a = type; `client`
  updu_accepted,        // a = U_PDU id, b = octets
  updu_ended,           // a = U_PDU id, b = outcome
  reply_timeout,        // a = consecutive time-outs
  link_lost,            // the peer stopped answering
  updu_discarded,       // of a client of ours: a = U_PDU id or 0, b = 1 if it may have been on the
                        // air; `discarded`
  answer_discarded,     // a delivery confirmation that we owe; `discarded`
  spdu_discarded,       // that came; `discarded`
  cpdu_discarded,       // that came; `discarded`
  sent_while_occupied,  // over what no receiver knew: a = ms that it had been held back
  mode_changed,         // of our transmissions to the peer: a = bit/s, b = interleaver
  mode_advised,         // by the peer, for the same: a = bit/s, b = interleaver
  mode_refused,         // that we asked of the peer: a = reason (Table C-8)
  warning_sent,         // a = type that it is for, b = reason
  clocks_apart,         // ours is ahead of the peer's: a = by at least so many seconds
  count
};

/// The kind's name, and what its two numbers are called; empty for a number it does not use.
struct TraceKindInfo {
  std::string_view name;
  std::string_view a;
  std::string_view b;
};
const TraceKindInfo& info(TraceKind kind);

std::string_view to_string(TraceKind kind);

/// Why data got no further.
enum class DiscardReason : std::uint8_t {
  expired,         // its time to die had passed
  not_bound,       // the SAP it is for
  not_responding,  // the station it is for, as often as it is tried
  no_arq,          // in a broadcast session
  too_large,
  no_room,
  refused,      // for another reason that the client is told
  client_gone,  // it came from
  damaged,
  repeated,  // it had come before
  malformed,
  unsupported,
  no_link,
  purged,  // by an operator
  count
};
std::string_view to_string(DiscardReason reason);

/// How an accepted U_PDU ended.
enum class UpduOutcome : std::uint8_t { confirmed, rejected, expired, dropped, purged, count };
std::string_view to_string(UpduOutcome outcome);

/// Data that got no further, as far as it is known where that was decided.
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

/// How the bind or the connection of a client ended.
enum class ClientEnd : std::uint8_t {
  unbound,             // the client asked for it
  left,                // the client closed its connection
  dead_peer,           // its machine does not answer any more
  idle,                // it did not bind in time
  inactive,            // it did not answer a keep-alive
  partial_primitive,   // a primitive stayed incomplete
  unread,              // it left too much unread
  unpaused,            // more came in than may wait while it is not read
  invalid_primitives,  // too many
  expedited_requests,  // too many
  preempted,           // by a client of higher rank
  sap_shut,            // by a manager or an operator
  broadcast,           // a session without ARQ began, and it was bound for ARQ
  displaced,           // without a bind, by another one that connected
  by_operator,
  tls,          // it began a TLS handshake where there is none
  octet_order,  // it sends the low octet first
  count
};
/// In words.
std::string_view to_string(ClientEnd end);

/// Why a bind was refused. The standard has four reasons for a client; an operator needs more.
enum class BindRefusal : std::uint8_t {
  no_room,  // as many are bound as may be, and none of lower rank
  bound_already,
  sap_not_allowed,   // to this client
  sap_reserved,      // 10 and 11
  sap_shut,          // by a manager or an operator
  sap_taken,         // another client has it
  no_arq,            // in a broadcast session
  illegal_service,   // that the standard does not have
  rank_not_allowed,  // to this client
  count
};
/// In words.
std::string_view to_string(BindRefusal refusal);

/// The client that an event is about.
struct TracedClient {
  ClientId id;
  std::string_view origin;     // valid only during the call
  std::optional<SapId> sap{};  // that it holds
  std::string_view reason{};   // in words, of a lasting text
  bool ended_by_node = false;  // or refused
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

/// "12.345 dpdu_sent peer=1.2.3.4 type=0 number=17"
std::string to_string(const TraceEvent& event);

class TraceSink {
 public:
  virtual void on_trace(const TraceEvent& event) = 0;
  /// Whether D_PDU events should carry their octets, which costs an encoding.
  virtual bool wants_octets() const { return false; }

 protected:
  ~TraceSink() = default;
};

/// Keeps the newest events, without their octets.
class TraceRing final : public TraceSink {
 public:
  explicit TraceRing(std::size_t capacity = 256) : events_(capacity) {}
  void on_trace(const TraceEvent& event) override;
  /// Oldest first.
  std::vector<TraceEvent> events() const;

 private:
  std::vector<TraceEvent> events_;
  std::uint64_t written_ = 0;
};

/// For cores that nobody watches.
class NullTrace final : public TraceSink {
 public:
  void on_trace(const TraceEvent&) override {}
};

}  // namespace s5066
