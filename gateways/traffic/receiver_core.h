// SPDX-License-Identifier: Apache-2.0
// The receiver of s5066-traffic without its sockets. A shell passes in each datagram, and the
// octets of each TCP connection; figures() may be asked at any time. The memory is bounded by
// kRunsMax runs, kProbesMax probes in each, and kStreamsMax connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateways/traffic/run_statistics.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/counter_set.h"

namespace s5066::traffic {

enum class TrafficCounter : std::uint8_t {
  datagrams_malformed,
  streams_malformed,
  streams_refused,
  runs_refused,
  count
};
const CounterTable<TrafficCounter>& counter_table(TrafficCounter);

/// The figures of one run, and where it came from.
struct RunReport {
  std::string source;
  std::uint32_t run = 0;
  bool stream = false;
  RunFigures figures;
};

class ReceiverCore {
 public:
  static constexpr std::size_t kRunsMax = 8;
  static constexpr std::size_t kStreamsMax = 16;

  using StreamId = std::uint64_t;
  /// One moment by both clocks: for intervals, and for delays.
  struct Time {
    Instant at{};
    std::int64_t utc_us = 0;
  };
  struct Config {
    RunStatistics::Config statistics;
    Duration quiet_end = std::chrono::minutes(5);  // after the last arrival all runs are over
  };

  explicit ReceiverCore(const Config& config) : config_(config) {}

  /// `line_octets` is the size of the IP datagram.
  void on_datagram(const Time& time, const std::string& source, ByteSpan payload,
                   std::size_t line_octets);
  /// Returns false if there are too many connections; close it.
  bool on_stream(StreamId stream, const std::string& source);
  /// Returns false if the octets are not probes; close the connection.
  bool on_stream_octets(const Time& time, StreamId stream, ByteSpan octets);
  void on_stream_end(StreamId stream);

  /// True if runs have begun and all are complete, or nothing has arrived for quiet_end.
  bool is_over(Instant now) const;
  /// Returns when is_over() becomes true if nothing more arrives.
  std::optional<Instant> next_deadline() const;

  std::vector<RunReport> reports() const;
  const CounterSet<TrafficCounter>& counters() const { return counters_; }

 private:
  struct RunKey {
    std::string source;
    std::uint32_t run = 0;
    bool stream = false;
    friend auto operator<=>(const RunKey&, const RunKey&) = default;
  };
  struct Run {
    explicit Run(const RunStatistics::Config& config) : statistics(config) {}
    RunStatistics statistics;
    bool ended = false;  // the connection was closed
  };
  struct Stream {
    std::string source;
    Bytes pending;              // less than one probe
    std::optional<RunKey> run;  // after its first probe
  };

  Run* run(const RunKey& key);
  bool take_probe(const Time& time, Stream& stream);

  Config config_;
  std::map<RunKey, Run> runs_;
  std::map<StreamId, Stream> streams_;
  std::optional<Instant> last_at_;
  CounterSet<TrafficCounter> counters_;
};

}  // namespace s5066::traffic
