// SPDX-License-Identifier: Apache-2.0
// The queue of datagrams that wait for the node. There is a line for each station with ARQ, and a
// line for each station or group without ARQ, so that a station that does not answer does not delay
// the others.
//
// In a line the higher priority goes first. Within a priority the conversations share by deficit
// round robin, and a conversation that has sent little goes first (FQ-CoDel, RFC 8290). Datagrams
// that have waited too long are dropped from the head. A datagram older than `age_max` is dropped
// at once. While the delay stays above `target`, datagrams are dropped one after the other (CoDel,
// RFC 8289). The caller derives these times from the turnaround that it measures, because on HF
// they are seconds to minutes.
//
// A pure TCP acknowledgement takes the place of an older one of the same connection. A
// retransmitted segment takes the place of the copy that still waits. If no copy waits, the segment
// goes before the later segments of its connection. A full line drops the datagram that came first,
// also if it is not at the head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gateways/ip_client/datagram.h"
#include "gateways/ip_client/service_class.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

struct Line {
  Address station;
  bool arq = true;
  friend auto operator<=>(const Line&, const Line&) = default;
};

struct Packet {
  Bytes octets;
  Datagram datagram;
  FlowKey flow;
  Delivery delivery;
  Instant arrived{};
};

class PacketQueue {
 public:
  struct Config {
    std::size_t octets_max = 2u << 20;         // limit for all lines
    std::size_t line_octets_max = 256u << 10;  // limit for one line
    std::size_t packets_max = 4096;            // limit for all lines
    std::size_t quantum_octets = 300;          // share of a conversation in one round
    // Number of datagrams of a conversation that are searched for an older copy of a TCP segment,
    // and for the datagram that came first.
    std::size_t look_back_max = 256;
  };
  struct Limits {
    Duration target;  // the head is dropped after a whole interval above it
    Duration interval;
    Duration age_max;
  };
  struct Head {
    std::size_t octets = 0;
    std::uint8_t priority = 0;
  };
  struct Stats {
    std::uint64_t aged = 0;      // waited longer than age_max
    std::uint64_t delayed = 0;   // dropped by CoDel
    std::uint64_t marked = 0;    // marked by CoDel (ECN)
    std::uint64_t overflow = 0;  // dropped because the queue was full
    std::uint64_t acks_superseded = 0;
    std::uint64_t segments_replaced = 0;
  };
  struct FlowState {
    Line line;
    FlowKey flow;
    std::uint8_t priority = 0;
    std::size_t packets = 0;
    std::size_t octets = 0;
    Instant oldest{};
  };

  explicit PacketQueue(const Config& config) : config_(config) {}

  void push(const Line& line, Packet packet);
  /// Drops the datagrams that have waited too long, then returns the datagram of the line that goes
  /// next.
  std::optional<Head> head(Instant now, const Line& line, const Limits& limits);
  /// Takes the datagram that head() has just returned.
  Packet pop(const Line& line);
  /// Drops from each conversation of the line the heads that are older than `age_max`.
  void drop_aged(Instant now, const Line& line, Duration age_max);
  /// Empties the line and returns its datagrams.
  std::vector<Packet> take_all(const Line& line);

  bool empty() const { return packets_ == 0; }
  std::size_t packets() const { return packets_; }
  std::size_t octets() const { return octets_; }
  /// Returns the lines in which datagrams wait.
  std::vector<Line> lines() const;
  std::vector<FlowState> flows() const;
  const Stats& stats() const { return stats_; }

 private:
  struct Flow {
    std::deque<Packet> packets;
    std::size_t octets = 0;
    std::int64_t deficit = 0;
    std::optional<Instant> above_until;  // CoDel: time when drops begin if the delay stays high
    std::optional<Instant> drop_next;    // CoDel: time of the next drop, while it drops
    std::uint32_t drops = 0;
    bool fresh = true;  // true if `place` is in `fresh` of its band
    std::list<FlowKey>::iterator place;
  };
  /// The conversations of one priority.
  struct Band {
    std::map<FlowKey, Flow> flows;
    std::list<FlowKey> fresh;  // conversations in their first quantum
    std::list<FlowKey> others;
  };
  struct LineState {
    std::map<std::uint8_t, Band, std::greater<>> bands;  // by priority
    std::size_t octets = 0;
  };
  using Lines = std::map<Line, LineState>;

  bool replace(Flow& flow, LineState& line, Packet& packet);
  std::deque<Packet>::iterator place_of(Flow& flow, const Packet& packet) const;
  void put_in_place(LineState& line, Flow& flow, Packet& old, Packet packet);
  std::optional<Head> head_of(Instant now, LineState& line, Band& band, std::uint8_t priority,
                              const Limits& limits);
  void control_delay(Instant now, LineState& line, Flow& flow, const Limits& limits);
  bool is_late(Instant now, Flow& flow, const Limits& limits) const;
  Packet take_head(LineState& line, Flow& flow);
  Packet take(LineState& line, Flow& flow, std::deque<Packet>::iterator at);
  static void to_others(Band& band, Flow& flow);
  using Flows = std::map<FlowKey, Flow>;
  static Flows::iterator erase(Band& band, Flows::iterator at);
  void make_room(const Line& pushed);
  void drop_from_largest(LineState& line);

  Config config_;
  Lines lines_;
  std::size_t octets_ = 0;
  std::size_t packets_ = 0;
  Stats stats_;
};

}  // namespace s5066::ip_client
