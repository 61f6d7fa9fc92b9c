// SPDX-License-Identifier: Apache-2.0
// How much of the traffic for one station may be with the node and not yet confirmed. The node
// shall have what its next transmission can take and no more, so that something urgent waits at
// most one transmission.
//
// Nothing is configured: each confirmation tells how long its U_PDU took and how many octets were
// confirmed meanwhile. Two such rounds of different size tell the turnaround, which is the part
// that does not grow with the octets. The window is the best rate times a span, and the span is a
// multiple of the turnaround, so that turnarounds take a small share of the time on the air. The
// window at most doubles from one round to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "gateways/common/sis_port.h"
#include "s5066d/base/time.h"

namespace s5066::gateways {

class HandoverWindow {
 public:
  struct Config {
    Duration span_min = std::chrono::seconds(20);
    Duration span_max = std::chrono::seconds(120);  // limit of one transmission, which is 127.5 s
    unsigned turnarounds = 3;                       // turnarounds in one span
    std::size_t datagrams_min = 2;                  // datagrams that may always be with the node
    /// Age at which measured rates and turnarounds are forgotten.
    Duration memory = std::chrono::minutes(10);
  };

  explicit HandoverWindow(const Config& config) : config_(config) {}

  void on_handed(Instant now, SisRequestId id, std::size_t octets, std::uint8_t priority);
  /// Returns false if the request is not one of this window.
  bool on_confirmed(Instant now, SisRequestId id);
  /// Call when the request ended without a confirmation.
  bool on_failed(SisRequestId id);
  void on_lost();

  /// True if a datagram of this size and priority may be handed over. Only requests of at least its
  /// priority count, because the node sends the others later. The window has at least
  /// `window_octets_min`.
  bool has_room(std::size_t octets, std::uint8_t priority, std::size_t window_octets_min = 0) const;

  std::size_t outstanding() const { return requests_.size(); }
  std::size_t window_octets() const;
  /// Returns the mean time from the request to its confirmation; nothing before the first one.
  std::optional<Duration> turnaround() const { return mean_; }
  double rate_bps() const;
  /// Returns the octets of a round that takes this time with its turnaround, but at least those of
  /// a round that is on the air as long as its turnaround. Nothing is left for octets otherwise
  /// where the turnaround takes all of the time. Zero before the first confirmation.
  std::size_t round_octets(Duration time) const;

 private:
  struct Request {
    Instant handed{};
    std::size_t octets = 0;
    std::uint8_t priority = 0;
    std::uint64_t confirmed_before = 0;
    bool overtakes = false;  // octets of lower priority are partly sent
  };
  /// One transmission: octets that were confirmed together, and the time from request to
  /// confirmation.
  struct Round {
    std::size_t octets = 0;
    Duration took{};
  };
  /// Measurements of one half of the memory.
  struct Seen {
    std::optional<Round> quickest;
    std::optional<Round> largest;
    double rate_bps_max = 0;
    void add(const Round& round);
  };
  void measure(Instant now, const Request& request);
  void turn_memory(Instant now);
  Seen both() const;
  /// The line as rounds of two sizes show it.
  struct Line {
    Duration turnaround{};
    double rate_bps = 0;  // without the turnaround
  };
  static std::optional<Line> line_of(const Seen& seen);
  Duration span(const Seen& seen) const;

  Config config_;
  std::map<SisRequestId, Request> requests_;
  std::array<std::size_t, 16> octets_by_priority_{};
  std::array<std::size_t, 16> count_by_priority_{};
  std::uint64_t confirmed_octets_ = 0;
  std::optional<Duration> mean_;
  Seen seen_;
  Seen seen_before_;
  std::optional<Round> round_;  // round whose confirmations are still coming
  Instant round_at_{};
  Instant turned_at_{};
};

}  // namespace s5066::gateways
