// SPDX-License-Identifier: Apache-2.0
// One stream of a session: its two directions, and the frames that it has to send to the far end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "gateways/streams/receive_side.h"
#include "gateways/streams/send_side.h"
#include "gateways/streams/stream_pdu.h"
#include "gateways/streams/streams_config.h"

namespace s5066::streams {

struct Stream {
  enum class Open : std::uint8_t { queued, with_node, confirmed, known };

  Stream(Instant now, StreamId stream_id, StreamName stream_name, const StreamsConfig& config,
         bool compress)
      : id(stream_id),
        name(stream_name),
        send(kFirstWindow, compress),
        receive(config.receive),
        opened_at(now),
        active_at(now),
        recent_at_(now) {}

  /// Returns the octets that were sent lately. The count halves every half-life.
  double recent(Instant now, Duration half_life) const;
  void note_sent(Instant now, std::size_t octets, Duration half_life);
  bool interactive(Instant now, const StreamsConfig& config) const;
  /// True if all octets of both directions have arrived, and the node of the peer has the ACK of
  /// the peer's end.
  bool complete() const { return send.done() && receive.complete() && end_known; }
  /// Schedules an ACK for `at` or earlier. Does nothing before the OPEN of the peer has come,
  /// because an ACK would tell the peer that it has.
  void want_ack(Instant at) {
    if (opened) ack_at = ack_at ? std::min(*ack_at, at) : at;
  }
  /// True if a PROBE may be sent. A PROBE must not come before the OPEN, because the peer would
  /// reset the stream as unknown.
  bool may_probe() const { return opened && open >= Open::confirmed; }
  bool wants_probe() const { return probe_due && may_probe(); }
  std::size_t held() const { return send.held() + receive.held(); }

  StreamId id;
  StreamName name;
  Target target;
  Open open = Open::queued;
  bool opened = false;  // this end opened it, or the OPEN of the peer has come
  SendSide send;
  ReceiveSide receive;
  Instant opened_at;
  Instant active_at;
  std::optional<Instant> ack_at;  // time when an ACK is due
  bool answer = false;            // true if the ACK answers a PROBE
  bool end_known = false;         // true if the peer's node has our ACK of the peer's end
  bool probe_due = false;
  std::optional<Instant> probed_at;  // time when the PROBE was handed over
  std::optional<Instant> waiting_since;
  bool wants_room = false;
  std::uint64_t served = 0;
  bool was_bulk = false;                  // true after the stream has sent bulk data
  std::optional<Instant> interactive_at;  // last small data before any bulk data

 private:
  double recent_ = 0;
  Instant recent_at_;
};

}  // namespace s5066::streams
