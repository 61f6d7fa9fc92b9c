// SPDX-License-Identifier: Apache-2.0
// One stream of a session: its two directions and what is owed to the far end.
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

  /// Octets that were sent lately; the count halves every half-life.
  double recent(Instant now, Duration half_life) const;
  void note_sent(Instant now, std::size_t octets, Duration half_life);
  bool interactive(Instant now, const StreamsConfig& config) const;
  /// Everything in both directions has arrived and is known to have arrived.
  bool complete() const { return send.done() && receive.complete() && end_known; }
  /// An ACK would tell the peer that its OPEN has come, so none goes before.
  void want_ack(Instant at) {
    if (opened) ack_at = ack_at ? std::min(*ack_at, at) : at;
  }
  /// The peer takes a PROBE without the OPEN for a stream that is unknown.
  bool may_probe() const { return opened && open >= Open::confirmed; }
  bool wants_probe() const { return probe_due && may_probe(); }
  std::size_t held() const { return send.held() + receive.held(); }

  StreamId id;
  StreamName name;
  Target target;
  Open open = Open::queued;
  bool opened = false;  // we opened it, or the OPEN of the peer has come
  SendSide send;
  ReceiveSide receive;
  Instant opened_at;
  Instant active_at;
  std::optional<Instant> ack_at;  // an ACK is due
  bool answer = false;            // the ACK answers a PROBE
  bool end_known = false;         // the peer's node has our ACK of the peer's end
  bool probe_due = false;
  std::optional<Instant> probed_at;  // when the PROBE was handed over
  std::optional<Instant> waiting_since;
  bool wants_room = false;
  std::uint64_t served = 0;
  bool was_bulk = false;                  // it has sent bulk data
  std::optional<Instant> interactive_at;  // it has sent small data, and never bulk data

 private:
  double recent_ = 0;
  Instant recent_at_;
};

}  // namespace s5066::streams
